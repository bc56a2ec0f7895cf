package record

import (
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// Draft is a new record, decoded from a body but not stored yet. Drafts are decoded before the
// transaction begins, because all writers would wait for it.
type Draft[T any] struct {
	record   T
	body     shape.Value
	problems fault.Problems
}

// NewDraft decodes a body. Create reports its problems together with those found later.
func NewDraft[T any](body shape.Value) Draft[T] {
	d := Draft[T]{body: body}
	shape.Decode(body, &d.record, shape.Create, &d.problems)
	return d
}

// Open returns the decoded record and its problems.
func (d *Draft[T]) Open() (T, fault.Problems) { return d.record, d.problems }

// Given returns a member of the body.
func (d *Draft[T]) Given(key string) shape.Value { return d.body.Get(key) }

// withIDs returns the draft with the names of referred records replaced by their ids.
func (d Draft[T]) withIDs(tx *store.Tx, k *kind) (Draft[T], error) {
	body, err := k.withIDs(tx, d.body)
	if err != nil || len(body.Members) == 0 || &body.Members[0] == &d.body.Members[0] {
		return d, err
	}
	return NewDraft[T](body), nil
}

// PathOf returns the path of the first occurrence of an id in a list of the body.
func (d *Draft[T]) PathOf(key string, id uuid.UUID) string {
	for i, item := range d.body.Get(key).Items {
		if given, err := shape.ParseID(item.Text); err == nil && given == id {
			return fmt.Sprintf("%s[%d]", key, i)
		}
	}
	return key
}
