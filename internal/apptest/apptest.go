// Package apptest runs the whole service in tests: the real store, index and HTTP server on a temporary
// directory and a free port, with a clock that the test moves. It validates every request and response
// against the API document. It may import any package; only tests import it.
package apptest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// App is a running service.
type App struct {
	*service.Service
	URL   string
	Clock *Clock
	Log   *Log // the output of the service's logger

	t        testing.TB
	server   *httptest.Server
	document *document
}

// Log collects log output. A test can read it while the service writes to it.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Config returns the settings of tests: no rate limit, and small request bodies.
func Config(dir string) service.Config {
	cfg := service.Config{Addr: "127.0.0.1:0", DataDir: dir}
	cfg.Log.Level, cfg.Log.Format = "info", "text"
	cfg.Limits.BodyBytes, cfg.Limits.ImportBytes, cfg.Limits.ParseBytes = 1<<20, 64<<20, 256<<20
	cfg.Limits.ShutdownTime = time.Minute
	cfg.Index.CacheBytes = 64 << 20
	cfg.Sequences.Speed = 1
	cfg.Research.UnitRate, cfg.TAM.Retention = 2.5, 90*24*time.Hour
	cfg.Trash.Retention, cfg.Imports.Retention = 30*24*time.Hour, 30*24*time.Hour
	w := &cfg.Webhooks
	w.AllowPrivateNetworks, w.Timeout, w.Retention, w.MaxPending, w.Concurrency = true, time.Minute, 30*24*time.Hour, 100_000, 64
	w.RetrySchedule = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour}
	return cfg
}

// parallel are the names of the tests that run in parallel with others.
var parallel sync.Map

// New starts a service on an empty directory. The change functions may alter its settings first. The
// service stops at the end of the test. A test runs in parallel with others from its first service on,
// a subtest only if it says so.
func New(t testing.TB, change ...func(*service.Config)) *App {
	t.Helper()
	if t, isTest := t.(*testing.T); isTest && !strings.Contains(t.Name(), "/") {
		if _, again := parallel.LoadOrStore(t.Name(), true); !again {
			t.Parallel()
		}
	}
	cfg := Config(t.TempDir())
	for _, c := range change {
		c(&cfg)
	}
	a := &App{t: t, Clock: &Clock{now: Start}, Log: &Log{}}
	a.Service = &service.Service{Config: cfg}
	a.Start()
	t.Cleanup(a.Stop)
	return a
}

// Start starts a service that was stopped, on the same directory.
func (a *App) Start() {
	a.t.Helper()
	s, err := service.Open(a.Config, service.Options{Log: slog.New(slog.NewTextHandler(a.Log, nil)), Clock: a.Clock.Now, NoSync: true})
	if err != nil {
		a.t.Fatal(err)
	}
	a.Service = s
	a.server = httptest.NewServer(s.API)
	a.URL = a.server.URL
	s.LinkBase = cmp.Or(s.LinkBase, a.URL)
	a.document = loadDocument(a.t, a.URL, s.API.Operations())
}

// Stop stops the service.
func (a *App) Stop() {
	a.t.Helper()
	a.server.Close()
	if err := a.Close(); err != nil {
		a.t.Error(err)
	}
}

// Crash stops the service without a graceful shutdown, so that pending state is not persisted.
func (a *App) Crash() {
	a.t.Helper()
	a.server.Close()
	a.Index.Close()
	if err := a.Store.Close(); err != nil {
		a.t.Error(err)
	}
}

// Work runs the background jobs that are due. No other goroutine runs jobs, so the test controls when
// they run.
func (a *App) Work() {
	a.t.Helper()
	if err := a.Sequences.ExtendClock(context.Background()); err != nil {
		a.t.Error(err)
	}
	a.Worker.Once(context.Background())
}

// Deliver makes the webhook deliveries that are due. No other goroutine delivers.
func (a *App) Deliver() {
	a.t.Helper()
	a.Webhooks.Sender.Once(context.Background())
}

// Restart stops the service and starts it again.
func (a *App) Restart() {
	a.t.Helper()
	a.Stop()
	a.Start()
}

// Org is an organization with a client for each access level.
type Org struct {
	ID                 uuid.UUID
	User               uuid.UUID
	Read, Write, Admin Client
	app                *App
}

// Org creates an organization with one user. Its sending window is the whole day, so that tests of other
// features need not care when it is.
func (a *App) Org(name string) *Org {
	a.t.Helper()
	ctx := context.Background()
	doc, err := a.Identity.CreateOrganization(ctx, store.Actor{}, Body(a.t, map[string]any{
		"name": name, "sending_window": map[string]any{"from_hour": 0, "to_hour": 24},
	}))
	if err != nil {
		a.t.Fatal(err)
	}
	o := &Org{ID: doc.ID, app: a}
	err = a.Store.Update(ctx, o.ID, store.Actor{}, func(tx *store.Tx) error {
		user, err := a.Identity.Users.Create(tx, record.NewDraft[identity.User](Body(a.t, map[string]any{"email": "ada@" + slug(name) + ".example", "first_name": "Ada", "last_name": "Marsh"})))
		if err != nil {
			return err
		}
		o.User = user.ID
		for access, client := range map[identity.Access]*Client{identity.Read: &o.Read, identity.Write: &o.Write, identity.Admin: &o.Admin} {
			_, key, err := a.Identity.CreateKey(tx, record.NewDraft[identity.Key](Body(a.t, map[string]any{"name": string(access), "access": string(access)})))
			if err != nil {
				return err
			}
			*client = Client{app: a, Key: key}
		}
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return o
}

func slug(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "-", "/", "-").Replace(name))
}

