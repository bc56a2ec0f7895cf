package openai

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"prospector/internal/catalog"
	"testing"
	"time"
)

// stalls are the ways in which a server delays a request until the client disconnects. Each calls
// stalled once the delay begins.
var stalls = map[string]func(w http.ResponseWriter, r *http.Request, stalled func()){
	"before the headers": func(w http.ResponseWriter, r *http.Request, stalled func()) {
		stalled()
		<-r.Context().Done()
	},
	"in the body": func(w http.ResponseWriter, r *http.Request, stalled func()) {
		io.WriteString(w, replyWith(trueReply)[:30])
		w.(http.Flusher).Flush()
		stalled()
		<-r.Context().Done()
	},
	"dripping": func(w http.ResponseWriter, r *http.Request, stalled func()) {
		stalled()
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-r.Context().Done():
				tick.Stop()
				return
			case <-tick.C:
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
			}
		}
	},
}

func TestTimeouts(t *testing.T) {
	for name, stall := range stalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := make(chan struct{}, maxTries)
			b := newTestServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				stall(w, r, func() {})
				left <- struct{}{}
			})
			b.model.o.Timeout = time.Second
			if got := b.ask(yesQuestion); got != failed("timeout") {
				t.Error(got)
			}
			b.mu.Lock()
			if len(b.asked) != maxTries || len(b.waits) != maxTries-1 {
				t.Errorf("asked %d times, waited %v", len(b.asked), b.waits)
			}
			b.mu.Unlock()
			for range maxTries {
				<-left // the server sees each client disconnect
			}
		})
	}
}

// TestContextEnds ends the context in each phase of a request. Research returns the error of the
// context at once and disconnects.
func TestContextEnds(t *testing.T) {
	c := &catalog.Company{Name: testCompany}
	ended := func(t *testing.T, b *testServer, ctx context.Context) {
		t.Helper()
		got, err := b.model.Research(ctx, yesQuestion, c)
		if !errors.Is(err, context.Canceled) || shown(t, got) != "" {
			t.Errorf("%s, %v", shown(t, got), err)
		}
		if b.log.Len() > 0 {
			t.Errorf("logged %s", b.log.String())
		}
	}
	for name, stall := range stalls {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan struct{})
			b := newTestServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				stall(w, r, cancel)
				close(left)
			})
			ended(t, b, ctx)
			<-left
		})
	}
	t.Run("in the last try", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newTestServer(t, func(n int, w http.ResponseWriter, r *http.Request) {
			if n < maxTries {
				writeStatus(w, http.StatusServiceUnavailable)
				return
			}
			cancel()
			<-r.Context().Done()
		})
		ended(t, b, ctx)
	})
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b := newTestServer(t, func(int, http.ResponseWriter, *http.Request) { t.Error("asked") })
		ended(t, b, ctx)
	})
	t.Run("while connecting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		greeted := make(chan net.Conn, 1)
		go func() { // it accepts the ClientHello and never answers
			conn, err := silent.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Read(make([]byte, 1))
			cancel()
			greeted <- conn
		}()
		b := newTestServer(t, func(int, http.ResponseWriter, *http.Request) { t.Error("asked") })
		b.model.url = "https://" + silent.Addr().String()
		ended(t, b, ctx)
		(<-greeted).Close() // otherwise net/http waits ten seconds for the connection, in case another request can use it
	})
	t.Run("while waiting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			writeStatus(w, http.StatusTooManyRequests)
		})
		b.model.o.Wait = func(ctx context.Context, d time.Duration) error {
			cancel()
			return sleep(ctx, d)
		}
		ended(t, b, ctx)
		if len(b.asked) != 1 {
			t.Errorf("asked %d times", len(b.asked))
		}
	})
}

func TestDefaults(t *testing.T) {
	if err := sleep(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	if o := New(Options{Now: time.Now}); o.o.Wait == nil || o.o.Timeout != defaultTimeout || o.o.Log == nil || !o.Costly() {
		t.Error("missing defaults")
	}
}
