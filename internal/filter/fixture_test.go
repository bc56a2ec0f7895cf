package filter

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// thing has a field of every type.
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

	// Compared in canonical form.
	Email    shape.Text `json:"email" rule:"grams"`
	Website  shape.Text `json:"website" rule:"searched"`
	LinkedIn shape.Text `json:"linkedin_url"`
	Country  shape.Text `json:"country"`

	Custom shape.Custom `json:",embed"`

	// Lists filter these by their ids. Moves have no ids and are not a field of lists.
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

var things = NewKind[thing]("things", "-at,name")

// rowOf decodes a thing without custom fields.
func rowOf(t testing.TB, public string) *Row {
	t.Helper()
	return customRow(t, NoCustomFields, public)
}

func customRow(t testing.TB, cs *CustomFields, public string) *Row {
	t.Helper()
	rec, _, err := things.Decode([]byte(public))
	if err != nil {
		t.Fatal(err)
	}
	r, err := things.Row(cs, rec.(*thing).ID, []byte(public))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compileBody compiles a list body without custom fields.
func compileBody(body string) (*Plan, error) { return compileWith(NoCustomFields, body) }

func compileWith(cs *CustomFields, body string) (*Plan, error) { return compileOf(things, cs, body) }

func compileOf(k *Kind, cs *CustomFields, body string) (*Plan, error) {
	v, err := shape.ParseObject([]byte(body))
	if err != nil {
		return nil, err
	}
	var q ListBody
	var p fault.Problems
	shape.Decode(v, &q, shape.Create, &p)
	return Compile(k, cs, q, &p), p.Err()
}

func compileSelection(s Selection) (*Plan, error) {
	var p fault.Problems
	return CompileSelection(things, NoCustomFields, s, &p), p.Err()
}

// ruleBody returns a list body with one rule.
func ruleBody(field string, condition Condition, value ...any) string {
	rule := map[string]any{"field": field, "condition": condition}
	if len(value) > 0 {
		rule["value"] = value[0]
	}
	b, _ := json.Marshal(map[string]any{"filters": []any{rule}})
	return string(b)
}
