package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/shape"
)

// An organization is taken to another installation as it is: with its history, the journals of its operations, what is
// only marked as deleted, and its jobs. Its keys are not taken along, because they follow from its records.

// Portion is a table, or the parts, sets or a counter of an organization, for checks, exports and erasures. Exactly one of
// Table, Parts, Sets and Counter is set. Every one that is ever stored must be declared: exports fail if they find another one.
type Portion struct {
	Table   ShapedTable
	Parts   *Parts
	Sets    *Sets
	Counter Counter
	// WhyLeft is why exports leave it out. It is empty for what they take along.
	WhyLeft string
	// Check verifies the portion. Nil means that it is compared with its keys, change log and checksums alone.
	Check func(tx *Tx, report Report) error
	// Personal says what erasures find in it. Tables of lists need none, because the tags of their types say it.
	Personal Personal

	// Secret says that the private parts of records are left out.
	Secret bool
	// RenameRow renames the ids in a record that has some where their type does not tell. It may be nil.
	RenameRow func(r *shape.Renaming, rec any) error
	// RowID returns the id of a record whose id was made of others. Nil means that the id is renamed like any other.
	RowID func(rec any) uuid.UUID
	// DropKey is called for a renamed record that has a global key of another organization. It removes the key.
	DropKey func(rec any)
	// Rename renames the ids of a part, and returns its value. Nil means that the value has none.
	Rename func(r *shape.Renaming, owner *uuid.UUID, n uint32, value []byte) ([]byte, error)
	// Pairs returns what the owners of sets were made of, if they are not ids of records, and Owner makes them of that.
	Pairs func(tx *Tx) ([][2]uuid.UUID, error)
	Owner func(pair [2]uuid.UUID) uuid.UUID
}

// Personal describes the values of a portion that may be about a person.
type Personal struct {
	// Entity is what the result of an erasure calls the values. It is empty for those that it does not count.
	Entity string
	// Type describes the values, and Components the objects in their fields whose type the tags name by a component. Type is nil
	// for JSON of different types.
	Type       *shape.Struct
	Components map[string]*shape.Struct
	// Events says that the values are events that wait to be delivered. One about the person becomes one about a record that is gone.
	Events bool
}

// VerifyPortions checks portions of the transaction's organization against their keys, change logs and checksums, and whatever
// else their owners check. In an Update it corrects what follows from the records. Damage does not keep it from the others.
func VerifyPortions(tx *Tx, report Report, portions ...Portion) error {
	var damage []error
	for i := range portions {
		err := portions[i].verify(tx, report)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		damage = append(damage, err)
	}
	return errors.Join(damage...)
}

func (p *Portion) verify(tx *Tx, report Report) error {
	switch {
	case p.Check != nil:
		return p.Check(tx, report)
	case p.Table != nil:
		return p.Table.Verify(tx, report)
	case p.Parts != nil:
		return p.Parts.Verify(tx, report)
	case p.Sets != nil:
		return p.Sets.Verify(tx, report)
	}
	return nil // a counter is compared with nothing
}

// Name returns the name of the portion.
func (p *Portion) Name() string {
	switch {
	case p.Table != nil:
		return p.Table.untyped().name
	case p.Parts != nil:
		return strings.TrimSuffix(p.Parts.bucket, partSuffix)
	case p.Sets != nil:
		return strings.TrimSuffix(p.Sets.chunks, setSuffix)
	}
	return strings.TrimSuffix(p.Counter.bucket, counterSuffix)
}

// Has reports whether a bucket of an organization belongs to the portion.
func (p *Portion) Has(bucket string) bool {
	switch {
	case p.Table != nil:
		return isOfTable(bucket, p.Name())
	case p.Parts != nil:
		return bucket == p.Parts.bucket
	case p.Sets != nil:
		return bucket == p.Sets.chunks || bucket == p.Sets.owners
	}
	return bucket == p.Counter.bucket
}

