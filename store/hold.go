package store

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

var heldKey = []byte("held")

const metaShared = sharedPrefix + "meta"

// hold puts all jobs that reach outside, also those that come, into a queue that nobody takes from, until Resume.
func (tx *Tx) hold() error {
	tx.put(metaShared, heldKey, tx.now.AppendFormat(nil, time.RFC3339))
	_, err := tx.requeue(dueShared, heldShared)
	return err
}

// Held is since when the store holds jobs; zero when it does not.
func (s *Store) Held() (since time.Time, err error) {
	err = s.View(uuid.Nil, func(tx *Tx) error {
		if v := tx.get(metaShared, heldKey); v != nil {
			since, err = time.Parse(time.RFC3339, string(v))
		}
		return err
	})
	return since, err
}

// Resume lets go what the store holds, and tells how many jobs that were.
func (s *Store) Resume(ctx context.Context) (jobs int, err error) {
	err = s.Update(ctx, uuid.Nil, Actor{Operation: "resume"}, func(tx *Tx) error {
		tx.delete(metaShared, heldKey)
		tx.enqueued = true
		jobs, err = tx.requeue(heldShared, dueShared)
		return err
	})
	return jobs, err
}

// requeue moves the jobs that reach outside from one queue to another.
func (tx *Tx) requeue(from, to string) (moved int, err error) {
	err = tx.scan(from, nil, func(k, _ []byte) (bool, error) {
		if from == dueShared {
			_, org, id := readDueKey(k)
			j, err := newTx(tx.store, tx.btx, org).Job(id)
			if err != nil || !tx.outward(j.Kind) {
				return err == nil, err
			}
		}
		k = bytes.Clone(k)
		tx.delete(from, k)
		tx.put(to, k, nil)
		moved++
		return true, nil
	})
	return moved, err
}

// queue is where a job of the kind stands.
func (tx *Tx) queue(kind string) string {
	if tx.outward(kind) && tx.get(metaShared, heldKey) != nil {
		return heldShared
	}
	return dueShared
}

func (tx *Tx) outward(kind string) bool { return slices.Contains(tx.store.opt.Outward, kind) }
