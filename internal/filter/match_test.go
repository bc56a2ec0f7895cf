package filter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// A record satisfies exactly one of a condition and its opposite.
func TestOppositeConditions(t *testing.T) {
	rows := []*Row{
		rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000001"}`),
		rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "name": "Xa", "size": 3, "color": "red",
			"tags": ["0190b2f0-0000-7000-8000-000000000000"], "owner": "0190b2f0-0000-7000-8000-000000000000", "flag": true}`),
		rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000003", "name": "b", "size": 0, "color": "blue",
			"tags": ["0190b2f0-0000-7000-8000-000000000009"], "owner": "0190b2f0-0000-7000-8000-000000000009"}`),
	}
	opposites := [][2]Condition{{Is, IsNot}, {Contains, NotContains}, {IsEmpty, IsNotEmpty}}
	for field, value := range map[string]string{
		"name": `"Xa"`, "size": `3`, "color": `"red"`, "flag": `true`,
		"tags": `"0190b2f0-0000-7000-8000-000000000000"`, "owner": `"0190b2f0-0000-7000-8000-000000000000"`,
	} {
		for _, pair := range opposites {
			t.Run(fmt.Sprintf("%s %s", field, pair[0]), func(t *testing.T) {
				var matched [2]int
				for i, condition := range pair {
					body := ruleBody(field, condition, json.RawMessage(value))
					if condition == IsEmpty || condition == IsNotEmpty {
						body = ruleBody(field, condition)
					}
					plan, err := compileBody(body)
					if has := slices.Contains(things.Field(field).Conditions(), condition); has != (err == nil) {
						t.Fatalf("accepted %t: %v", has, err)
					} else if !has {
						return
					}
					for _, r := range rows {
						if plan.Match(r) {
							matched[i]++
						}
					}
				}
				if matched[0]+matched[1] != len(rows) {
					t.Errorf("%v match %v of %d records", pair, matched, len(rows))
				}
			})
		}
	}
}

// Dates of a date field are compared by day.
func TestMatchDates(t *testing.T) {
	r := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "day": "2026-03-01"}`)
	for _, c := range []struct {
		condition Condition
		value     any
		want      bool
	}{
		{Is, "2026-03-01", true},
		{Is, []string{"2026-03-02"}, false},
		{IsBefore, "2026-03-01", false},
		{IsBefore, "2026-03-02", true},
		{IsAfter, "2026-03-01", false},
		{IsAfter, "0000-01-01", true},
		{GreaterThan, "2026-02-28", true},
		{LessThan, "9999-12-31", true},
		{AtLeast, "2026-03-01", true},
		{AtLeast, "2026-03-02", false},
		{AtMost, "2026-03-01", true},
		{AtMost, "2026-02-28", false},
		{Between, []string{"2026-03-01", "2026-03-01"}, true},
		{Between, []string{"2026-03-02", "2026-03-03"}, false},
	} {
		t.Run(fmt.Sprintf("%s %s", c.condition, c.value), func(t *testing.T) {
			plan, err := compileBody(ruleBody("day", c.condition, c.value))
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Match(r); got != c.want {
				t.Errorf("matches: %t", got)
			}
		})
	}
	if _, err := compileBody(ruleBody("day", Is, "2026-03-01T00:00:00Z")); fault.CodeOf(err) != fault.InvalidFilter {
		t.Errorf("a time for a date field: %v", err)
	}
}

// A date that is compared with times is the whole day in UTC.
func TestMatchWholeDays(t *testing.T) {
	rows := map[string]*Row{}
	for name, at := range map[string]string{
		"before": "2026-02-28T23:59:59.999Z", "start": "2026-03-01T00:00:00.000Z",
		"end": "2026-03-01T23:59:59.999Z", "after": "2026-03-02T00:00:00.000Z",
	} {
		rows[name] = rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "at": "`+at+`"}`)
	}
	rows["none"] = rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000003"}`)
	for _, c := range []struct {
		condition Condition
		value     any
		want      string
	}{
		{Is, "2026-03-01", "end start"},
		{IsBefore, "2026-03-01", "before"},
		{LessThan, "2026-03-01", "before"},
		{IsAfter, "2026-03-01", "after"},
		{GreaterThan, "2026-03-01", "after"},
		{AtLeast, "2026-03-01", "after end start"},
		{AtMost, "2026-03-01", "before end start"},
		{Between, []string{"2026-03-01", "2026-03-01"}, "end start"},
		{Between, []string{"2026-02-28", "2026-03-01T00:00:00Z"}, "before start"},
		{Between, []string{"2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00Z"}, "after end"},
		{IsAfter, "2026-03-01T00:00:00Z", "after end"},
		{AtLeast, "2026-03-02T00:00:00Z", "after"},
		{AtMost, "2026-02-28T23:59:59.999Z", "before"},
	} {
		t.Run(fmt.Sprintf("%s %v", c.condition, c.value), func(t *testing.T) {
			plan, err := compileBody(ruleBody("at", c.condition, c.value))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for name, r := range rows {
				if plan.Match(r) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("matches %v, want %s", got, c.want)
			}
		})
	}
}

