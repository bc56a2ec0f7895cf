package rows

import (
	_ "embed"
	"strings"
	"sync"
)

// knownHeadersText is the table of the names that columns have in the tables of other programs. Its first lines say how to
// add one.
//
//go:embed known_headers.txt
var knownHeadersText string

// knownHeaders are the names of columns by entity and field.
var knownHeaders = sync.OnceValue(func() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	var fields []string // of the block
	for line := range strings.Lines(knownHeadersText) {
		text := strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "#"):
			fields = strings.Fields(text)
		case strings.HasPrefix(line, "\t"):
			for _, of := range fields {
				entity, field, _ := strings.Cut(of, ".")
				if all[entity] == nil {
					all[entity] = map[string][]string{}
				}
				all[entity][field] = append(all[entity][field], strings.Split(text, " | ")...)
			}
		}
	}
	return all
})

// halfNames are the names of columns that contain full names only if no other column has first or last
// names, folded.
var halfNames = map[string]bool{"name": true, "nom": true, "nombre": true, "namen": true}
