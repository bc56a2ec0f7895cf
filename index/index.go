// Package index answers lists: it filters, sorts, searches and pages the records of a table.
// Package filter defines the result by a plain predicate over every record. The Engine returns the
// same result faster: it keeps a bleve index for every table of an organization that has many
// records, and updates it from the store's change log.
//
// The package does not know any business record. A Kind is a value that a feature makes for its
// table.
package index

import (
	"fmt"
	"hash/fnv"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// Kind is a table whose records can be listed.
type Kind struct {
	*filter.Kind

	table   string
	shaped  store.ShapedTable
	flush   flushPolicy
	customs func(*store.Tx) (*filter.CustomFields, error) // nil for a kind without custom fields
	// FindName returns the id of the record that a field of this kind calls by a name. It is nil if no
	// field accepts names.
	FindName func(tx *store.Tx, f *filter.Field, name string) (uuid.UUID, bool, error)
}

// NewKind makes the kind of a table. custom returns the custom fields of a transaction's
// organization; it is nil if the kind has none.
func NewKind[T any](
	entity, defaultSort string, table *store.Table[T], custom func(*store.Tx) (*filter.CustomFields, error),
) *Kind {
	k := &Kind{Kind: filter.NewKind[T](entity, defaultSort), table: table.Name(), shaped: table, flush: usualPolicy, customs: custom}
	if table.HasShortHistory() {
		k.flush = busyPolicy
	}
	return k
}

// Table returns the name of the table.
func (k *Kind) Table() string { return k.table }

// ShapedTable returns the table, for store.UseShapes.
func (k *Kind) ShapedTable() store.ShapedTable { return k.shaped }

// Customs returns the custom fields that the kind has in a transaction.
func (k *Kind) Customs(tx *store.Tx) (*filter.CustomFields, error) {
	if k.customs == nil {
		return filter.NoCustomFields, nil
	}
	return k.customs(tx)
}

// WithIDs returns a filter in which the names of records are replaced by their ids.
func (k *Kind) WithIDs(tx *store.Tx, v shape.Value) (shape.Value, error) {
	if k.FindName == nil {
		return v, nil
	}
	return k.Kind.WithIDs(v, func(f *filter.Field, name string) (uuid.UUID, bool, error) { return k.FindName(tx, f, name) })
}

// signature identifies the fields of the kind and the format of their terms. An index with another
// signature must be rebuilt.
func (k *Kind) signature() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, termsFormat)
	for _, f := range k.Fields {
		fmt.Fprintf(h, "|%s %s %t %t", f.Key, f.Type, f.Long, f.Grams)
		if f.Searched {
			fmt.Fprint(h, " searched")
		}
		if f.Default != "" { // records that lack the field are read with it
			fmt.Fprintf(h, " default=%s", f.Default)
		}
	}
	return h.Sum64()
}

// Query compiles a list request against the custom fields that its kind has when the list is read.
// It runs in the transaction of the list.
type Query func(tx *store.Tx, custom *filter.CustomFields) (*filter.Plan, error)

// Page is one page of a list: the public JSON of its records, and the number of records on all
// pages. Damaged is the number of records of the kind that cannot be read and are left out, whether
// or not the filter would match them. The bytes belong to the store and are valid only until the callback
// that received the page returns.
type Page struct {
	Records [][]byte
	Total   int
	Damaged int
}
