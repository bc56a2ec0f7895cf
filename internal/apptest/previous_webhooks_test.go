package apptest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestDeliveriesOfPreviousBuild opens a store whose events were queued for their subscriptions in the commit of
// the change. What is pending is delivered, each event once, along with new events.
func TestDeliveriesOfPreviousBuild(t *testing.T) {
	dir, keys := unpackFixture(t, "format-4")
	p := openPreviousBuild(t, dir, keys)
	p.checked(t, "at first")
	var mu sync.Mutex
	got := map[string][]string{} // by path: the trigger and the first name, in order of arrival
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		event := &Response{t: t, Body: body}
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = append(got[r.URL.Path], event.Text("trigger_key")+" "+event.Text("data.first_name"))
	}))
	defer endpoint.Close()
	if err := p.Store.Resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.acme.Post("/v1/contacts", `{"first_name": "Samir", "email": "samir@initech.example"}`).Is(201)
	for id, subscription := range p.acme.records("/v1/webhooks/subscriptions/list", "") {
		path := subscription["url"].(string)
		path = path[strings.LastIndexByte(path, '/'):]
		p.acme.Patch("/v1/webhooks/subscriptions/"+id, map[string]string{"url": endpoint.URL + path, "status": "active"}).Is(200)
	}
	p.Deliver()
	mu.Lock()
	defer mu.Unlock()
	for path, want := range map[string][]string{
		"/failing": {"contact.created Bill", "contact.created Milton", "contact.created Peter", "contact.created Samir", "contact.updated Bill"},
		"/paused":  {"contact.created Bill", "contact.created Milton", "contact.created Peter"},
	} {
		slices.Sort(got[path])
		if !slices.Equal(got[path], want) {
			t.Errorf("%s received %q, want %q", path, got[path], want)
		}
	}
	if n, err := p.Webhooks.Pending(); err != nil || n != 0 {
		t.Errorf("%d deliveries are pending: %v", n, err)
	}
	p.checked(t, "at the end")
}
