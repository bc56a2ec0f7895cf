package index

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

type thing struct {
	ID     uuid.UUID     `json:"id" rule:"readonly"`
	Name   shape.Text    `json:"name" rule:"searched"`
	Size   shape.Number  `json:"size"`
	Color  shape.Text    `json:"color" rule:"enum=red|blue"`
	Day    shape.Date    `json:"day"`
	At     shape.Time    `json:"at"`
	Owner  uuid.NullUUID `json:"owner" rule:"ref=users"`
	Tags   shape.IDs     `json:"tags" rule:"ref=tags"`
	Flag   bool          `json:"flag"`
	Remark shape.Text    `json:"remark" rule:"long,searched"`
	Mail   shape.Text    `json:"mail" rule:"grams"`
	Topics []string      `json:"topics" rule:"searched"`
	Custom shape.Custom  `json:",embed"`

	// Lists know these by their ids, and the last not at all.
	Groups []group         `json:"groups"`
	Steps  []step          `json:"steps"`
	Blocks map[string]move `json:"blocks"`
	Moves  []move          `json:"moves"`
}

type group struct {
	ID   uuid.UUID  `json:"id"`
	Name shape.Text `json:"name"`
}

type step struct {
	ID shape.Text `json:"id"`
	move
}

type move struct {
	Day int `json:"day"`
}

var things = NewKind("things", "-at,name", thingTable, thingCustoms)

func rowOf(t testing.TB, public string) *row {
	t.Helper()
	rec, err := things.decode([]byte(public))
	if err != nil {
		t.Fatal(err)
	}
	r, err := things.row(NoCustoms, rec.(*thing).ID, []byte(public))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compileBody compiles a body where there are no custom fields.
func compileBody(t testing.TB, body string) (*Plan, error) {
	t.Helper()
	return compileWith(NoCustoms, body)
}

// compileAt compiles a body against the custom fields of a transaction.
func compileAt(t testing.TB, tx *store.Tx, body string) (*Plan, error) {
	t.Helper()
	return compileKindAt(t, tx, things, body)
}

func compileKindAt(t testing.TB, tx *store.Tx, k *Kind, body string) (*Plan, error) {
	t.Helper()
	cs, err := k.Customs(tx)
	if err != nil {
		t.Fatal(err)
	}
	return compileFor(k, cs, body)
}

func compileWith(cs *Customs, body string) (*Plan, error) { return compileFor(things, cs, body) }

func compileFor(k *Kind, cs *Customs, body string) (*Plan, error) {
	v, err := shape.ParseObject([]byte(body))
	if err != nil {
		return nil, err
	}
	var q ListBody
	var p fault.Problems
	shape.Decode(v, &q, shape.Create, &p)
	return Compile(k, cs, q, &p), p.Err()
}

// FuzzCompile throws bodies at the compiler. What it refuses is refused by path; what it accepts decides every record,
// and orders them strictly.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"filters": [{"field": "name", "condition": "contains", "value": "x"}], "sort": "-size,name", "search": "a b"}`,
		`{"filters": {"operator": "or", "filters": [{"field": "tags", "condition": "not_contains", "value": ["0190b2f0-0000-7000-8000-000000000000"]}, {"filters": []}]}}`,
		`{"filters": [{"field": "at", "condition": "is", "value": ["2026-03-01", "2026-03-01T00:00:00+01:00"]}, {"field": "size", "condition": "less_than", "value": 1e999}]}`,
		`{"filters": [{"field": "flag", "condition": "is", "value": [true]}, {"field": "day", "condition": "is_before", "value": "2026-03-01"}], "page": 3}`,
		`{"filters": [{"field": "color", "condition": "is_not", "value": "red"}, {"field": "owner", "condition": "is_empty"}]}`,
		`{"filters": {"filters": 1}, "sort": "remark"}`, `{"filters": [[]], "sort": ","}`, `{"filters": {"field": "name"}}`,
	} {
		f.Add([]byte(seed))
	}
	rows := []*row{
		rowOf(f, `{"id": "0190b2f0-0000-7000-8000-000000000001"}`),
		rowOf(f, `{"id": "0190b2f0-0000-7000-8000-000000000002", "name": "Xa", "size": -1, "color": "red", "day": "0001-01-01", "at": "9999-12-31T23:59:59.999Z",
			"owner": "0190b2f0-0000-7000-8000-000000000000", "tags": ["0190b2f0-0000-7000-8000-000000000000"], "flag": true, "remark": "b"}`),
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		plan, err := compileBody(t, string(body))
		if err != nil {
			var e *fault.Error
			if e, _ = err.(*fault.Error); e == nil || e.Code == fault.Internal {
				t.Fatalf("refused with %v", err)
			}
			for _, d := range e.Details {
				if d.Path == "" && !strings.Contains(string(body), `""`) || d.Message == "" {
					t.Fatalf("a problem without a place or words: %+v", d)
				}
			}
			return
		}
		for _, r := range rows {
			plan.Match(r) // whatever it decides, it must not panic
			if plan.order(plan.ranked(r), plan.ranked(r)) != 0 {
				t.Fatal("a record differs from itself")
			}
		}
		first, second := plan.ranked(rows[0]), plan.ranked(rows[1])
		if a, b := plan.order(first, second), plan.order(second, first); a != -b || a == 0 {
			t.Fatalf("ordered %d and %d", a, b)
		}
	})
}

