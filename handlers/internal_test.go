package handlers

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/bulk"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/imports"
	"prospector/internal/operation"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/tam"
	"prospector/internal/webhook"
	"prospector/internal/worker"
	"prospector/store"
)

// newAPI returns an API over an empty store, for states that no request can cause.
func newAPI(t *testing.T, log *bytes.Buffer) *API {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kinds := &record.Set{}
	users, records := identity.New(st, kinds, identity.SessionTimes{}), crm.New(kinds, nil)
	market, previews, files, operations := catalog.New(nil), tam.NewTables(), imports.NewTables(), operation.New(st, kinds)
	reach := outreach.New(st, kinds, users, records)
	sequences := sequence.New(st, users, records, reach, sequence.Options{})
	hooks, err := webhook.New(st, kinds, nil, webhook.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lists, err := index.Open(st, slices.Concat(kinds.Lists(), market.Lists(), previews.Lists(), sequences.Lists(), []*index.Kind{files.List, operations.List}), index.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lists.Close()
		st.Close()
	})
	return New(Options{
		Store: st, Index: lists, Identity: users, CRM: records, Catalog: market, TAM: tam.New(st, lists, previews, operations, market, users, records, tam.Options{}), Outreach: reach, Sequences: sequences, Webhooks: hooks, Bulk: bulk.New(st, operations), OperationLog: operations, Imports: imports.New(st, files, operations, records, imports.Settings{}), Worker: worker.New(st, slog.New(slog.DiscardHandler), nil),
		Log: slog.New(slog.NewTextHandler(log, nil)), BodyBytes: 1 << 20, LinkBase: func() string { return "" },
	})
}

func TestPanic(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, &log)
	a.operations = append(a.operations, withoutTx(Operation{Name: "panic", Method: http.MethodGet, Path: "/panic"}, func(*call, nothing) (Health, error) {
		panic("secret detail")
	}))
	a.router = a.mount()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/panic", nil)
	r.Header.Set("X-Request-Id", "r-1")
	a.ServeHTTP(w, r)
	want := `{"error":{"code":"internal","message":"internal error; the server log has details under request id r-1"}}`
	if w.Code != http.StatusInternalServerError || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "secret detail") || !strings.Contains(log.String(), "status=500") {
		t.Error(log.String())
	}
}

// TestDamagedForThePublic checks that an operation that needs no key reveals no id of a damaged record.
func TestDamagedForThePublic(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, &log)
	id := uuid.New()
	a.operations = append(a.operations, withoutTx(Operation{Name: "read", Method: http.MethodGet, Path: "/read"}, func(*call, nothing) (Health, error) {
		return Health{}, store.MissingRecord("messages", id)
	}))
	a.router = a.mount()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/read", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"damaged"`) || strings.Contains(w.Body.String(), id.String()) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), id.String()) {
		t.Errorf("the log does not name the record: %s", &log)
	}
}

// TestListWhileBuilding checks the response to a list that needs an index that is being built.
func TestListWhileBuilding(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, &log)
	a.operations = append(a.operations, withoutTx(Operation{Name: "read", Method: http.MethodGet, Path: "/read"}, func(*call, nothing) (Health, error) {
		return Health{}, whileBuilding(&index.BuildingError{Entity: "contacts", Indexed: 30_000, Records: 90_000})
	}))
	a.router = a.mount()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/read", nil))
	want := `{"error":{"code":"unavailable","message":"the index of contacts is being built: 30000 of 90000 records are indexed; until then only the default order without filters is available"}}`
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != want || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// TestClientDisconnects checks that a client that disconnects while its request waits causes no
// error in the log.
func TestClientDisconnects(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, &log)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &call{api: a, op: &a.operations[0], request: httptest.NewRequest(http.MethodPost, "/v1/contacts", nil).WithContext(ctx)}
	err := a.Store.Update(ctx, uuid.New(), store.Actor{}, func(*store.Tx) error { return nil })
	if got := c.errorResponse(err); got.status != http.StatusServiceUnavailable || log.Len() != 0 {
		t.Errorf("%d %s; logged %s", got.status, got.body, log.String())
	}
}

// TestStoredResponsesAreBounded stores more responses than an organization may have. The oldest are
// removed, and expired ones first.
func TestStoredResponsesAreBounded(t *testing.T) {
	if maxStoredResponses != 100_000 || responseRetention != 24*time.Hour {
		t.Error("the limits differ from the documented ones")
	}
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	st, err := store.Open(t.TempDir(), store.Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	kept := newResponseStore()
	kept.max = 3
	org := uuid.New()
	request := func(key string) *call {
		return &call{request: httptest.NewRequest(http.MethodPost, "/v1/contacts", nil), raw: []byte(key)}
	}
	keep := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			err := st.Update(t.Context(), org, store.Actor{}, func(tx *store.Tx) error {
				return kept.put(tx, key, request(key), response{status: 201, body: []byte(key)})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	wantFound := func(want ...string) {
		t.Helper()
		var all []string
		err := st.Update(t.Context(), org, store.Actor{}, func(tx *store.Tx) error {
			for i := range 9 {
				key := strconv.Itoa(i)
				a, ok, err := kept.find(tx, key, request(key))
				if err != nil {
					return err
				}
				if ok && string(a.body) == key {
					all = append(all, key)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(all, want) {
			t.Errorf("found %q, want %q", all, want)
		}
	}
	keep("1", "2", "3")
	wantFound("1", "2", "3")
	keep("4", "5")
	wantFound("3", "4", "5")
	now = now.Add(responseRetention)
	keep("6")
	err = st.View(org, func(tx *store.Tx) error {
		if n := kept.table.Count(tx); n != 2 { // 3 and 4 were removed; the next sweep removes 5
			t.Errorf("%d responses are stored, want 2", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFound("6")
}

func TestRateWindows(t *testing.T) {
	r, org := newRateLimiter(), uuid.New()
	start := time.Date(2026, 3, 2, 9, 0, 0, 250e6, time.UTC)
	h := http.Header{}
	if err := r.allow(org, 1, start, h); err != nil || h.Get("X-RateLimit-Reset") != strconv.FormatInt(start.Unix()+61, 10) {
		t.Errorf("X-RateLimit-Reset of a window that ends within a second = %s (error %v)", h.Get("X-RateLimit-Reset"), err)
	}
	if err := r.allow(org, 1, start.Add(-time.Hour), h); err != nil {
		t.Errorf("unexpected result after the clock was set back: %v", err)
	}
	for range 100 {
		_ = r.allow(uuid.New(), 1, start, h)
	}
	_ = r.allow(org, 1, start.Add(2*time.Minute), h)
	if len(r.windows) != 1 {
		t.Errorf("%d windows are stored, want 1", len(r.windows))
	}
}
