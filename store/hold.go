package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
)

const metaShared = sharedPrefix + "meta"

var heldKey = []byte("held")

// Hold is why, and since when, outbound traffic waits for Resume.
type Hold struct {
	Since  time.Time // zero if nothing is held
	Reason HoldReason
}

// HoldReason is why outbound traffic is held. What it would be now was sent already: after the backup was taken, or
// from the file of which this one is a copy.
type HoldReason string

const (
	HeldRestored HoldReason = "restored" // the store came out of a backup
	HeldCopied   HoldReason = "copied"   // the file is a copy of another one
)

// hold records that outbound traffic waits for Resume.
func (tx *Tx) hold(reason HoldReason) {
	tx.put(metaShared, heldKey, append(tx.now.AppendFormat(nil, time.RFC3339), " "+reason...))
}

// Held returns the hold of outbound traffic. The store only keeps the mark. Whatever sends (campaigns, webhook
// deliveries) must honor it.
func (tx *Tx) Held() (h Hold, err error) {
	v := tx.get(metaShared, heldKey)
	if v == nil {
		return h, nil
	}
	since, reason, hasReason := strings.Cut(string(v), " ")
	if h.Reason = HoldReason(reason); !hasReason { // of a store of an earlier version
		h.Reason = HeldRestored
	}
	h.Since, err = time.Parse(time.RFC3339, since)
	return h, err
}

// Held is Tx.Held in a transaction of its own.
func (s *Store) Held() (h Hold, err error) {
	err = s.View(uuid.Nil, func(tx *Tx) error {
		h, err = tx.Held()
		return err
	})
	return h, err
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
