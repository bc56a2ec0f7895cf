package apptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Happening is an expected event: its trigger and its data, byte for byte.
type Happening [2]string

// WantsExactly requires exactly these events, in this order.
func (r *Receiver) WantsExactly(what string, want []Happening) {
	r.t.Helper()
	var got []Happening
	for _, h := range r.Take() {
		e := h.Event(r.t)
		got = append(got, Happening{e.TriggerKey, string(e.Data)})
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			r.t.Errorf("%s: event %d: got\n%v\nwant\n%v", what, i, got[min(i, len(got)):], want[min(i, len(want)):])
			return
		}
	}
}

// ReadEvent returns an event with a record as GET shows it now.
func ReadEvent(o *Org, trigger, path string) Happening {
	return Happening{trigger, string(DataOf(o.Read.Get(path).Is(200)))}
}

// SubscriptionsPath is the path of webhook subscriptions.
const SubscriptionsPath = "/v1/webhooks/subscriptions"

// Hook is a request that a receiver got.
type Hook struct {
	Header http.Header
	Body   string
	Path   string
}

// Receiver is the endpoint of a subscriber. answer, if set, replaces the 200 response. Requests to
// a path with a known secret are verified by an independent library.
type Receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []Hook
	answer  http.HandlerFunc
	secrets map[string]string // by path
	t       *testing.T
}

// NewReceiver starts a receiver that stops at the end of the test.
func NewReceiver(t *testing.T) *Receiver {
	r := &Receiver{secrets: map[string]string{}, t: t}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		h := Hook{req.Header, string(body), req.URL.Path}
		r.mu.Lock()
		r.got = append(r.got, h)
		answer, secret := r.answer, r.secrets[h.Path]
		r.mu.Unlock()
		if secret != "" {
			if err := h.Verifies(secret); err != nil {
				t.Errorf("%s %v: %v", h.Path, h.Header, err)
			}
		}
		if answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// All returns all requests since the last Take.
func (r *Receiver) All() []Hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Hook{}, r.got...)
}

// Take returns the requests since the last call, in the order of the events.
func (r *Receiver) Take() []Hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	slices.SortStableFunc(got, func(a, b Hook) int { return strings.Compare(a.Event(r.t).ID, b.Event(r.t).ID) })
	return got
}

// One returns the only request since the last call.
func (r *Receiver) One() Hook {
	r.t.Helper()
	got := r.Take()
	if len(got) != 1 {
		r.t.Fatalf("%d deliveries arrived, want one: %v", len(got), got)
	}
	return got[0]
}

// Answers makes the receiver respond with a status.
func (r *Receiver) Answers(status int) {
	r.AnswersWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// AnswersWith makes the receiver respond with a handler.
func (r *Receiver) AnswersWith(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Subscribe subscribes a new path of the receiver.
func (r *Receiver) Subscribe(o *Org, triggers ...string) (id string) {
	r.t.Helper()
	r.mu.Lock()
	path := fmt.Sprintf("/%d", len(r.secrets))
	r.mu.Unlock()
	res := o.Admin.Post(SubscriptionsPath, map[string]any{"url": r.URL + path, "triggers": triggers}).Is(201)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = res.Text("data.secret")
	return res.ID()
}

// Wants requires exactly these requests since the last call: the path, the trigger, and the name of
// the object.
func (r *Receiver) Wants(what string, names map[string]string, want ...string) {
	r.t.Helper()
	var got []string
	for _, h := range r.Take() {
		e := h.Event(r.t)
		var object struct{ ID string }
		if err := json.Unmarshal(e.Data, &object); err != nil {
			r.t.Fatal(err)
		}
		name := object.ID
		for n, id := range names {
			if id == object.ID {
				name = n
			}
		}
		got = append(got, strings.TrimSpace(h.Path+" "+e.TriggerKey+" "+name))
	}
	if !slices.Equal(Sorted(got), Sorted(want)) {
		r.t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(Sorted(got), "\n"), strings.Join(Sorted(want), "\n"))
	}
}

// Event is an envelope as a subscriber decodes it.
type Event struct {
	ID         string          `json:"id"`
	TriggerKey string          `json:"trigger_key"`
	CreatedAt  string          `json:"created_at"`
	OrgID      string          `json:"org_id"`
	UserID     string          `json:"user_id"`
	Changed    []string        `json:"changed"`
	Data       json.RawMessage `json:"data"`
}

// Event decodes the envelope.
func (h Hook) Event(t *testing.T) (e Event) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.Body), &e); err != nil {
		t.Fatalf("%s: %v", h.Body, err)
	}
	return e
}

// Verifies verifies the signature, ignoring the time.
func (h Hook) Verifies(secret string) error {
	v, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return v.VerifyIgnoringTimestamp([]byte(h.Body), h.Header)
}

// Signatures returns the number of signatures.
func (h Hook) Signatures() int { return len(strings.Fields(h.Header.Get("webhook-signature"))) }

// HasPending requires that n deliveries are pending.
func HasPending(t *testing.T, app *App, want int) {
	t.Helper()
	if got, err := app.Webhooks.Pending(); got != want || err != nil {
		t.Errorf("%d deliveries wait, want %d: %v", got, want, err)
	}
}