// OwnPortions returns the portions of this package.
func OwnPortions(steps map[string]func() any) []Portion {
	return []Portion{{Parts: journalParts, Rename: renameJournal(steps), Check: (*Tx).VerifyJournals}, {Parts: holdParts, WhyLeft: "the copy is held by itself"}}
}

// Undeclared returns the buckets of the transaction's organization that belong to none of the portions.
func (tx *Tx) Undeclared(portions []Portion) []string {
	return slices.DeleteFunc(bucketNames(tx.orgBkt, ""), func(name string) bool {
		return name == jobsBucket || name == probeBucket || slices.ContainsFunc(portions, func(p Portion) bool { return p.Has(name) })
	})
}

// Row is a record as it is taken along.
type Row struct {
	ID      uuid.UUID
	Change  uint64 // the number of the change that wrote it
	Version uint64 // the number of its last change that was not a touch
	Public  []byte // as it is read
	Stored  []byte // as it is stored, if that differs
	Private []byte
}

// EachRow calls fn for the records of a table in order of creation. It leaves out damaged ones.
func (tx *Tx) EachRow(shaped ShapedTable, fn func(Row) error) error {
	t := shaped.untyped()
	return t.each(tx, func(d doc, private, stored []byte) (_ bool, err error) {
		row := Row{ID: d.ID, Change: d.Change, Version: d.version, Public: d.JSON}
		if len(private) > 0 {
			row.Private = private
		}
		if d.completed && len(d.applied) > 1 || !d.completed && len(d.applied) > 0 { // a tombstone is to be applied
			if _, _, row.Stored, err = decodeValue(tx.placeSum(t.rec, d.ID[:]), stored); err == nil {
				row.Stored, err = t.withDefaults(row.Stored)
			}
			if err != nil {
				return false, err
			}
		}
		return true, fn(row)
	})
}

// EachChange calls fn for the entries of the change log of a table in order. It leaves out damaged ones.
func (tx *Tx) EachChange(shaped ShapedTable, fn func(Change) error) error {
	for c := range tx.readableChanges(shaped.untyped().name) {
		if err := fn(c); err != nil {
			return err
		}
	}
	return nil
}

// TableState is what is known of a table beside its records.
type TableState struct {
	LastChange  uint64      `json:"last_change"`
	Corrections uint64      `json:"corrections,omitzero"`
	Tombstones  []Tombstone `json:"tombstones,omitempty"`
}

// IsZero reports whether a table without records need not be mentioned.
func (s *TableState) IsZero() bool { return s.LastChange == 0 && s.Corrections == 0 }

// TableState returns the state of a table.
func (tx *Tx) TableState(shaped ShapedTable) (s TableState, err error) {
	name := shaped.untyped().name
	s = TableState{LastChange: tx.LastChange(name), Corrections: tx.sequence(tombBucket(name))}
	s.Tombstones, err = tx.Tombstones(name)
	return s, err
}

// SetOwners returns the records that have sets.
func (s *Sets) SetOwners(tx *Tx) []uuid.UUID { return tx.owners(s.chunks, 32) }

// WriteRow writes a record of an organization that arrives. Renaming may be nil.
func (a *Arrival) WriteRow(tx *Tx, p *Portion, row Row, r *shape.Renaming) error {
	t := p.Table.untyped()
	public := row.Public
	if row.Stored != nil {
		public = row.Stored
	}
	public, err := t.withDefaults(public)
	if err != nil {
		return fmt.Errorf("%s %s: %w", t.name, row.ID, err)
	}
	rec, id := t.newRecord(), row.ID
	if err := t.unmarshal(id, public, row.Private, rec); err != nil {
		return err
	}
	if r != nil {
		rename := t.rename
		if p.RenameRow != nil {
			rename = p.RenameRow
		}
		if err := rename(r, rec); err != nil {
			return fmt.Errorf("%s %s: %w", t.name, id, err)
		}
		if id = r.ID(id); p.RowID != nil {
			id = p.RowID(rec)
		}
		for i := range t.unique {
			if u := &t.unique[i]; u.global && p.DropKey != nil && t.checkUnique(tx, u, id, nil, rec, false) != nil {
				p.DropKey(rec)
			}
		}
	}
	if t.has(tx, id) {
		return fmt.Errorf("%s %s is there twice", t.name, id)
	}
	a.noteID(id)
	if err := t.rekey(tx, doc{ID: id}, nil, rec); err != nil {
		return err
	}
	if _, err := t.put(tx, id, row.Change, row.Version, rec); err != nil {
		return err
	}
	tx.setSequence(t.rec, tx.sequence(t.rec)+1)
	return nil
}

