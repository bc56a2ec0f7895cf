package handlers

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRequestsInFlight checks that a request counts as in flight until it ends, in whatever way.
func TestRequestsInFlight(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, &log)
	shows := func(line string) {
		t.Helper()
		text, err := a.metricsText()
		if err != nil || !strings.Contains(string(text.body), line+"\n") {
			t.Errorf("%v, no %s in\n%s", err, line, text.body)
		}
	}
	for name, end := range map[string]func(){
		"ends": func() {}, "panics": func() { panic("no") }, "is_cut_off": func() { panic(http.ErrAbortHandler) },
	} {
		a.operations = append(a.operations, withoutTx(Operation{Name: name, Method: http.MethodGet, Path: "/" + name}, func(*call, nothing) (Health, error) {
			shows("prospector_http_requests_in_flight 1")
			end()
			return Health{}, nil
		}))
	}
	a.router = a.mount()
	for _, name := range []string{"ends", "panics", "is_cut_off"} {
		func() {
			defer func() { _ = recover() }()
			a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/"+name, nil))
		}()
		shows("prospector_http_requests_in_flight 0")
	}
	for name, status := range map[string]string{"ends": "200", "panics": "500", "is_cut_off": "cut_off"} {
		shows(fmt.Sprintf(`prospector_http_request_duration_seconds_count{operation="%s",status="%s"} 1`, name, status))
	}
}

// TestMetricsOfABrokenStore checks that a component that cannot be read is logged and the others
// are shown.
func TestMetricsOfABrokenStore(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, &log)
	if err := a.Store.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, metricsPath, nil))
	text := w.Body.String()
	if w.Code != http.StatusOK || strings.Contains(text, "prospector_store_") || !strings.Contains(text, "prospector_index_open 0") || !strings.Contains(text, "go_goroutines") {
		t.Errorf("%d %s", w.Code, text)
	}
	if !strings.Contains(log.String(), "reading some metrics failed") {
		t.Error(log.String())
	}
}
