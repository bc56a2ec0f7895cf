package service

import (
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prospector/internal/shape"
	"prospector/internal/tam"
	"prospector/store"
)

// TestPersonalFields fails when a field with text is added to a stored type without the rule personal. Decide whether it tells
// something about the person that the record is of or refers to. If it does, give it the rule. If not, write its line to the
// file, which also lists the addresses and ids of persons.
func TestPersonalFields(t *testing.T) {
	cfg := Defaults()
	cfg.DataDir = t.TempDir()
	s, err := Open(cfg, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var lines []string
	for _, table := range append(s.shapedTables(), s.Identity.UnlistedTables()...) {
		bucket, public, private := store.TypesOf(table)
		name := strings.TrimSuffix(bucket, ".rec")
		if strings.HasSuffix(name, "-trash") {
			continue // it has the fields of the records
		}
		lines = append(lines, textsOf(name, public, nil)...)
		if private != nil {
			lines = append(lines, textsOf(name+" (private)", private, nil)...)
		}
	}
	lines = append(lines, textsOf("previews.members", reflect.TypeFor[tam.Member](), nil)...)
	lines = append(lines, textsOf("previews.members.data", reflect.TypeFor[tam.PersonData](), nil)...)
	slices.Sort(lines)
	const file = "testdata/personal.txt"
	have := strings.Join(slices.Compact(lines), "\n") + "\n"
	if want, err := os.ReadFile(file); err != nil || have != string(want) {
		t.Errorf("the fields with text are not those in %s (%v):\n%s", file, err, have)
	}
}

// textsOf returns a line for each field with text in a type, and in the types inside of it.
func textsOf(name string, typ reflect.Type, within []reflect.Type) (lines []string) {
	if typ.Kind() != reflect.Struct || slices.Contains(within, typ) {
		return nil
	}
	fields := shape.OfType(typ).Fields
	for i := range fields {
		f := &fields[i]
		at := name + "." + f.Key
		if f.Input {
			continue
		}
		if f.IsFreeText() {
			line := at + " -"
			if f.Personal != "" {
				line = at + " personal " + string(f.Personal)
			}
			if !strings.HasSuffix(line, " personal value") { // what an erasure of the person empties
				lines = append(lines, line)
			}
		}
		if inside := f.Inside(); inside != nil {
			lines = append(lines, textsOf(at, inside.Type, append(within, typ))...)
		}
	}
	return lines
}
