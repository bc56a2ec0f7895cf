package record_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// csvCell returns a quoted cell.
func csvCell(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestImportValues lists cells of each type with the resulting value or error. A string in JSON has
// the same meaning, unless it has surrounding spaces.
func TestImportValues(t *testing.T) {
	o := newOffice(t)
	for _, c := range []struct{ field, cell, want string }{
		{"first_name", " Zoë  😀\n\"x\" ", `" Zoë  😀\n\"x\" "`},
		{"first_name", "NULL", "means no value"},
		{"first_name", "0049", `"0049"`},
		{"first_name", strings.Repeat("é", 40), quote(strings.Repeat("é", 40))},
		{"first_name", strings.Repeat("é", 41), "must be at most 40 characters, not 41"},
		{"first_name", "a\x00b", "must not contain NUL characters"},
		{"email", "A.b+c@x.example", `"A.b+c@x.example"`},
		{"email", "ada", `is not an email address`},
		{"email", "mailto:a@x.example", `"a@x.example"`},
		{"email", "Ada <a@x.example>", `"a@x.example"`},
		{"phone", "+49 30 1", `"+49 30 1"`},
		{"size", "0", `0`},
		{"size", "250", `250`},
		{"size", "1e3", `1000`},
		{"size", "2.0", `2`},
		{"size", "-1", "must be at least 0, not -1"},
		{"size", "2.5", `is not an integer`},
		{"size", "1,000", `1000`},
		{"size", "0x10", `is not an integer`},
		{"size", "007", `7`},
		{"size", "many", `is not an integer`},
		{"size", "9007199254740993", "must be between -2^53 and 2^53"},
		{"ratio", "-0.25", `-0.25`},
		{"ratio", "1e-7", `1e-7`},
		{"ratio", "1e999", "must be between -2^53 and 2^53"},
		{"ratio", "NaN", `means no value`},
		{"ratio", "Infinity", `is not a number`},
		{"ratio", "1,5", `1.5`},
		{"ratio", "5 %", `is not a number`},
		{"active", "true", `true`}, {"active", "TRUE", `true`}, {"active", "Yes", `true`}, {"active", "1", `true`},
		{"active", "false", `false`}, {"active", "No", `false`}, {"active", "0", `false`},
		{"active", "2", `is not true or false`},
		{"active", "maybe", `is not true or false`},
		{"since", "2026-02-28", `"2026-02-28"`},
		{"since", "2026-02-29", `is not a date such as 2026-03-01`},
		{"since", "28.02.2026", `"2026-02-28"`},
		{"since", "2026-02-28T00:00:00Z", `"2026-02-28"`},
		{"seen_at", "2026-02-28T09:30:00+01:00", `"2026-02-28T08:30:00.000Z"`},
		{"seen_at", "2026-02-28", `is not a time such as 2026-03-01T09:30:00Z`},
		{"stage", "old", `"old"`},
		{"stage", "Old", `"old"`},
		{"stage", "older", `is not one of: new, old`},
		{"external_id", "EX 1", `"EX 1"`},
		{"custom_field_text", " kept ", `" kept "`},
		{"custom_field_text", strings.Repeat("x", 10_001), "must be at most 10000 characters, not 10001"},
		{"custom_field_number", "-1.5", `-1.5`},
		{"custom_field_number", "x", `is not a number`},
		{"custom_field_boolean", "yes", `true`},
		{"custom_field_boolean", "no", `false`},
		{"custom_field_boolean", "z", `is not true or false`},
		{"custom_field_date", "2026-01-31", `"2026-01-31"`},
		{"custom_field_date", "x", `is not a date such as 2026-03-01`},
		{"custom_field_enum", "gold", `"gold"`},
		{"custom_field_enum", "tin", `is not one of: gold, =1`},
	} {
		for form, table := range map[string]string{
			"CSV":  "email," + c.field + "\nx@x.example," + csvCell(c.cell) + "\n",
			"JSON": fmt.Sprintf(`{"email": "x@x.example", %q: %s}`, c.field, quote(c.cell)),
		} {
			if c.field == "email" {
				table = strings.NewReplacer("email,", "", "x@x.example,", "", `"email": "x@x.example", `, "").Replace(table)
			}
			before := len(o.all())
			r, err := o.load(table, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(c.want, "must ") || strings.HasPrefix(c.want, "is ") || strings.HasPrefix(c.want, "means ") {
				line := map[string]int{"CSV": 2, "JSON": 1}[form]
				o.hasResult(table, r, []string{"+", fmt.Sprintf("%d %s: %q %s", line, c.field, c.cell, c.want)})
				continue
			}
			o.hasResult(table, r, []string{"+"})
			o.has("", fmt.Sprintf(`{%q: %s, "source": "csv"}`, c.field, c.want))
			if c.field == "external_id" { // which no other may have
				o.imports(`{"id": `+quote(o.all()[before]["id"])+`, "external_id": "other `+form+`"}`, "", "~")
			}
		}
	}
}

// TestImportTrims checks that formatted values are trimmed, and that all problems of a row are
// reported.
func TestImportTrims(t *testing.T) {
	o := newOffice(t)
	put(o, o.labels, `{"name": "VIP", "for": "lead"}`)
	o.imports("email,size,active,since,stage,tags,custom_field_enum,custom_field_multi,heat.score\n"+
		` a@x.example , 5,TRUE ,"	2026-01-31"," old ", vip , gold , red ;  deep blue , hot `+"\n", "", "+")
	o.has("a@x.example", `{"size": 5, "active": true, "since": "2026-01-31", "stage": "old", "custom_field_enum": "gold",
		"custom_field_multi": ["red", "deep blue"], "heat": {"score": "hot", "since": null}}`)
	o.imports("email,size,first_name,custom_field_number,tags,heat.since\nnope,x,Ada,y,,z\nb@x.example,1,Ada,2,,\n", "",
		"++", `2 email: "nope" is not an email address`, `2 size: "x" is not an integer`,
		`2 custom_field_number: "y" is not a number`, `2 heat.since: "z" is not a date such as 2026-03-01`)
}

// TestImportJSONValues covers values that are not strings.
func TestImportJSONValues(t *testing.T) {
	o := newOffice(t)
	for _, c := range []struct{ members, want string }{
		{`"size": 5, "ratio": 0.5, "active": true`, `{"size": 5, "ratio": 0.5, "active": true}`},
		{`"size": "5", "ratio": "0.5", "active": "yes", "custom_field_number": "7"`, `{"size": 5, "ratio": 0.5, "active": true, "custom_field_number": 7}`},
		{`"custom_field_multi": ["red"], "tags": []`, `{"custom_field_multi": ["red"], "tags": []}`},
		{`"heat": {"score": "hot", "since": "2026-01-31"}`, `{"heat": {"score": "hot", "since": "2026-01-31"}}`},
		{`"heat": {"score": "hot", "since": null}`, `{"heat": {"score": "hot", "since": null}}`},
		{`"heat.score": "cold", "heat": {"since": "2026-01-31"}`, `{"heat": {"score": "cold", "since": "2026-01-31"}}`},
		{`"heat": {}`, `{"heat": {"score": null, "since": null}}`},
		{`"heat": {"score": "warm"}`, `heat.score: "warm" is not one of: hot, cold`},
		{`"first_name": 5`, `{"first_name": "5"}`},
		{`"first_name": ["a"]`, `first_name: "a" must be a string`},
		{`"first_name": {"a": "b"}`, `first_name: "{…}" must be a string`},
		{`"active": 1`, `active: "1" must be true or false`},
		{`"since": 20260131`, `{"since": "2026-01-31"}`},
		{`"size": true`, `size: "true" must be an integer`},
		{`"tags": 5`, `tags: "5" must be a list`},
		{`"tags": [5]`, `tags: "5" must be a string`},
		{`"firm_id": 5`, `firm_id: "5" must be a string`},
		{`"firm_website": 5`, `firm_website: "5" belongs to no firm`},
		{`"custom_field_multi": "red"`, `{"custom_field_multi": ["red"]}`},
		{`"custom_field_multi": ["green"]`, `custom_field_multi: "green" is not one of: red, deep blue, -1`},
		{`"custom_field_enum": 1`, `custom_field_enum: "1" must be a string`},
		{`"First Name": "a", "first_name": "b"`, `first_name: "" was left out: another column sets this field`},
		{`"first_name": null, "First Name": "b"`, `{"first_name": "b"}`},
		{`"firm_id": "x", "firm_website": "acme.example"`, `firm_id: "x" is neither`},
		{`"heat": "hot"`, `heat: "hot" must be an object`},
		{`"heat": null`, `{"heat": {"score": null, "since": null}}`},
		{`"heat.score": "cold", "heat": {"score": "hot"}`, `heat.score: "" was left out: another column sets this field`},
	} {
		table := `{"email": "x@x.example", ` + c.members + `}`
		r, err := o.load(table, "", nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case strings.HasPrefix(c.want, "{"):
			o.hasResult(table, r, []string{"+"})
			o.has("", c.want)
		case len(r.dropped) == 0 || !strings.Contains(r.dropped[0], c.want):
			t.Errorf("%s: %+v, want %s", table, r, c.want)
		}
	}
}

// TestImportLeaves checks that empty cells, null and absent members leave an existing lead
// unchanged, whether it is found by its id or by a match.
func TestImportLeaves(t *testing.T) {
	o := newOffice(t)
	tag, in := put(o, o.labels, `{"name": "VIP", "for": "lead"}`), put(o, o.firms, `{"name": "F"}`)
	full := fmt.Sprintf(`{"first_name": "Ada", "phone": "1", "size": 5, "ratio": 2, "active": true, "since": "2026-01-31", "seen_at": "2026-01-31T00:00:00.000Z", "stage": "old",
		"heat": {"score": "hot", "since": "2026-01-31"}, "external_id": "E", "tags": [%q], "firm_id": %q, "source": "api"}`, tag, in)
	id := put(o, o.leads, `{"email": "a@x.example", `+full[1:])
	change := o.all()[0]["change"]
	header := "first_name,phone,size,ratio,active,since,seen_at,stage,heat.score,heat.since,external_id,tags,add_tags,remove_tags,firm_id,custom_field_text,custom_field_multi"
	cells := strings.Repeat(",", strings.Count(header, ",")) + "\n"
	var nulls []string
	for key := range strings.SplitSeq(header, ",") {
		nulls = append(nulls, fmt.Sprintf(`%q: null`, key))
	}
	o.imports("id,"+header+"\n"+id+","+cells, "", "=")
	o.imports("email,"+header+"\na@x.example,"+strings.ReplaceAll(cells, ",", " , "), "email", "=")
	o.imports(fmt.Sprintf(`{"id": %q, %s}`, id, strings.Join(nulls, ", ")), "", "=")
	o.imports(fmt.Sprintf(`{"id": %q, %s}`, id, strings.ReplaceAll(strings.Join(nulls, ", "), "null", `""`)), "", "=")
	o.imports(fmt.Sprintf(`{"id": %q}`, id), "", "=")
	o.imports("email\na@x.example\n", "email", "=")
	o.has("a@x.example", full)
	if list := o.all(); len(list) != 1 || list[0]["change"] != change {
		t.Errorf("%v, want it as it was at %v", list, change)
	}
}

// TestImportUnescapes checks that the apostrophe that an export puts before a formula is removed,
// in CSV only.
func TestImportUnescapes(t *testing.T) {
	o := newOffice(t)
	o.imports("email,first_name,phone,custom_field_text,custom_field_enum,custom_field_multi,ratio,external_id\n"+
		"a@x.example,'=1+1,'+49 30,''tis,'=1,'-1|red,'-5,'@x\nb@x.example,'tis,'0049,' a,gold,red,1,''\n", "", "++")
	o.has("a@x.example", `{"first_name": "=1+1", "phone": "+49 30", "custom_field_text": "'tis", "custom_field_enum": "=1", "custom_field_multi": ["-1", "red"], "ratio": -5, "external_id": "@x"}`)
	o.has("b@x.example", `{"first_name": "'tis", "phone": "'0049", "custom_field_text": "' a", "external_id": "'"}`)
	o.imports(`{"email": "c@x.example", "first_name": "'=1+1", "custom_field_multi": ["-1"]}`, "", "+")
	o.has("c@x.example", `{"first_name": "'=1+1"}`)
}

// TestImportPadded checks that an allowed value with surrounding spaces is not trimmed.
func TestImportPadded(t *testing.T) {
	o := newOffice(t)
	field := func(typ shape.Type) shape.CustomField {
		return shape.NewCustomField(uuid.New(), "padded_"+string(typ), "Padded", typ, []string{" padded ", "plain"})
	}
	o.customs = filter.NewCustomFields([]shape.CustomField{field(shape.TypeEnum), field(shape.TypeMulti)})
	o.imports("email,custom_field_padded_enum,custom_field_padded_multi\na@x.example, padded ,plain| padded \nb@x.example, plain , plain|plain\n", "", "++")
	o.has("a@x.example", `{"custom_field_padded_enum": " padded ", "custom_field_padded_multi": ["plain", " padded "]}`)
	o.has("b@x.example", `{"custom_field_padded_enum": "plain", "custom_field_padded_multi": ["plain"]}`)
}
