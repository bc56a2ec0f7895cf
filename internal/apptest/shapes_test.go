package apptest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Letter has lists of objects and a map of objects.
type Letter struct {
	Steps  []Step           `json:"steps" rule:"required,maxlen=2"`
	Blocks map[string]Block `json:"blocks" rule:"maxlen=2"`
	Cast   []Actor          `json:"cast" rule:"readonly"`
}

type Step struct {
	Kind   string     `json:"kind" rule:"required,enum=email|call"`
	Hour   int        `json:"hour" rule:"min=0,max=23,default=9"`
	Remark string     `json:"remark,omitempty" rule:"optional"`
	SentAt shape.Time `json:"sent_at" rule:"readonly"`
}

type Block struct {
	Content shape.Text `json:"content" rule:"required,maxlen=5"`
}

type Actor struct {
	ID uuid.UUID `json:"id" rule:"readonly"`
}

// TestDocumentedObjects checks that the document and the decoder accept the same bodies, and that
// responses contain no undocumented properties.
func TestDocumentedObjects(t *testing.T) {
	components := shape.Components{}
	for _, view := range []shape.View{shape.Answer, shape.CreateInput, shape.UpdateInput} {
		components.Of(reflect.TypeFor[Letter](), view)
	}
	raw, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Letters", "version": "1"}, "paths": map[string]any{},
		"components": map[string]any{"schemas": components},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := readDocument(raw)
	if err != nil {
		t.Fatal(err)
	}
	const cast = `"cast": [{"id": "0190b2f0-0000-7000-8000-000000000001"}]`
	for _, c := range []struct {
		body           string
		create, update bool
	}{
		{`{}`, false, true},
		{`{"steps": [{"kind": "call"}]}`, true, true},
		{`{"steps": [{"kind": "call", "hour": null, "remark": "x"}], "blocks": null}`, true, true},
		{`{"steps": [{"kind": "call"}], "blocks": {}}`, true, true},
		{`{"steps": [{"kind": "call"}], "blocks": {"a-1": {"content": "x"}, "_": {"content": "y"}}}`, true, true},
		{`{"steps": [{"kind": "call"}], ` + cast + `}`, false, true},
		{`{"steps": []}`, false, false},
		{`{"steps": null}`, false, false},
		{`{"steps": [{}]}`, false, false},
		{`{"steps": [null]}`, false, false},
		{`{"steps": [{"kind": "fax"}]}`, false, false},
		{`{"steps": [{"kind": "call", "hour": 24}]}`, false, false},
		{`{"steps": [{"kind": "call", "sent_at": null}]}`, false, false},
		{`{"steps": [{"kind": "call", "x": 1}]}`, false, false},
		{`{"steps": [{"kind": "call"}, {"kind": "call"}, {"kind": "call"}]}`, false, false},
		{`{"steps": [{"kind": "call"}], "blocks": []}`, false, false},
		{`{"steps": [{"kind": "call"}], "blocks": {"a": null}}`, false, false},
		{`{"steps": [{"kind": "call"}], "blocks": {"a": {}}}`, false, false},
		{`{"steps": [{"kind": "call"}], "blocks": {"a": {"content": "123456"}}}`, false, false},
		{`{"steps": [{"kind": "call"}], "blocks": {"a b": {"content": "x"}}}`, false, false},
		{`{"steps": [{"kind": "call"}], "blocks": {"": {"content": "x"}}}`, false, false},
		{`{"steps": [{"kind": "call"}], "blocks": {"a": {"content": "x"}, "b": {"content": "x"}, "c": {"content": "x"}}}`, false, false},
		{`{"steps": [{"kind": "call"}], "cast": [{"id": "one"}]}`, false, false},
	} {
		v, err := shape.ParseObject([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		for view, want := range map[shape.View]bool{shape.CreateInput: c.create, shape.UpdateInput: c.update} {
			rec, mode := Letter{}, shape.Create
			if view == shape.UpdateInput {
				rec = Letter{Steps: []Step{{Kind: "email"}}, Cast: []Actor{{uuid.MustParse("0190b2f0-0000-7000-8000-000000000001")}}}
				mode = shape.Update
			}
			var p fault.Problems
			shape.Decode(v, &rec, mode, &p)
			documented := d.requests.check([]byte(c.body), "components", "schemas", "Letter"+string(view))
			if (p.Err() == nil) != want || (documented == nil) != want {
				t.Errorf("%s %s\ndecoder: %v\ndocument: %v\nwant accepted: %v", view, c.body, p.Err(), documented, want)
			}
		}
	}
	const step = `{"kind": "call", "hour": 9, "sent_at": null`
	for answer, want := range map[string]bool{
		`{"steps": [` + step + `}], "blocks": {"a": {"content": "x"}}, ` + cast + `}`:           true,
		`{"steps": [` + step + `, "remark": "x"}], "blocks": {}, "cast": []}`:                   true,
		`{"steps": [` + step + `, "x": 1}], "blocks": {}, "cast": []}`:                          false,
		`{"steps": [{"kind": "call", "hour": 9}], "blocks": {}, "cast": []}`:                    false,
		`{"steps": [], "blocks": {"a": {"content": "x", "x": 1}}, "cast": []}`:                  false,
		`{"steps": [], "blocks": {"a": {}}, "cast": []}`:                                        false,
		`{"steps": [], "blocks": {"a": 1}, "cast": []}`:                                         false,
		`{"steps": [], "blocks": null, "cast": []}`:                                             false,
		`{"steps": null, "blocks": {}, "cast": []}`:                                             false,
		`{"steps": [], "cast": []}`:                                                             false,
		`{"steps": [], "blocks": {}, "cast": [{"id": "0190b2f0-0000-7000-8000-000000000001"}]}`: true,
	} {
		if err := d.responses.check([]byte(answer), "components", "schemas", "Letter"); (err == nil) != want {
			t.Errorf("%s\ndocument: %v, want accepted: %v", answer, err, want)
		}
	}
}
