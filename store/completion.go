package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// Shape describes the JSON members of the records of a table, so that the store notices when the program has gained
// one. A record that was written before has to be completed: see Store.UseShapes.
type Shape struct {
	// Fingerprint changes whenever a member is added, removed, moved, or changes its type or default.
	Fingerprint string
	// SetDefaults adds members that a stored record lacks and whose default is not the zero value. It returns public
	// itself when there is nothing to add. Nil adds nothing.
	SetDefaults func(public []byte) ([]byte, error)
}

// ShapedTable is a *Table that has a shape.
type ShapedTable interface {
	Verify(tx *Tx, report Report) error
	untyped() *table
}

func (t *AnyTable) untyped() *table { return &t.core }

// CompleteJob is the kind of the jobs that rewrite incomplete records. Store.CompleteRecords handles them.
const CompleteJob = "complete"

// incompleteShared has an entry for each organization and table with records that may be incomplete:
// organization ‖ table → incompleteRange. An organization that has entries has one job of the kind CompleteJob.
const incompleteShared = sharedPrefix + "incomplete"

// shapePrefix begins the keys under which the bucket meta has the shape that each table was last used with.
const shapePrefix = "shape."

// incompleteRange names the records of a table that may lack members: those last written at Change or before.
type incompleteRange struct {
	Change uint64
	Number uint64    // from the same counter as the tombstones', so that versions name it
	After  uuid.UUID // the job has rewritten the records up to this id
}

func incompleteKey(org uuid.UUID, table string) []byte { return append(org[:], table...) }

