package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
)

var customs = NewCustoms([]CustomField{
	NewCustomField(uuid.UUID{1}, "text", "Text", TypeText, nil),
	NewCustomField(uuid.UUID{2}, "number", "Number", TypeNumber, nil),
	NewCustomField(uuid.UUID{3}, "flag", "Flag", TypeBoolean, nil),
	NewCustomField(uuid.UUID{4}, "day", "Day", TypeDate, nil),
	NewCustomField(uuid.UUID{5}, "enum", "Enum", TypeEnum, []string{"one", "Two", "three four"}),
	NewCustomField(uuid.UUID{6}, "multi", "Multi", TypeMulti, manyValues()),
})

// manyValues returns more values than a list may have entries.
func manyValues() []string {
	values := []string{"a", "b", "c"}
	for i := range maxMulti {
		values = append(values, fmt.Sprint("v", i))
	}
	return values
}

// objectOf parses a body.
func objectOf(t *testing.T, body string) Value {
	t.Helper()
	v, err := ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// said joins the problems, each as "path: message".
func said(p *fault.Problems) string {
	var e *fault.Error
	if !errors.As(p.Err(), &e) {
		return ""
	}
	var list []string
	for _, d := range e.Details {
		list = append(list, d.Path+": "+d.Message)
	}
	return strings.Join(list, "; ")
}

func quoteAll(values []string) string {
	b, _ := json.Marshal(values)
	return string(b)
}

func TestDecodeCustom(t *testing.T) {
	type try struct{ value, want, problem string }
	longest := strings.Repeat("é", MaxText)
	for key, tries := range map[string][]try{
		"text": {
			{`"x"`, `"x"`, ""},
			{`" <é>\n\"\u0001 "`, `" <é>\n\"\u0001 "`, ""},
			{`"` + longest + `"`, `"` + longest + `"`, ""},
			{`"` + longest + `x"`, "", ": must be at most 10000 characters, not 10001"},
			{`"a\u0000b"`, "", ": must not contain NUL characters"},
			{`1`, "", ": must be a string"}, {`true`, "", ": must be a string"}, {`[]`, "", ": must be a string"}, {`{}`, "", ": must be a string"},
		},
		"number": {
			{`0`, `0`, ""}, {`-0`, `0`, ""}, {`1.50`, `1.5`, ""}, {`-1e3`, `-1000`, ""}, {`9007199254740992`, `9007199254740992`, ""},
			{`9007199254740993`, "", ": must be between -2^53 and 2^53"}, {`-1e999`, "", ": must be between -2^53 and 2^53"},
			{`""`, "", `: "" is not a number`}, {`"1"`, "", `: "1" is not a number`}, {`true`, "", ": must be a number"}, {`[1]`, "", ": must be a number"}, {`{}`, "", ": must be a number"},
		},
		"flag": {
			{`true`, `true`, ""}, {`false`, `false`, ""},
			{`""`, "", `: "" is not true or false`}, {`1`, "", ": must be true or false"}, {`"true"`, "", `: "true" is not true or false`}, {`[]`, "", ": must be true or false"},
		},
		"day": {
			{`"2024-02-29"`, `"2024-02-29"`, ""},
			{`"2023-02-29"`, "", `: "2023-02-29" is not a date such as 2026-03-01`},
			{`"2026-03-01T00:00:00Z"`, "", `: "2026-03-01T00:00:00Z" is not a date such as 2026-03-01`},
			{`20260301`, "", ": must be a date such as 2026-03-01"}, {`[]`, "", ": must be a date such as 2026-03-01"},
		},
		"enum": {
			{`"one"`, `"one"`, ""}, {`"three four"`, `"three four"`, ""},
			{`"two"`, "", `: "two" is not one of: one, Two, three four`},
			{`1`, "", ": must be a string"}, {`["one"]`, "", ": must be a string"},
		},
		"multi": {
			{`["b"]`, `["b"]`, ""},
			{`["b", "a", "b", "a"]`, `["b","a"]`, ""}, // a set in the given order
			{`""`, "", ": must be a list"}, {`"a"`, "", ": must be a list"}, {`1`, "", ": must be a list"}, {`{}`, "", ": must be a list"},
			{`["a", 1]`, "", "[1]: must be a string"}, {`["", "a"]`, "", "[0]: must not be empty"}, {`[null]`, "", "[0]: must be a string"},
			{quoteAll(manyValues()[:maxMulti]), quoteAll(manyValues()[:maxMulti]), ""},
			{quoteAll(manyValues()[:maxMulti+1]), "", ": must have at most 1000 entries, not 1001"},
		},
	} {
		key = CustomPrefix + key
		for _, c := range tries {
			t.Run(fmt.Sprintf("%s %.40s", key, c.value), func(t *testing.T) {
				var p fault.Problems
				var into Custom
				DecodeCustom(objectOf(t, `{"`+key+`": `+c.value+`}`), &into, customs, &p)
				want := ""
				if c.problem != "" {
					want = key + c.problem
				}
				if got := said(&p); got != want {
					t.Errorf("%s %.40s: %q, want %q", key, c.value, got, want)
				}
				if want != "" {
					return
				}
				b, err := jsonv2.Marshal(into)
				if err != nil || string(b) != `{"`+key+`":`+c.want+`}` {
					t.Errorf("%s %.40s is kept as %.60s, %v", key, c.value, b, err)
				}
				var back Custom // the store and the decoder must agree on the types of values
				if err := jsonv2.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, into) {
					t.Errorf("%s %.40s reads back as %#v, is %#v, %v", key, c.value, back, into, err)
				}
			})
		}
	}
}

