package sequence

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// Whatever changes many sequences selects them first, says what would happen if that was asked for, and then changes
// them in one of three ways:
//
//   - changeEach, in the transaction itself, if they are at most maxPerRequest.
//   - runSweep, in a job that selects them when it runs. It is idempotent: after a crash it selects and changes all
//     of them again.
//   - runInParts, in a job that was given them. Each transaction leaves the others to another job, so that after a crash
//     nothing is repeated for a sequence that somebody has changed since.

const (
	// maxPerRequest is how many sequences are changed in the transaction of the request or change itself.
	maxPerRequest = 200
	// maxPerTransaction is how many sequences one transaction of a job changes, so other writers do not
	// wait noticeably.
	maxPerTransaction = 500
)

// changeEach changes sequences, except damaged ones.
func (e *Engine) changeEach(tx *store.Tx, ids []uuid.UUID, change func(*engineTx, uuid.UUID) error) error {
	if len(ids) == 0 {
		return nil
	}
	return e.withEngine(tx, func(x *engineTx) error {
		for _, id := range e.sequences.Readable(tx, ids) {
			if err := change(x, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// updateEach is changeEach for a change of the sequence alone.
func (e *Engine) updateEach(tx *store.Tx, ids []uuid.UUID, change func(*sequenceRun) error) error {
	return e.changeEach(tx, ids, func(x *engineTx, id uuid.UUID) error { return x.update(id, change) })
}

// changeMany changes the sequences that a request has selected: now, or in a job with a payload if they are too many.
func (e *Engine) changeMany(
	tx *store.Tx, ids []uuid.UUID, change func(*engineTx, uuid.UUID) error, job string, payload any,
) error {
	if len(ids) <= maxPerRequest {
		return e.changeEach(tx, ids, change)
	}
	_, err := tx.Enqueue(job, tx.Now(), payload)
	return err
}

// sweep is what a job does that selects sequences, or contacts, when it runs.
type sweep struct {
	find   func(*store.Tx) ([]uuid.UUID, error)
	change func(*engineTx, uuid.UUID) error
	end    func(tx *store.Tx, job uuid.UUID) error // in the last transaction
}

func (e *Engine) runSweep(ctx context.Context, job store.Job, s sweep) error {
	var ids []uuid.UUID
	err := e.store.View(job.Org, func(tx *store.Tx) (err error) {
		ids, err = s.find(tx)
		return err
	})
	for more := true; more && err == nil; {
		n := min(len(ids), maxPerTransaction)
		more = n < len(ids)
		err = e.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) error {
			err := e.changeBatch(tx, ids[:n], s.change)
			if err != nil || more {
				return err
			}
			return s.end(tx, job.ID)
		})
		ids = ids[n:]
	}
	return err
}

// changeBatch changes a batch of a job. Those of which something is damaged or gone stay as they are.
func (e *Engine) changeBatch(tx *store.Tx, ids []uuid.UUID, change func(*engineTx, uuid.UUID) error) error {
	return e.withEngine(tx, func(x *engineTx) error {
		for _, id := range ids {
			if err := change(x, id); err != nil && !isUnreadable(err) {
				return err
			}
		}
		return nil
	})
}

// runInParts returns the handler of a job whose payload are the sequences that it changes.
func (e *Engine) runInParts(change func(*engineTx, uuid.UUID) error) func(context.Context, store.Job, store.PackedIDs) error {
	return func(ctx context.Context, job store.Job, packed store.PackedIDs) error {
		ids := unpackIDs(packed)
		n := min(len(ids), maxPerTransaction)
		return e.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) error {
			if err := e.changeBatch(tx, ids[:n], change); err != nil {
				return err
			}
			if n < len(ids) {
				if _, err := tx.Enqueue(job.Kind, tx.Now(), packIDs(ids[n:]...)); err != nil {
					return err
				}
			}
			return tx.Done(job.ID)
		})
	}
}

// isUnreadable reports whether a record does not exist although a key names it, or cannot be read because of any damage, also
// that of a page: the other sequences go on.
func isUnreadable(err error) bool { return errors.Is(err, store.ErrDamaged) || store.IsGone(err) }

// packIDs concatenates ids, for the payload of a job.
func packIDs(ids ...uuid.UUID) store.PackedIDs {
	packed := make([]byte, 0, 16*len(ids))
	for _, id := range ids {
		packed = append(packed, id[:]...)
	}
	return packed
}

func unpackIDs(packed []byte) (ids []uuid.UUID) {
	for chunk := range slices.Chunk(packed, 16) {
		ids = append(ids, uuid.UUID(chunk))
	}
	return ids
}
