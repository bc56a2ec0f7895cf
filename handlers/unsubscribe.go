package handlers

import (
	"net/http"
	"strings"

	"prospector/internal/console"
	"prospector/internal/fault"
	"prospector/store"
)

// unsubscribePath is where links in messages lead.
const unsubscribePath = "/u/"

// unsubscribeOperations need no key: the token in the link is as good as one for this alone.
func (a *API) unsubscribeOperations() []Operation {
	o := a.Outreach
	return []Operation{
		plain(Operation{
			Name: "get_unsubscribe_page", Method: http.MethodGet, Path: unsubscribePath + "{token}", Summary: "Show a page on which the recipient of a message can opt out",
			Codes: []fault.Code{fault.NotFound},
		}, func(c *call, _ nothing) (htmlPage, error) {
			done, err := o.IsUnsubscribed(c.params["token"])
			if err != nil {
				return htmlPage{}, err
			}
			if done {
				return unsubscribePage(console.UnsubscribeDone)
			}
			return unsubscribePage(console.UnsubscribeAsks)
		}),
		plain(Operation{
			Name: "unsubscribe", Method: http.MethodPost, Path: unsubscribePath + "{token}", Summary: "Opt the recipient of a message out, with one click (RFC 8058); whatever the body is",
			Codes: []fault.Code{fault.NotFound},
		}, func(c *call, _ anyBody) (htmlPage, error) {
			if err := o.Unsubscribe(c.request.Context(), c.params["token"], store.Actor{Operation: c.op.Name, RequestID: c.requestID}); err != nil {
				return htmlPage{}, err
			}
			return unsubscribePage(console.UnsubscribeDone)
		}),
	}
}

// anyBody is that of a POST whose body is not looked at.
type anyBody struct{}

func (anyBody) source() schemaSource { return schemaSource{} }

func unsubscribePage(state console.UnsubscribeState) (htmlPage, error) {
	p, err := console.Unsubscribe(state)
	return htmlPage{p}, err
}

// isForPeople tells whether the recipients of messages come there with their browsers.
func isForPeople(path string) bool { return strings.HasPrefix(path, unsubscribePath) }

// forPeople makes a page of the answer to an error that the recipient of a message sees in a browser. Mail programs, which ask for no
// page, get it as all others do.
func (c *call) forPeople(a answer) answer {
	if !isForPeople(c.request.URL.Path) || !strings.Contains(c.request.Header.Get("Accept"), "text/html") {
		return a
	}
	state := console.UnsubscribeFailed
	if a.status == http.StatusNotFound {
		state = console.UnsubscribeUnknown
	}
	page, err := unsubscribePage(state)
	if err != nil {
		return a
	}
	a.contentType, a.body = page.media()
	a.header = page.header()
	return a
}
