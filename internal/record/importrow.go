package record

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// importRow is a row on its way to becoming a record.
type importRow struct {
	tx       *store.Tx
	object   string
	body     shape.Value
	given    []string // the members that are set
	problems fault.Problems
	err      error
}

var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	truths     = map[string]bool{"true": true, "yes": true, "1": true, "false": false, "no": false, "0": false}
)

// cell takes in a cell of a CSV file. An empty one leaves what is there.
func (r *importRow) cell(t *target, cell string) {
	if strings.TrimSpace(cell) == "" {
		return
	}
	cell = rows.Unguard(cell)
	if !t.list {
		r.value(t, t.text(cell))
		return
	}
	entries := shape.Value{Kind: shape.List}
	for _, entry := range rows.Split(cell) {
		entries.Items = append(entries.Items, t.text(entry))
	}
	r.value(t, entries)
}

// text is a text of a cell. What is free text is kept as it is; around everything else spaces mean nothing, unless they are allowed
// for.
func (t *target) text(s string) shape.Value {
	free := t.field.Type == shape.TypeText && t.field.Format == ""
	if !free && !slices.Contains(t.field.Enum, s) {
		s = strings.TrimSpace(s)
	}
	return shape.Value{Kind: shape.String, Text: s}
}

// value takes in a value. A text that says a number, a truth or a name is what it says; one that does not is refused with the
// rest of the record.
func (r *importRow) value(t *target, v shape.Value) {
	if v.Kind == shape.Null || v.Kind == shape.String && v.Text == "" {
		return
	}
	if slices.Contains(r.given, t.member) {
		r.problems.Invalid(t.member, "is given twice")
		return
	}
	r.given = append(r.given, t.member)
	if v.Kind == shape.String {
		truth, isTruth := truths[strings.ToLower(v.Text)]
		switch {
		case t.field.Type == shape.TypeNumber && jsonNumber.MatchString(v.Text):
			v.Kind = shape.Num
		case t.field.Type == shape.TypeBoolean && isTruth:
			v = shape.Value{Kind: shape.Bool, True: truth}
		}
	}
	if t.refers != nil {
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			r.refer(t, &v.Items[i])
		}
		r.refer(t, &v)
	}
	set(&r.body, t.member, v)
}

// refer puts the id in the place of what names a record.
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
		r.problems.Invalid(t.column, "names %q, which is neither an id nor the name of one", v.Text)
	case !found:
		r.problems.Invalid(t.column, "is %q, which none of the %s has", v.Text, t.refers.entity())
	default:
		v.Text = id.String()
	}
}

// set sets a member, in an object of its own where the key has a dot.
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
