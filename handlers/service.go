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
			if text := a.preparing.Load(); text != nil && *text != "" {
				return Health{}, fault.New(fault.Unavailable, "%s", *text)
			}
			if err := a.Store.InPlace(); err != nil {
				return Health{}, err
			}
			return Health{Status: "ok", DamagedRecords: a.Store.DamagedRecords()}, a.Store.Writable(c.request.Context())
		}),
		withoutTx(Operation{
			Name: "get_openapi", Method: http.MethodGet, Path: "/openapi.json", Summary: "Get this document",
		}, func(*call, nothing) (document, error) {
			return document{a.document()}, nil
		}),
		withoutTx(Operation{
			Name: "get_docs", Method: http.MethodGet, Path: "/docs", Summary: "Show the documentation as a web page",
		}, func(c *call, _ nothing) (docsPage, error) {
			return a.docsPage("")
		}),
		withoutTx(Operation{
			Name: "get_docs_page", Method: http.MethodGet, Path: "/docs/{page}", Codes: []fault.Code{fault.NotFound},
			Summary: "Show the documentation of a group of operations, of the events or of the data types",
		}, func(c *call, _ nothing) (docsPage, error) {
			return a.docsPage(c.params["page"])
		}),
	}
}

// docsPage returns a page of the documentation.
func (a *API) docsPage(name string) (docsPage, error) {
	pages, err := a.docs()
	if err != nil {
		return docsPage{}, err
	}
	if pages[name] == nil {
		return docsPage{}, fault.ErrNotFound
	}
	return docsPage{pages[name]}, nil
}

// renderDocs renders all pages of the documentation.
func (a *API) renderDocs() (map[string]*asset, error) {
	pages, err := console.Docs(a.document().plain, a.Version)
	if err != nil {
		return nil, err
	}
	assets := map[string]*asset{}
	for name, p := range pages {
		assets[name] = newPage(p)
	}
	return assets, nil
}

// htmlPage is a web page that depends on the request.
type htmlPage struct{ console.Page }

func (htmlPage) output() outputSource { return outputSource{raw: "text/html"} }

// media and header make the response of a page, with its Content-Security-Policy.
func (p htmlPage) media() (string, []byte) { return "text/html; charset=utf-8", p.HTML }
func (p htmlPage) header() http.Header     { return http.Header{"Content-Security-Policy": {p.Policy}} }