// TestOpposites holds each condition against its opposite: a record satisfies exactly one of the two.
func TestOpposites(t *testing.T) {
	rows := []*row{
		rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000001"}`),
		rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "name": "Xa", "size": 3, "color": "red", "tags": ["0190b2f0-0000-7000-8000-000000000000"],
			"owner": "0190b2f0-0000-7000-8000-000000000000", "flag": true}`),
		rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000003", "name": "b", "size": 0, "color": "blue", "tags": ["0190b2f0-0000-7000-8000-000000000009"],
			"owner": "0190b2f0-0000-7000-8000-000000000009"}`),
	}
	for field, value := range map[string]string{"name": `"Xa"`, "size": `3`, "color": `"red"`, "flag": `true`,
		"tags": `"0190b2f0-0000-7000-8000-000000000000"`, "owner": `"0190b2f0-0000-7000-8000-000000000000"`} {
		for _, pair := range [][2]string{{"is", "is_not"}, {"contains", "not_contains"}, {"is_empty", "is_not_empty"}} {
			var matched [2]int
			for i, condition := range pair {
				rule := map[string]any{"field": field, "condition": condition, "value": json.RawMessage(value)}
				if strings.HasSuffix(condition, "empty") {
					delete(rule, "value")
				}
				body, _ := json.Marshal(map[string]any{"filters": []any{rule}})
				plan, err := compileBody(t, string(body))
				if has := slices.Contains(things.Fields[things.byKey[field]].Conditions(), Condition(condition)); has != (err == nil) {
					t.Fatalf("%s %s: %v", field, condition, err)
				} else if !has {
					continue
				}
				for _, r := range rows {
					if plan.Match(r) {
						matched[i]++
					}
				}
			}
			accepted := slices.Contains(things.Fields[things.byKey[field]].Conditions(), Condition(pair[0]))
			if accepted && matched[0]+matched[1] != len(rows) {
				t.Errorf("%s %v: %v of %d records", field, pair, matched, len(rows))
			}
		}
	}
}

// Dates of a date field compare by day; a time of day against one is refused.
func TestDates(t *testing.T) {
	r := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "day": "2026-03-01"}`)
	for rule, want := range map[string]bool{
		`"is", "value": "2026-03-01"`: true, `"is", "value": ["2026-03-02"]`: false, `"is_before", "value": "2026-03-01"`: false,
		`"is_before", "value": "2026-03-02"`: true, `"is_after", "value": "2026-03-01"`: false, `"greater_than", "value": "2026-02-28"`: true,
		`"less_than", "value": "9999-12-31"`: true, `"is_after", "value": "0000-01-01"`: true,
	} {
		plan, err := compileBody(t, `{"filters": [{"field": "day", "condition": `+rule+`}]}`)
		if err != nil || plan.Match(r) != want {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if _, err := compileBody(t, `{"filters": [{"field": "day", "condition": "is", "value": "2026-03-01T00:00:00Z"}]}`); fault.CodeOf(err) != fault.InvalidFilter {
		t.Error(err)
	}
}