// Body returns v as the decoded body of a request.
func Body(t testing.TB, v any) shape.Value {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	value, err := shape.ParseObject(b)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Dump returns everything that the store contains of the organization, for comparison.
func (o *Org) Dump() string {
	o.app.t.Helper()
	s, err := o.app.Store.Dump(o.ID)
	if err != nil {
		o.app.t.Fatal(err)
	}
	return s
}

// Anonymous returns a client without an API key.
func (a *App) Anonymous() Client { return Client{app: a} }

// Session returns a client with a session of the organization's first user, as the console has one.
func (o *Org) Session() Client {
	o.app.t.Helper()
	var link identity.Link
	err := o.app.Store.Update(context.Background(), o.ID, store.Actor{}, func(tx *store.Tx) (err error) {
		link, err = o.app.Identity.Invite(tx, o.User)
		return err
	})
	if err != nil {
		o.app.t.Fatal(err)
	}
	return o.app.Redeem(link.Token)
}

// Redeem returns a client with the session that a one-time link opens.
func (a *App) Redeem(token string) Client {
	a.t.Helper()
	return Client{app: a, Cookie: a.Anonymous().Post("/v1/sessions/redeem", map[string]string{"token": token}).Is(201).Cookie()}
}

// Client makes requests with one API key or session. It fails its test if a request or response does not
// conform to the API document.
type Client struct {
	Key    string
	Cookie string // of a session, with its name
	app    *App
	t      testing.TB // nil means the test of the app
}

// In returns a client whose failures belong to the subtest t.
func (c Client) In(t testing.TB) Client {
	c.t = t
	return c
}

// URL returns the address of a path.
func (c Client) URL(path string) string { return c.app.URL + path }

// Get, Delete, Post and Patch make a request. A body is JSON text, a Form, or a value to encode.
func (c Client) Get(path string) *Response { return c.Do(http.MethodGet, path, nil) }

func (c Client) Delete(path string) *Response { return c.Do(http.MethodDelete, path, nil) }

func (c Client) Post(path string, body any) *Response { return c.Do(http.MethodPost, path, body) }

func (c Client) Patch(path string, body any) *Response { return c.Do(http.MethodPatch, path, body) }

// Do makes a request with additional headers, given as names and values. An empty value removes a header.
func (c Client) Do(method, path string, body any, headers ...string) *Response {
	t := c.t
	if t == nil {
		t = c.app.t
	}
	t.Helper()
	var raw []byte
	contentType := "application/json"
	switch b := body.(type) {
	case nil:
	case Form:
		raw, contentType = b.encode()
	case string:
		raw = []byte(b)
	case []byte:
		raw = b
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequest(method, c.app.URL+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if raw != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if c.Cookie != "" {
		req.Header.Set("Cookie", c.Cookie)
		req.Header.Set("X-Prospector-Console", "1")
		if method != http.MethodGet {
			req.Header.Set("Origin", c.app.URL)
		}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.app.server.Client().Do(req) // the default client loses its connections whenever another test closes a server
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := &Response{Status: res.StatusCode, Header: res.Header, Body: answer, Trailer: res.Trailer, t: t, what: method + " " + path + " " + string(raw)}
	if err := c.app.validate(req, raw, r, shouldValidate); err != nil {
		t.Fatal(err)
	}
	return r
}

// Object decodes a JSON object. It panics if the text is not one.
func Object(text string) map[string]any {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(err)
	}
	return object
}

// UnsubscribePath returns the path of the unsubscribe link in a message. The API never shows it.
func (o *Org) UnsubscribePath(message string) string {
	var contact uuid.UUID // none if the message is damaged
	for _, id := range o.Read.Post("/v1/outbox/list", fmt.Sprintf(`{"filters": [{"field": "id", "condition": "is", "value": %q}]}`, message)).Is(200).Column("contact_id") {
		contact = uuid.MustParse(id)
	}
	link := o.app.Sequences.UnsubscribeLink(o.ID, uuid.MustParse(message), contact)
	return link[strings.LastIndex(link, "/u/"):]
}

// Footer returns what the default mail footer adds to a message of the organization with the name.
func (a *App) Footer(name string) string {
	return "\n\n" + name + "\nUnsubscribe: " + a.URL + "/u/[hidden]"
}

// Work calls App.Work.
func (o *Org) Work() { o.app.Work() }

// Catalog calls App.Catalog.
func (o *Org) Catalog(companies []catalog.Company, people []catalog.Person) {
	o.app.Catalog(companies, people)
}
