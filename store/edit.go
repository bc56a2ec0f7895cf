package store

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Place is where a value is stored in an organization.
type Place struct {
	Bucket string
	Key    string
}

const (
	// placesPerView is the number of entries that FindValues reads in one transaction.
	placesPerView = 5000
	// editsPerUpdate is the number of values that EditValues writes in one transaction.
	editsPerUpdate = 250
)

// FindValues returns where the records, parts and jobs of an organization are stored that match, and the changes with
// values that match. Damaged values are passed as they are.
func (s *Store) FindValues(ctx context.Context, org uuid.UUID, matches func(value []byte) bool) (found []Place, err error) {
	buckets, err := Read(s, org, func(tx *Tx) ([]string, error) { return tx.sealedBuckets(setSuffix, tombSuffix), nil })
	for _, bucket := range buckets {
		if err == nil {
			err = s.eachChunk(org, bucket, placesPerView, ctx.Err, func(tx *Tx, key, value []byte) {
				if tx.matches(bucket, key, value, matches) {
					found = append(found, Place{bucket, string(key)})
				}
			})
		}
	}
	return found, err
}

// matches reports whether what is stored under a key matches.
func (tx *Tx) matches(bucket string, key, value []byte, matches func([]byte) bool) bool {
	if !strings.HasSuffix(bucket, logSuffix) {
		return matches(value)
	}
	c, err := tx.decodeChange(bucket, key, value)
	return err == nil && slices.ContainsFunc(c.Values, matches)
}

// ForgetValues removes the values from all changes of a record that are stored, however old they are.
func (tx *Tx) ForgetValues(table string, id uuid.UUID) error {
	log := table + logSuffix
	return tx.changesOf(table, id, func(c Change) (bool, error) {
		tx.forgetValues(log, c)
		return true, nil
	})
}

// forgetValues removes the values from a change. Undoing the change is not possible any more.
func (tx *Tx) forgetValues(log string, c Change) {
	if c.Values != nil {
		c.Values = nil
		tx.putChange(log, c)
	}
}

// Edit returns the JSON of a value without what must not be in it, or nil if it stays as it is. isPrivate says that it is
// the private part of a record.
type Edit func(at Place, isPrivate bool, json []byte) []byte

// both edits both parts of a record.
func (e Edit) both(at Place, public, private []byte) (_, _ []byte, edited bool) {
	if without := e(at, false, public); without != nil {
		public, edited = without, true
	}
	if without := e(at, true, private); without != nil {
		private, edited = without, true
	}
	return public, private, edited
}

// ReadValues calls read with the JSON of the records and parts at the given places, a few per transaction. It leaves out
// damaged ones.
func (s *Store) ReadValues(
	ctx context.Context, org uuid.UUID, tables []ShapedTable, places []Place, read func(at Place, isPrivate bool, json []byte),
) error {
	shaped := byBucket(tables)
	edit := func(at Place, isPrivate bool, json []byte) []byte {
		read(at, isPrivate, json)
		return nil
	}
	for some := range slices.Chunk(places, editsPerUpdate) {
		err := s.View(org, func(tx *Tx) error {
			_, err := tx.editValues(shaped, some, edit)
			return errors.Join(err, ctx.Err())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func byBucket(tables []ShapedTable) map[string]*table {
	shaped := map[string]*table{}
	for _, t := range tables {
		shaped[t.untyped().rec] = t.untyped()
	}
	return shaped
}

// TypesOf returns the bucket of a table's records, and the types of their public and private parts. The latter is nil if
// they have none.
func TypesOf(t ShapedTable) (bucket string, public, private reflect.Type) {
	rec := t.untyped().newRecord()
	if part := privatePart(rec); part != nil {
		private = reflect.TypeOf(part).Elem()
	}
	return t.untyped().rec, reflect.TypeOf(rec).Elem(), private
}

// EditValues changes the JSON in the values at the given places, a few per transaction. The records of the given tables
// keep their keys in step, with a change that names no fields. A change loses all of its values. It leaves out damaged
// values.
func (s *Store) EditValues(
	ctx context.Context, org uuid.UUID, actor Actor, tables []ShapedTable, places []Place, edit Edit,
) (edited int, err error) {
	shaped := byBucket(tables)
	for some := range slices.Chunk(places, editsPerUpdate) {
		n := 0
		err := s.Update(ctx, org, actor, func(tx *Tx) (err error) {
			n, err = tx.editValues(shaped, some, edit)
			return err
		})
		if err != nil {
			return edited, err
		}
		edited += n
	}
	return edited, nil
}

// editValues edits the values at the given places, except damaged ones, and returns how many it has changed.
func (tx *Tx) editValues(shaped map[string]*table, places []Place, edit Edit) (edited int, err error) {
	for _, p := range places {
		isEdited, err := tx.editValue(shaped[p.Bucket], p, edit)
		if err != nil && !IsDamagedRecord(err) {
			return edited, err
		}
		if isEdited {
			edited++
		}
	}
	return edited, nil
}

func (tx *Tx) editValue(t *table, p Place, edit Edit) (edited bool, err error) {
	key := []byte(p.Key)
	stored := tx.get(p.Bucket, key)
	switch {
	case stored == nil, !tx.writable && strings.HasSuffix(p.Bucket, logSuffix): // changes are not read
		return false, nil
	case t != nil && len(key) == 16:
		return t.edit(tx, p, edit)
	case strings.HasSuffix(p.Bucket, recSuffix):
		change, private, public, err := decodeValue(tx.placeSum(p.Bucket, key), stored)
		if err != nil {
			return false, nil // check reports it
		}
		if public, private, edited = edit.both(p, public, private); edited {
			tx.put(p.Bucket, key, encodeValue(tx.placeSum(p.Bucket, key), change, versionOf(stored), private, public))
		}
		return edited, nil
	}
	if strings.HasSuffix(p.Bucket, logSuffix) {
		c, err := tx.decodeChange(p.Bucket, key, stored)
		if err != nil {
			return false, nil // check reports it
		}
		tx.forgetValues(p.Bucket, c)
		return c.Values != nil, nil
	}
	value, err := unseal(tx.placeSum(p.Bucket, key), stored)
	if err != nil {
		return false, nil // check reports it
	}
	if value = edit(p, false, value); value == nil {
		return false, nil
	}
	tx.putSealed(p.Bucket, key, value)
	return true, nil
}

// edit changes the JSON of a record.
func (t *table) edit(tx *Tx, p Place, edit Edit) (edited bool, err error) {
	id, before, after := uuid.UUID([]byte(p.Key)), t.newRecord(), t.newRecord()
	d, private, err := t.getUndecoded(tx, id)
	if err != nil {
		return false, err
	}
	newPublic, newPrivate, edited := edit.both(p, d.JSON, private)
	if !edited {
		return false, nil
	}
	err = errors.Join(t.unmarshal(id, d.JSON, private, before), t.unmarshal(id, newPublic, newPrivate, after))
	if err == nil {
		_, err = t.write(tx, d, before, after, Updated, nil)
	}
	return err == nil, err
}
