package handlers

import (
	"net/http"

	"prospector/internal/identity"
	"prospector/internal/sequence"
	"prospector/store"
)

// mailOperations returns the operations on the mail server.
func (a *API) mailOperations() []Operation {
	return []Operation{
		read(Operation{
			Name: "get_mail_status", Method: http.MethodGet, Path: "/v1/mail/status", Access: identity.Admin,
			Summary: "Check whether messages can be sent",
		}, func(_ *call, tx *store.Tx, _ nothing) (sequence.MailStatus, error) { return a.Sequences.MailStatus(tx) }),
		withoutTx(Operation{
			Name: "test_mail", Method: http.MethodPost, Path: "/v1/mail/test", Access: identity.Admin,
			Summary: "Connect to the mail server and log in, and send a test message if an address is given",
		}, func(c *call, in createBody[sequence.MailTestBody]) (sequence.MailTest, error) {
			body, p := in.Draft.Open()
			if err := p.Err(); err != nil {
				return sequence.MailTest{}, err
			}
			from, err := a.Sequences.UserAddress(c.org(), c.principal.User)
			if err != nil {
				return sequence.MailTest{}, err
			}
			return a.Sequences.TestMail(c.request.Context(), from, string(body.To))
		}),
	}
}
