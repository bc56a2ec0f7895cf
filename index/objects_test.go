package index

import (
	"slices"
	"testing"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Objects are filtered by their ids, as a multi that nothing sorts by; those without ids are no field.
func TestObjects(t *testing.T) {
	r := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "groups": [{"id": "0190b2f0-0000-7000-8000-00000000000a"}, {"id": "0190b2f0-0000-7000-8000-00000000000b"}],
		"steps": [{"id": "One"}, {"id": null}], "blocks": {"outro": {}, "intro": {}}, "moves": [{"day": 1}]}`)
	empty := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000003", "steps": [{"id": null}], "moves": [{"day": 1}]}`)
	for rule, want := range map[string][2]bool{
		`"groups", "condition": "is", "value": "0190B2F0-0000-7000-8000-00000000000A"`:                                                 {true, false},
		`"groups", "condition": "is_not", "value": "0190b2f0-0000-7000-8000-00000000000a"`:                                             {false, true},
		`"groups", "condition": "contains", "value": ["0190b2f0-0000-7000-8000-00000000000a", "0190b2f0-0000-7000-8000-00000000000b"]`: {true, false},
		`"groups", "condition": "contains", "value": ["0190b2f0-0000-7000-8000-00000000000a", "0190b2f0-0000-7000-8000-00000000000c"]`: {false, false},
		`"groups", "condition": "is_empty"`:                              {false, true},
		`"steps", "condition": "is", "value": ["One", "Two"]`:            {true, false},
		`"steps", "condition": "is", "value": "one"`:                     {false, false},
		`"steps", "condition": "is_not_empty"`:                           {true, false},
		`"blocks", "condition": "contains", "value": ["intro", "outro"]`: {true, false},
		`"blocks", "condition": "not_contains", "value": "intr"`:         {true, true},
		`"blocks", "condition": "is_empty"`:                              {false, true},
	} {
		plan, err := compileBody(t, `{"filters": [{"field": `+rule+`}]}`)
		if err != nil || plan.Match(r) != want[0] || plan.Match(empty) != want[1] {
			t.Errorf("%s: %v", rule, err)
		}
	}
	for _, body := range []string{
		`{"filters": [{"field": "groups", "condition": "is", "value": "One"}]}`,
		`{"filters": [{"field": "moves", "condition": "is_empty"}]}`,
		`{"filters": [{"field": "steps.day", "condition": "is", "value": 1}]}`,
		`{"filters": [{"field": "groups.name", "condition": "is", "value": "x"}]}`,
	} {
		if _, err := compileBody(t, body); fault.CodeOf(err) != fault.InvalidFilter {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := compileBody(t, `{"sort": "steps"}`); err == nil {
		t.Error("a list is sorted by objects")
	}
	multi := Field{Field: shape.Field{Type: shape.TypeMulti}}
	for _, f := range things.Schema(NoCustoms).Fields {
		switch f.Key {
		case "groups", "steps", "blocks":
			if f.Type != string(shape.TypeMulti) || f.Sortable || !slices.Equal(f.Conditions, multi.Conditions()) {
				t.Errorf("%+v", f)
			}
		case "moves":
			t.Error("what has no ids is a field")
		}
	}
}
