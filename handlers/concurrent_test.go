package handlers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// stalledWriter is a response whose client reads nothing until it is released.
type stalledWriter struct {
	*httptest.ResponseRecorder
	begun, release chan struct{}
}

func (w *stalledWriter) Write(b []byte) (int, error) {
	select {
	case w.begun <- struct{}{}:
	default:
	}
	<-w.release
	return w.ResponseRecorder.Write(b)
}

// Half-sent bodies and exports that nobody reads occupy the requests of their own organization only. Further
// requests of it wait their turn, and are refused after a second.
func TestConcurrentRequests(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Limits.ConcurrentRequests = 2 })
	org, other := app.Org("Acme"), app.Org("Umbrella")
	org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201)
	const body = `{"email": "b@x.example"}`
	half := sendSlowly(t, app, org, int64(len(body)))
	half.write(body[:5])
	req := httptest.NewRequest("POST", "/v1/contacts/export", strings.NewReader("{}"))
	req.Header = http.Header{"Authorization": {"Bearer " + org.Read.Key}, "Content-Type": {"application/json"}}
	export := &stalledWriter{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		app.API.ServeHTTP(export, req)
	}()
	apptest.Receive(t, export.begun, "the first part of the export")

	refused := org.Read.Get("/v1/me").Fails(429, "rate_limited", "2 requests of the organization are in progress")
	if got := refused.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	other.Read.Get("/v1/me").Is(200)
	waiting := make(chan int, 1)
	go func() {
		res := httptest.NewRecorder()
		req := httptest.NewRequest("GET", "/v1/me", nil)
		req.Header.Set("Authorization", "Bearer "+org.Read.Key)
		app.API.ServeHTTP(res, req)
		waiting <- res.Code
	}()
	close(export.release)
	apptest.Receive(t, ended, "the end of the export")
	if got := apptest.Receive(t, waiting, "the request that waited"); got != 200 {
		t.Errorf("the request that waited is answered %d", got)
	}
	half.write(body[5:])
	half.Close()
	if got := apptest.Receive(t, half.answer, "the response to the slow body"); got != 201 {
		t.Errorf("the slow body is answered %d", got)
	}
}

// heldSimulation is the context of a request. The simulation waits when it first looks whether its caller has gone,
// until it is released.
type heldSimulation struct {
	context.Context
	once           sync.Once
	begun, release chan struct{}
}

func (h *heldSimulation) Done() <-chan struct{} {
	h.wait()
	return h.Context.Done()
}

func (h *heldSimulation) Err() error {
	h.wait()
	return h.Context.Err()
}

func (h *heldSimulation) wait() {
	if isCalledBy("outreach.(*Outreach).Simulate") {
		h.once.Do(func() {
			close(h.begun)
			<-h.release
		})
	}
}

// isCalledBy reports whether the function, given by the end of its name, is among the callers.
func isCalledBy(name string) bool {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, name) || !more {
			return more
		}
	}
}

// Two simulations of an organization may run at the same time. A third one is refused after a second, and other
// requests and other organizations are not affected.
func TestConcurrentSimulations(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	request := func(org *apptest.Org) (path, body string) {
		contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
		return "/v1/campaigns/" + apptest.NewCampaign(org, "active") + "/simulate", `{"contact_ids": ["` + contact + `"]}`
	}
	simulate, body := request(org)
	theirs, of := request(other)
	var ended [2]chan int
	release := make(chan struct{})
	end := sync.OnceFunc(func() { close(release) })
	t.Cleanup(end)
	for i := range ended {
		h := &heldSimulation{Context: t.Context(), begun: make(chan struct{}), release: release}
		req := httptest.NewRequestWithContext(h, "POST", simulate, strings.NewReader(body))
		req.Header = http.Header{"Authorization": {"Bearer " + org.Read.Key}, "Content-Type": {"application/json"}}
		ended[i] = make(chan int, 1)
		go func() {
			res := httptest.NewRecorder()
			app.API.ServeHTTP(res, req)
			ended[i] <- res.Code
		}()
		apptest.Receive(t, h.begun, "the simulation")
	}

	refused := org.Read.Post(simulate, body).Fails(429, "rate_limited", "2 simulations of the organization are in progress")
	if got := refused.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	org.Read.Get("/v1/me").Is(200)
	other.Read.Post(theirs, of).Is(200)
	end()
	for i := range ended {
		if got := apptest.Receive(t, ended[i], "the end of a simulation"); got != 200 {
			t.Errorf("simulation %d is answered %d", i, got)
		}
	}
	org.Read.Post(simulate, body).Is(200)
}
