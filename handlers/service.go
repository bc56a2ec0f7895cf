package handlers

import (
	"net/http"

	"prospector/internal/console"
	"prospector/internal/fault"
)

// Health is what the probes answer.
type Health struct {
	Status string `json:"status" rule:"enum=ok"`
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
			return Health{Status: "ok"}, a.Store.Writable(c.request.Context())
		}),
		plain(Operation{
			Name: "get_openapi", Method: http.MethodGet, Path: "/openapi.json", Summary: "Read this document",
		}, func(*call, nothing) (document, error) {
			return document{raw{"application/json", a.document}}, nil
		}),
		plain(Operation{
			Name: "get_page", Method: http.MethodGet, Path: "/", Summary: "Show a page with the version and links",
		}, func(*call, nothing) (htmlPage, error) {
			return htmlPage{raw{"text/html; charset=utf-8", console.Page(a.Version)}}, nil
		}),
	}
}

type (
	document struct{ raw }
	htmlPage struct{ raw }
)

func (document) output() outputSource { return outputSource{raw: "application/json"} }
func (htmlPage) output() outputSource { return outputSource{raw: "text/html"} }
