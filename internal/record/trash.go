package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// Trashed is a deleted record that can be restored until it expires.
type Trashed[T any] struct {
	Record    T             `json:",embed"`
	DeletedAt shape.Time    `json:"deleted_at" rule:"readonly,required"`
	DeletedBy uuid.NullUUID `json:"deleted_by" rule:"readonly" doc:"The user who deleted the record, or whose API key did."`

	kept kept
}

// kept is the private part of a trashed record.
type kept struct {
	Private jsontext.Value `json:"private,omitzero"` // of the record
	Sets    []uuid.UUID    `json:"sets,omitzero"`    // see TrashRules.SetsOf
	// Operation is the operation that deleted the record. The record is kept as long as that can be undone.
	Operation uuid.UUID `json:"operation,omitzero"`
}

// Private returns the part that is stored beside the record and never shown.
func (t *Trashed[T]) Private() any { return &t.kept }

func (t *Trashed[T]) head() *Head { return headOf(&t.Record) }

// trashSuffix follows the entity of a kind in the name of its trash.
const trashSuffix = "-trash"

// byDeletion is the secondary key that orders the trash by the time of deletion.
const byDeletion = "deletion"

// TrashJob is the kind of the job that removes expired records from the trash of an organization.
const TrashJob = "trash.expire"

const (
	// trashBatch is the number of records that one transaction removes from the trash.
	trashBatch = 500
	// maxTrashDelay bounds the delay of a TrashJob, because the retention setting may change.
	maxTrashDelay = time.Hour
)

// trashJobs has the id of the TrashJob of each organization.
var trashJobs = store.NewParts("trash")

// addTrash declares the trash of the kind and adds it to the set, where it has a list of its own but
// no references: those of a trashed record are checked when it is restored.
func (k *Kind[T]) addTrash() {
	entity := k.Entity + trashSuffix
	trash := &kind{Object: "trashed_" + k.Object, Entity: entity, shape: shape.Of[Trashed[T]](), set: k.set, trashOf: k.Entity, forget: k.forget}
	keys := []store.Key[Trashed[T]]{
		{Name: byDeletion, Of: func(_ *store.Tx, t *Trashed[T]) ([][]byte, error) {
			return [][]byte{deletionKey(t.DeletedAt.Std(), t.kept.Operation != uuid.Nil)}, nil
		}},
	}
	if customs := k.customsOf(); customs != nil {
		trash.customs = func(tx *store.Tx, _ string) (*filter.CustomFields, error) { return customs(tx) }
		keys = append(keys, store.Key[Trashed[T]]{Name: customKey, Of: func(tx *store.Tx, t *Trashed[T]) ([][]byte, error) {
			return trash.customKeys(tx, t)
		}})
	}
	k.trash = NewTable(entity, nil, keys).ShortHistory()
	trash.table = &k.trash.AnyTable
	k.TrashList = index.NewKind(entity, "-deleted_at", k.trash, k.customsOf())
	k.TrashList.FindName = k.List.FindName
	trash.List = k.TrashList
	k.set.kinds = append(k.set.kinds, trash)
}

// deletionKey orders records by the time of their deletion, those that operations have deleted behind the others.
func deletionKey(at time.Time, byOperation bool) []byte {
	key := binary.BigEndian.AppendUint64(nil, uint64(max(0, at.UnixMilli())))
	if byOperation {
		key[0] = operationKey
	}
	return key
}

// operationKey is the first byte of the key of a record that an operation has deleted. It is above those of all times.
const operationKey = 1

// undoTime is how long records that an operation has deleted are kept at least: a little longer than operations can be
// undone, because an operation may end some time after it has deleted a record.
const undoTime = 31 * 24 * time.Hour

// toTrash keeps a record that is being deleted, with the sets that it belongs to.
func (k *Kind[T]) toTrash(tx *store.Tx, rec T) error {
	t := Trashed[T]{Record: rec, DeletedAt: shape.At(tx.Now()), DeletedBy: orNull(tx.Actor().User)}
	var err error
	if t.kept, err = k.keep(tx, &rec); err != nil {
		return err
	}
	if _, err := k.trash.Insert(tx, headOf(&rec).ID, t); err != nil {
		return err
	}
	return scheduleTrashJob(tx)
}

// keep returns what is kept beside a record that is deleted or merged.
func (k *Kind[T]) keep(tx *store.Tx, rec *T) (kept kept, err error) {
	kept.Operation = tx.Actor().OperationID
	if k.rules.Trash.SetsOf != nil {
		if kept.Sets, err = k.rules.Trash.SetsOf(tx, headOf(rec).ID); err != nil {
			return kept, err
		}
	}
	kept.Private, err = privateOf(rec)
	return kept, err
}

// privateOf returns the private part of a record, or nil if it has none.
func privateOf(rec any) (jsontext.Value, error) {
	if p, has := rec.(interface{ Private() any }); has {
		return json.Marshal(p.Private())
	}
	return nil, nil
}

// setPrivate sets the private part of a record that comes back.
func setPrivate(rec any, private jsontext.Value) error {
	if p, has := rec.(interface{ Private() any }); has && len(private) > 0 {
		return json.Unmarshal(private, p.Private())
	}
	return nil
}

// decode reads a record from its public and its private part.
func decode(public, private jsontext.Value, rec any) error {
	if err := json.Unmarshal(public, rec); err != nil {
		return err
	}
	return setPrivate(rec, private)
}

