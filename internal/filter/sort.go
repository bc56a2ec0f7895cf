package filter

import (
	"slices"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

const maxSortKeys = 20

// SortKey is one field of a sort.
type SortKey struct {
	Field *Field
	Desc  bool
}

// ParseSort parses a sort by built-in fields and completes it as Compile does. It reports false if
// the kind does not have one of the fields, or cannot be sorted by it.
func (k *Kind) ParseSort(s string) ([]SortKey, bool) {
	keys, unsortable := parseSort(s, k.Field)
	return k.withTieBreaker(keys), unsortable == nil
}

// SortName returns the sort in the syntax of ParseSort, with field names in place of keys. Two
// sorts with the same name have the same order.
func SortName(keys []SortKey) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if key.Desc {
			b.WriteByte('-')
		}
		b.WriteString(key.Field.Name)
	}
	return b.String()
}

// withTieBreaker appends the id to a sort that does not have it, in the direction of the last key,
// if the id is a text. Other ids need no key: Compare falls back to the id of the store, which is
// the same.
func (k *Kind) withTieBreaker(keys []SortKey) []SortKey {
	isID := func(key SortKey) bool { return key.Field == k.idText }
	if k.idText == nil || len(keys) == 0 || slices.ContainsFunc(keys, isID) {
		return keys
	}
	return append(keys, SortKey{Field: k.idText, Desc: keys[len(keys)-1].Desc})
}

// parseSort parses a sort. It returns the names that are not fields or that cannot be sorted by.
func parseSort(s string, find func(key string) *Field) (keys []SortKey, unsortable []string) {
	for part := range strings.SplitSeq(s, ",") {
		name, desc := strings.CutPrefix(part, "-")
		f := find(name)
		if f == nil || !f.Sortable {
			unsortable = append(unsortable, name)
			continue
		}
		keys = append(keys, SortKey{Field: f, Desc: desc})
	}
	return keys, unsortable
}

// sort compiles the sort of a list body.
func (c *compiler) sort(s string) []SortKey {
	if s == "" {
		s = c.kind.DefaultSort
	}
	if n := strings.Count(s, ",") + 1; n > maxSortKeys {
		c.p.Add(fault.InvalidSort, "sort", "must have at most %d fields, not %d", maxSortKeys, n)
		return nil
	}
	keys, unsortable := parseSort(s, c.field)
	for _, name := range unsortable {
		c.unsortable("sort", name)
	}
	return c.kind.withTieBreaker(keys)
}

// sortAt compiles the sort of a selection.
func (c *compiler) sortAt(keys []SortAt) (out []SortKey) {
	if len(keys) == 0 {
		out, _ = c.kind.ParseSort(c.kind.DefaultSort)
		return out
	}
	for i, key := range keys {
		f := c.field(key.Field)
		switch {
		case i >= maxSortKeys:
			c.p.Add(fault.InvalidSort, key.Path, "a sort must have at most %d fields, not %d", maxSortKeys, len(keys))
			return out
		case f == nil || !f.Sortable:
			c.unsortable(key.Path, key.Field)
		default:
			out = append(out, SortKey{Field: f, Desc: key.Desc})
		}
	}
	return c.kind.withTieBreaker(out)
}

func (c *compiler) unsortable(path, name string) {
	c.p.Add(fault.InvalidSort, path, "%s is not a field that %s can be sorted by", shape.Quote(name), c.kind.Entity)
}
