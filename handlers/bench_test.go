package handlers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	benchWriters = 64
	benchRecords = 20_000
	benchSlice   = time.Second
	benchSlices  = 8
)

// BenchmarkUpdates measures durable updates of single contacts by 64 writers: in process, over HTTP, and beside both a
// bare bbolt group commit of the same bytes under the same number of keys. The three take turns in short slices of one
// run, so that whatever else the machine does falls on all of them.
func BenchmarkUpdates(b *testing.B) {
	app := apptest.New(b)
	org := app.Org("Acme")
	ids, size := benchContacts(b, app, org)

	bare := newBareCommitter(b, ids, size)
	subjects := []struct {
		name   string
		update func(n int) error
		done   int
	}{
		{name: "bare bbolt group commits", update: bare.update},
		{name: "in process", update: func(n int) error {
			return app.Store.Update(context.Background(), org.ID, store.Actor{Operation: "update_contact", RequestID: "bench"}, func(tx *store.Tx) error {
				_, err := app.CRM.Contacts.Update(tx, ids[rand.IntN(len(ids))], nil, benchBody(n))
				return err
			})
		}},
		{name: "over HTTP", update: overHTTP(app, org, ids)},
	}
	b.ResetTimer()
	for range benchSlices {
		for i := range subjects {
			n, err := slice(subjects[i].update)
			if err != nil {
				b.Fatal(err)
			}
			subjects[i].done += n
		}
	}
	b.StopTimer()
	fmt.Printf("\ndurable updates of single records of %d bytes, %d writers, %d records\n", size, benchWriters, len(ids))
	for _, s := range subjects {
		fmt.Printf("  %-26s %8.0f/s  %.2f of bare\n", s.name, float64(s.done)/(benchSlices*benchSlice.Seconds()), float64(s.done)/float64(subjects[0].done))
	}
	b.ReportMetric(float64(subjects[1].done)/float64(subjects[0].done), "in-process/bare")
	b.ReportMetric(float64(subjects[2].done)/float64(subjects[0].done), "http/bare")
}

// slice lets all writers update for a while and counts what they did.
func slice(update func(n int) error) (int, error) {
	var count atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	deadline := time.Now().Add(benchSlice)
	for range benchWriters {
		wg.Go(func() {
			for time.Now().Before(deadline) {
				if err := update(rand.Int()); err != nil {
					failed.Store(&err)
					return
				}
				count.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return int(count.Load()), nil
}

func benchBody(n int) shape.Value {
	return shape.Value{Kind: shape.Object, Members: []shape.Member{
		{Key: "title", Value: shape.Value{Kind: shape.String, Text: fmt.Sprintf("VP Operations %019d", n)}},
	}}
}

// benchContacts makes the records, and tells how large one is.
func benchContacts(b *testing.B, app *apptest.App, org *apptest.Org) (ids []uuid.UUID, size int) {
	for len(ids) < benchRecords {
		err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
			for range 1000 {
				n := len(ids)
				var doc store.Doc[crm.Contact]
				doc, err := app.CRM.Contacts.Create(tx, record.NewDraft[crm.Contact](apptest.Body(b, map[string]any{
					"first_name": "Bill", "last_name": fmt.Sprintf("Lumbergh %d", n), "email": fmt.Sprintf("bill.lumbergh.%d@initech.example", n),
					"title": fmt.Sprintf("VP Operations %019d", n), "phone_number": "+1 555 0100", "linkedin_url": fmt.Sprintf("https://linkedin.example/in/bill-lumbergh-%d", n),
					"location": "Austin, Texas", "notes": "Met at the fair in spring; wants the reports with the new cover sheet.", "scoring": map[string]string{"heat_score": "warm"},
				})))
				if err != nil {
					return err
				}
				ids, size = append(ids, doc.ID), len(doc.JSON)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return ids, size
}

func overHTTP(app *apptest.App, org *apptest.Org, ids []uuid.UUID) func(int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchWriters}}
	return func(n int) error {
		body := fmt.Sprintf(`{"title": "VP Operations %019d"}`, n)
		req, err := http.NewRequest("PATCH", app.URL+"/v1/contacts/"+ids[rand.IntN(len(ids))].String(), bytes.NewBufferString(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+org.Write.Key)
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
			return fmt.Errorf("%s: %v", res.Status, err)
		}
		return nil
	}
}

// bareCommitter is the least that makes the same bytes durable: one goroutine that commits whatever queued up. Each
// update puts a value of a record's size under its id and one of a change-log entry's size under the next number.
type bareCommitter struct {
	db    *bolt.DB
	ids   []uuid.UUID
	size  int
	mu    sync.Mutex
	queue []chan error
	wake  chan struct{}
}

// The head of a stored value, and a change-log entry with its actor and one field.
const (
	valueHead = 15
	entrySize = 4 + 65 + 3 + len("update_contact") + len("bench") + len("title")
)

func newBareCommitter(b *testing.B, ids []uuid.UUID, size int) *bareCommitter {
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, InitialMmapSize: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	c := &bareCommitter{db: db, ids: ids, size: size + valueHead, wake: make(chan struct{}, 1)}
	err = db.Update(func(tx *bolt.Tx) error {
		records, err := tx.CreateBucket([]byte("records"))
		if err != nil {
			return err
		}
		records.FillPercent = 0.8
		for _, id := range ids {
			if err := records.Put(id[:], make([]byte, c.size)); err != nil {
				return err
			}
		}
		_, err = tx.CreateBucket([]byte("log"))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go c.loop(stop, stopped)
	b.Cleanup(func() {
		close(stop)
		<-stopped
		db.Close()
	})
	return c
}

func (c *bareCommitter) update(int) error {
	done := make(chan error, 1)
	c.mu.Lock()
	c.queue = append(c.queue, done)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return <-done
}

func (c *bareCommitter) loop(stop, stopped chan struct{}) {
	defer close(stopped)
	for {
		select {
		case <-stop:
			return
		case <-c.wake:
		}
		c.mu.Lock()
		batch := c.queue
		c.queue = nil
		c.mu.Unlock()
		err := c.db.Update(func(tx *bolt.Tx) error {
			records, log := tx.Bucket([]byte("records")), tx.Bucket([]byte("log"))
			log.FillPercent = 1
			for range batch {
				id := c.ids[rand.IntN(len(c.ids))]
				if err := records.Put(id[:], make([]byte, c.size)); err != nil {
					return err
				}
				n, err := log.NextSequence()
				if err != nil {
					return err
				}
				if err := log.Put(binary.BigEndian.AppendUint64(nil, n), make([]byte, entrySize)); err != nil {
					return err
				}
			}
			return nil
		})
		for _, done := range batch {
			done <- err
		}
	}
}
