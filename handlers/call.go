package handlers

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
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
	code      fault.Code // of the error it was answered with, for the log
}

func (c *call) actor() store.Actor {
	return store.Actor{Key: c.principal.Key, User: c.principal.User, Operation: c.op.Name, RequestID: c.requestID}
}

// org is the organization of the caller.
func (c *call) org() uuid.UUID { return c.principal.Org }

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
	return uuid.Must(uuid.NewV7()).String()
}

// serve runs one operation for a request that reached it.
func (c *call) serve() answer {
	if c.op.Access != Public && !c.principal.Access.Covers(c.op.Access) {
		return c.errorAnswer(forbidden(c.op.Access))
	}
	if err := c.readBody(); err != nil {
		return c.errorAnswer(err)
	}
	if c.op.Access != Public {
		if err := c.readQuery(); err != nil {
			return c.errorAnswer(err)
		}
	}
	a, err := c.op.run(c)
	if err != nil {
		return c.errorAnswer(err)
	}
	return a
}

// readBody reads the body of an operation that takes one. No body on a POST is the empty object: what is required is
// then missing by name.
func (c *call) readBody() error {
	if c.op.input.typ == nil {
		return nil
	}
	c.body = shape.Value{Kind: shape.Object}
	if c.request.Body == nil || c.request.ContentLength == 0 {
		return c.noBody()
	}
	media, _, err := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	encoding := c.request.Header.Get("Content-Encoding")
	if err != nil || media != "application/json" || encoding != "" && encoding != "identity" {
		// A body of unknown length may still turn out to be none.
		if c.request.ContentLength < 0 && c.emptyBody() {
			return c.noBody()
		}
		return fault.New(fault.UnsupportedMediaType, "the body must be application/json, without an encoding")
	}
	c.raw, err = io.ReadAll(http.MaxBytesReader(nil, c.request.Body, c.api.BodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		// A caller who writes all before it reads would else never see the answer.
		_, _ = io.CopyN(io.Discard, c.request.Body, drainMost)
		return fault.New(fault.BodyTooLarge, "the body must have at most %d bytes", c.api.BodyBytes)
	case err != nil:
		return fault.New(fault.InvalidJSON, "the body could not be read to its end")
	case len(c.raw) == 0:
		return c.noBody()
	}
	c.body, err = shape.ParseObject(c.raw)
	return err
}

// drainMost bounds what is read of a body that is too large.
const drainMost = 64 << 20

// noBody is the empty object for a POST, whose body may be left out; a PATCH says what is to change.
func (c *call) noBody() error {
	if c.op.Method == http.MethodPost {
		return nil
	}
	return fault.New(fault.InvalidJSON, "the body must be one JSON object: there is none")
}

func (c *call) emptyBody() bool {
	n, err := c.request.Body.Read(make([]byte, 1))
	return n == 0 && err == io.EOF
}

// done counts and logs a request that was answered.
func (c *call) done(sent *sentStatus, took time.Duration) {
	c.api.metrics.inFlight.Dec()
	c.api.metrics.answered(c, sent, took)
	c.log(sent.status, took)
}

// path is that of the request for the log. One that lets whoever knows it do something is not written there.
func (c *call) path() string {
	if isForPeople(c.request.URL.Path) {
		return unsubscribePath + "{token}"
	}
	return c.request.URL.Path
}

func (c *call) log(status int, took time.Duration) {
	attrs := []any{"request_id", c.requestID, "method", c.request.Method, "path", c.path(), "status", status,
		"duration_ms", float64(took.Microseconds()) / 1000}
	if c.op != nil {
		attrs = append(attrs, "operation", c.op.Name)
	}
	if c.code != "" {
		attrs = append(attrs, "code", c.code)
	}
	if c.principal.Org != uuid.Nil {
		attrs = append(attrs, "org", c.principal.Org, "key", c.principal.Key)
	}
	c.api.Log.Info("request", attrs...)
}