// A range has two bounds, both included.
func TestMatchRanges(t *testing.T) {
	r := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "size": 3}`)
	for _, c := range []struct {
		condition Condition
		value     any
		want      bool
	}{
		{AtLeast, 3, true}, {AtLeast, 3.1, false}, {AtMost, 3, true}, {AtMost, 2.9, false},
		{Between, []float64{3, 4}, true}, {Between, []float64{2, 3}, true}, {Between, []float64{3, 3}, true},
		{Between, []float64{3.1, 4}, false},
	} {
		t.Run(fmt.Sprintf("%s %v", c.condition, c.value), func(t *testing.T) {
			plan, err := compileBody(ruleBody("size", c.condition, c.value))
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Match(r); got != c.want {
				t.Errorf("matches: %t", got)
			}
		})
	}
	for _, c := range []struct {
		field string
		value any
		want  string
	}{
		{"size", 3, "filters[0].value: must be a list of two values"},
		{"size", []int{3}, "filters[0].value: must be a list of two values"},
		{"size", []int{1, 2, 3}, "filters[0].value: must be a list of two values"},
		{"size", []int{4, 3}, "filters[0].value: the first value must not be greater than the second"},
		{"size", []any{3, "x"}, `filters[0].value[1]: "x" is not a number`},
		{"day", []any{"2026-03-02", "2026-03-01"}, "filters[0].value: the first value must not be greater than the second"},
		{"name", []any{"a", "b"}, `filters[0].condition: "between" is not a condition of name`},
	} {
		t.Run(fmt.Sprintf("%s %v", c.field, c.value), func(t *testing.T) {
			_, err := compileBody(ruleBody(c.field, Between, c.value))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("fails with %v, want %s", err, c.want)
			}
		})
	}
}

// Lists of objects are filtered by the ids of the objects. Objects without ids are not a field of
// lists.
func TestMatchObjects(t *testing.T) {
	full := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002",
		"groups": [{"id": "0190b2f0-0000-7000-8000-00000000000a"}, {"id": "0190b2f0-0000-7000-8000-00000000000b"}],
		"steps": [{"id": "One"}, {"id": null}], "blocks": {"outro": {}, "intro": {}}, "moves": [{"day": 1}]}`)
	empty := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000003", "steps": [{"id": null}], "moves": [{"day": 1}]}`)
	const (
		a = "0190b2f0-0000-7000-8000-00000000000a"
		b = "0190b2f0-0000-7000-8000-00000000000b"
		c = "0190b2f0-0000-7000-8000-00000000000c"
	)
	for _, rule := range []struct {
		body                string
		wantFull, wantEmpty bool
	}{
		{ruleBody("groups", Is, strings.ToUpper(a)), true, false},
		{ruleBody("groups", IsNot, a), false, true},
		{ruleBody("groups", Contains, []string{a, b}), true, false},
		{ruleBody("groups", Contains, []string{a, c}), false, false},
		{ruleBody("groups", IsEmpty), false, true},
		{ruleBody("steps", Is, []string{"One", "Two"}), true, false},
		{ruleBody("steps", Is, "one"), false, false},
		{ruleBody("steps", IsNotEmpty), true, false},
		{ruleBody("blocks", Contains, []string{"intro", "outro"}), true, false},
		{ruleBody("blocks", NotContains, "intr"), true, true},
		{ruleBody("blocks", IsEmpty), false, true},
	} {
		t.Run(rule.body, func(t *testing.T) {
			plan, err := compileBody(rule.body)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Match(full) != rule.wantFull || plan.Match(empty) != rule.wantEmpty {
				t.Errorf("matches a full record %t and an empty one %t", plan.Match(full), plan.Match(empty))
			}
		})
	}
	for _, body := range []string{
		ruleBody("groups", Is, "One"),
		ruleBody("moves", IsEmpty),
		ruleBody("steps.day", Is, 1),
		ruleBody("groups.name", Is, "x"),
	} {
		t.Run(body, func(t *testing.T) {
			if _, err := compileBody(body); fault.CodeOf(err) != fault.InvalidFilter {
				t.Errorf("compiles: %v", err)
			}
		})
	}
	if _, err := compileBody(`{"sort": "steps"}`); fault.CodeOf(err) != fault.InvalidSort {
		t.Errorf("a sort by objects compiles: %v", err)
	}
	for _, f := range things.Schema(NoCustomFields).Fields {
		switch f.Key {
		case "groups", "steps", "blocks":
			if f.Type != string(shape.TypeMulti) || f.Sortable || !slices.Equal(f.Conditions, conditionsByType[shape.TypeMulti]) {
				t.Errorf("the schema has %+v", f)
			}
		case "moves":
			t.Error("objects without ids are in the schema")
		}
	}
}

// A selection searches the fields declared as searched, a list all texts. Each word must be the
// prefix of a word.
func TestMatchWords(t *testing.T) {
	r := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "name": "Acme Böse", "remark": "makes, mostly: anvils",
		"mail": "sales@acme.example", "color": "red", "topics": ["Road runner", "tnt"]}`)
	for words, want := range map[string]bool{
		"": true, "ac": true, "ACME": true, "acmes": false, "anv": true, "road": true, "RUN": true, "unner": false,
		"tnt acme bö makes": true, "tnt coyote": false, "sales": false, "red": false, "example": false, "-": true,
		"road-tn": true,
	} {
		t.Run("selection "+words, func(t *testing.T) {
			for _, split := range [][]string{{words}, strings.Fields(words)} {
				var s Selection
				for _, text := range split {
					s.Search = append(s.Search, SearchAt{Text: text})
				}
				plan, err := compileSelection(s)
				if err != nil {
					t.Fatal(err)
				}
				if got := plan.Match(r); got != want {
					t.Errorf("%q matches: %t", split, got)
				}
			}
		})
	}
	for words, want := range map[string]bool{"sales": true, "anvils acme": true, "road": false, "tnt": false} {
		t.Run("list "+words, func(t *testing.T) {
			plan, err := compileBody(fmt.Sprintf(`{"search": %q}`, words))
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Match(r); got != want {
				t.Errorf("matches: %t", got)
			}
		})
	}
}
