package shape

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
)

// letter has lists and maps of objects, both writable and read-only.
type letter struct {
	Steps  []letterStep     `json:"steps" rule:"required,maxlen=3"`
	Blocks map[string]block `json:"blocks" rule:"maxlen=2"`
	Short  map[string]block `json:"short" rule:"required" pattern:"^[a-z]$" hint:"must have a key of one letter"`
	Cast   []actor          `json:"cast" rule:"readonly"`
	Props  map[string]actor `json:"props" rule:"readonly"`
	Seals  map[string]block `json:"seals" rule:"fixed"`
}

type letterStep struct {
	ID     Text             `json:"id"`
	Kind   string           `json:"kind" rule:"required,enum=email|call"`
	Hour   int              `json:"hour" rule:"min=0,max=23,default=9"`
	Words  []string         `json:"words" rule:"maxlen=2"`
	Remark string           `json:"remark,omitempty" rule:"optional"`
	Once   Text             `json:"once" rule:"fixed"`
	SentAt Time             `json:"sent_at" rule:"readonly"`
	Blocks map[string]block `json:"blocks"`
}

type block struct {
	Name    string `json:"name" rule:"required,maxlen=5"`
	Type    string `json:"type" rule:"default=MANUAL,enum=MANUAL"`
	Content Text   `json:"content"`
}

type actor struct {
	ID   uuid.UUID `json:"id" rule:"readonly"`
	Name Text      `json:"name"`
}

// sent returns a stored letter.
func sent() letter {
	a, b := actor{uuid.UUID{1}, "Ann"}, actor{uuid.UUID{2}, ""}
	return letter{
		Steps:  []letterStep{{ID: "s", Kind: "email", Hour: 8}},
		Blocks: map[string]block{"old": {"Old", "MANUAL", "x"}},
		Short:  map[string]block{"a": {"A", "MANUAL", ""}},
		Cast:   []actor{a, b}, Props: map[string]actor{"p": b},
		Seals: map[string]block{"wax": {"Wax", "MANUAL", ""}},
	}
}

func TestKeyed(t *testing.T) {
	for _, c := range []struct {
		body, problem string
		want          map[string]block
	}{
		{`{"blocks": {"intro": {"name": "Intro", "content": "hi"}}}`, "", map[string]block{"intro": {"Intro", "MANUAL", "hi"}}},
		{`{"blocks": {"-_9Z": {"name": "a"}, "old": {"name": "b"}}}`, "", map[string]block{"-_9Z": {"a", "MANUAL", ""}, "old": {"b", "MANUAL", ""}}},
		{`{"blocks": {}}`, "", nil},
		{`{"blocks": null}`, "", nil},
		{`{"blocks": []}`, "blocks: must be an object", nil},
		{`{"blocks": ""}`, "blocks: must be an object", nil},
		{`{"blocks": {"a": null, "b": "x"}}`, "blocks.a: must be an object; blocks.b: must be an object", nil},
		{`{"blocks": {"a": {}, "b": {"name": "123456", "type": "AUTO", "x": 1}}}`,
			`blocks.b.name: must be at most 5 characters, not 6; blocks.b.type: "AUTO" is not one of: MANUAL; ` +
				"blocks.b.x: unknown field; blocks.a.name: required", nil},
		{`{"blocks": {"a": {"name": "a"}, "b": {"name": "b"}, "c": {"name": "c"}}}`, "blocks: must have at most 2 entries, not 3", nil},
		{`{"blocks": {"": {"name": "a"}, "a.b": {}}}`, "blocks.: " + keyHint + "; blocks.a.b: " + keyHint, nil},
		{`{"blocks": {"é": {"name": "a"}, "` + strings.Repeat("x", 101) + `": {"name": "a"}}}`,
			"blocks.é: " + keyHint + "; blocks." + strings.Repeat("x", 101) + ": " + keyHint, nil},
		{`{"short": {"ab": {"name": "a"}}}`, "short.ab: must have a key of one letter", nil},
		{`{"short": {}}`, "short: must not be empty", nil},
		{`{"short": null}`, "short: required", nil},
	} {
		t.Run(c.body, func(t *testing.T) {
			for _, mode := range []Mode{Create, Update} {
				rec, before := letter{}, sent()
				body := c.body
				if mode == Update {
					rec = before
				} else {
					body = `{"steps": [{"kind": "call"}], ` + body[1:]
					if !strings.Contains(body, "short") {
						body = body[:len(body)-1] + `, "short": {"a": {"name": "a"}}}`
					}
				}
				var p fault.Problems
				Decode(objectOf(t, body), &rec, mode, &p)
				if !sameProblems(said(&p), c.problem) || c.problem == "" && !(len(rec.Blocks) == 0 && len(c.want) == 0) && !reflect.DeepEqual(rec.Blocks, c.want) {
					t.Errorf("mode %d, %s: %+v, %s; want %+v, %s", mode, body, rec.Blocks, said(&p), c.want, c.problem)
				}
				if !reflect.DeepEqual(before, sent()) {
					t.Errorf("%s: the original became %+v", body, before)
				}
			}
		})
	}
}

