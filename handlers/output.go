package handlers

import (
	"net/http"
	"reflect"
)

// outputSource describes a successful response for the API document.
type outputSource struct {
	typ     reflect.Type // of the data in the envelope; nil means no body
	list    bool
	summary reflect.Type // of the summary beside a list; nil means none
	raw     string       // the media type of a response without an envelope
	streams []string     // the possible media types of a streamed response
	cached  bool         // clients may keep the response and ask whether it has changed
}

// page is one page of records T, already encoded. all is a complete list on one page. readable is a
// complete list of what can be read, with the number of records that are damaged.
type (
	page[T any]     struct{ envelope []byte }
	all[T any]      []T
	readable[T any] struct {
		all[T]
		damaged int
	}
)

func (page[T]) output() outputSource { return outputSource{typ: reflect.TypeFor[T](), list: true} }
func (all[T]) output() outputSource  { return outputSource{typ: reflect.TypeFor[T](), list: true} }

// response encodes the result of an operation.
func (o *Operation) response(c *call, out any) (response, error) {
	a := response{status: o.Status}
	var err error
	switch v := out.(type) {
	case nothing, signedOut:
		a.status = http.StatusNoContent
	case exported:
		return v.response(o.listKind), nil
	case interface{ serve(*call) response }:
		return v.serve(c), nil
	case interface{ media() (string, []byte) }:
		a.contentType, a.body = v.media()
	case interface{ Public() ([]byte, string) }:
		data, version := v.Public()
		a.body, a.etag = c.api.itemEnvelope(data), etag(version)
		if made, is := v.(interface{ status() int }); is {
			a.status = made.status()
		}
		if more, is := v.(interface{ meta() Meta }); is {
			a.body = c.api.closeWith(openItem(data), more.meta())
		}
	case interface {
		list(*API) ([]byte, error)
	}:
		a.body, err = v.list(c.api)
	case secretItem:
		full, redacted, version := v.redact()
		if version != "" {
			a.etag = etag(version)
		}
		if a.body, err = c.api.encodeItem(full); err == nil {
			a.replayBody, err = c.api.encodeItem(redacted)
		}
	default:
		a.body, err = c.api.encodeItem(v)
	}
	if more, is := out.(interface{ header() http.Header }); is {
		a.header = more.header()
	}
	return a, err
}

func (p page[T]) list(*API) ([]byte, error) { return p.envelope, nil }

func (a all[T]) records() ([][]byte, error) {
	records := make([][]byte, len(a))
	for i := range a {
		var err error
		if records[i], err = marshal(&a[i]); err != nil {
			return nil, err
		}
	}
	return records, nil
}

func (a all[T]) list(api *API) ([]byte, error) { return readable[T]{all: a}.list(api) }

func (r readable[T]) list(api *API) ([]byte, error) {
	records, err := r.records()
	if err != nil {
		return nil, err
	}
	return api.listEnvelope(records, onePage(len(records)), max(0, r.damaged)), nil
}

// onePage returns the pagination of a complete list on one page.
func onePage(n int) Pagination {
	return Pagination{Page: 1, PageSize: n, TotalCount: n, TotalPages: min(1, n)}
}

// secretItem is an item with a secret that only the first response contains. Replays for the same
// Idempotency-Key contain the redacted item.
type secretItem interface {
	redact() (full, redacted any, version string)
}

// raw is a response without an envelope.
type raw struct {
	contentType string
	body        []byte
}

func (r raw) media() (string, []byte) { return r.contentType, r.body }
