package handlers

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
)

// Public is the access of operations that need no key.
const Public identity.Access = ""

// Operation is one operation of the API. The router, the access check, the API document, the log and the generated
// tests are all made from the table of these values.
type Operation struct {
	Name    string
	Method  string
	Path    string // parameters in braces
	Access  identity.Access
	Summary string
	Status  int          // of success
	Codes   []fault.Code // the errors that follow from what the operation does, beyond those of its form

	Entities []string // what {entity} may be

	writes  bool
	lists   bool
	guarded bool // honours If-Match
	input   schemaSource
	output  outputSource
	run     func(*call) (answer, error)
}

// schemaSource tells where the schema of a body comes from; the zero value is no body.
type schemaSource struct {
	typ  reflect.Type
	view shape.View
}

// outputSource tells what a success answers.
type outputSource struct {
	typ  reflect.Type // nil for no body
	list bool
	raw  string // the media type of an answer that is no envelope
}

// nothing is the input of an operation without a body and the output of one that answers 204.
type nothing struct{}

// NoBody is the body of a POST that needs none: it may be left out, and has no fields.
type NoBody struct{}

// creates and updates are bodies of the record T, which its kind decodes itself; queries is that of a list.
type (
	creates[T any] struct{ shape.Value }
	updates[T any] struct{ shape.Value }
	queries        struct{ shape.Value }
)

func (creates[T]) source() schemaSource {
	return schemaSource{reflect.TypeFor[T](), shape.CreateInput}
}
func (updates[T]) source() schemaSource {
	return schemaSource{reflect.TypeFor[T](), shape.UpdateInput}
}
func (queries) source() schemaSource {
	return schemaSource{reflect.TypeFor[index.ListBody](), shape.CreateInput}
}

// page is a page of the records T; all is all of them on one.
type (
	page[T any] struct {
		index.Page
		number, size int
	}
	all[T any] []T
)

// call is a request on its way through its operation.
type call struct {
	api       *API
	op        *Operation
	request   *http.Request
	requestID string
	principal identity.Principal
	params    map[string]string
	raw       []byte
	body      shape.Value
}

func (c *call) actor() store.Actor {
	return store.Actor{Key: c.principal.Key, User: c.principal.User, Operation: c.op.Name, RequestID: c.requestID}
}

// id is the first id in the path. One that is no UUID names nothing.
func (c *call) id() (uuid.UUID, error) {
	id, err := shape.ParseID(c.params[c.op.params()[0]])
	if err != nil {
		return uuid.Nil, fault.ErrNotFound
	}
	return id, nil
}

// plain makes an operation that opens no transaction itself.
func plain[In, Out any](o Operation, fn func(*call, In) (Out, error)) Operation {
	describe[In, Out](&o)
	o.run = func(c *call) (answer, error) {
		in, err := decode[In](c)
		if err != nil {
			return answer{}, err
		}
		out, err := fn(c, in)
		if err != nil {
			return answer{}, err
		}
		return o.answer(c, out)
	}
	return o
}

// read makes an operation over one moment of the organization's data.
func read[In, Out any](o Operation, fn func(*call, *store.Tx, In) (Out, error)) Operation {
	return plain(o, func(c *call, in In) (out Out, err error) {
		err = c.api.Store.View(c.principal.Org, func(tx *store.Tx) error {
			out, err = fn(c, tx, in)
			return err
		})
		return out, err
	})
}

// write makes an operation that is one transaction. On a POST the answer is kept in it under the caller's
// Idempotency-Key, and a request that repeats one gets that answer again instead.
func write[In, Out any](o Operation, fn func(*call, *store.Tx, In) (Out, error)) Operation {
	describe[In, Out](&o)
	o.writes = true
	o.guarded = o.Method == http.MethodPatch || o.Method == http.MethodDelete
	o.run = func(c *call) (a answer, err error) {
		in, err := decode[In](c)
		if err != nil {
			return answer{}, err
		}
		key, err := idempotencyKey(c)
		if err != nil {
			return answer{}, err
		}
		err = c.api.Store.Update(c.request.Context(), c.principal.Org, c.actor(), func(tx *store.Tx) error {
			if key != "" {
				kept, found, err := c.api.answers.find(tx, key, c)
				if err != nil || found {
					a = kept
					return err
				}
			}
			out, err := fn(c, tx, in)
			if err != nil {
				return err
			}
			if a, err = o.answer(c, out); err != nil || key == "" {
				return err
			}
			return c.api.answers.keep(tx, key, c, a)
		})
		return a, err
	}
	return o
}

// listing makes the list operation of a kind.
func listing[T any](o Operation, kind *index.Kind) Operation {
	o.Method, o.Access = http.MethodPost, identity.Read
	o.lists = true
	return plain(o, func(c *call, body queries) (page[T], error) {
		var q index.ListBody
		var p fault.Problems
		shape.Decode(body.Value, &q, shape.Create, &p)
		plan := index.Compile(kind, q, &p)
		if err := p.Err(); err != nil {
			return page[T]{}, err
		}
		got, err := c.api.Index.List(c.principal.Org, plan)
		return page[T]{Page: got, number: q.Page, size: q.PageSize}, err
	})
}

// describe fills in what follows from the types of an operation.
func describe[In, Out any](o *Operation) {
	var in In
	switch v := any(in).(type) {
	case nothing:
		if o.Method == http.MethodPost {
			o.input = schemaSource{reflect.TypeFor[NoBody](), shape.CreateInput}
		}
	case interface{ source() schemaSource }:
		o.input = v.source()
	default:
		o.input = schemaSource{reflect.TypeFor[In](), shape.CreateInput}
	}
	var out Out
	switch v := any(out).(type) {
	case nothing:
	case interface{ output() outputSource }:
		o.output = v.output()
	case interface{ RecordType() reflect.Type }:
		o.output = outputSource{typ: v.RecordType()}
	default:
		o.output = outputSource{typ: reflect.TypeFor[Out]()}
	}
	if o.Status == 0 {
		o.Status = http.StatusOK
	}
}

func (page[T]) output() outputSource { return outputSource{typ: reflect.TypeFor[T](), list: true} }
func (all[T]) output() outputSource  { return outputSource{typ: reflect.TypeFor[T](), list: true} }

// decode reads the body as In. A body that the operation has no use for is not looked at.
func decode[In any](c *call) (in In, err error) {
	switch v := any(&in).(type) {
	case interface{ set(shape.Value) }:
		v.set(c.body)
	default:
		var p fault.Problems
		shape.Decode(c.body, &in, shape.Create, &p)
		err = p.Err()
	}
	return in, err
}

func (b *creates[T]) set(v shape.Value) { b.Value = v }
func (b *updates[T]) set(v shape.Value) { b.Value = v }
func (b *queries) set(v shape.Value)    { b.Value = v }

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
	case interface {
		secret() (shown, kept any, version uint64)
	}:
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
		data, err := json.Marshal(&a[i])
		if err != nil {
			return nil, p, err
		}
		records = append(records, data)
	}
	return records, Pagination{Page: 1, PageSize: len(a), TotalCount: len(a), TotalPages: min(1, len(a))}, nil
}

// raw is an answer that is no envelope.
type raw struct {
	contentType string
	body        []byte
}

func (r raw) media() (string, []byte) { return r.contentType, r.body }

var braces = regexp.MustCompile(`\{(\w+)\}`)

// params are the names of the parameters in the path.
func (o *Operation) params() []string {
	var names []string
	for _, m := range braces.FindAllStringSubmatch(o.Path, -1) {
		names = append(names, m[1])
	}
	return names
}
