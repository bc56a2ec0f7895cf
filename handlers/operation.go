package handlers

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

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

	example json.RawMessage // a body, where one that is made from its schema would not do
	params  []string        // the names of the parameters in the path
	writes  bool
	lists   *index.Kind  // of a list or an export
	query   reflect.Type // of what a GET takes
	guarded bool         // honours If-Match
	// versioned answers carry an ETag
	versioned bool
	// orExisting answers 200 with what was there already
	orExisting bool
	input      schemaSource
	output     outputSource
	run        func(*call) (answer, error)
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
	return writeAfter(o, func(*call, In) (nothing, error) { return nothing{}, nil }, func(c *call, tx *store.Tx, in In, _ nothing) (Out, error) {
		return fn(c, tx, in)
	})
}

// writeAfter is write for what must find something before its transaction begins: a list, which has a transaction of its own.
func writeAfter[In, Found, Out any](o Operation, find func(*call, In) (Found, error), fn func(*call, *store.Tx, In, Found) (Out, error)) Operation {
	describe[In, Out](&o)
	o.writes = true
	o.guarded = o.Method == http.MethodPatch || o.Method == http.MethodDelete
	o.run = func(c *call) (a answer, err error) {
		key, err := idempotencyKey(c)
		if err != nil {
			return answer{}, err
		}
		if key != "" { // what was answered before is not looked at again
			kept, known, err := c.kept(key)
			if err != nil || known {
				return kept, err
			}
		}
		in, err := decode[In](c)
		if err != nil {
			return answer{}, err
		}
		found, err := find(c, in)
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
			out, err := fn(c, tx, in, found)
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

// kept is what the request was answered before, under the same key.
func (c *call) kept(key string) (a answer, known bool, err error) {
	err = c.api.Store.View(c.principal.Org, func(tx *store.Tx) (err error) {
		a, known, err = c.api.answers.find(tx, key, c)
		return err
	})
	return a, known, err
}

// byID makes the function of an operation whose path begins with the id of a record.
func byID[In, Out any](fn func(*call, *store.Tx, uuid.UUID, In) (Out, error)) func(*call, *store.Tx, In) (Out, error) {
	return func(c *call, tx *store.Tx, in In) (out Out, err error) {
		id, err := c.pathID(0)
		if err != nil {
			return out, err
		}
		return fn(c, tx, id, in)
	}
}

// pathID is the id that the n-th parameter of the path is. One that is no UUID names nothing.
func (c *call) pathID(n int) (uuid.UUID, error) {
	id, err := shape.ParseID(c.params[c.op.params[n]])
	if err != nil {
		return uuid.Nil, fault.ErrNotFound
	}
	return id, nil
}

// listing makes the list operation of a kind of the caller's organization.
func listing[T any](o Operation, kind *index.Kind) Operation {
	return listingOf[T](o, kind, (*call).org)
}

// listingOf makes the list operation of a kind of some organization.
func listingOf[T any](o Operation, kind *index.Kind, org func(*call) uuid.UUID) Operation {
	return listingSome[T](o, kind, org, func(_ *call, all index.Compiled) (index.Compiled, error) { return all, nil })
}

// listingSome makes the list operation of some records of a kind: those that a query is restricted to.
func listingSome[T any](o Operation, kind *index.Kind, org func(*call) uuid.UUID, restrict func(*call, index.Compiled) (index.Compiled, error)) Operation {
	o.Method, o.Access = http.MethodPost, identity.Read
	o.lists = kind
	return plain(o, func(c *call, body queries) (page[T], error) {
		var q index.ListBody
		var p fault.Problems
		shape.Decode(body.Value, &q, shape.Create, &p)
		var out page[T]
		compile, err := restrict(c, compiled(kind, q, p))
		if err != nil {
			return out, err
		}
		err = c.api.Index.List(org(c), kind, compile, func(p index.Page) error {
			out.envelope = c.api.listEnvelope(p.Records, paginate(q.Page, q.PageSize, p.Total))
			return nil
		})
		return out, err
	})
}

// compiled is a query whose decoding has found problems already, which are reported with those of compiling it.
func compiled(kind *index.Kind, q index.ListBody, decoding fault.Problems) index.Compiled {
	return func(cs *index.Customs) (*index.Plan, error) {
		p := decoding
		plan := index.Compile(kind, cs, q, &p)
		return plan, p.Err()
	}
}

// within is a query among the records of a set.
func within(compile index.Compiled, members func(*store.Tx) ([]uuid.UUID, error)) index.Compiled {
	return func(cs *index.Customs) (*index.Plan, error) {
		plan, err := compile(cs)
		if err != nil {
			return nil, err
		}
		return plan.Within(members), nil
	}
}

// where is a query among the records that have an id in a field.
func where(compile index.Compiled, field string, id uuid.UUID) index.Compiled {
	return func(cs *index.Customs) (*index.Plan, error) {
		plan, err := compile(cs)
		if err != nil {
			return nil, err
		}
		return plan.Where(field, id), nil
	}
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
		if o.Method == http.MethodGet {
			o.query = reflect.TypeFor[In]()
		} else {
			o.input = inputOf[In]()
		}
	}
	var out Out
	switch v := any(out).(type) {
	case nothing:
	case interface{ output() outputSource }:
		o.output = v.output()
	case interface{ RecordType() reflect.Type }:
		o.output, o.versioned = outputSource{typ: v.RecordType()}, true
		_, o.orExisting = v.(interface{ status() int })
	default:
		o.output = outputSource{typ: reflect.TypeFor[Out]()}
		_, o.versioned = v.(secret)
	}
	if o.Status == 0 {
		o.Status = http.StatusOK
	}
	for segment := range strings.SplitSeq(o.Path, "/") {
		if isParam(segment) {
			o.params = append(o.params, strings.Trim(segment, "{}"))
		}
	}
}
