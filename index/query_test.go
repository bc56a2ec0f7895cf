package index

import (
	"testing"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// compileBody compiles a list body without custom fields.
func compileBody(body string) (*filter.Plan, error) {
	return compileFor(things, filter.NoCustomFields, body)
}

// compileAt compiles a list body with the custom fields of a transaction.
func compileAt(t testing.TB, tx *store.Tx, k *Kind, body string) (*filter.Plan, error) {
	t.Helper()
	cs, err := k.Customs(tx)
	if err != nil {
		t.Fatal(err)
	}
	return compileFor(k, cs, body)
}

func compileFor(k *Kind, cs *filter.CustomFields, body string) (*filter.Plan, error) {
	v, err := shape.ParseObject([]byte(body))
	if err != nil {
		return nil, err
	}
	var q filter.ListBody
	var p fault.Problems
	shape.Decode(v, &q, shape.Create, &p)
	return filter.Compile(k.Kind, cs, q, &p), p.Err()
}

// listQuery is the query of a list body.
func listQuery(k *Kind, body string) Query {
	return func(_ *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) { return compileFor(k, cs, body) }
}
