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

// Public is the access of operations that require no API key.
const Public identity.Access = ""

// Operation is one operation of the API. The router, the access check, the API document, the metrics and
// the generated tests are derived from the table of these values.
type Operation struct {
	Name    string
	Method  string
	Path    string // parameters in braces
	Access  identity.Access
	Summary string
	Status  int          // of success
	Codes   []fault.Code // specific to what the operation does; ErrorCodes adds those of every such operation

	Entities []string // the allowed values of {entity}

	example       json.RawMessage // a body for the documentation, if one generated from the schema is not realistic
	params        []string        // names of the path parameters
	writes        bool
	listKind      *index.Kind  // of a list or an export
	present       presenter    // changes how the records of a list are shown
	query         reflect.Type // the query parameters of a GET or DELETE
	honorsIfMatch bool
	isVersioned   bool // successful responses have an ETag
	mayExist      bool // responds with 200 if the record already existed
	input         schemaSource
	form          *formSource // of a body that is a form with a file
	maxValues     int         // the maximum number of JSON values in the body; 0 means defaultMaxValues
	output        outputSource
	limiter       *concurrencyLimiter // of requests that take much memory; nil if they do not
	run           func(*call) (response, error)
}

// presenter returns stored records as they are shown.
type presenter func(c *call, records [][]byte) ([][]byte, error)

// withoutTx makes an operation whose function receives no transaction.
func withoutTx[In, Out any](o Operation, fn func(*call, In) (Out, error)) Operation {
	describe(&o, *new(In), *new(Out), reflect.TypeFor[In](), reflect.TypeFor[Out]())
	o.run = func(c *call) (response, error) {
		in, err := decode[In](c)
		if err != nil {
			return response{}, err
		}
		out, err := fn(c, in)
		if err != nil {
			return response{}, err
		}
		return o.response(c, out)
	}
	return o
}

// read makes an operation that reads the caller's organization in one read transaction.
func read[In, Out any](o Operation, fn func(*call, *store.Tx, In) (Out, error)) Operation {
	return withoutTx(o, func(c *call, in In) (out Out, err error) {
		err = c.api.Store.View(c.principal.Org, func(tx *store.Tx) error {
			out, err = fn(c, tx, in)
			return err
		})
		return out, err
	})
}

// write makes an operation that changes the caller's organization in one transaction. For a POST with an
// Idempotency-Key, the transaction also stores the response, and repeated requests receive that response.
func write[In, Out any](o Operation, fn func(*call, *store.Tx, In) (Out, error)) Operation {
	return writeWithLookup(o, func(*call, In) (nothing, error) { return nothing{}, nil }, func(c *call, tx *store.Tx, in In, _ nothing) (Out, error) {
		return fn(c, tx, in)
	})
}

// writeWithLookup is like write, but calls find before the transaction begins. It is for operations that
// query the index, which uses transactions of its own.
func writeWithLookup[In, Found, Out any](o Operation, find func(*call, In) (Found, error), fn func(*call, *store.Tx, In, Found) (Out, error)) Operation {
	describe(&o, *new(In), *new(Out), reflect.TypeFor[In](), reflect.TypeFor[Out]())
	o.writes = true
	o.honorsIfMatch = o.Method == http.MethodPatch || o.Method == http.MethodDelete
	o.run = func(c *call) (response, error) {
		var in In
		var found Found
		lookUp := func() (err error) {
			if in, err = decode[In](c); err == nil {
				found, err = find(c, in)
			}
			return err
		}
		return o.runWrite(c, lookUp, func(tx *store.Tx) (any, error) { return fn(c, tx, in, found) })
	}
	return o
}

// runWrite calls lookUp and then, in a transaction, fn. It calls neither for a repeated request.
func (o *Operation) runWrite(c *call, lookUp func() error, fn func(*store.Tx) (any, error)) (a response, err error) {
	key, err := idempotencyKey(c)
	if err != nil {
		return response{}, err
	}
	if key != "" { // a repeated request is replayed without validating it again
		stored, found, err := c.storedResponse(key)
		if err != nil || found {
			return stored, err
		}
	}
	if err := lookUp(); err != nil {
		return response{}, err
	}
	err = c.api.Store.Update(c.request.Context(), c.principal.Org, c.actor(), func(tx *store.Tx) error {
		if key != "" {
			stored, found, err := c.api.responses.find(tx, key, c)
			if err != nil || found {
				a = stored
				return err
			}
		}
		out, err := fn(tx)
		if err != nil {
			return err
		}
		if a, err = o.response(c, out); err != nil || key == "" {
			return err
		}
		return c.api.responses.put(tx, key, c, a)
	})
	return a, err
}

// storedResponse returns the response to an earlier request with the same Idempotency-Key.
func (c *call) storedResponse(key string) (a response, found bool, err error) {
	err = c.api.Store.View(c.principal.Org, func(tx *store.Tx) (err error) {
		a, found, err = c.api.responses.find(tx, key, c)
		return err
	})
	return a, found, err
}

// byID adapts a function that takes the id in the first path parameter.
func byID[In, Out any](fn func(*call, *store.Tx, uuid.UUID, In) (Out, error)) func(*call, *store.Tx, In) (Out, error) {
	return func(c *call, tx *store.Tx, in In) (out Out, err error) {
		id, err := c.pathID(0)
		if err != nil {
			return out, err
		}
		return fn(c, tx, id, in)
	}
}

// pathID returns the id in the n-th path parameter. A value that is not an id is reported as not found.
func (c *call) pathID(n int) (uuid.UUID, error) {
	id, err := shape.ParseID(c.params[c.op.params[n]])
	if err != nil {
		return uuid.Nil, fault.ErrNotFound
	}
	return id, nil
}

// describe fills in the fields that follow from the input and output types of an operation. in and
// out are the zero values of these types.
func describe(o *Operation, in, out any, inType, outType reflect.Type) {
	switch v := in.(type) {
	case nothing:
		if o.Method == http.MethodPost {
			o.input = schemaSource{reflect.TypeFor[NoBody](), shape.CreateInput}
		}
	case interface{ source() schemaSource }:
		o.input = v.source()
	default:
		if o.Method == http.MethodGet || o.Method == http.MethodDelete {
			o.query = inType
		} else {
			o.input = schemaSource{inType, shape.CreateInput}
		}
	}
	switch v := out.(type) {
	case nothing, signedOut:
	case interface{ output() outputSource }:
		o.output = v.output()
	case interface{ RecordType() reflect.Type }:
		o.output, o.isVersioned = outputSource{typ: v.RecordType()}, true
		_, o.mayExist = v.(interface{ status() int })
	default:
		o.output = outputSource{typ: outType}
		_, o.isVersioned = v.(secretItem)
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
