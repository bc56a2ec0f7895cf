package bench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"
)

// BenchmarkUpdates measures updates of one field over HTTP with different numbers of clients. One and 16
// clients are compared with SQLite behind a thin handler, 64 with bare bbolt group commits.
func BenchmarkUpdates(b *testing.B) {
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t := newTenant(b, s, "Updated", 60)
	ids := load(b, s, t, size(b), 1)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	_, public, err := contactOf(s, t.id, ids[0])
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(s.API)
	b.Cleanup(server.Close)
	lite := newLite(b, s.Store, t.id)
	lite.exec(b, "PRAGMA synchronous = FULL")
	thin := httptest.NewServer(lite.handler(b))
	b.Cleanup(thin.Close)

	ours := overHTTP(server.URL, t, ids)
	for _, c := range []struct {
		clients int
		name    string
		theirs  func(int) error
		least   float64
	}{
		{1, "SQLite with full sync behind a thin handler", overHTTP(thin.URL, t, ids), 0.9},
		{16, "SQLite with full sync behind a thin handler", overHTTP(thin.URL, t, ids), 2},
		{64, "bare bbolt group commits", newBareCommitter(b, ids, len(public)).update, 0.25},
	} {
		var rates [2][]float64
		for range 5 {
			for i, update := range []func(int) error{ours, c.theirs} {
				rates[i] = append(rates[i], updateRate(b, c.clients, update))
				if err := s.Index.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		}
		for i := range rates {
			slices.Sort(rates[i])
		}
		ratio := rates[0][2] / rates[1][2]
		fmt.Printf("updates over HTTP, %d clients: %.0f/s; %s: %.0f/s; ratio %.2f, target %.2f %s\n",
			c.clients, rates[0][2], c.name, rates[1][2], ratio, c.least, verdict(ratio >= c.least))
	}
}

// updateRate runs updates with concurrent clients for two seconds and returns how many there were per
// second.
func updateRate(b *testing.B, clients int, update func(int) error) float64 {
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range clients {
		wg.Go(func() {
			for time.Since(start) < 2*time.Second {
				if err := update(int(done.Add(1))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(start).Seconds()
}

// handler returns a thin handler that changes the title of a contact, in its document and in its column.
func (l *lite) handler(b *testing.B) http.Handler {
	prepare := func(query string) *sql.Stmt {
		s, err := l.db.Prepare(query)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	read := prepare("SELECT doc FROM contacts WHERE id = ?")
	write := prepare("UPDATE contacts SET title = ?, doc = ? WHERE id = ?")
	update := func(id uuid.UUID, body []byte) (doc []byte, err error) {
		var contact, change map[string]any
		if err := json.Unmarshal(body, &change); err != nil {
			return nil, err
		}
		tx, err := l.db.Begin()
		if err != nil {
			return nil, err
		}
		defer func() { _ = tx.Rollback() }()
		if err := tx.Stmt(read).QueryRow(id[:]).Scan(&doc); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(doc, &contact); err != nil {
			return nil, err
		}
		contact["title"] = change["title"]
		contact["updated_at"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		if doc, err = json.Marshal(contact); err != nil {
			return nil, err
		}
		if _, err := tx.Stmt(write).Exec(strings.ToLower(fmt.Sprint(change["title"])), doc, id[:]); err != nil {
			return nil, err
		}
		return doc, tx.Commit()
	}
	router := httprouter.New()
	router.PATCH("/v1/contacts/:id", func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		body, err := io.ReadAll(r.Body)
		id, bad := uuid.Parse(p.ByName("id"))
		if err == nil && bad == nil {
			body, err = update(id, body)
		}
		if err != nil || bad != nil {
			http.Error(w, "failed", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	return router
}
