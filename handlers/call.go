package handlers

import (
	"bytes"
	"cmp"
	"context"
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
	"prospector/internal/turn"
	"prospector/store"
)

// call is the state of one request while it is served.
type call struct {
	api       *API
	op        *Operation
	request   *http.Request
	writer    http.ResponseWriter
	requestID string
	principal identity.Principal
	work      *turn.Work // takes turns with that of other requests; nil for public operations
	admitted  bool       // it counts among the requests in progress
	params    map[string]string
	raw       []byte
	body      shape.Value
	query     shape.Value // the query parameters
	memory    bodyMemory  // what the body has of the parse budget
	code      fault.Code  // of the error response, if any, for the log
}

func (c *call) actor() store.Actor {
	return store.Actor{Key: c.principal.Key, User: c.principal.User, Operation: c.op.Name, RequestID: c.requestID}
}

// org returns the organization of the caller.
func (c *call) org() uuid.UUID { return c.principal.Org }

// apiKey returns the API key of a request. Authorization takes precedence over X-Prospector-Api-Key.
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

// serve checks access, reads the input and runs the operation.
func (c *call) serve() response {
	if err := c.mayRun(); err != nil {
		return c.errorResponse(err)
	}
	if err := c.readBody(); err != nil {
		return c.errorResponse(err)
	}
	if c.op.Access != Public {
		if err := c.readQuery(); err != nil {
			return c.errorResponse(err)
		}
	}
	if l := c.op.limiter; l != nil {
		if err := l.enter(c.request.Context(), c.org()); err != nil {
			return c.errorResponse(err)
		}
		defer l.leave(c.org())
	}
	c.work.Pause(c.request.Context())
	a, err := c.op.run(c)
	if err != nil {
		return c.errorResponse(err)
	}
	return a
}

// mayRun checks that the caller has the access that the operation requires.
func (c *call) mayRun() error {
	switch access := c.op.Access; {
	case access == Public && underV1(c.op.Path) && c.request.Header.Get("Origin") != "":
		return c.api.checkOrigin(c.request)
	case access == Public || access == SignedIn && c.principal.Session != uuid.Nil:
		return nil
	case access == SignedIn:
		return fault.New(fault.Forbidden, "the operation requires a session; an API key cannot perform it")
	case !c.principal.Access.Covers(access):
		return forbidden(access)
	}
	return nil
}

// readBody reads the body of an operation that takes one. A POST without a body counts as an empty
// object, so that missing fields are reported by name.
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
		// A body of unknown length may still be empty.
		if c.request.ContentLength < 0 && c.emptyBody() {
			return c.noBody()
		}
		return fault.New(fault.UnsupportedMediaType, "the request body must be application/json without a content encoding")
	}
	c.raw, err = c.readAll()
	var tooLarge *http.MaxBytesError
	var refused *fault.Error
	switch {
	case errors.As(err, &refused):
		return err
	case errors.As(err, &tooLarge):
		// A client that sends its whole request before it reads would otherwise never see the response.
		_, _ = io.CopyN(io.Discard, c.request.Body, maxDrain)
		return fault.New(fault.BodyTooLarge, "the request body must be at most %d bytes", c.api.BodyBytes)
	case err != nil:
		return fault.New(fault.InvalidJSON, "the request body is incomplete")
	case len(c.raw) == 0:
		return c.noBody()
	}
	if len(c.raw) >= smallBody { // parsing it takes long
		c.work.Queue()
	}
	c.work.Pause(c.request.Context())
	values, most := shape.CountValues(c.raw), cmp.Or(c.op.maxValues, defaultMaxValues)
	if values > most {
		return fault.New(fault.BodyTooLarge, "the request body must have at most %d JSON values", most)
	}
	if len(c.raw) >= smallBody {
		needed := 2*len(c.raw) + values*parsedValueBytes // parsing copies the texts
		if err := c.api.parseBudget.resize(c.request.Context(), &c.memory, int64(needed)); err != nil {
			return err
		}
	}
	c.body, err = shape.ReadObject(turn.Reader(c.request.Context(), bytes.NewReader(c.raw)))
	return cmp.Or(context.Cause(c.request.Context()), err)
}

// readAll reads the body. It waits for the parse budget before it reads more than smallBody.
func (c *call) readAll() ([]byte, error) {
	length, most := c.request.ContentLength, c.api.BodyBytes
	if length > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	body := http.MaxBytesReader(nil, c.request.Body, most)
	var b bytes.Buffer
	b.Grow(int(min(max(length, 0), smallBody)) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(body, smallBody)); err != nil || b.Len() < smallBody {
		return b.Bytes(), err
	}
	known := length >= 0
	if !known {
		length = most
	}
	c.memory.org = c.org()
	if err := c.api.parseBudget.resize(c.request.Context(), &c.memory, length); err != nil {
		return nil, err
	}
	if known {
		b.Grow(int(length) - b.Len() + bytes.MinRead)
	}
	_, err := b.ReadFrom(body)
	return b.Bytes(), err
}

// defaultMaxValues is the maximum number of JSON values in the body of an operation that sets no other.
const defaultMaxValues = 50_000

// maxDrain is how many bytes of an oversized body are read and discarded.
const maxDrain = 64 << 20

// noBody accepts a missing body for a POST, where the body is optional, and refuses it for a PATCH.
func (c *call) noBody() error {
	if c.op.Method == http.MethodPost {
		return nil
	}
	return fault.New(fault.InvalidJSON, "the request body is missing; it must be a JSON object")
}

func (c *call) emptyBody() bool {
	n, err := c.request.Body.Read(make([]byte, 1))
	return n == 0 && err == io.EOF
}

// done releases what the request occupied, updates the metrics and logs the request.
func (c *call) done(sent *sentStatus, took time.Duration) {
	if c.work != nil {
		c.work.End()
	}
	if c.admitted {
		c.api.concurrency.leave(c.org())
	}
	c.api.parseBudget.giveBack(&c.memory)
	c.api.metrics.inFlight.Dec()
	c.api.metrics.observe(c, sent, took)
	c.log(sent.status, took)
}

// path returns the path of the request for the log. Unsubscribe tokens are credentials and are left out.
func (c *call) path() string {
	if isRecipientPage(c.request.URL.Path) {
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
		attrs = append(attrs, "org", c.principal.Org)
		if c.principal.Session != uuid.Nil {
			attrs = append(attrs, "user", c.principal.User)
		} else {
			attrs = append(attrs, "key", c.principal.Key)
		}
	}
	c.api.Log.Info("request", attrs...)
}
