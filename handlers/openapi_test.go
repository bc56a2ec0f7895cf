package handlers_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestDocumentForm holds the API document against what linters and code generators ask of its form.
func TestDocumentForm(t *testing.T) {
	var doc struct {
		Info  struct{ Title, Version, Description string }
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]struct {
			OperationID, Summary, Description string
			Tags                              []string
			Parameters                        []struct{ Name, Description string }
			Responses                         map[string]struct {
				Description string
				Headers     map[string]struct{ Description string }
			}
		}
	}
	readDocument(t, &doc)
	if doc.Info.Title == "" || doc.Info.Version != "1.0.0" || doc.Info.Description == "" {
		t.Errorf("info is %+v", doc.Info)
	}

	filed, ids := map[string]int{}, map[string]string{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			what := method + " " + path
			if other, twice := ids[op.OperationID]; twice || op.OperationID == "" {
				t.Errorf("%s and %q both are operation %q", what, other, op.OperationID)
			}
			ids[op.OperationID] = what
			if op.Summary == "" || op.Description == "" || strings.HasSuffix(op.Summary, ".") {
				t.Errorf("%s has the summary %q and the description %q", what, op.Summary, op.Description)
			}
			if len(op.Tags) != 1 {
				t.Errorf("%s has the tags %v, want one", what, op.Tags)
			}
			for _, tag := range op.Tags {
				filed[tag]++
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s: the parameter %s has no description", what, p.Name)
				}
			}
			refused := false
			for status, r := range op.Responses {
				refused = refused || status[0] == '4'
				if r.Description == "" {
					t.Errorf("%s: the response %s has no description", what, status)
				}
				for name, h := range r.Headers {
					if h.Description == "" {
						t.Errorf("%s: the header %s has no description", what, name)
					}
				}
			}
			if !refused && strings.HasPrefix(path, "/v1/") {
				t.Errorf("%s has no response 4xx", what)
			}
		}
	}
	for _, tag := range doc.Tags {
		if filed[tag.Name] == 0 || tag.Description == "" {
			t.Errorf("the group %q has %d operations and the description %q", tag.Name, filed[tag.Name], tag.Description)
		}
		delete(filed, tag.Name)
	}
	if len(filed) > 0 {
		t.Errorf("operations are filed under %v: add it to groups", slices.Sorted(maps.Keys(filed)))
	}
}

// readDocument reads what into has a place for, and gives the document as it is.
func readDocument(t *testing.T, into any) string {
	t.Helper()
	raw := apptest.New(t).Anonymous().Get("/openapi.json").Is(200).Body
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestDocumentReferences(t *testing.T) {
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	raw := readDocument(t, &doc)
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(raw, -1) {
		name, ours := strings.CutPrefix(m[1], "#/components/schemas/")
		if doc.Components.Schemas[name] == nil || !ours {
			t.Errorf("the reference %s leads nowhere", m[1])
		}
		used[name] = true
	}
	for name := range doc.Components.Schemas {
		if !used[name] {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
}

// TestCustomNames holds the inputs that take custom fields to the names they take: to code generators they are open.
func TestCustomNames(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties        map[string]any
				PatternProperties map[string]any
				PropertyNames     *struct{ Pattern string }
			}
		}
	}
	readDocument(t, &doc)
	inputs := 0
	for name, s := range doc.Components.Schemas {
		if s.PropertyNames == nil {
			if input := strings.HasSuffix(name, "Create") || strings.HasSuffix(name, "Update"); input && s.PatternProperties != nil {
				t.Errorf("%s is open", name)
			}
			continue
		}
		inputs++
		names := regexp.MustCompile(s.PropertyNames.Pattern)
		for _, key := range append(slices.Collect(maps.Keys(s.Properties)), "custom_field_tier") {
			if !names.MatchString(key) {
				t.Errorf("%s does not take %s", name, key)
			}
		}
		for _, key := range []string{"", "titel", "custom_field_", "custom_field_Tier", "custom_field_tier ", "tags2", "xtags"} {
			if names.MatchString(key) {
				t.Errorf("%s takes %q", name, key)
			}
		}
	}
	if inputs != 2*5 {
		t.Errorf("%d inputs take custom fields, want those of five entities", inputs)
	}
}