// sameProblems compares joined problems in any order.
func sameProblems(a, b string) bool {
	count := map[string]int{}
	for _, s := range strings.Split(a, "; ") {
		count[s]++
	}
	for _, s := range strings.Split(b, "; ") {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestListOfObjects checks that the objects of a list are decoded as new in both modes, keep their
// order, and are reported by their position.
func TestListOfObjects(t *testing.T) {
	for _, c := range []struct {
		steps, problem string
		want           []letterStep
	}{
		{`[{"kind": "call"}, {"kind": "call"}]`, "", []letterStep{{Kind: "call", Hour: 9}, {Kind: "call", Hour: 9}}},
		{`[{"id": "s", "kind": "email", "hour": 0, "words": ["a", "a"], "remark": "r", "once": "o", "blocks": {"b": {"name": "B"}}}]`, "",
			[]letterStep{{ID: "s", Kind: "email", Words: []string{"a"}, Remark: "r", Once: "o", Blocks: map[string]block{"b": {"B", "MANUAL", ""}}}}},
		{`[{"kind": "call", "hour": null}]`, "", []letterStep{{Kind: "call", Hour: 9}}},
		{`[{"kind": "call"}, {"kind": "call"}, {"kind": "fax", "hour": 24, "words": ["a", ""], "blocks": {"b": {}}}]`,
			`steps[2].kind: "fax" is not one of: email, call; steps[2].hour: must be between 0 and 23, not 24; ` +
				"steps[2].words[1]: must not be empty; steps[2].blocks.b.name: required", nil},
		{`[{"id": "s"}]`, "steps[0].kind: required", nil},
		{`[{"kind": "call", "sent_at": null}]`, "steps[0].sent_at: read-only field", nil},
		{`[null, "", 1]`, "steps[0]: must be an object; steps[1]: must be an object; steps[2]: must be an object", nil},
		{`[]`, "steps: must not be empty", nil},
		{`null`, "steps: required", nil},
		{`[{}, {}, {}, {}]`, "steps: must have at most 3 entries, not 4", nil},
	} {
		t.Run(c.steps, func(t *testing.T) {
			for _, mode := range []Mode{Create, Update} {
				rec, body := letter{}, `{"short": {"a": {"name": "a"}}, "steps": `+c.steps+`}`
				if mode == Update {
					rec = sent()
				}
				var p fault.Problems
				Decode(objectOf(t, body), &rec, mode, &p)
				if !sameProblems(said(&p), c.problem) || c.problem == "" && !reflect.DeepEqual(rec.Steps, c.want) {
					t.Errorf("mode %d, %s: %+v, %s; want %+v, %s", mode, body, rec.Steps, said(&p), c.want, c.problem)
				}
			}
		})
	}
}

// TestReadOnlyObjects checks that read-only objects may be sent back unchanged, including their
// read-only members.
func TestReadOnlyObjects(t *testing.T) {
	for body, want := range map[string]string{
		`{"cast": [{"id": "01000000-0000-0000-0000-000000000000", "name": "Ann"}, {"id": "02000000-0000-0000-0000-000000000000", "name": null}]}`: "",
		`{"cast": [{"id": "01000000-0000-0000-0000-000000000000", "name": "Ann"}]}`:                                                               "cast: read-only field",
		`{"cast": [{"id": "01000000-0000-0000-0000-000000000000", "name": "Ann"}, {"id": "03000000-0000-0000-0000-000000000000"}]}`:               "cast: read-only field",
		`{"cast": [], "props": {}}`: "cast: read-only field; props: read-only field",
		`{"cast": null}`:            "cast: read-only field",
		`{"props": {"p": {"id": "02000000-0000-0000-0000-000000000000", "name": null}}}`: "",
		`{"props": {"q": {"id": "02000000-0000-0000-0000-000000000000", "name": null}}}`: "props: read-only field",
		`{"props": {"p": {"id": "02000000-0000-0000-0000-000000000000", "x": 1}}}`:       "props: read-only field",
		`{"seals": {"wax": {"name": "Wax"}}}`:                                            "",
		`{"seals": {"wax": {"name": "Lead"}}}`:                                           "seals: read-only field",
		`{"seals": {}}`:                                                                  "seals: read-only field",
	} {
		rec := sent()
		var p fault.Problems
		if Decode(objectOf(t, body), &rec, Update, &p); said(&p) != want || !reflect.DeepEqual(rec, sent()) {
			t.Errorf("%s: %s, want %s; %+v", body, said(&p), want, rec)
		}
	}
	var rec letter
	var p fault.Problems
	Decode(objectOf(t, `{"short": {"a": {"name": "a"}}, "steps": [{"kind": "call"}], "cast": [], "props": {}, "seals": {"x": {"name": "x"}}}`), &rec, Create, &p)
	if said(&p) != "cast: read-only field; props: read-only field" || rec.Seals["x"].Name != "x" {
		t.Errorf("on create: %s, %+v", said(&p), rec)
	}
}

// TestEmptyObjects checks that nil lists and maps are encoded as empty ones, always in the same
// bytes, and that Diff treats them as equal.
func TestEmptyObjects(t *testing.T) {
	raw, err := jsonv2.Marshal(letter{Steps: []letterStep{{}}}, jsonv2.Deterministic(true))
	const want = `{"steps":[{"id":null,"kind":"","hour":0,"words":[],"once":null,"sent_at":null,"blocks":{}}],"blocks":{},"short":{},"cast":[],"props":{},"seals":{}}`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
	s := Of[letter]()
	for _, rec := range []letter{{}, {Steps: []letterStep{{}}}, sent()} {
		raw, _ := jsonv2.Marshal(&rec)
		var back letter
		if err := jsonv2.Unmarshal(raw, &back); err != nil || s.Diff(&rec, &back) != nil || s.Diff(&back, &rec) != nil {
			t.Errorf("%s reads back with other %v, %v", raw, s.Diff(&rec, &back), err)
		}
	}
	for want, change := range map[string]func(l *letter){
		"steps":       func(l *letter) { l.Steps[0].Hour++ },
		"blocks":      func(l *letter) { l.Blocks = map[string]block{"old": {"Old", "MANUAL", "y"}} },
		"short":       func(l *letter) { l.Short = map[string]block{"b": l.Short["a"]} },
		"cast":        func(l *letter) { l.Cast = l.Cast[:1] },
		"blocks cast": func(l *letter) { l.Blocks, l.Cast[0].Name = nil, "" },
	} {
		before, after := sent(), sent()
		change(&after)
		if got := s.Diff(&before, &after); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("changed %s, want %s", got, want)
		}
	}
}

func TestSchemaOfObjects(t *testing.T) {
	c := Components{}
	for _, view := range []View{Answer, CreateInput, UpdateInput} {
		c.Of(reflect.TypeFor[letter](), view)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]struct {
		Required   []string
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	const names = `"propertyNames":{"pattern":"^[A-Za-z0-9_-]{1,100}$"}`
	for at, want := range map[string]string{
		"letter.steps":        `{"type":"array","items":{"$ref":"#/components/schemas/letterStep"}}`,
		"letter.blocks":       `{"type":"object","additionalProperties":{"$ref":"#/components/schemas/block"}}`,
		"letterCreate.steps":  `{"type":"array","items":{"$ref":"#/components/schemas/letterStepCreate"},"minItems":1,"maxItems":3}`,
		"letterCreate.blocks": `{"type":["object","null"],"additionalProperties":{"$ref":"#/components/schemas/blockCreate"},` + names + `,"maxProperties":2}`,
		"letterCreate.short":  `{"type":"object","additionalProperties":{"$ref":"#/components/schemas/blockCreate"},"propertyNames":{"pattern":"^[a-z]$"},"minProperties":1}`,
		"letterUpdate.steps":  `{"type":"array","items":{"$ref":"#/components/schemas/letterStepCreate"},"minItems":1,"maxItems":3}`,
		"letterUpdate.blocks": `{"type":["object","null"],"additionalProperties":{"$ref":"#/components/schemas/blockCreate"},` + names + `,"maxProperties":2}`,
		"letterUpdate.cast": `{"type":["array","null"],"description":"Read-only. Accepted if it equals the current value.",` +
			`"items":{"$ref":"#/components/schemas/actor"}}`,
	} {
		of, key, _ := strings.Cut(at, ".")
		if got := string(got[of].Properties[key]); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}
	if _, has := got["letterStepCreate"].Properties["sent_at"]; has || !slices.Equal(got["letterStepCreate"].Required, []string{"kind"}) {
		t.Errorf("a new step is %+v", got["letterStepCreate"])
	}
	if _, has := got["letterStepUpdate"]; has {
		t.Error("a step can be changed in place")
	}
	if want := strings.Fields("id kind hour words once sent_at blocks"); !slices.Equal(got["letterStep"].Required, want) {
		t.Errorf("a step is %+v", got["letterStep"])
	}
}

// TestListedObjects checks that list queries see the ids or keys of objects, and no field for
// objects without ids.
func TestListedObjects(t *testing.T) {
	type noID struct {
		Day int `json:"day"`
	}
	type odd struct {
		letter
		Tags  IDs           `json:"tags"`
		Moves []noID        `json:"moves"`
		Owner uuid.NullUUID `json:"owner"`
		Inner struct {
			Steps []letterStep `json:"steps"`
		} `json:"inner"`
		Counts map[string]int `json:"counts"`
	}
	rec := odd{letter: sent(), Moves: []noID{{1}}, Tags: tagsOf("a"), Counts: map[string]int{"x": 1}}
	rec.Steps = append(rec.Steps, letterStep{}, letterStep{ID: "t"})
	rec.Blocks = map[string]block{"b": {}, "c": {}, "a": {}}
	type listed struct {
		typ            Type
		objects, uuids bool
		values         string
	}
	got := map[string]listed{}
	for _, f := range Of[odd]().Flat() {
		got[f.Key] = listed{f.Type, f.OfObjects(), f.HasUUIDs(), TextOf(f.Listed(&rec))}
	}
	want := map[string]listed{
		"steps": {TypeMulti, true, false, "s|t"}, "blocks": {TypeMulti, true, false, "a|b|c"}, "short": {TypeMulti, true, false, "a"},
		"cast":  {TypeMulti, true, true, uuid.UUID{1}.String() + "|" + uuid.UUID{2}.String()},
		"props": {TypeMulti, true, false, "p"}, "seals": {TypeMulti, true, false, "wax"},
		"tags": {TypeMulti, false, true, tag('a').String()}, "owner": {TypeReference, false, true, ""}, "inner.steps": {TypeMulti, true, false, ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
