package store

import (
	"slices"
	"strings"
)

// Layout describes the unique and secondary keys of tables, one line for each table that has keys. A key that is
// added or removed changes the format of the store: existing records have no entries for a new key until
// a migration, or a new version of the key, writes them.
func Layout(tables ...ShapedTable) string {
	var lines []string
	for _, shaped := range tables {
		t := shaped.untyped()
		var keys []string
		for i := range t.unique {
			keys = append(keys, "unique "+t.unique[i].name)
		}
		for i := range t.keys {
			name := "key " + t.keys[i].name
			if t.keys[i].version != "" {
				name += " (has a version)"
			}
			keys = append(keys, name)
		}
		slices.Sort(keys)
		if len(keys) > 0 {
			lines = append(lines, t.name+": "+strings.Join(keys, ", ")+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