// TestAllProblemsOfCustomFields checks that all problems are reported, each with its path.
func TestAllProblemsOfCustomFields(t *testing.T) {
	v := objectOf(t, `{"name": 7, "custom_field_multi": ["a", "x", "b", "y"], "custom_field_nope": 1, "custom_field_": null,
		"custom_field_number": "1", "custom_field_Text": "x"}`)
	var p fault.Problems
	var into Custom
	DecodeCustom(v, &into, customs, &p)
	allowed := "is not one of: " + strings.Join(manyValues(), ", ")
	want := strings.Join([]string{`custom_field_multi[1]: "x" ` + allowed, `custom_field_multi[3]: "y" ` + allowed, "custom_field_nope: unknown field",
		"custom_field_: unknown field", `custom_field_number: "1" is not a number`, "custom_field_Text: unknown field"}, "; ")
	if got := said(&p); got != want {
		t.Errorf("got  %s\nwant %s", strings.ReplaceAll(got, allowed, "…"), strings.ReplaceAll(want, allowed, "…"))
	}
}

// TestCustomFieldsAreCleared also checks that the map of a record is never modified, because copies
// of the record share it.
func TestCustomFieldsAreCleared(t *testing.T) {
	full := func() Custom {
		return Custom{"custom_field_text": "x", "custom_field_number": 1.5, "custom_field_flag": false, "custom_field_day": "2026-03-01",
			"custom_field_enum": "one", "custom_field_multi": []any{"a", "b"}}
	}
	for _, none := range []string{`null`, `""`, `[]`} {
		for key := range full() {
			if clears := map[string]string{`null`: "text number flag day enum multi", `""`: "text day enum", `[]`: "multi"}[none]; !strings.Contains(clears, strings.TrimPrefix(key, CustomPrefix)) {
				continue // it is a value of the wrong type there
			}
			original := full()
			into := original
			var p fault.Problems
			DecodeCustom(objectOf(t, `{"`+key+`": `+none+`, "other": 1}`), &into, customs, &p)
			want := full()
			delete(want, key)
			if said(&p) != "" || !reflect.DeepEqual(into, want) {
				t.Errorf("%s for %s: %v, %s", none, key, into, said(&p))
			}
			if !reflect.DeepEqual(original, full()) {
				t.Errorf("%s for %s: the original became %v", none, key, original)
			}
			var empty Custom
			DecodeCustom(objectOf(t, `{"`+key+`": `+none+`}`), &empty, customs, &p)
			if said(&p) != "" || len(empty) != 0 {
				t.Errorf("%s for %s which has none: %v, %s", none, key, empty, said(&p))
			}
		}
	}
	original := full()
	into := original
	var p fault.Problems
	DecodeCustom(objectOf(t, `{"custom_field_text": "y", "custom_field_multi": ["c"], "custom_field_number": 0, "custom_field_flag": true}`), &into, customs, &p)
	want := full()
	maps.Copy(want, Custom{"custom_field_text": "y", "custom_field_multi": []any{"c"}, "custom_field_number": 0.0, "custom_field_flag": true})
	if said(&p) != "" || !reflect.DeepEqual(into, want) || !reflect.DeepEqual(original, full()) {
		t.Errorf("set: %v, the original %v, %s", into, original, said(&p))
	}
	same := into
	DecodeCustom(objectOf(t, `{"name": "x"}`), &same, customs, &p)
	if !reflect.DeepEqual(same, into) {
		t.Errorf("a body without custom fields made it %v", same)
	}
}

