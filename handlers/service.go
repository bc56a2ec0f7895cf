package handlers

import (
	"net/http"

	"prospector/internal/console"
	"prospector/internal/fault"
)

// Health is the response of the health probes.
type Health struct {
	Status         string `json:"status" rule:"enum=ok"`
	DamagedRecords int    `json:"damaged_records,omitempty" rule:"optional" doc:"The number of records that cannot be read, as far as they were found since the server started. Only /readyz has it, if there are any."`
}

// serviceOperations returns the operations that require no API key and contain no data of organizations.
func (a *API) serviceOperations() []Operation {
	return []Operation{
		withoutTx(Operation{
			Name: "get_health", Method: http.MethodGet, Path: "/healthz", Summary: "Check that the process is alive",
		}, func(*call, nothing) (Health, error) {
			return Health{Status: "ok"}, nil
		}),
		withoutTx(Operation{
			Name: "get_readiness", Method: http.MethodGet, Path: "/readyz", Codes: []fault.Code{fault.Unavailable},
			Summary: "Check whether the service is ready, and why if it is not",
		}, func(c *call, _ nothing) (Health, error) {
			if a.draining.Load() {
				return Health{}, fault.New(fault.Unavailable, "the service is shutting down")
			}
			if err := a.Store.InPlace(); err != nil {
				return Health{}, err
			}
			return Health{Status: "ok", DamagedRecords: a.Store.DamagedRecords()}, a.Store.Writable(c.request.Context())
		}),
		withoutTx(Operation{
			Name: "get_openapi", Method: http.MethodGet, Path: "/openapi.json", Summary: "Get this document",
		}, func(*call, nothing) (document, error) {
			return document{raw{"application/json", a.document()}}, nil
		}),
		withoutTx(Operation{
			Name: "get_page", Method: http.MethodGet, Path: "/",
			Summary: "Show the home page with the version and links",
		}, func(*call, nothing) (htmlPage, error) {
			p, err := console.Home(a.Version, !a.SeparateMetrics)
			return htmlPage{p}, err
		}),
		withoutTx(Operation{
			Name: "get_docs", Method: http.MethodGet, Path: "/docs", Summary: "Show this document as a web page",
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

// media and header make the response of a page, with its Content-Security-Policy.
func (p htmlPage) media() (string, []byte) { return "text/html; charset=utf-8", p.HTML }
func (p htmlPage) header() http.Header     { return http.Header{"Content-Security-Policy": {p.Policy}} }
