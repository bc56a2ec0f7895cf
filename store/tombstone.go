package store

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/fault"
)

// Tombstone marks something as deleted from every record of a table that was last written before
// it: a reference, which another may replace, or a whole member. It takes effect at once for any number of records, because
// every read applies it. AnyTable.Sweep rewrites the records in batches and then removes the
// tombstone.
type Tombstone struct {
	Field string // the member of the record
	Value string // the deleted entry of a list, or the deleted value, which becomes null; empty for the whole member
	By    string // the id that replaces Value; empty if nothing does
	// Key and Prefix find the affected records: those with a secondary key of the name Key that
	// begins with Prefix.
	Key    string
	Prefix []byte

	Change uint64 // the last change of the table before it
	Number uint64 // counts the corrections of the table
	Actor  Actor  // the author of the deletion, and so of the change to each record
}

func (t *Tombstone) key() []byte { return append([]byte(t.Field+"\x00"), t.Prefix...) }

// Tombstones returns the tombstones of a table.
func (tx *Tx) Tombstones(table string) ([]Tombstone, error) {
	c, err := tx.corrections(table)
	if err != nil {
		return nil, err
	}
	return c.tombs, nil
}

func (tx *Tx) readTombstones(table string) (tombs []Tombstone, err error) {
	bucket := tombBucket(table)
	for key, value := range tx.scan(bucket, nil) {
		var t Tombstone
		if err := tx.readJSON(bucket, key, value, &t); err != nil {
			_ = tx.unreadable(bucket, key, err)
			return nil, fmt.Errorf("tombstone %q: %w", key, err)
		}
		tombs = append(tombs, t)
	}
	slices.SortFunc(tombs, func(a, b Tombstone) int { return cmp.Compare(a.Number, b.Number) })
	return tombs, nil
}

// AddTombstone adds a tombstone to the table. The caller must call Sweep until it reports that
// there is no more to do.
func (t *AnyTable) AddTombstone(tx *Tx, tomb Tombstone) (Tombstone, error) {
	tombs, err := tx.Tombstones(t.core.name)
	if err != nil {
		return tomb, err
	}
	tomb.Change, tomb.Actor = tx.LastChange(t.core.name), tx.actor
	if tomb.Number, err = t.putTombstone(tx, tomb); err != nil {
		return tomb, err
	}
	// What was replaced by the deleted id follows it. The records may still have the id before that.
	for _, earlier := range tombs {
		if earlier.Field == tomb.Field && earlier.By != "" && earlier.By == tomb.Value {
			earlier.By = tomb.By
			if _, err := t.putTombstone(tx, earlier); err != nil {
				return tomb, err
			}
		}
	}
	return tomb, nil
}

// putTombstone writes a tombstone under the next number, because it changes what records look like.
func (t *AnyTable) putTombstone(tx *Tx, tomb Tombstone) (number uint64, err error) {
	bucket := tombBucket(t.core.name)
	tomb.Number = tx.sequence(bucket) + 1
	tx.setSequence(bucket, tomb.Number)
	delete(tx.corrected, t.core.name)
	return tomb.Number, tx.putJSON(bucket, tomb.key(), tomb)
}

// replacedBy returns the prefixes of a secondary key under which records are found that a tombstone gave the
// key another value.
func (t *AnyTable) replacedBy(tx *Tx, name string, key []byte) (prefixes [][]byte, err error) {
	c, err := tx.corrections(t.core.name)
	if err != nil {
		return nil, err
	}
	for i := range c.tombs {
		if tomb := &c.tombs[i]; tomb.Key == name && tomb.By != "" {
			if by, err := uuid.Parse(tomb.By); err == nil && bytes.Equal(by[:], key) {
				prefixes = append(prefixes, keyPrefix(tomb.Prefix))
			}
		}
	}
	return prefixes, nil
}

// Sweep rewrites up to limit of the records that the tombstone affects and reports whether there
// are more. When there are none, it removes the tombstone. A damaged record stays as it is.
func (t *AnyTable) Sweep(tx *Tx, tomb Tombstone, limit int) (more bool, err error) {
	bucket := keyBucket(t.core.name, tomb.Key)
	var entries [][]byte
	for key := range within(tomb.Prefix, tx.scan(bucket, tomb.Prefix)) {
		if more = len(entries) == limit; more {
			break
		}
		entries = append(entries, bytes.Clone(key))
	}
	for _, entry := range entries {
		if len(entry) < 16 {
			return false, fmt.Errorf("%s: %w: the key %x is too short", bucket, ErrDamaged, entry)
		}
		id := uuid.UUID(entry[len(entry)-16:])
		rec := t.core.newRecord()
		switch d, err := t.core.get(tx, id, rec); {
		case fault.CodeOf(err) == fault.NotFound || IsDamagedRecord(err): // damage was counted and logged
		case err != nil:
			return false, err
		case d.Change > tomb.Change || d.applied == nil: // written since, with the tombstone applied
		default:
			if _, err := t.core.write(tx, d, rec, rec, swept, nil); err != nil {
				return false, err
			}
		}
		tx.delete(bucket, entry)
	}
	if !more {
		tx.delete(tombBucket(t.core.name), tomb.key())
		delete(tx.corrected, t.core.name)
	}
	return more, nil
}

// mayBeIn is a quick test that rules out most unaffected records.
func (t *Tombstone) mayBeIn(public []byte) bool {
	if t.Value == "" {
		return bytes.Contains(public, []byte(`"`+t.Field+`"`))
	}
	return bytes.Contains(public, []byte(t.Value))
}

// Without copies an object without the deleted value or member, or with what replaces the value.
func (t *Tombstone) Without(public []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(public)), '{')
	err := eachMember(public, func(name string, value jsontext.Value) (err error) {
		if name == t.Field && t.Value == "" {
			return nil
		}
		if name == t.Field {
			if value, err = t.taken(value); err != nil {
				return err
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, name); err == nil {
			out = append(append(out, ':'), value...)
		}
		return err
	})
	return append(out, '}'), err
}

// taken returns the value of the member without the deleted value.
func (t *Tombstone) taken(value jsontext.Value) (jsontext.Value, error) {
	isDeleted := func(v jsontext.Value) bool { return string(v) == `"`+t.Value+`"` }
	if value.Kind() != jsontext.KindBeginArray {
		switch {
		case !isDeleted(value):
			return value, nil
		case t.By != "":
			return jsontext.Value(`"` + t.By + `"`), nil
		}
		return jsontext.Value("null"), nil
	}
	var items []jsontext.Value
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, err
	}
	return json.Marshal(slices.DeleteFunc(items, isDeleted))
}
