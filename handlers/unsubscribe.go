package handlers

import (
	"maps"
	"net/http"
	"strings"

	"prospector/internal/console"
	"prospector/internal/fault"
	"prospector/store"
)

// unsubscribePath is the path of the unsubscribe links in messages, without the token.
const unsubscribePath = "/u/"

// unsubscribeOperations returns the operations for recipients of messages. They require no API key: the
// token in the link authorizes them.
func (a *API) unsubscribeOperations() []Operation {
	e := a.Sequences
	return []Operation{
		withoutTx(Operation{
			Name: "get_unsubscribe_page", Method: http.MethodGet, Path: unsubscribePath + "{token}",
			Summary: "Show the unsubscribe page for the recipient of a message",
			Codes:   []fault.Code{fault.NotFound, fault.Damaged},
		}, func(c *call, _ nothing) (htmlPage, error) {
			u, err := e.Unsubscription(c.params["token"])
			if err != nil {
				return htmlPage{}, err
			}
			if u.Done {
				return unsubscribePage(console.UnsubscribeDone, u.Organization)
			}
			return unsubscribePage(console.UnsubscribeConfirm, u.Organization)
		}),
		withoutTx(Operation{
			Name: "unsubscribe", Method: http.MethodPost, Path: unsubscribePath + "{token}",
			Summary: "Unsubscribe the recipient of a message with one click (RFC 8058); the body is ignored",
			Codes:   []fault.Code{fault.NotFound, fault.Damaged},
		}, func(c *call, _ anyBody) (htmlPage, error) {
			if err := e.Unsubscribe(c.request.Context(), c.params["token"], store.Actor{Operation: c.op.Name, RequestID: c.requestID}); err != nil {
				return htmlPage{}, err
			}
			u, err := e.Unsubscription(c.params["token"])
			if err != nil {
				return htmlPage{}, err
			}
			return unsubscribePage(console.UnsubscribeDone, u.Organization)
		}),
	}
}

// anyBody is the input of a POST whose body is ignored.
type anyBody struct{}

func (anyBody) source() schemaSource { return schemaSource{} }

func unsubscribePage(state console.UnsubscribeState, organization string) (htmlPage, error) {
	p, err := console.Unsubscribe(state, organization)
	return htmlPage{p}, err
}

// isRecipientPage reports whether recipients of messages open the path in a browser.
func isRecipientPage(path string) bool { return strings.HasPrefix(path, unsubscribePath) }

// asRecipientPage turns an error response into a web page if the recipient of a message sees it in a
// browser. Mail clients, which do not accept HTML, receive the JSON error.
func (c *call) asRecipientPage(a response) response {
	if !isRecipientPage(c.request.URL.Path) || !strings.Contains(c.request.Header.Get("Accept"), "text/html") {
		return a
	}
	state := console.UnsubscribeFailed
	if a.status == http.StatusNotFound {
		state = console.UnsubscribeInvalid
	}
	page, err := unsubscribePage(state, "")
	if err != nil {
		return a
	}
	a.contentType, a.body = page.media()
	header := page.header()
	maps.Copy(header, a.header)
	a.header = header
	return a
}
