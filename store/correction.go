package store

import (
	"bytes"
	"fmt"

	"github.com/google/uuid"
)

// corrections are what every read applies to the stored form of a table's records. They make changes to many records
// visible at once; background jobs rewrite the records later.
type corrections struct {
	tombs      []Tombstone
	incomplete *incompleteRange // nil when all records are complete
	shape      *table
}

// noCorrections is what almost every table has.
var noCorrections corrections

// correction is one that made a difference to a record.
type correction struct {
	number uint64 // counts the corrections of the table
	actor  Actor
	field  string // the member that a tombstone changed, empty if the record was completed
	before []byte // the record without the correction
	after  []byte // the completed record
}

// fields names the members of the record that the correction changed.
func (c *correction) fields() ([]string, error) {
	if c.field != "" {
		return []string{c.field}, nil
	}
	return differingMembers(c.before, c.after)
}

// corrections returns those of a table. The result is shared and must not be changed.
func (tx *Tx) corrections(table string) (*corrections, error) {
	if c := tx.corrected[table]; c != nil {
		return c, nil
	}
	tombs, err := tx.readTombstones(table)
	if err != nil {
		return nil, err
	}
	incomplete, err := tx.incompleteRange(table)
	if err != nil {
		return nil, err
	}
	c := &noCorrections
	if len(tombs) > 0 || incomplete != nil {
		c = &corrections{tombs: tombs, incomplete: incomplete, shape: tx.store.shapes[table]}
	}
	if tx.corrected == nil {
		tx.corrected = map[string]*corrections{}
	}
	tx.corrected[table] = c
	return c, nil
}

func (c *corrections) none() bool { return len(c.tombs) == 0 && c.incomplete == nil }

// open reads the stored value of a record, whose placeSum it gets, and corrects it. The result shares memory with v.
func (c *corrections) open(tx *Tx, bucket string, id uuid.UUID, placeSum uint32, v []byte) (d doc, private []byte, err error) {
	change, private, public, err := decodeValue(placeSum, v)
	if err != nil {
		return doc{}, nil, tx.unreadable(bucket, id[:], err)
	}
	d = doc{ID: id, Change: change, revision: revision{version: versionOf(v)}}
	if d.JSON, d.applied, err = c.apply(change, public); err != nil {
		return doc{}, nil, tx.unreadable(bucket, id[:], err)
	}
	d.completed = len(d.applied) > 0 && d.applied[len(d.applied)-1].after != nil
	return d, private, nil
}

// apply corrects the public part of a record that was last written at the change. It returns the corrections that made
// a difference. The result is what rewriting the record would store.
func (c *corrections) apply(change uint64, public []byte) (corrected []byte, by []correction, err error) {
	for i := range c.tombs {
		t := &c.tombs[i]
		if change > t.Change || !t.mayBeIn(public) {
			continue
		}
		without, err := t.Without(public)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: unreadable record: %w", ErrDamaged, err)
		}
		if !bytes.Equal(without, public) {
			by = append(by, correction{number: t.Number, actor: t.Actor, field: t.Field, before: public})
			public = without
		}
	}
	if c.incomplete == nil || change > c.incomplete.Change {
		return public, by, nil
	}
	complete, err := c.shape.canonical(public)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(complete, public) {
		before := bytes.Clone(public)
		by = append(by, correction{number: c.incomplete.Number, actor: upgradeActor, before: before, after: complete})
		public = complete
	}
	return public, by, nil
}
