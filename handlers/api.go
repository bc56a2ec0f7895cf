// Package handlers is the HTTP side of the service: one table of operations, strict decoding, envelopes, access, the
// rate limit, errors and the API document. It alone speaks of status codes; what an operation does is decided below.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/julienschmidt/httprouter"

	"prospector/index"
	"prospector/internal/console"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/internal/tam"
	"prospector/internal/webhook"
	"prospector/internal/worker"
	"prospector/store"
)

// Options are what the API is made of.
type Options struct {
	Store    *store.Store
	Index    *index.Engine
	Identity *identity.Identity
	CRM      *crm.CRM
	TAM      *tam.TAM
	Outreach *outreach.Outreach
	Webhooks *webhook.Webhooks
	Worker   *worker.Worker
	Log      *slog.Logger
	Version  string
	// RatePerMinute is the limit of organizations that have none of their own; 0 is none.
	RatePerMinute int
	// BodyBytes is the largest body that is read.
	BodyBytes int64
	// MetricsElsewhere leaves the metrics out of the table of operations: they are served by Metrics alone.
	MetricsElsewhere bool
}

// API serves the operations.
type API struct {
	Options
	operations []Operation
	router     *httprouter.Router
	rates      *rates
	answers    *answers
	document   func() []byte                // made when it is first asked for: most commands never show it
	docs       func() (console.Page, error) // shows the document
	draining   atomic.Bool
	metrics    *metrics
}

// New makes the API of a service.
func New(o Options) *API {
	a := &API{Options: o, rates: newRates(), answers: newAnswers()}
	a.operations = a.table()
	a.router = a.mount()
	a.document = sync.OnceValue(a.openAPI)
	a.docs = sync.OnceValues(func() (console.Page, error) { return console.Docs(a.document(), a.Version) })
	a.metrics = newMetrics(a)
	return a
}

// table is every operation there is.
func (a *API) table() []Operation {
	ops := slices.Concat(
		a.identityOperations(),
		a.crmOperations(),
		a.catalogOperations(),
		a.previewOperations(),
		a.importOperations(),
		a.audienceOperations(),
		a.templateOperations(),
		a.campaignOperations(),
		a.sequenceOperations(),
		a.unsubscribeOperations(),
		a.webhookOperations(),
		a.serviceOperations(),
		a.metricsOperation(),
	)
	return append(ops, schemaOperation(ops))
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
	a.metrics.inFlight.Inc()
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				sent.cut = true
				c.done(sent, time.Since(started))
				panic(p)
			}
			a.Log.Error("panic", "request_id", c.requestID, "operation", c.opName(), "panic", p, "stack", string(debug.Stack()))
			if sent.status == 0 {
				c.errorAnswer(c.internal()).write(sent)
			}
		}
		c.done(sent, time.Since(started))
	}()
	if underV1(r.URL.Path) {
		if err := c.admit(sent.Header()); err != nil {
			c.errorAnswer(err).write(sent)
			return
		}
	}
	routed := r.WithContext(context.WithValue(r.Context(), contextKey{}, c))
	if r.Method == http.MethodHead {
		routed.Method = http.MethodGet // in the copy alone: the server must know that it sends no body
	}
	a.router.ServeHTTP(sent, routed)
}

func underV1(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

// sentStatus remembers the status for the log and the metrics.
type sentStatus struct {
	http.ResponseWriter
	status int
	cut    bool // the answer was cut off
}

func (s *sentStatus) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *sentStatus) Unwrap() http.ResponseWriter { return s.ResponseWriter }
