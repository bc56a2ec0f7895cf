package handlers

import (
	"net/http"
	"reflect"
)

// outputSource tells what a success answers.
type outputSource struct {
	typ  reflect.Type // nil for no body
	list bool
	raw  string // the media type of an answer that is no envelope
	// streams are the media types that a streamed answer can have.
	streams []string
}

// page is a page of the records T; all is all of them on one.
type (
	page[T any] struct{ envelope []byte }
	all[T any]  []T
)

func (page[T]) output() outputSource { return outputSource{typ: reflect.TypeFor[T](), list: true} }
func (all[T]) output() outputSource  { return outputSource{typ: reflect.TypeFor[T](), list: true} }

// answer makes the envelope of an operation's result.
func (o *Operation) answer(c *call, out any) (answer, error) {
	a := answer{status: o.Status}
	var err error
	switch v := out.(type) {
	case nothing:
		a.status = http.StatusNoContent
	case exported:
		return v.answer(o.lists), nil
	case interface{ media() (string, []byte) }:
		a.contentType, a.body = v.media()
		if more, is := v.(interface{ header() http.Header }); is {
			a.header = more.header()
		}
	case interface{ Public() ([]byte, string) }:
		data, version := v.Public()
		a.body, a.etag = c.api.itemEnvelope(data), etag(version)
		if made, is := v.(interface{ status() int }); is {
			a.status = made.status()
		}
	case interface {
		list(*API) ([]byte, error)
	}:
		a.body, err = v.list(c.api)
	case secret:
		shown, kept, version := v.secret()
		a.etag = etag(version)
		if a.body, err = c.api.encodeItem(shown); err == nil {
			a.kept, err = c.api.encodeItem(kept)
		}
	default:
		a.body, err = c.api.encodeItem(v)
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

func (a all[T]) list(api *API) ([]byte, error) {
	records, err := a.records()
	if err != nil {
		return nil, err
	}
	return api.listEnvelope(records, onePage(len(a))), nil
}

// onePage is a page with all of a list.
func onePage(n int) Pagination {
	return Pagination{Page: 1, PageSize: n, TotalCount: n, TotalPages: min(1, n)}
}

// secret is an item of which a repeated request is answered less than the first.
type secret interface {
	secret() (shown, kept any, version string)
}

// raw is an answer that is no envelope.
type raw struct {
	contentType string
	body        []byte
}

func (r raw) media() (string, []byte) { return r.contentType, r.body }
