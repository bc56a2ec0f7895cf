package handlers

import (
	"net/http"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/sequence"
	"prospector/store"
)

// testMailCodes are the errors of operations that send a test message.
var testMailCodes = []fault.Code{fault.Suppressed, fault.CapReached}

// mailOperations returns the operations on the mail server.
func (a *API) mailOperations() []Operation {
	return []Operation{
		read(Operation{
			Name: "get_mail_status", Method: http.MethodGet, Path: "/v1/mail/status", Access: identity.Write,
			Summary: "Check whether messages can be sent",
		}, func(_ *call, tx *store.Tx, _ nothing) (sequence.MailStatus, error) { return a.Sequences.MailStatus(tx) }),
		withoutTx(Operation{
			Name: "test_mail", Method: http.MethodPost, Path: "/v1/mail/test", Access: identity.Admin,
			Summary: "Connect to the mail server and log in, and send a test message if an address is given",
			Codes:   testMailCodes,
		}, func(c *call, in createBody[sequence.MailTestBody]) (sequence.MailTest, error) {
			body, p := in.Draft.Open()
			if err := p.Err(); err != nil {
				return sequence.MailTest{}, err
			}
			return a.Sequences.TestMailAs(c.request.Context(), c.org(), c.actor(), string(body.To))
		}),
	}
}
