package handlers

import (
	"net/http"
	"reflect"

	"prospector/index"
)

// outputSource tells what a success answers.
type outputSource struct {
	typ  reflect.Type // nil for no body
	list bool
	raw  string // the media type of an answer that is no envelope
}

// page is a page of the records T; all is all of them on one.
type (
	page[T any] struct {
		index.Page
		number, size int
	}
	all[T any] []T
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
	case interface{ media() (string, []byte) }:
		a.contentType, a.body = v.media()
	case interface{ Public() ([]byte, uint64) }:
		data, version := v.Public()
		a.body, a.etag = c.api.itemEnvelope(data), etag(version)
	case interface {
		list() ([][]byte, Pagination, error)
	}:
		var records [][]byte
		var p Pagination
		records, p, err = v.list()
		a.body = c.api.listEnvelope(records, p)
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

func (p page[T]) list() ([][]byte, Pagination, error) {
	return p.Records, Pagination{Page: p.number, PageSize: p.size, TotalCount: p.Total,
		TotalPages: (p.Total + p.size - 1) / p.size}, nil
}

func (a all[T]) list() (records [][]byte, p Pagination, err error) {
	for i := range a {
		data, err := marshal(&a[i])
		if err != nil {
			return nil, p, err
		}
		records = append(records, data)
	}
	return records, Pagination{Page: 1, PageSize: len(a), TotalCount: len(a), TotalPages: min(1, len(a))}, nil
}

// secret is an item of which a repeated request is answered less than the first.
type secret interface {
	secret() (shown, kept any, version uint64)
}

// raw is an answer that is no envelope.
type raw struct {
	contentType string
	body        []byte
}

func (r raw) media() (string, []byte) { return r.contentType, r.body }