// flexible is a record with custom fields.
type flexible struct {
	Name   string `json:"name" rule:"required"`
	Custom Custom `json:",embed"`
}

// TestRecordWithCustomFields decodes plain and custom fields of a body, and compares and encodes
// the record.
func TestRecordWithCustomFields(t *testing.T) {
	s := Of[flexible]()
	if !s.HasCustom() || Of[sample]().HasCustom() || Of[sample]().Custom(&sample{}) != nil {
		t.Fatal("it is unknown who has custom fields")
	}
	decode := func(body string, rec flexible, mode Mode) (flexible, string) {
		v := objectOf(t, body)
		var p fault.Problems
		Decode(v, &rec, mode, &p)
		DecodeCustom(v, s.Custom(&rec), customs, &p)
		return rec, said(&p)
	}
	a, problem := decode(`{"custom_field_text": "<x>", "name": "a", "custom_field_multi": ["b", "a"], "custom_field_flag": false}`, flexible{}, Create)
	if problem != "" {
		t.Fatal(problem)
	}
	raw, err := jsonv2.Marshal(&a, jsonv2.Deterministic(true))
	if want := `{"name":"a","custom_field_flag":false,"custom_field_multi":["b","a"],"custom_field_text":"<x>"}`; err != nil || string(raw) != want {
		t.Errorf("%s, want %s, %v", raw, want, err)
	}
	var back flexible
	if err := jsonv2.Unmarshal(raw, &back); err != nil || s.Diff(&a, &back) != nil {
		t.Errorf("it reads back as %+v, %v", back, err)
	}
	if same, problem := decode(string(raw), back, Update); problem != "" || s.Diff(&a, &same) != nil {
		t.Errorf("sent back it is %+v, %s", same, problem)
	}
	for body, want := range map[string]string{
		`{}`:                            "",
		`{"custom_field_flag": true}`:   "custom_field_flag",
		`{"custom_field_number": 1}`:    "custom_field_number",
		`{"custom_field_text": null}`:   "custom_field_text",
		`{"custom_field_number": null}`: "",
		`{"custom_field_multi": ["a", "b"], "name": "b", "custom_field_day": "2026-03-01", "custom_field_flag": null}`: "name custom_field_day custom_field_flag custom_field_multi",
	} {
		b, problem := decode(body, a, Update)
		changed, reverse := s.Diff(&a, &b), s.Diff(&b, &a)
		if problem != "" || strings.Join(changed, " ") != want || strings.Join(reverse, " ") != want {
			t.Errorf("%s changes %v and back %v, want %s; %s", body, changed, reverse, want, problem)
		}
	}
	if _, problem := decode(`{"custom_field_text": 1, "nope": 2}`, flexible{}, Create); problem != "nope: unknown field; name: required; custom_field_text: must be a string" {
		t.Error(problem)
	}
	var p fault.Problems // a struct without custom fields knows no such member
	if Decode(objectOf(t, `{"name": "x", "custom_field_text": "x"}`), &sample{}, Create, &p); said(&p) != "custom_field_text: unknown field" {
		t.Error(said(&p))
	}
}