// UseShapes declares the shapes that the program writes. It must be called before any record of these tables is
// read or written. Where a table was last used with another shape, all its records are marked as incomplete. From then
// on every read completes them: missing members are added with their default or zero value, in the order in which a
// write stores them. A job rewrites the records in the background and then removes the mark. All marks are made in one
// commit. Secondary keys that were written with another version are rebuilt before UseShapes returns. If the file was
// rebuilt, UseShapes first finds out which records are lost.
func (s *Store) UseShapes(ctx context.Context, tables ...ShapedTable) error {
	if s.rebuilt {
		if err := s.afterRebuild(ctx); err != nil {
			return err
		}
	}
	s.shapes = make(map[string]*table, len(tables))
	for _, shaped := range tables {
		if t := shaped.untyped(); t.shape != nil {
			s.shapes[t.name] = t
		}
	}
	var changed []string
	err := s.View(uuid.Nil, func(tx *Tx) error {
		for name, t := range s.shapes {
			if string(tx.get(metaShared, []byte(shapePrefix+name))) != t.shape.Fingerprint {
				changed = append(changed, name)
			}
		}
		for range tx.scan(incompleteShared, nil) {
			s.mayBeIncomplete.Store(true)
			break
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		if err := s.updateRaw(ctx, func(btx *bolt.Tx) error { return s.markIncomplete(btx, changed) }); err != nil {
			return err
		}
		s.mayBeIncomplete.Store(true)
	}
	return s.useKeyVersions(ctx)
}

// markIncomplete marks the records that every organization has in the tables, and notes the tables' new shapes.
func (s *Store) markIncomplete(btx *bolt.Tx, tables []string) error {
	orgs, err := organizations(btx)
	if err != nil {
		return err
	}
	for _, org := range orgs {
		tx := newTx(s, btx, org)
		tx.actor, tx.writable = upgradeActor, true
		if err := tx.markIncomplete(tables); err != nil {
			return err
		}
		if err := tx.apply(); err != nil {
			return err
		}
	}
	meta := btx.Bucket(metaBucket)
	for _, name := range tables {
		if err := meta.Put([]byte(shapePrefix+name), []byte(s.shapes[name].shape.Fingerprint)); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) markIncomplete(tables []string) error {
	hasJob, marked := len(tx.incompleteTables()) > 0, false
	for _, name := range tables {
		if tx.RecordCount(name) == 0 {
			continue
		}
		tombs := tombBucket(name)
		r := incompleteRange{Change: tx.LastChange(name), Number: tx.sequence(tombs) + 1}
		tx.setSequence(tombs, r.Number)
		if err := tx.putIncomplete(name, r); err != nil {
			return err
		}
		marked = true
	}
	if !marked || hasJob {
		return nil
	}
	_, err := tx.Enqueue(CompleteJob, tx.now, nil)
	return err
}

func (tx *Tx) putIncomplete(table string, r incompleteRange) error {
	delete(tx.corrected, table)
	return tx.putJSON(incompleteShared, incompleteKey(tx.org, table), r)
}

// incompleteRange reads the mark of a table; nil when all its records are complete.
func (tx *Tx) incompleteRange(table string) (*incompleteRange, error) {
	if !tx.store.mayBeIncomplete.Load() {
		return nil, nil
	}
	key := incompleteKey(tx.org, table)
	v := tx.get(incompleteShared, key)
	if v == nil {
		return nil, nil
	}
	r := &incompleteRange{}
	if err := tx.readJSON(incompleteShared, key, v, r); err != nil {
		return nil, fmt.Errorf("mark of incomplete %s: %w", table, err)
	}
	if tx.store.shapes[table] == nil {
		return nil, fmt.Errorf("%s has incomplete records and no shape", table)
	}
	return r, nil
}

// incompleteTables returns the tables of the organization that are marked, in order.
func (tx *Tx) incompleteTables() (tables []string) {
	for k := range within(tx.org[:], tx.scan(incompleteShared, tx.org[:])) {
		tables = append(tables, string(k[len(tx.org):]))
	}
	return tables
}

// With one transaction a job looks at up to lookLimit records and rewrites up to completeLimit: other writers wait.
const (
	lookLimit     = 2000
	completeLimit = 250
)

// CompleteRecords handles a job of the kind CompleteJob: it rewrites the incomplete records of the job's organization
// and removes each table's mark with the last of them. It continues where an earlier run was interrupted.
func (s *Store) CompleteRecords(ctx context.Context, job Job) error {
	for {
		tables, err := Read(s, job.Org, func(tx *Tx) ([]string, error) { return tx.incompleteTables(), nil })
		if err != nil {
			return err
		}
		if len(tables) == 0 {
			return s.Update(ctx, job.Org, upgradeActor, func(tx *Tx) error { return tx.Done(job.ID) })
		}
		if err := s.completeTable(ctx, job, tables[0]); err != nil {
			return err
		}
	}
}

// completeTable rewrites the incomplete records of one table. Finding them takes most of the time and happens in
// transactions that only read.
func (s *Store) completeTable(ctx context.Context, job Job, name string) error {
	t := s.shapes[name]
	if t == nil { // the program no longer has the table
		return s.Update(ctx, job.Org, upgradeActor, func(tx *Tx) error {
			return tx.endIncomplete(job, name)
		})
	}
	var at *incompleteRange
	for more := true; more; {
		var ids []uuid.UUID
		err := s.View(job.Org, func(tx *Tx) error {
			marked, err := tx.incompleteRange(name)
			if err != nil || marked == nil {
				return err
			}
			if at == nil || at.Number != marked.Number {
				at = marked
			}
			ids, more, err = tx.findIncomplete(t, at)
			return err
		})
		if err != nil || at == nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if more && len(ids) == 0 {
			continue
		}
		err = s.Update(ctx, job.Org, upgradeActor, func(tx *Tx) error {
			for _, id := range ids {
				if err := t.complete(tx, id); err != nil {
					return err
				}
			}
			if more {
				return tx.putIncomplete(name, *at)
			}
			return tx.endIncomplete(job, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findIncomplete returns the ids of incomplete records after at.After, which it moves past the records that it has
// looked at, and whether there are more to look at. Records that cannot be read are left to Verify.
func (tx *Tx) findIncomplete(t *table, at *incompleteRange) (ids []uuid.UUID, more bool, err error) {
	looked := 0
	for k, v := range tx.scan(t.rec, at.After[:]) {
		if len(k) != 16 || bytes.Equal(k, at.After[:]) {
			continue
		}
		if looked == lookLimit || len(ids) == completeLimit {
			return ids, true, nil
		}
		looked++
		id := uuid.UUID(k)
		d, err := t.decode(tx, id, v, t.newRecord())
		if err != nil && !errors.Is(err, ErrDamaged) {
			return ids, false, err
		}
		if d.completed {
			ids = append(ids, id)
		}
		at.After = id
	}
	return ids, false, nil
}

// endIncomplete removes the mark of a table, and with the last mark of the organization the job.
func (tx *Tx) endIncomplete(job Job, table string) error {
	tx.delete(incompleteShared, incompleteKey(tx.org, table))
	delete(tx.corrected, table)
	if len(tx.incompleteTables()) > 0 {
		return nil
	}
	return tx.Done(job.ID)
}

// complete rewrites a record that lacks members.
func (t *table) complete(tx *Tx, id uuid.UUID) error {
	if !t.has(tx, id) {
		return nil
	}
	rec := t.newRecord()
	d, err := t.get(tx, id, rec)
	if err != nil || !d.completed {
		return err
	}
	_, err = t.write(tx, d, rec, rec, swept, nil)
	return err
}

// withDefaults returns the public part of a record with the members that it lacks and whose default is not the zero value.
func (t *table) withDefaults(public []byte) ([]byte, error) {
	if t.shape == nil || t.shape.SetDefaults == nil {
		return public, nil
	}
	return t.shape.SetDefaults(public)
}

// canonical returns the public part as a write of the same record would store it.
func (t *table) canonical(public []byte) ([]byte, error) {
	filled, err := t.withDefaults(public)
	if err != nil {
		return nil, err
	}
	rec := t.newRecord()
	if err := jsonv2.Unmarshal(filled, rec); err != nil {
		return nil, err
	}
	return jsonv2.Marshal(rec, jsonv2.Deterministic(true))
}

// differingMembers names the members of an object that another one lacks or has with another value.
func differingMembers(before, after []byte) ([]string, error) {
	var was, is map[string]jsontext.Value
	if err := errors.Join(json.Unmarshal(before, &was), json.Unmarshal(after, &is)); err != nil {
		return nil, err
	}
	var names []string
	for name, value := range is {
		if other, had := was[name]; !had || !bytes.Equal(other, value) {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(was) {
		if _, has := is[name]; !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
