package handlers

import (
	"net/http"

	"prospector/internal/console"
	"prospector/internal/fault"
)

// Health is what the probes answer.
type Health struct {
	Status string `json:"status" rule:"enum=ok"`
	// SendersHeld is no reason against serving: one organization must not keep the others from being served.
	SendersHeld int `json:"senders_held,omitzero" rule:"optional" doc:"How many senders have messages held because the mail server does not take them."`
}

// serviceOperations need no key and show no organization's data.
func (a *API) serviceOperations() []Operation {
	return []Operation{
		plain(Operation{
			Name: "get_health", Method: http.MethodGet, Path: "/healthz", Summary: "Tell that the process is alive",
		}, func(*call, nothing) (Health, error) {
			return Health{Status: "ok"}, nil
		}),
		plain(Operation{
			Name: "get_readiness", Method: http.MethodGet, Path: "/readyz", Codes: []fault.Code{fault.Unavailable},
			Summary: "Tell whether the service can serve, and why when it cannot",
		}, func(c *call, _ nothing) (Health, error) {
			if a.draining.Load() {
				return Health{}, fault.New(fault.Unavailable, "the service is shutting down")
			}
			mail := a.Outreach.MailStats()
			if mail.Trouble != "" {
				return Health{}, fault.New(fault.Unavailable, "mail cannot be sent and is held: %s", mail.Trouble)
			}
			return Health{Status: "ok", SendersHeld: mail.SendersHeld}, a.Store.Writable(c.request.Context())
		}),
		plain(Operation{
			Name: "get_openapi", Method: http.MethodGet, Path: "/openapi.json", Summary: "Read this document",
		}, func(*call, nothing) (document, error) {
			return document{raw{"application/json", a.document()}}, nil
		}),
		plain(Operation{
			Name: "get_page", Method: http.MethodGet, Path: "/", Summary: "Show a page with the version and links",
		}, func(*call, nothing) (htmlPage, error) {
			p, err := console.Home(a.Version, !a.MetricsElsewhere)
			return htmlPage{p}, err
		}),
		plain(Operation{
			Name: "get_docs", Method: http.MethodGet, Path: "/docs", Summary: "Show this document in a browser",
		}, func(*call, nothing) (htmlPage, error) {
			p, err := a.docs()
			return htmlPage{p}, err
		}),
	}
}

type (
	document struct{ raw }
	htmlPage struct{ console.Page }
)

func (document) output() outputSource { return outputSource{raw: "application/json"} }
func (htmlPage) output() outputSource { return outputSource{raw: "text/html"} }

// media and header send the page with its policy.
func (p htmlPage) media() (string, []byte) { return "text/html; charset=utf-8", p.HTML }
func (p htmlPage) header() http.Header     { return http.Header{"Content-Security-Policy": {p.Policy}} }