// rename renames the ids in both parts of a record.
func (t *table) rename(r *shape.Renaming, rec any) error {
	if err := r.Rename(rec); err != nil {
		return err
	}
	if part := privatePart(rec); part != nil {
		return r.Rename(part)
	}
	return nil
}

// WriteChange writes an entry of the change log of a table.
func (a *Arrival) WriteChange(tx *Tx, p *Portion, c Change, r *shape.Renaming) error {
	t := p.Table.untyped()
	if r != nil {
		if err := t.renameValues(r, &c); err != nil {
			return fmt.Errorf("change %d of %s: %w", c.Number, t.name, err)
		}
		if err := r.Rename(&c); err != nil {
			return err
		}
	}
	gone := goneBucket(t.name)
	tx.putChange(t.name+logSuffix, c)
	if c.Op == Deleted {
		tx.put(gone, c.ID[:], numberKey(c.Number))
	} else if tx.get(gone, c.ID[:]) != nil { // it came back
		tx.delete(gone, c.ID[:])
	}
	return nil
}

// renameValues renames the ids in the values of a change.
func (t *table) renameValues(r *shape.Renaming, c *Change) error {
	members := map[string]json.RawMessage{}
	for i, name := range c.Fields {
		if i < len(c.Values) && len(c.Values[i]) > 0 {
			members[name] = c.Values[i]
		}
	}
	if len(members) == 0 {
		return nil
	}
	public, err := json.Marshal(members)
	if err != nil {
		return err
	}
	rec := t.newRecord()
	if err := jsonv2.Unmarshal(public, rec); err != nil {
		return err
	}
	values := func() ([][]byte, error) {
		b, err := jsonv2.Marshal(rec, jsonv2.Deterministic(true))
		if err != nil {
			return nil, err
		}
		return memberValues(b, c.Fields)
	}
	before, err := values()
	if err != nil {
		return err
	}
	if err := r.Rename(rec); err != nil {
		return err
	}
	after, err := values()
	if err != nil {
		return err
	}
	c.Values = slices.Clone(c.Values)
	for i := range c.Values {
		if !bytes.Equal(before[i], after[i]) && len(c.Values[i]) > 0 {
			c.Values[i] = after[i]
		}
	}
	return nil
}

// WriteState writes the state of a table after its records and changes.
func (a *Arrival) WriteState(tx *Tx, p *Portion, s TableState, r *shape.Renaming) error {
	t := p.Table.untyped()
	if t.unlogged && s.LastChange > 0 {
		return fmt.Errorf("%s has changes", t.name)
	}
	if s.LastChange > 0 {
		tx.setSequence(t.name+logSuffix, s.LastChange)
	}
	bucket := tombBucket(t.name)
	if s.Corrections > 0 {
		tx.setSequence(bucket, s.Corrections)
	}
	for _, tomb := range s.Tombstones {
		if r != nil {
			if err := r.Rename(&tomb); err != nil {
				return err
			}
		}
		if err := tx.putJSON(bucket, tomb.key(), tomb); err != nil {
			return err
		}
	}
	delete(tx.corrected, t.name)
	return nil
}

// Rename renames the ids in a tombstone.
func (t *Tombstone) Rename(r *shape.Renaming) error {
	for _, text := range []*string{&t.Value, &t.By} {
		if id, err := uuid.Parse(*text); err == nil && !strings.HasPrefix(t.Field, shape.CustomPrefix) {
			*text = r.ID(id).String()
		}
	}
	if len(t.Prefix) >= 16 { // the id of what was deleted
		renamed := r.ID(uuid.UUID(t.Prefix[:16]))
		t.Prefix = append(renamed[:], t.Prefix[16:]...)
	}
	return r.Rename(&t.Actor)
}

