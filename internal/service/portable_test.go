package service

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prospector/store"
)

// TestPortions fails when the service has a table, parts, sets or a counter that neither goes along with an export of an
// organization nor is left out for a reason. Declare it in Portions of its package.
func TestPortions(t *testing.T) {
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
	var declared []string
	for _, p := range s.Portions() {
		name := kindOf(&p) + " " + p.Name()
		if slices.Contains(declared, name) {
			t.Errorf("%s is declared twice", name)
		}
		declared = append(declared, name)
	}
	w := walker{seen: map[uintptr]bool{}, found: map[string]string{}}
	w.walk(reflect.ValueOf(s), "service")
	if len(w.found) < 30 {
		t.Errorf("only %d are found: %v", len(w.found), w.found)
	}
	for name, path := range w.found {
		if !slices.Contains(declared, name) {
			t.Errorf("%s (%s) is in no export: declare it in Portions of its package", name, path)
		}
	}
}

func kindOf(p *store.Portion) string {
	switch {
	case p.Table != nil:
		return "table"
	case p.Parts != nil:
		return "parts"
	case p.Sets != nil:
		return "sets"
	}
	return "counter"
}

// walker finds what is declared in the fields of the service and of everything that it leads to.
type walker struct {
	seen  map[uintptr]bool
	found map[string]string // the path to each
}

func (w walker) walk(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || w.seen[v.Pointer()] {
			return
		}
		w.seen[v.Pointer()] = true
		w.walk(v.Elem(), path)
	case reflect.Interface:
		w.walk(v.Elem(), path)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.walk(v.Index(i), path)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			w.walk(entries.Value(), path)
		}
	case reflect.Struct:
		typ := v.Type()
		if typ.PkgPath() == "prospector/store" {
			switch name, _, _ := strings.Cut(typ.Name(), "["); name {
			case "AnyTable":
				w.found["table "+v.FieldByName("core").FieldByName("name").String()] = path
				return
			case "Parts":
				w.found["parts "+strings.TrimSuffix(v.FieldByName("bucket").String(), ".part")] = path
				return
			case "Sets":
				w.found["sets "+strings.TrimSuffix(v.FieldByName("chunks").String(), ".set")] = path
				return
			case "Counter":
				if bucket := v.FieldByName("bucket").String(); !strings.HasSuffix(bucket, ".log") {
					w.found["counter "+strings.TrimSuffix(bucket, ".counter")] = path
				}
				return
			case "Table":
			default:
				return
			}
		} else if !strings.HasPrefix(typ.PkgPath(), "prospector/") {
			return
		}
		for i := range v.NumField() {
			w.walk(v.Field(i), path+"."+typ.Field(i).Name)
		}
	}
}
