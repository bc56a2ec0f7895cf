package apptest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// Asked is a request that a target received.
type Asked struct {
	Method, Path, Query, Body string
	Header                    http.Header
	Cookies                   int
	Encoding                  []string
}

// Target is an endpoint whose responses a test controls. The function answer receives the number of the
// request, starting at 1.
type Target struct {
	*httptest.Server
	State State // guards got
	got   []Asked
}

// NewTarget starts a target that stops at the end of the test.
func NewTarget(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *Target {
	to := &Target{}
	to.Server = httptest.NewServer(to.handler(answer))
	t.Cleanup(to.Close)
	return to
}

func (to *Target) handler(answer func(n int, w http.ResponseWriter, r *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var n int
		to.State.Change(func() {
			to.got = append(to.got, Asked{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header, len(r.Cookies()), r.TransferEncoding})
			n = len(to.got)
		})
		if answer != nil {
			answer(n, w, r)
		}
	})
}

// Asked returns the requests so far.
func (to *Target) Asked() (got []Asked) {
	to.State.Read(func() { got = slices.Clone(to.got) })
	return got
}

// Await waits until the target has received n requests.
func (to *Target) Await(t *testing.T, n int) {
	t.Helper()
	to.State.Wait(t, fmt.Sprintf("%d requests", n), func() bool { return len(to.got) >= n })
}
