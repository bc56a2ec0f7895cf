package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
)

var heldKey = []byte("held")

// holdParts has the hold of an organization.
var holdParts = NewParts("held")

// Hold is why, and since when, outbound traffic waits for Resume.
type Hold struct {
	Since  time.Time // zero if nothing is held
	Reason HoldReason
}

// HoldReason is why outbound traffic is held. What it would be now was sent already, or will be: after the backup was taken,
// from the file of which this one is a copy, or by the other installation that has the organization.
type HoldReason string

const (
	HeldRestored HoldReason = "restored" // the store came out of a backup
	HeldCopied   HoldReason = "copied"   // the file is a copy of another one
	HeldImported HoldReason = "imported" // the organization is a copy of another one
	HeldMoved    HoldReason = "moved"    // the organization was exported in order to continue elsewhere
)

// hold records that outbound traffic waits for Resume.
func (tx *Tx) hold(reason HoldReason) { tx.put(metaShared, heldKey, tx.holdMark(reason)) }

func (tx *Tx) holdMark(reason HoldReason) []byte {
	return append(tx.now.AppendFormat(nil, time.RFC3339), " "+reason...)
}

// HoldOrganization records that what the transaction's organization sends waits for ReleaseOrganization.
func (tx *Tx) HoldOrganization(reason HoldReason) { holdParts.Put(tx, tx.org, 0, tx.holdMark(reason)) }

// OrganizationHold returns why the transaction's organization by itself is held, or "".
func (tx *Tx) OrganizationHold() HoldReason {
	_, reason, _ := strings.Cut(string(holdParts.Readable(tx, tx.org, 0)), " ")
	return HoldReason(reason)
}

// ReleaseOrganization ends the hold of the transaction's organization.
func (tx *Tx) ReleaseOrganization() {
	if len(holdParts.Readable(tx, tx.org, 0)) > 0 {
		holdParts.Put(tx, tx.org, 0, nil)
	}
}

// Held returns the hold of outbound traffic: that of the whole store or else that of the transaction's organization.
// The store only keeps the mark. Whatever sends must honor it: campaigns that of both, webhook deliveries that of the store.
func (tx *Tx) Held() (h Hold, err error) {
	v := tx.get(metaShared, heldKey)
	if v == nil {
		if v, err = holdParts.Get(tx, tx.org, 0); err != nil || len(v) == 0 {
			return h, err
		}
	}
	since, reason, hasReason := strings.Cut(string(v), " ")
	if h.Reason = HoldReason(reason); !hasReason { // of a store of an earlier version
		h.Reason = HeldRestored
	}
	h.Since, err = time.Parse(time.RFC3339, since)
	return h, err
}

// Held is Tx.Held in a transaction of its own, for the whole store.
func (s *Store) Held() (Hold, error) { return Read(s, uuid.Nil, (*Tx).Held) }

// Resume ends the hold of the whole store. It is idempotent.
func (s *Store) Resume(ctx context.Context) error {
	return s.Update(ctx, uuid.Nil, Actor{Operation: "resume"}, func(tx *Tx) error {
		if tx.get(metaShared, heldKey) != nil {
			tx.delete(metaShared, heldKey)
		}
		return nil
	})
}
