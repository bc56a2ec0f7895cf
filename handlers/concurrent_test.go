package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
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
