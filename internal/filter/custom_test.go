package filter

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Every type of custom field can be filtered and searched by, and only custom fields that exist.
func TestMatchCustomFields(t *testing.T) {
	var fields []shape.CustomField
	for _, typ := range []shape.Type{
		shape.TypeText, shape.TypeNumber, shape.TypeBoolean, shape.TypeDate, shape.TypeEnum, shape.TypeMulti,
	} {
		fields = append(fields, shape.NewCustomField(uuid.New(), string(typ), "", typ, []string{"a", "b", "B"}))
	}
	cs := NewCustomFields(fields)
	full := customRow(t, cs, `{"custom_field_text": "Quagga x", "custom_field_number": 3, "custom_field_boolean": false,
		"custom_field_date": "2026-03-01", "custom_field_enum": "B", "custom_field_multi": ["a", "b"],
		"custom_field_gone": "zebu"}`)
	empty := customRow(t, cs, `{}`)
	for _, c := range []struct {
		body                string
		wantFull, wantEmpty bool
	}{
		{ruleBody("custom_field_text", Is, "Quagga x"), true, false},
		{ruleBody("custom_field_text", Is, "quagga x"), false, false},
		{ruleBody("custom_field_text", Contains, "GA X"), true, false},
		{ruleBody("custom_field_text", NotContains, "zebu"), true, true},
		{ruleBody("custom_field_number", GreaterThan, 2.5), true, false},
		{ruleBody("custom_field_number", IsNot, 3), false, true},
		{ruleBody("custom_field_boolean", Is, false), true, false},
		{ruleBody("custom_field_boolean", IsNot, true), true, true},
		{ruleBody("custom_field_date", IsBefore, "2026-03-02"), true, false},
		{ruleBody("custom_field_date", IsAfter, "2026-03-01"), false, false},
		{ruleBody("custom_field_enum", Is, []string{"a", "B"}), true, false},
		{ruleBody("custom_field_enum", Is, "b"), false, false},
		{ruleBody("custom_field_multi", Is, []string{"b", "B"}), true, false},
		{ruleBody("custom_field_multi", Contains, []string{"a", "b"}), true, false},
		{ruleBody("custom_field_multi", Contains, []string{"a", "B"}), false, false},
		{ruleBody("custom_field_multi", NotContains, []string{"a", "B"}), true, true},
		{ruleBody("custom_field_boolean", IsEmpty), false, true},
		{ruleBody("custom_field_multi", IsNotEmpty), true, false},
		{`{"search": "quag"}`, true, false},
		{`{"search": "X quagga"}`, true, false},
		{`{"search": "uagga"}`, false, false},
		{`{"search": "b"}`, false, false},
		{`{"search": "zebu"}`, false, false},
	} {
		t.Run(c.body, func(t *testing.T) {
			plan, err := compileWith(cs, c.body)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Match(full) != c.wantFull || plan.Match(empty) != c.wantEmpty {
				t.Errorf("matches a full record %t and an empty one %t", plan.Match(full), plan.Match(empty))
			}
		})
	}
	for body, code := range map[string]fault.Code{
		`{"sort": "custom_field_multi"}`:                          fault.InvalidSort,
		`{"sort": "custom_field_gone"}`:                           fault.InvalidSort,
		ruleBody("custom_field_gone", IsEmpty):                    fault.InvalidFilter,
		ruleBody("custom_field_enum", Is, "A"):                    fault.InvalidFilter,
		ruleBody("custom_field_number", Is, "3"):                  fault.InvalidFilter,
		ruleBody("custom_field_boolean", Contains, true):          fault.InvalidFilter,
		ruleBody("custom_field_date", Is, "2026-03-01T00:00:00Z"): fault.InvalidFilter,
	} {
		t.Run(fmt.Sprintf("%s %s", code, body), func(t *testing.T) {
			if _, err := compileWith(cs, body); fault.CodeOf(err) != code {
				t.Errorf("got %v", err)
			}
		})
	}
}
