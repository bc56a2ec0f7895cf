package filter

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/shape"
)

// WithIDs returns a filter in which names of records are replaced by their ids, in rules on fields that
// accept names. find returns the id of the record that a field calls by a name. Names that it does not
// find, and everything that is not a valid filter, stay for the compiler to report.
func (k *Kind) WithIDs(v shape.Value, find func(f *Field, name string) (uuid.UUID, bool, error)) (shape.Value, error) {
	if !slices.ContainsFunc(k.Fields, func(f Field) bool { return f.Named }) {
		return v, nil
	}
	return k.withIDs(v, find)
}

func (k *Kind) withIDs(
	v shape.Value, find func(f *Field, name string) (uuid.UUID, bool, error),
) (_ shape.Value, err error) {
	switch v.Kind {
	case shape.List:
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			if v.Items[i], err = k.withIDs(v.Items[i], find); err != nil {
				return v, err
			}
		}
	case shape.Object:
		f := k.Field(v.Get("field").Text)
		v.Members = slices.Clone(v.Members)
		for i := range v.Members {
			switch m := &v.Members[i]; {
			case m.Key == "filters":
				m.Value, err = k.withIDs(m.Value, find)
			case m.Key == "value" && f != nil && f.Named:
				m.Value, err = NamesToIDs(m.Value, func(name string) (uuid.UUID, bool, error) { return find(f, name) })
			}
			if err != nil {
				return v, err
			}
		}
	}
	return v, nil
}

// NamesToIDs returns a string, or a list of strings, with every name that find knows replaced by its id.
func NamesToIDs(v shape.Value, find func(name string) (uuid.UUID, bool, error)) (shape.Value, error) {
	switch v.Kind {
	case shape.List:
		v.Items = slices.Clone(v.Items)
		for i, item := range v.Items {
			if item.Kind != shape.String {
				continue
			}
			var err error
			if v.Items[i], err = NamesToIDs(item, find); err != nil {
				return v, err
			}
		}
	case shape.String:
		if _, err := shape.ParseID(v.Text); err == nil {
			return v, nil
		}
		id, found, err := find(v.Text)
		if err != nil || !found {
			return v, err
		}
		v.Text = id.String()
	}
	return v, nil
}