// scheduleTrashJob enqueues the TrashJob of the organization unless there is one.
func scheduleTrashJob(tx *store.Tx) error {
	return tx.EnqueueOnce(trashJobs, 0, TrashJob, tx.Now().Add(maxTrashDelay))
}

// Erase deletes a record at once, without the trash. A record that is in the trash already is removed from it.
func (k *Kind[T]) Erase(tx *store.Tx, id uuid.UUID, cond Precondition) error {
	if k.trash == nil || k.Table.Has(tx, id) {
		return k.remove(tx, id, cond, false)
	}
	if err := cond.check(""); err != nil && k.trash.Has(tx, id) { // callers never saw its version
		return err
	}
	return k.EraseTrashed(tx, id)
}

// EraseTrashed removes a record from the trash.
func (k *Kind[T]) EraseTrashed(tx *store.Tx, id uuid.UUID) error {
	old, err := k.trash.Get(tx, id)
	switch {
	case store.IsDamagedRecord(err):
		err = tx.DeleteDamaged(k.trash.Name(), id)
	case err != nil:
		return k.missing(tx, id, err)
	default:
		err = k.trash.Delete(tx, old)
	}
	if err != nil {
		return err
	}
	return k.forgetRecord(tx, id)
}

// IsTrashed reports whether a record is in the trash.
func (k *Kind[T]) IsTrashed(tx *store.Tx, id uuid.UUID) bool {
	return k.trash != nil && k.trash.Has(tx, id)
}

// EachTrashed calls fn for every record in the trash, without its private part.
func (k *Kind[T]) EachTrashed(tx *store.Tx, fn func(rec *T)) error {
	return k.trash.Scan(tx, func(d store.Doc[Trashed[T]]) (bool, error) {
		fn(&d.Record.Record)
		return true, nil
	})
}

// GetTrashed reads a record in the trash. A missing one is not_found.
func (k *Kind[T]) GetTrashed(tx *store.Tx, id uuid.UUID) (rec T, err error) {
	doc, err := k.trash.Get(tx, id)
	if err != nil {
		return rec, err
	}
	rec = doc.Record.Record
	return rec, setPrivate(&rec, doc.Record.kept.Private)
}

// ReplaceTrashed replaces a record in the trash, which keeps its version.
func (k *Kind[T]) ReplaceTrashed(tx *store.Tx, rec T) error {
	old, err := k.trash.Get(tx, headOf(&rec).ID)
	if err != nil {
		return err
	}
	t := old.Record
	t.Record = rec
	if t.kept.Private, err = privateOf(&rec); err != nil {
		return err
	}
	return k.trash.Touch(tx, old, t, k.shape.Diff(&old.Record.Record, &rec))
}

// EraseMerged forgets the records that were merged into a record.
func (k *kind) EraseMerged(tx *store.Tx, id uuid.UUID) error {
	ids, err := k.MergedInto(tx, id)
	if err != nil {
		return err
	}
	return k.merged.Each(tx, ids, func(d store.Doc[merged]) error { return k.merged.Delete(tx, d) })
}

// ExpireTrash runs a TrashJob: it removes the records that were deleted before the retention time, one batch
// per transaction. The job runs again as long as the trash has records.
func (s *Set) ExpireTrash(ctx context.Context, st *store.Store, retention time.Duration, job store.Job) error {
	for more := true; more; {
		err := st.Update(ctx, job.Org, store.Actor{Operation: "trash"}, func(tx *store.Tx) error {
			left, removed := 0, 0
			for _, k := range s.kinds {
				if k.trashOf == "" {
					continue
				}
				n, err := k.expire(tx, tx.Now(), retention, trashBatch-removed)
				if err != nil {
					return err
				}
				removed += n
				left += k.table.Count(tx)
			}
			more = removed == trashBatch
			switch {
			case more:
				return nil
			case left == 0:
				trashJobs.Put(tx, tx.Org(), 0, nil)
				return tx.Done(job.ID)
			}
			return tx.Reschedule(job.ID, tx.Now().Add(min(retention, maxTrashDelay)), 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// expire removes up to limit records that were deleted a retention time ago. What operations have deleted is kept at
// least as long as they can be undone.
func (k *kind) expire(tx *store.Tx, now time.Time, retention time.Duration, limit int) (removed int, err error) {
	var ids []uuid.UUID
	for _, byOperation := range []bool{false, true} {
		if byOperation {
			retention = max(retention, undoTime)
		}
		last := deletionKey(now.Add(-retention), byOperation)
		err = k.table.Range(tx, byDeletion, last[:1], func(key []byte, id uuid.UUID) bool {
			if len(ids) == limit || bytes.Compare(key[:len(last)], last) > 0 {
				return false
			}
			ids = append(ids, id)
			return true
		})
		if err != nil {
			return 0, err
		}
	}
	for _, id := range ids {
		err := k.table.DeleteUntyped(tx, id)
		if store.IsDamagedRecord(err) {
			continue
		}
		if err == nil {
			err = k.forgetRecord(tx, id)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// verifyTrash reports records that exist and are in the trash as well.
func (k *kind) verifyTrash(tx *store.Tx, report store.Report) error {
	live := k.set.find(k.trashOf)
	if live == nil {
		return nil
	}
	return k.table.Range(tx, byDeletion, nil, func(_ []byte, id uuid.UUID) bool {
		if live.table.Has(tx, id) {
			report(false, "%s %s exists and is in the trash: delete it with permanent=true, and restore it from the trash", live.Entity, id)
		}
		return true
	})
}
