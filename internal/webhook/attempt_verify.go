package webhook

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// storedAttempts are the attempts of a subscription, and whether their counters and numbers agree with them.
type storedAttempts struct {
	subscription uuid.UUID
	counters     *store.Doc[attemptCounters] // nil if they are missing
	attempts     []storedAttempt
	isSound      bool
}

type storedAttempt struct {
	subject
	Attempt
}

// verifyAttempts compares the attempts of each subscription with their counters and their numbers by status and event.
// In an Update it numbers the attempts again if they differ. It does so only if all attempts can be read.
func (w *Webhooks) verifyAttempts(tx *store.Tx, report store.Report) error {
	subscriptions, err := w.attempts.all.Owners(tx)
	if err != nil {
		return err
	}
	err = w.Subscriptions.Table.Scan(tx, func(d store.Doc[Subscription]) (bool, error) {
		subscriptions = append(subscriptions, d.ID)
		return true, nil
	})
	if err == nil {
		err = w.counters.Scan(tx, func(d store.Doc[attemptCounters]) (bool, error) {
			subscriptions = append(subscriptions, d.ID)
			return true, nil
		})
	}
	slices.SortFunc(subscriptions, store.CompareIDs)
	damaged, isSound := 0, true
	var all []storedAttempts
	for _, id := range slices.Compact(subscriptions) {
		if err != nil {
			return err
		}
		var stored storedAttempts
		var n int
		stored, n, err = w.readStored(tx, id)
		if !tx.Writable() {
			stored.attempts = nil
		}
		all, damaged, isSound = append(all, stored), damaged+n, isSound && stored.isSound
	}
	if err != nil || isSound || damaged > 0 { // damage was reported
		return err
	}
	for i := range all {
		if !all[i].isSound {
			report(tx.Writable(), "webhook attempts: those of subscription %s do not match their counters", all[i].subscription)
		}
	}
	if !tx.Writable() {
		return nil
	}
	if err := w.attempts.byEvent.DeleteAll(tx); err != nil { // it has no order by subscription
		return err
	}
	for i := range all {
		if err := w.renumber(tx, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// readStored reads the attempts of a subscription, and returns the number of those that are damaged. Damaged counters
// count as well.
func (w *Webhooks) readStored(tx *store.Tx, subscription uuid.UUID) (s storedAttempts, damaged int, err error) {
	s = storedAttempts{subscription: subscription}
	var t attemptCounters
	switch doc, err := w.counters.Get(tx, subscription); {
	case err == nil:
		s.counters, s.isSound, t = &doc, true, doc.Record
	case store.IsDamagedRecord(err):
		return s, 1, nil
	case fault.CodeOf(err) != fault.NotFound:
		return s, 0, err
	}
	damaged, err = w.attempts.all.ScanReadable(tx, subscription, func(n uint32, v []byte) error {
		about, rec, err := decodeAttempt(openAttempt(v))
		if err != nil {
			return err
		}
		event, err := uuid.Parse(rec.SourceEventID)
		if err != nil {
			return err
		}
		same := t.of(rec.Status)
		if n != t.All.First ||
			!bytes.Equal(w.attempts.of(rec.Status).Readable(tx, subscription, same.First), binary.BigEndian.AppendUint32(nil, n)) ||
			w.attempts.byEvent.Readable(tx, deliveryID(event, subscription), uint32(rec.Attempt)) == nil {
			s.isSound = false
		}
		t.All.First++
		same.First++
		s.attempts = append(s.attempts, storedAttempt{about, rec})
		return nil
	})
	s.isSound = s.isSound && t.All.count() == 0 && t.Succeeded.count() == 0 && t.Failed.count() == 0
	return s, damaged, err
}

// renumber writes the attempts of a subscription again.
func (w *Webhooks) renumber(tx *store.Tx, s *storedAttempts) error {
	for _, parts := range []*store.Parts{w.attempts.all, w.attempts.succeeded, w.attempts.failed} {
		if _, err := parts.Delete(tx, s.subscription, 0, math.MaxInt); err != nil {
			return err
		}
	}
	var t attemptCounters
	if s.counters != nil {
		t.DeletedAt, t.Expiring = s.counters.Record.DeletedAt, s.counters.Record.Expiring
	} else if !w.Subscriptions.Table.Has(tx, s.subscription) {
		t.DeletedAt = shape.At(tx.Now())
	}
	for i := range s.attempts {
		a := &s.attempts[i]
		event, err := uuid.Parse(a.SourceEventID)
		if err == nil {
			err = w.attempts.add(tx, &t, a.Attempt, a.subject, deliveryID(event, s.subscription))
		}
		if err != nil {
			return err
		}
	}
	if err := w.ensureExpireJob(tx, s.subscription, &t); err != nil {
		return err
	}
	if s.counters == nil {
		_, err := w.counters.Insert(tx, s.subscription, t)
		return err
	}
	_, err := w.counters.Update(tx, *s.counters, t, nil)
	return err
}
