package admin

import (
	"context"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/internal/sequence"
	"prospector/internal/service"
)

// MailCheckInput selects what a check of the mail server does.
type MailCheckInput struct {
	To string // where to send a test message; empty for none
}

// MailCheck connects to the mail server and logs in, and sends a test message if an address is given.
var MailCheck = Operation[MailCheckInput, sequence.MailTest]{
	name: "mail_check",
	do: func(ctx context.Context, s *service.Service, in MailCheckInput) (sequence.MailTest, error) {
		if in.To != "" && !address.IsEmail(in.To) {
			return sequence.MailTest{}, fault.New(fault.ValidationFailed, "to: %q is not an email address", in.To)
		}
		from := mail.Address{Name: "Prospector"}
		if user := s.Config.Mail.SMTP.Username; address.IsEmail(user) {
			from.Email = user
		}
		return s.Sequences.TestMail(ctx, from, in.To)
	},
}