// WritePart writes a part.
func (a *Arrival) WritePart(tx *Tx, p *Portion, owner uuid.UUID, n uint32, value []byte, r *shape.Renaming) (err error) {
	if r != nil {
		if p.Rename == nil {
			owner = r.ID(owner)
		} else if value, err = p.Rename(r, &owner, n, value); err != nil {
			return fmt.Errorf("part %d of %s %s: %w", n, p.Name(), owner, err)
		}
	}
	p.Parts.Put(tx, owner, n, value)
	return nil
}

// WriteCounter sets a counter.
func (a *Arrival) WriteCounter(tx *Tx, p *Portion, n uint64) { tx.setSequence(p.Counter.bucket, n) }

// WriteJob writes a job. payload is the type of its payload as a pointer, or nil if it has none.
func (a *Arrival) WriteJob(tx *Tx, j Job, payload any, r *shape.Renaming) (err error) {
	if r != nil {
		if payload != nil {
			if j.Payload, err = renameJSON(r, j.Payload, payload); err != nil {
				return fmt.Errorf("job %s %s: %w", j.Kind, j.ID, err)
			}
		}
		j.ID = r.ID(j.ID)
	}
	a.noteID(j.ID)
	return tx.putJob(j)
}

func renameJSON(r *shape.Renaming, b []byte, into any) ([]byte, error) {
	if err := json.Unmarshal(b, into); err != nil {
		return nil, err
	}
	if err := r.Rename(into); err != nil {
		return nil, err
	}
	return json.Marshal(into)
}

// renameJournal returns the Rename of journals. steps has the types of what features add to them.
func renameJournal(steps map[string]func() any) func(*shape.Renaming, *uuid.UUID, uint32, []byte) ([]byte, error) {
	return func(r *shape.Renaming, owner *uuid.UUID, _ uint32, value []byte) ([]byte, error) {
		*owner = r.ID(*owner)
		var part JournalPart
		if err := json.Unmarshal(value, &part); err != nil {
			return nil, err
		}
		for i := range part.Steps {
			s := &part.Steps[i]
			if s.Kind == "" {
				continue
			}
			data := steps[s.Kind]
			if data == nil {
				return nil, fmt.Errorf("it has a step of the unknown kind %q", s.Kind)
			}
			var err error
			if s.Data, err = renameJSON(r, s.Data, data()); err != nil {
				return nil, err
			}
		}
		return json.Marshal(part)
	}
}

// RenameJSON returns the Rename of parts that belong to a record and are JSON of type T.
func RenameJSON[T any]() func(*shape.Renaming, *uuid.UUID, uint32, []byte) ([]byte, error) {
	return func(r *shape.Renaming, owner *uuid.UUID, _ uint32, value []byte) (_ []byte, err error) {
		*owner = r.ID(*owner)
		if len(value) > 0 {
			var content T
			value, err = renameJSON(r, value, &content)
		}
		return value, err
	}
}

// RenamePacked is the Rename of parts that belong to a record and consist of ids.
func RenamePacked(r *shape.Renaming, owner *uuid.UUID, _ uint32, value []byte) ([]byte, error) {
	*owner = r.ID(*owner)
	return PackedIDs(value).renamed(r), nil
}

// PackedIDs are ids one after the other.
type PackedIDs []byte

func (ids PackedIDs) renamed(r *shape.Renaming) PackedIDs {
	renamed := make(PackedIDs, 0, len(ids))
	for ; len(ids) >= 16; ids = ids[16:] {
		id := r.ID(uuid.UUID(ids[:16]))
		renamed = append(renamed, id[:]...)
	}
	return append(renamed, ids...)
}

// Rename renames the ids.
func (ids *PackedIDs) Rename(r *shape.Renaming) error {
	*ids = ids.renamed(r)
	return nil
}
