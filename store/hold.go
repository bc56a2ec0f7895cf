package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

const metaShared = sharedPrefix + "meta"

var heldKey = []byte("held")

// hold records that outbound traffic waits for Resume.
func (tx *Tx) hold() { tx.put(metaShared, heldKey, tx.now.AppendFormat(nil, time.RFC3339)) }

// Held returns the time since which outbound traffic is held, or the zero time if it is not. A store that came out
// of a backup is held until Resume: most of what it would send was sent after the backup was taken. The store only
// keeps the mark. Whatever sends (campaigns, webhook deliveries) must honor it.
func (s *Store) Held() (since time.Time, err error) {
	err = s.View(uuid.Nil, func(tx *Tx) error {
		if v := tx.get(metaShared, heldKey); v != nil {
			since, err = time.Parse(time.RFC3339, string(v))
		}
		return err
	})
	return since, err
}

// Resume ends the hold. It is idempotent.
func (s *Store) Resume(ctx context.Context) error {
	return s.Update(ctx, uuid.Nil, Actor{Operation: "resume"}, func(tx *Tx) error {
		if tx.get(metaShared, heldKey) != nil {
			tx.delete(metaShared, heldKey)
		}
		return nil
	})
}
