package openai

import (
	"bytes"
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

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
)

// No log line and no reason may contain testKey and testCompany.
const (
	testKey     = "sk-secret-hunter2"
	testCompany = "Wonka Industries"
)

var yesQuestion = research.Question{Text: "Do they sell to companies?", Type: crm.BooleanField}

// testServer replaces the model by a server on loopback. It collects the requests, the waits and
// the log.
type testServer struct {
	t      *testing.T
	server *httptest.Server
	model  *Provider
	now    time.Time

	mu    sync.Mutex
	asked []receivedRequest
	waits []time.Duration
	log   bytes.Buffer
}

// receivedRequest is a request that the server received.
type receivedRequest struct {
	path   string
	from   string
	header http.Header
	receivedBody
}

type receivedBody struct {
	Model       string
	Messages    []message
	Temperature *float64
	Format      *struct {
		Type   string
		Schema json.RawMessage `json:"json_schema"`
	} `json:"response_format"`
}

// form describes what the request demands besides its messages.
func (a receivedRequest) form() string {
	form := "plain"
	if a.Format != nil {
		form = a.Format.Type
	}
	if a.Temperature != nil {
		form += fmt.Sprint(" ", *a.Temperature)
	}
	return form
}

// newTestServer serves the handler, which receives the number of the request, from 1.
func newTestServer(t *testing.T, handler func(n int, w http.ResponseWriter, r *http.Request)) *testServer {
	t.Helper()
	b := &testServer{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := receivedRequest{path: r.URL.Path, from: r.RemoteAddr, header: r.Header.Clone()}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &asked.receivedBody)
		}
		if err != nil {
			t.Errorf("request body: %v: %s", err, body)
		}
		b.mu.Lock()
		b.asked = append(b.asked, asked)
		n := len(b.asked)
		b.mu.Unlock()
		handler(n, w, r)
	}))
	b.model = New(Options{
		BaseURL: b.server.URL + "/v1", Model: "small", APIKey: testKey, Timeout: time.Minute,
		Log: slog.New(slog.NewTextHandler(b, nil)), Wait: b.wait, Now: func() time.Time { return b.now },
	})
	t.Cleanup(func() {
		b.model.client.CloseIdleConnections()
		b.server.Close()
		for _, secret := range []string{testKey, testCompany, strings.TrimPrefix(b.server.URL, "http://"), "chocolate"} {
			if strings.Contains(b.log.String(), secret) {
				t.Errorf("the log contains %q: %s", secret, b.log.String())
			}
		}
	})
	return b
}

func (b *testServer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(line)
}

func (b *testServer) wait(ctx context.Context, d time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = append(b.waits, d)
	return ctx.Err()
}

// ask asks about a company and returns the Qualification as JSON without nulls.
func (b *testServer) ask(q research.Question) string {
	b.t.Helper()
	got, err := b.model.Research(b.t.Context(), q, &catalog.Company{ID: "1", Name: testCompany, Description: "They make chocolate."})
	if err != nil {
		b.t.Fatal(err)
	}
	return shown(b.t, got)
}

func shown(t *testing.T, q research.Qualification) string {
	t.Helper()
	var shown []string
	for _, part := range []struct {
		key   string
		value any
	}{{"answer", q.Answer}, {"confidence", q.Confidence}, {"evidence", q.Evidence}, {"source", q.Source}, {"status", q.Status}, {"reason", q.Reason}} {
		if text := quoteJSON(part.value); text != "null" {
			shown = append(shown, part.key+" "+text)
		}
	}
	return strings.Join(shown, ", ")
}

// forms returns the forms of the requests since the last call.
func (b *testServer) forms() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var forms []string
	for _, a := range b.asked {
		forms = append(forms, a.form())
	}
	b.asked = nil
	return strings.Join(forms, ", ")
}

func failed(reason string) string {
	return fmt.Sprintf(`status "failed", reason %q`, reason)
}

// replyWith is the reply of a model that writes content, which is marshaled.
func replyWith(content any) string {
	return replyEnding(content, "stop")
}

func replyEnding(content any, finish string) string {
	b, _ := json.Marshal(content)
	return `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","refusal":null,"content":` + string(b) + `},"finish_reason":"` + finish + `"}],"usage":{"total_tokens":9}}`
}

const trueReply = `{"answer": true, "confidence": 0.75, "evidence": "Their shop says so."}`

// trueShown is the Qualification of trueReply.
const trueShown = `answer true, confidence 0.75, evidence "Their shop says so.", source "openai:small"`
