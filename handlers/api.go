// Package handlers is the HTTP layer of the service. It owns the table of operations and everything
// derived from it: routing, access checks, strict decoding of requests, response envelopes, the rate
// limit, idempotent replays, error responses, request metrics and the OpenAPI document. It is the only
// package that uses HTTP status codes. What an operation does is decided by the feature packages below;
// handlers must not contain business rules.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/julienschmidt/httprouter"

	"prospector/index"
	"prospector/internal/bulk"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/erasure"
	"prospector/internal/identity"
	"prospector/internal/imports"
	"prospector/internal/operation"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/tam"
	"prospector/internal/turn"
	"prospector/internal/undo"
	"prospector/internal/webhook"
	"prospector/internal/worker"
	"prospector/store"
)

// Options contains the components that the API serves, and its limits.
type Options struct {
	Store     *store.Store
	Index     *index.Engine
	Kinds     *record.Set
	Identity  *identity.Identity
	CRM       *crm.CRM
	Catalog   *catalog.Catalog
	TAM       *tam.TAM
	Imports   *imports.Imports
	Outreach  *outreach.Outreach
	Sequences *sequence.Engine
	Webhooks  *webhook.Webhooks
	Bulk      *bulk.Bulk

	OperationLog *operation.Operations
	Undos        *undo.Undos
	Erasures     *erasure.Erasures
	Worker       *worker.Worker
	Scheduler    *turn.Scheduler
	Log          *slog.Logger
	Version      string
	// RatePerMinute is the rate limit of organizations without a limit of their own. 0 means no limit.
	RatePerMinute int
	// BodyBytes is the maximum size of a request body.
	BodyBytes int64
	// ImportBytes is the maximum size of a file that is imported.
	ImportBytes int64
	// ParseBytes is the memory for request bodies, over all requests. 0 means no limit.
	ParseBytes int64
	// ConcurrentRequests is how many requests of an organization may be in progress. 0 means no limit.
	ConcurrentRequests int
	// ListTime is how long a list may take. 0 means no limit.
	ListTime time.Duration
	// LinkBase returns the address at which browsers reach the service, without a slash at its end.
	LinkBase func() string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// SeparateMetrics removes the metrics from the table of operations. Only Metrics serves them then.
	SeparateMetrics bool
}

// API serves the operations.
type API struct {
	Options
	operations  []Operation
	router      *httprouter.Router
	rateLimiter *rateLimiter
	concurrency *concurrencyLimiter
	responses   *responseStore
	parseBudget *parseBudget
	document    func() *asset                     // the OpenAPI document, built on first use
	docs        func() (map[string]*asset, error) // the pages under /docs by name, built on first use
	app         func() (*app, error)              // the console, built on first use
	draining    atomic.Bool
	preparing   atomic.Pointer[string]
	metrics     *metrics
}

// New returns the API of a service.
func New(o Options) *API {
	a := &API{
		Options: o, rateLimiter: newRateLimiter(), concurrency: newConcurrencyLimiter(o.ConcurrentRequests, "requests"),
		responses: newResponseStore(), parseBudget: newParseBudget(o.ParseBytes),
	}
	a.operations = a.table()
	a.router = a.mount()
	a.document = sync.OnceValue(func() *asset { return newAsset("application/json", a.openAPI()) })
	a.docs = sync.OnceValues(a.renderDocs)
	a.app = sync.OnceValues(newApp)
	a.metrics = newMetrics(a)
	return a
}

// table returns all operations.
func (a *API) table() []Operation {
	ops := slices.Concat(
		a.identityOperations(), a.sessionOperations(),
		[]Operation{a.indexOperation(), a.searchOperation()},
		a.crmOperations(), a.useOperations(),
		a.catalogOperations(),
		a.previewOperations(),
		a.importOperations(), a.fileImportOperations(),
		a.audienceOperations(),
		a.templateOperations(),
		a.campaignOperations(),
		a.sequenceOperations(), a.mailOperations(),
		a.unsubscribeOperations(),
		a.webhookOperations(),
		a.operationOperations(), a.erasureOperations(),
		a.serviceOperations(),
		a.metricsOperation(),
	)
	return append(ops, schemaOperation(ops))
}

// Operations returns the table of operations. Tests are generated from it.
func (a *API) Operations() []Operation { return a.operations }

// Drain makes /readyz report that the service is shutting down, and closes connections after their response.
func (a *API) Drain() { a.draining.Store(true) }

// SetPreparing makes /readyz report what the service is doing before it is ready. An empty text means that it
// is ready.
func (a *API) SetPreparing(text string) { a.preparing.Store(&text) }

type contextKey struct{}

// ServeHTTP checks the credential of a request under /v1, the rate limit and the number of requests in progress,
// and routes it. The operation then checks the access.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	c := &call{api: a, request: r, requestID: requestID(r)}
	w.Header().Set("X-Request-Id", c.requestID)
	if c.isSecure() {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	if a.draining.Load() {
		w.Header().Set("Connection", "close")
	}
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
				c.errorResponse(c.internal()).write(sent)
			}
		}
		c.done(sent, time.Since(started))
	}()
	if isAppPath(r.URL.Path) {
		c.serveApp(sent)
		return
	}
	if underV1(r.URL.Path) && !a.isPublic(r) {
		if err := c.admit(sent.Header()); err != nil {
			c.errorResponse(err).write(sent)
			return
		}
		var ctx context.Context
		ctx, c.work = a.Scheduler.Start(r.Context(), c.org())
		r = r.WithContext(ctx)
		c.request, sent.work = r, c.work
	}
	routed := r.WithContext(context.WithValue(r.Context(), contextKey{}, c))
	if r.Method == http.MethodHead {
		routed.Method = http.MethodGet // only in the copy: the server must still see HEAD to omit the body
	}
	a.router.ServeHTTP(sent, routed)
}

func underV1(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

// sentStatus records the status that was sent, for the log and the metrics.
type sentStatus struct {
	http.ResponseWriter
	work   *turn.Work // of the request; nil before it is admitted
	status int
	cut    bool // the response was aborted after its beginning was sent
}

// Write sends a part of a response. A client that reads slowly takes no place from other work.
func (s *sentStatus) Write(b []byte) (int, error) {
	s.work.Block()
	return s.ResponseWriter.Write(b)
}

func (s *sentStatus) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *sentStatus) Unwrap() http.ResponseWriter { return s.ResponseWriter }
