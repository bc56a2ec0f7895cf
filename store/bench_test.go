package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// contact is a record of about 600 bytes of JSON.
type contact struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
	Title     string `json:"title"`
	Company   string `json:"company"`
	Domain    string `json:"domain"`
	Street    string `json:"street"`
	City      string `json:"city"`
	Country   string `json:"country"`
	LinkedIn  string `json:"linkedin"`
	Industry  string `json:"industry"`
	Notes     string `json:"notes"`
	Status    string `json:"status"`
}

// BenchmarkGroupCommit is what a transaction of the store costs beside a bare bbolt group committer that writes as
// many bytes under as many keys. The two take turns, so that both see the same disk. The bar is a ratio of 0.5.
func BenchmarkGroupCommit(b *testing.B) {
	const (
		records = 20_000
		writers = 64
		slices  = 6
		slice   = 500 * time.Millisecond
	)
	dir := b.TempDir()
	contacts := NewTable[contact]("contacts", nil, nil)
	s := open(b, dir, Options{})
	var ids []uuid.UUID
	for len(ids) < records {
		write(b, s, orgA, func(tx *Tx) error {
			for range 1000 {
				d, err := contacts.Insert(tx, tx.NewID(), newContact())
				if err != nil {
					return err
				}
				ids = append(ids, d.ID)
			}
			return nil
		})
	}
	ours := func() error {
		id, phone := ids[rand.IntN(records)], strconv.FormatUint(rand.Uint64(), 36)
		return s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
			d, err := contacts.Get(tx, id)
			if err != nil {
				return err
			}
			rec := d.Record
			rec.Phone = phone
			_, err = contacts.Update(tx, d, rec, []string{"phone"})
			return err
		})
	}

	var value, entry []byte // as long as ours are
	if err := ours(); err != nil {
		b.Fatal(err)
	}
	read(b, s, orgA, func(tx *Tx) error {
		value = append(value, tx.get("contacts.rec", ids[0][:])...)
		entry = append(entry, tx.get("contacts.log", numberKey(records+1))...)
		return nil
	})
	bare := newBareCommitter(b, filepath.Join(dir, "bare.db"), ids, value, entry)
	theirs := func() error { return bare.update(ids[rand.IntN(records)]) }

	run := func(update func() error) (done int64, took time.Duration) {
		var count atomic.Int64
		var wg sync.WaitGroup
		start := time.Now()
		for range writers {
			wg.Go(func() {
				for time.Since(start) < slice {
					if err := update(); err != nil {
						b.Error(err)
						return
					}
					count.Add(1)
				}
			})
		}
		wg.Wait()
		return count.Load(), time.Since(start)
	}
	for b.Loop() {
		run(theirs) // the files grow to their working size
		run(ours)
		var doneBare, doneOurs int64
		var tookBare, tookOurs time.Duration
		for range slices {
			done, took := run(theirs)
			doneBare, tookBare = doneBare+done, tookBare+took
			done, took = run(ours)
			doneOurs, tookOurs = doneOurs+done, tookOurs+took
		}
		rateBare, rateOurs := float64(doneBare)/tookBare.Seconds(), float64(doneOurs)/tookOurs.Seconds()
		b.Logf("bare %.0f updates/s, ours %.0f updates/s, ratio %.2f (records of %d bytes, log entries of %d)",
			rateBare, rateOurs, rateOurs/rateBare, len(value), len(entry))
		b.ReportMetric(rateBare, "bare/s")
		b.ReportMetric(rateOurs, "ours/s")
		b.ReportMetric(rateOurs/rateBare, "ratio")
	}
}

func newContact() contact {
	return contact{
		FirstName: randomText(10), LastName: randomText(12), Email: randomText(28), Phone: randomText(12),
		Title: randomText(30), Company: randomText(24), Domain: randomText(20), Street: randomText(30),
		City: randomText(14), Country: randomText(12), LinkedIn: randomText(50), Industry: randomText(24),
		Notes: randomText(130), Status: randomText(8),
	}
}

func randomText(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte("abcdefghijklmnopqrstuvwxyz "[rand.IntN(27)])
	}
	return b.String()
}

// bareCommitter is the least that shares commits between writers: a queue and one goroutine that commits it.
type bareCommitter struct {
	db      *bolt.DB
	mu      sync.Mutex
	arrived *sync.Cond
	queue   []bareUpdate
	closed  bool
	value   []byte
	entry   []byte
}

type bareUpdate struct {
	id   uuid.UUID
	done chan error
}

func newBareCommitter(b *testing.B, path string, ids []uuid.UUID, value, entry []byte) *bareCommitter {
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, InitialMmapSize: mmapSize})
	if err != nil {
		b.Fatal(err)
	}
	c := &bareCommitter{db: db, value: value, entry: entry}
	c.arrived = sync.NewCond(&c.mu)
	err = db.Update(func(btx *bolt.Tx) error {
		_, err1 := btx.CreateBucket([]byte("rec"))
		_, err2 := btx.CreateBucket([]byte("log"))
		return errors.Join(err1, err2)
	})
	for begin := 0; begin < len(ids) && err == nil; begin += 1000 {
		err = db.Update(func(btx *bolt.Tx) error {
			for _, id := range ids[begin : begin+1000] {
				if err := c.apply(btx, id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		b.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.loop()
	}()
	b.Cleanup(func() {
		c.mu.Lock()
		c.closed = true
		c.arrived.Signal()
		c.mu.Unlock()
		<-stopped
		db.Close()
	})
	return c
}

func (c *bareCommitter) update(id uuid.UUID) error {
	u := bareUpdate{id, make(chan error, 1)}
	c.mu.Lock()
	c.queue = append(c.queue, u)
	c.arrived.Signal()
	c.mu.Unlock()
	return <-u.done
}

func (c *bareCommitter) loop() {
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && !c.closed {
			c.arrived.Wait()
		}
		batch := c.queue
		c.queue = nil
		c.mu.Unlock()
		if batch == nil {
			return
		}
		err := c.db.Update(func(btx *bolt.Tx) error {
			for _, u := range batch {
				if err := c.apply(btx, u.id); err != nil {
					return err
				}
			}
			return nil
		})
		for _, u := range batch {
			u.done <- err
		}
	}
}

func (c *bareCommitter) apply(btx *bolt.Tx, id uuid.UUID) error {
	rec, log := btx.Bucket([]byte("rec")), btx.Bucket([]byte("log"))
	rec.FillPercent, log.FillPercent = 0.8, 1 // as ours
	n, err := log.NextSequence()
	return errors.Join(err, rec.Put(id[:], c.value), log.Put(numberKey(n), c.entry))
}
