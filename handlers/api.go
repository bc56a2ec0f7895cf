// Package handlers is the HTTP side of the service: one table of operations, strict decoding, envelopes, access, the
// rate limit, errors and the API document. It alone speaks of status codes; what an operation does is decided below.
package handlers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
)

// Options are what the API is made of.
type Options struct {
	Store    *store.Store
	Index    *index.Engine
	Identity *identity.Identity
	CRM      *crm.CRM
	Log      *slog.Logger
	Version  string
	// RatePerMinute is the limit of organizations that have none of their own; 0 is none.
	RatePerMinute int
	// BodyBytes is the largest body that is read.
	BodyBytes int64
}

// API serves the operations.
type API struct {
	Options
	operations []Operation
	router     *httprouter.Router
	rates      *rates
	answers    *answers
	document   []byte
	draining   atomic.Bool
}

// New makes the API of a service.
func New(o Options) *API {
	a := &API{Options: o, rates: newRates(), answers: newAnswers()}
	a.operations = a.table()
	a.router = a.mount()
	a.document = a.openAPI()
	return a
}

// table is every operation there is.
func (a *API) table() []Operation {
	var ops []Operation
	for _, of := range []func() []Operation{
		a.identityOperations,
		a.accountOperations,
		a.contactOperations,
		a.tagOperations,
	} {
		ops = append(ops, of()...)
	}
	ops = append(ops, a.schemaOperation())
	return append(ops, a.serviceOperations()...)
}

// Operations is the table, for the tests that are made from it.
func (a *API) Operations() []Operation { return a.operations }

// Drain makes /readyz say that the service is going away.
func (a *API) Drain() { a.draining.Store(true) }

type contextKey struct{}

// ServeHTTP takes a request through the checks in their order: key, rate, path, access, and then the operation.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	c := &call{api: a, request: r, requestID: requestID(r)}
	w.Header().Set("X-Request-Id", c.requestID)
	sent := &sentStatus{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			a.Log.Error("panic", "request_id", c.requestID, "operation", c.opName(), "panic", p, "stack", string(debug.Stack()))
			if sent.status == 0 {
				c.errorAnswer(fault.New(fault.Internal, "something went wrong; the log has it under request id %s", c.requestID)).write(sent)
			}
		}
		c.log(sent.status, time.Since(started))
	}()
	if underV1(r.URL.Path) {
		if err := c.admit(sent.Header()); err != nil {
			c.errorAnswer(err).write(sent)
			return
		}
	}
	a.router.ServeHTTP(sent, r.WithContext(context.WithValue(r.Context(), contextKey{}, c)))
}

func underV1(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

// admit finds out who calls and takes one request from what the organization may make.
func (c *call) admit(h http.Header) error {
	p, err := c.api.Identity.Authenticate(apiKey(c.request))
	if err != nil {
		return err
	}
	c.principal = p
	limit := c.api.RatePerMinute
	if p.RateLimit.Valid {
		limit = int(p.RateLimit.Float)
	}
	return c.api.rates.take(p.Org, limit, c.api.Store.Now(), h)
}

// apiKey is the key of a request; Authorization wins over the header of our own.
func apiKey(r *http.Request) string {
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, key, _ := strings.Cut(auth, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return strings.TrimSpace(key)
	}
	return r.Header.Get("X-Prospector-Api-Key")
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); plainID.MatchString(id) {
		return id
	}
	return uuid.NewString()
}

// serve runs one operation for a request that reached it.
func (c *call) serve() answer {
	if c.op.Access != Public && !c.principal.Access.Covers(c.op.Access) {
		return c.errorAnswer(errForbidden(c.op.Access))
	}
	if err := c.readBody(); err != nil {
		return c.errorAnswer(err)
	}
	if c.op.Access != Public {
		for name := range c.request.URL.Query() {
			return c.errorAnswer(unknownParameter(name))
		}
	}
	a, err := c.op.run(c)
	if err != nil {
		return c.errorAnswer(err)
	}
	return a
}

// readBody reads the body of an operation that takes one. No body is the empty object: what is required is then
// missing by name.
func (c *call) readBody() error {
	if c.op.input.typ == nil {
		return nil
	}
	c.body = shape.Value{Kind: shape.Object}
	if c.request.Body == nil || c.request.ContentLength == 0 {
		return nil
	}
	media, _, err := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		// A body of unknown length may still turn out to be none.
		if c.request.ContentLength < 0 && c.emptyBody() {
			return nil
		}
		return fault.New(fault.UnsupportedMediaType, "the body must be application/json")
	}
	c.raw, err = io.ReadAll(http.MaxBytesReader(nil, c.request.Body, c.api.BodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fault.New(fault.BodyTooLarge, "the body must have at most %d bytes", c.api.BodyBytes)
	case err != nil:
		return fault.New(fault.InvalidJSON, "the body could not be read to its end")
	case len(c.raw) == 0:
		return nil
	}
	c.body, err = shape.ParseObject(c.raw)
	return err
}

func (c *call) emptyBody() bool {
	n, err := c.request.Body.Read(make([]byte, 1))
	return n == 0 && err == io.EOF
}

func (c *call) log(status int, took time.Duration) {
	attrs := []any{"request_id", c.requestID, "method", c.request.Method, "path", c.request.URL.Path, "status", status,
		"duration", took}
	if c.op != nil {
		attrs = append(attrs, "operation", c.op.Name)
	}
	if c.principal.Org != uuid.Nil {
		attrs = append(attrs, "org", c.principal.Org, "key", c.principal.Key)
	}
	c.api.Log.Info("request", attrs...)
}

// sentStatus remembers the status for the log.
type sentStatus struct {
	http.ResponseWriter
	status int
}

func (s *sentStatus) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *sentStatus) Unwrap() http.ResponseWriter { return s.ResponseWriter }
