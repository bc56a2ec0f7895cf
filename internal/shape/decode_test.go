package shape

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

type sample struct {
	ID     uuid.UUID     `json:"id" rule:"readonly,required"`
	Name   string        `json:"name" rule:"required,maxlen=5"`
	Stage  string        `json:"stage" rule:"default=new,enum=new|won"`
	Amount Number        `json:"amount"`
	Count  Number        `json:"count" rule:"integer,min=0"`
	Due    Date          `json:"due"`
	At     Time          `json:"at"`
	Owner  uuid.NullUUID `json:"owner"`
	Tags   IDs           `json:"tags"`
	Flag   bool          `json:"flag"`
	Inner  inner         `json:"inner"`
	Kind   string        `json:"kind" rule:"fixed"`
}

type inner struct {
	Hour int `json:"hour" rule:"min=0,max=23,default=9"`
}

// TestRoundTrip encodes a record and decodes it again, with the standard library and as an update
// of itself.
func TestRoundTrip(t *testing.T) {
	id := uuid.MustParse("0190b2f0-0000-7000-8000-000000000001")
	for _, rec := range []sample{
		{ID: id, Name: "<&>\u2028", Stage: "won"},
		{ID: id, Name: "x", Stage: "new", Amount: NumberOf(-1.5e-7), Count: NumberOf(1 << 53), Due: "9999-12-31", At: At(time.Date(1, 2, 3, 4, 5, 6, 789e6, time.UTC)),
			Owner: uuid.NullUUID{UUID: id, Valid: true}, Tags: IDs{id}, Flag: true, Inner: inner{Hour: 0}, Kind: "k"},
	} {
		raw, err := json.Marshal(&rec)
		if err != nil {
			t.Fatal(err)
		}
		var back sample
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if changed := Of[sample]().Diff(&rec, &back); changed != nil {
			t.Errorf("%s decodes with differences in %v", raw, changed)
		}
		v, err := ParseObject(raw)
		if err != nil {
			t.Fatal(err)
		}
		var p fault.Problems
		Decode(v, &back, Update, &p)
		if err := p.Err(); err != nil || Of[sample]().Diff(&rec, &back) != nil {
			t.Errorf("%s sent back: %v", raw, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	decode := func(body string, rec *sample, mode Mode) error {
		v, err := ParseObject([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var p fault.Problems
		Decode(v, rec, mode, &p)
		return p.Err()
	}
	var rec sample
	if err := decode(`{"name": "x", "kind": "a"}`, &rec, Create); err != nil || rec.Stage != "new" || rec.Inner.Hour != 9 || rec.Kind != "a" {
		t.Errorf("created as %+v, %v", rec, err)
	}
	if err := decode(`{"stage": "won", "inner": {"hour": 0}}`, &rec, Update); err != nil || rec.Stage != "won" || rec.Inner.Hour != 0 {
		t.Errorf("updated to %+v, %v", rec, err)
	}
	if err := decode(`{}`, &rec, Update); err != nil || rec.Stage != "won" || rec.Inner.Hour != 0 {
		t.Errorf("an empty update changed it to %+v, %v", rec, err)
	}
	if err := decode(`{"stage": null, "inner": null}`, &rec, Update); err != nil || rec.Stage != "new" || rec.Inner.Hour != 9 {
		t.Errorf("null is not the default: %+v, %v", rec, err)
	}
	for body, want := range map[string]string{
		`{"kind": "b"}`:            "validation_failed: kind: read-only field",
		`{"secret": ""}`:           "validation_failed: secret: unknown field",
		`{"name": "123456"}`:       "validation_failed: name: must be at most 5 characters, not 6",
		`{"inner": {"hour": 24}}`:  "validation_failed: inner.hour: must be between 0 and 23, not 24",
		`{"inner": {"hour": "9"}}`: "validation_failed: inner.hour: \"9\" is not an integer",
		`{"due": "2026-3-1"}`:      "validation_failed: due: \"2026-3-1\" is not a date such as 2026-03-01",
		`{"at": "2026-03-01"}`:     "validation_failed: at: \"2026-03-01\" is not a time such as 2026-03-01T09:30:00Z",
	} {
		t.Run(body, func(t *testing.T) {
			before := rec
			if err := decode(body, &before, Update); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		})
	}
}
