package bench

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// bareCommitter is the minimum that makes the same bytes durable: one goroutine that commits all
// queued updates together. Each update puts a value the size of a record under its id and a value
// the size of a change-log entry under the next number.
type bareCommitter struct {
	db    *bolt.DB
	ids   []uuid.UUID
	size  int
	mu    sync.Mutex
	queue []chan error
	wake  chan struct{}
}

// The header of a stored value, and a change-log entry with its actor and one field.
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
