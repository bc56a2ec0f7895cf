package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/store"
)

const (
	// noted is the number of records of each table.
	noted = 10_000
	// noteSize is how much more there is in a record, as much as a contact has.
	noteSize = 800
)

// note is a record with one field that changes.
type note struct {
	Title string `json:"title"`
	Rest  string `json:"rest"`
}

// notes is a table of a store.
type notes struct {
	b     *testing.B
	st    *store.Store
	table *store.Table[note]
	org   uuid.UUID
	ids   []uuid.UUID
}

// BenchmarkHistory compares updates in a table whose history has values with those in a table whose history has only
// names of fields, and the sizes of their change logs. The values have up to 200 characters, and 200 in the second run.
func BenchmarkHistory(b *testing.B) {
	for _, least := range []int{1, 200} {
		dir := b.TempDir()
		st, err := store.Open(dir, store.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		org := uuid.Must(uuid.NewV7())
		names := newNotes(b, st, org, store.NewTable[note]("names", nil, nil))
		values := newNotes(b, st, org, store.NewTable[note]("values", nil, nil).KeepsValues())
		fmt.Printf("\nvalues of %d to 200 characters\n", least)
		for _, clients := range []int{1, 16, 64} {
			var updates comparison
			for range 15 {
				with, without := values.update(clients, least), names.update(clients, least)
				updates.note(with, without)
			}
			updates.print(fmt.Sprintf("updates by %d clients, with values and with names", clients), 1.18)
		}
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		with, without := logSize(b, dir, "values.log"), logSize(b, dir, "names.log")
		ratio := float64(with) / float64(without)
		fmt.Printf("change log: %.1f and %.1f MB, ratio %.2f, target 2 %s\n", float64(with)/1e6, float64(without)/1e6, ratio, verdict(ratio <= 2))
	}
}

func newNotes(b *testing.B, st *store.Store, org uuid.UUID, table *store.Table[note]) *notes {
	n := &notes{b: b, st: st, table: table, org: org}
	err := st.Update(context.Background(), org, store.Actor{Operation: "load"}, func(tx *store.Tx) error {
		for range noted {
			id := uuid.Must(uuid.NewV7())
			n.ids = append(n.ids, id)
			if _, err := table.Insert(tx, id, note{Title: "x", Rest: strings.Repeat("r", noteSize)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// update updates records with concurrent clients and returns how long one of them takes on average.
func (n *notes) update(clients, least int) time.Duration {
	by := store.Actor{
		Operation: "update_contact", RequestID: uuid.NewString(), Key: uuid.New(), User: uuid.New(),
	}
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range clients {
		wg.Go(func() {
			for time.Since(start) < time.Second/2 {
				id := n.ids[done.Add(1)%noted]
				err := n.st.Update(context.Background(), n.org, by, func(tx *store.Tx) error {
					old, err := n.table.Get(tx, id)
					if err != nil {
						return err
					}
					rec := old.Record
					rec.Title = sentence(least + rand.IntN(201-least))
					_, err = n.table.Update(tx, old, rec, []string{"title"})
					return err
				})
				if err != nil {
					n.b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start) / time.Duration(done.Load())
}

// sentence returns a text of so many characters.
func sentence(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz     "[rand.IntN(31)]
	}
	return string(b)
}

// logSize returns the bytes of the keys and values of a change log.
func logSize(b *testing.B, dir, name string) (size int) {
	db, err := bolt.Open(filepath.Join(dir, store.FileName), 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var walk func(bucket *bolt.Bucket, counts bool) error
	walk = func(bucket *bolt.Bucket, counts bool) error {
		return bucket.ForEach(func(key, value []byte) error {
			if value == nil {
				return walk(bucket.Bucket(key), string(key) == name)
			}
			if counts {
				size += len(key) + len(value)
			}
			return nil
		})
	}
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(key []byte, bucket *bolt.Bucket) error { return walk(bucket, string(key) == name) })
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}
