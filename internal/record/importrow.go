package record

import (
	"errors"
	"slices"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// importRow collects the body of a record from the cells of a row.
type importRow struct {
	tx       *store.Tx
	object   string
	body     shape.Value
	problems fault.Problems
	err      error
}

// set adds the value of a cell to the body. Names of referred records are replaced by their ids.
func (r *importRow) set(t *target, v shape.Value) {
	if t.refers != nil {
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			r.refer(t, &v.Items[i])
		}
		r.refer(t, &v)
	}
	set(&r.body, t.Member, v)
}

// refer replaces the name of a record by its id.
func (r *importRow) refer(t *target, v *shape.Value) {
	if v.Kind != shape.String {
		return
	}
	if _, err := shape.ParseID(v.Text); err == nil && t.by == "" {
		return
	}
	id, found, err := t.refers.named(r.tx, t.by, v.Text, r.object)
	switch {
	case err != nil:
		r.err = errors.Join(r.err, err)
	case !found && t.by == "":
		r.problems.Invalid(t.Column, "%s is neither an id nor a known name", shape.Quote(v.Text))
	case !found:
		r.problems.Invalid(t.Column, "none of the %s has %s", t.refers.Entity, shape.Quote(v.Text))
	default:
		v.Text = id.String()
	}
}

// set adds a member to an object. A key with a dot sets a member of a nested object.
func set(object *shape.Value, key string, v shape.Value) {
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		object.Members = append(object.Members, shape.Member{Key: key, Value: v})
		return
	}
	for i := range object.Members {
		if object.Members[i].Key == outer {
			set(&object.Members[i].Value, inner, v)
			return
		}
	}
	within := shape.Value{Kind: shape.Object}
	set(&within, inner, v)
	object.Members = append(object.Members, shape.Member{Key: outer, Value: within})
}
