package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
)

// edited has an editable list, a plain list, a required list and an optional object.
type edited struct {
	Tags   IDs      `json:"tags" rule:"maxlen=5,edits"`
	Words  []string `json:"words" rule:"maxlen=5"`
	Needed []string `json:"needed" rule:"required,maxlen=3"`
	Rule   *rule    `json:"rule"`
	Filter Value    `json:"filter"`
}

type rule struct {
	Value string `json:"value" rule:"required,maxlen=5"`
	Note  Text   `json:"note"`
}

// tag returns the id for a letter.
func tag(letter rune) uuid.UUID { return uuid.UUID{15: byte(letter)} }

func tagsOf(letters string) IDs {
	var ids IDs
	for _, letter := range letters {
		ids = append(ids, tag(letter))
	}
	return ids
}

// lettersOf returns the letters for ids.
func lettersOf(ids IDs) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteByte(id[15])
	}
	return b.String()
}

// withTags replaces quoted letters in the body, such as 'abc', by lists of ids.
func withTags(body string) string {
	for {
		before, rest, found := strings.Cut(body, "'")
		if !found {
			return body
		}
		letters, after, _ := strings.Cut(rest, "'")
		list := []uuid.UUID{}
		list = append(list, tagsOf(letters)...)
		b, _ := json.Marshal(list)
		body = before + string(b) + after
	}
}

func decodeEdited(t *testing.T, body string, rec *edited, mode Mode) string {
	t.Helper()
	var p fault.Problems
	Decode(objectOf(t, withTags(body)), rec, mode, &p)
	return said(&p)
}

func TestEdits(t *testing.T) {
	for _, c := range []struct{ before, body, want, problem string }{
		{"", `{"add_tags": 'ab'}`, "ab", ""},
		{"ab", `{"add_tags": 'c'}`, "abc", ""},
		{"ab", `{"add_tags": 'ba'}`, "ab", ""},
		{"ab", `{"add_tags": 'cbcd'}`, "abcd", ""},
		{"ab", `{"add_tags": ''}`, "ab", ""},
		{"abc", `{"remove_tags": 'b'}`, "ac", ""},
		{"abc", `{"remove_tags": 'cxbb'}`, "a", ""},
		{"abc", `{"remove_tags": 'abc'}`, "", ""},
		{"", `{"remove_tags": 'a'}`, "", ""},
		{"ab", `{"add_tags": null, "remove_tags": null}`, "ab", ""},
		{"ab", `{"add_tags": 'c', "remove_tags": 'a'}`, "bc", ""},
		{"ab", `{"remove_tags": 'a', "add_tags": 'c'}`, "bc", ""},

		// The list is set before it is edited, regardless of the order in the body.
		{"ab", `{"tags": 'x', "add_tags": 'y'}`, "xy", ""},
		{"ab", `{"add_tags": 'yx', "tags": 'x'}`, "xy", ""},
		{"ab", `{"remove_tags": 'x', "tags": 'xyz'}`, "yz", ""},
		{"ab", `{"tags": null, "add_tags": 'c'}`, "c", ""},
		{"ab", `{"tags": [], "remove_tags": 'a'}`, "", ""},

		{"ab", `{"add_tags": 'cd', "remove_tags": 'd'}`, "", "remove_tags: " + tag('d').String() + " is also in add_tags"},
		{"ab", `{"remove_tags": 'a', "add_tags": 'a'}`, "", "remove_tags: " + tag('a').String() + " is also in add_tags"},

		{"abc", `{"add_tags": 'de'}`, "abcde", ""},
		{"abc", `{"add_tags": 'abcde'}`, "abcde", ""},
		{"abc", `{"add_tags": 'def'}`, "", "tags: must have at most 5 entries, not 6"},
		{"abc", `{"add_tags": 'defghi'}`, "", "add_tags: must have at most 5 entries, not 6"},
		{"abcdefg", `{"remove_tags": 'g'}`, "abcdef", ""}, // one that was too long can be made shorter
		{"abcdefg", `{"add_tags": 'a'}`, "abcdefg", ""},
		{"ab", `{"tags": 'abcde', "add_tags": 'f'}`, "", "tags: must have at most 5 entries, not 6"},

		{"ab", `{"add_tags": "a"}`, "", "add_tags: must be a list"},
		{"ab", `{"remove_tags": {}}`, "", "remove_tags: must be a list"},
		{"ab", `{"add_tags": ["x", null, 1]}`, "", "add_tags[0]: \"x\" is not a UUID; add_tags[1]: must be a UUID; add_tags[2]: must be a UUID"},
		{"ab", `{"remove_tags": [""]}`, "", "remove_tags[0]: must not be empty"},
		{"ab", `{"add_words": ["x"]}`, "", "add_words: unknown field"},
		{"ab", `{"add_": [], "add_nope": [], "add_add_tags": [], "remove_rule": null}`, "",
			"add_: unknown field; add_nope: unknown field; add_add_tags: unknown field; remove_rule: unknown field"},
	} {
		t.Run(c.body, func(t *testing.T) {
			original := tagsOf(c.before)
			rec := edited{Tags: original, Needed: []string{"x"}}
			problem := decodeEdited(t, c.body, &rec, Update)
			if problem != c.problem || problem == "" && lettersOf(rec.Tags) != c.want {
				t.Errorf("%s over %q: %q, %s; want %q, %s", c.body, c.before, lettersOf(rec.Tags), problem, c.want, c.problem)
			}
			if lettersOf(original) != c.before {
				t.Errorf("%s over %q: the original became %q", c.body, c.before, lettersOf(original))
			}
			if got, _ := json.Marshal(rec.Tags); bytes.Equal(got, []byte("null")) {
				t.Errorf("%s over %q is answered as null", c.body, c.before)
			}
		})
	}
	// The slice of a record may have spare capacity that it shares with a copy of the record.
	room := append(make(IDs, 0, 10), tagsOf("ab")...)
	a, b := edited{Tags: room, Needed: []string{"x"}}, edited{Tags: room, Needed: []string{"x"}}
	decodeEdited(t, `{"add_tags": 'x'}`, &a, Update)
	decodeEdited(t, `{"add_tags": 'y'}`, &b, Update)
	if lettersOf(a.Tags) != "abx" || lettersOf(b.Tags) != "aby" {
		t.Errorf("two copies are %q and %q", lettersOf(a.Tags), lettersOf(b.Tags))
	}
	var rec edited
	want := "add_tags: unknown field; remove_tags: unknown field"
	if problem := decodeEdited(t, `{"needed": ["x"], "add_tags": 'a', "remove_tags": null}`, &rec, Create); problem != want {
		t.Errorf("on create: %s", problem)
	}
}

func TestRequiredList(t *testing.T) {
	for _, c := range []struct {
		body, create, update string
	}{
		{`{}`, "needed: required", ""},
		{`{"needed": null}`, "needed: required", "needed: required"},
		{`{"needed": []}`, "needed: must not be empty", "needed: must not be empty"},
		{`{"needed": [""]}`, "needed[0]: must not be empty", "needed[0]: must not be empty"},
		{`{"needed": "x"}`, "needed: must be a list", "needed: must be a list"},
		{`{"needed": ["x", "x"]}`, "", ""},
		{`{"needed": ["a", "b", "c", "d"]}`, "needed: must have at most 3 entries, not 4", "needed: must have at most 3 entries, not 4"},
	} {
		t.Run(c.body, func(t *testing.T) {
			var fresh edited
			if got := decodeEdited(t, c.body, &fresh, Create); got != c.create {
				t.Errorf("create %s: %q, want %q", c.body, got, c.create)
			}
			old := edited{Needed: []string{"old"}}
			if got := decodeEdited(t, c.body, &old, Update); got != c.update {
				t.Errorf("update %s: %q, want %q", c.body, got, c.update)
			}
		})
	}
}

// TestOptionalObject creates, changes and clears an optional object, and checks that a copy of the
// record that shares the pointer never changes.
func TestOptionalObject(t *testing.T) {
	base := edited{Needed: []string{"x"}}
	for _, c := range []struct {
		before     *rule
		body       string
		want       *rule
		problem    string
		asNew      string // the problem of the same body on create
		sameAsThen bool   // the record is as before
	}{
		{nil, `{}`, nil, "", "", true},
		{nil, `{"rule": null}`, nil, "", "", true},
		{nil, `{"rule": {"value": "a"}}`, &rule{Value: "a"}, "", "", false},
		{&rule{"a", "n"}, `{}`, &rule{"a", "n"}, "", "", true},
		{&rule{"a", "n"}, `{"rule": {}}`, &rule{"a", "n"}, "", "rule.value: required", true},
		{&rule{"a", "n"}, `{"rule": {"value": "a", "note": "n"}}`, &rule{"a", "n"}, "", "", true},
		{&rule{"a", "n"}, `{"rule": {"value": "b"}}`, &rule{"b", "n"}, "", "", false},
		{&rule{"a", "n"}, `{"rule": {"note": null}}`, &rule{"a", ""}, "", "rule.value: required", false},
		{&rule{"a", "n"}, `{"rule": null}`, nil, "", "", false},
		{nil, `{"rule": {}}`, nil, "rule.value: required", "rule.value: required", false},
		{nil, `{"rule": {"value": ""}}`, nil, "rule.value: required", "rule.value: required", false},
		{&rule{"a", "n"}, `{"rule": {"value": null}}`, nil, "rule.value: required", "rule.value: required", false},
		{&rule{"a", "n"}, `{"rule": {"value": "123456", "x": 1}}`, nil, "rule.value: must be at most 5 characters, not 6; rule.x: unknown field",
			"rule.value: must be at most 5 characters, not 6; rule.x: unknown field", false},
		{&rule{"a", "n"}, `{"rule": []}`, nil, "rule: must be an object", "rule: must be an object", false},
		{&rule{"a", "n"}, `{"rule": "a"}`, nil, "rule: must be an object", "rule: must be an object", false},
	} {
		before, after := base, base
		before.Rule, after.Rule = c.before, c.before
		var kept rule
		if c.before != nil {
			kept = *c.before
		}
		problem := decodeEdited(t, c.body, &after, Update)
		if problem != c.problem || problem == "" && !reflect.DeepEqual(after.Rule, c.want) {
			t.Errorf("%s over %+v: %+v, %s", c.body, c.before, after.Rule, problem)
		}
		if c.before != nil && *c.before != kept {
			t.Errorf("%s: the original became %+v", c.body, *c.before)
		}
		if changed := Of[edited]().Diff(&before, &after); problem == "" && (len(changed) == 0) != c.sameAsThen {
			t.Errorf("%s over %+v changed %v", c.body, c.before, changed)
		}
		var fresh edited
		body := `{"needed": ["x"], ` + strings.TrimPrefix(c.body, "{")
		if body = strings.Replace(body, ", }", "}", 1); decodeEdited(t, body, &fresh, Create) != c.asNew {
			t.Errorf("%s as new: %q, want %q", body, decodeEdited(t, body, &fresh, Create), c.asNew)
		}
	}
}

// randomValue writes a JSON value in its shortest form, with literals that a float64 cannot
// represent.
func randomValue(rng *rand.Rand, depth int) string {
	numbers := []string{"0", "-0", "1", "1.0", "1.50", "1e5", "1E+5", "-1e-7", "1e999", "0.1000000000000000055511151231257827", "12345678901234567890123", "9007199254740993"}
	texts := []string{`""`, `"x"`, `"<&>"`, `"é🙂"`, `"\"\\\n\t\u0001"`, "\"\u2028\"", `"null"`, `"1"`}
	n := rng.IntN(9)
	if depth > 5 {
		n = rng.IntN(6)
	}
	switch n {
	case 0:
		return []string{"null", "true", "false"}[rng.IntN(3)]
	case 1, 2, 3:
		return numbers[rng.IntN(len(numbers))]
	case 4, 5:
		return texts[rng.IntN(len(texts))]
	}
	var parts []string
	for i := range rng.IntN(5) {
		part := randomValue(rng, depth+1)
		if n == 6 {
			part = fmt.Sprintf(`"%s%d":%s`, []string{"", "é", "z", `\"`}[rng.IntN(4)], i, part)
		}
		parts = append(parts, part)
	}
	if n == 6 {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// TestValueIsUnchanged checks that a Value is encoded in the bytes from which it was decoded, and
// that these decode to the same value.
func TestValueIsUnchanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	deep := strings.Repeat(`{"a":[`, (MaxDepth-2)/2) + strings.Repeat(`]}`, (MaxDepth-2)/2)
	for i := range 3000 {
		text := randomValue(rng, 0)
		if i == 0 {
			text = deep
		}
		body := `{"needed":["x"],"filter":` + text + `}`
		var rec, back edited
		if problem := decodeEdited(t, body, &rec, Create); problem != "" {
			t.Fatalf("%.200s: %s", text, problem)
		}
		raw, err := jsonv2.Marshal(&rec)
		if err != nil || !strings.HasSuffix(string(raw), `,"filter":`+text+`}`) {
			t.Fatalf("%.200s is written as %.300s, %v", text, raw, err)
		}
		if err := jsonv2.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back.Filter, rec.Filter) {
			t.Fatalf("%.200s reads back as %+v, is %+v, %v", text, back.Filter, rec.Filter, err)
		}
		if changed := Of[edited]().Diff(&rec, &back); changed != nil {
			t.Fatalf("%.200s: read back it has other %v", text, changed)
		}
	}
	rec := edited{Needed: []string{"x"}, Filter: Value{Kind: Num, Text: "1"}}
	if problem := decodeEdited(t, `{"filter": null}`, &rec, Update); problem != "" || rec.Filter.Kind != Absent {
		t.Errorf("null: %+v, %s", rec.Filter, problem)
	}
	var whole Value
	if err := jsonv2.Unmarshal([]byte(`[null,{"a":null}]`), &whole); err != nil || whole.Items[0].Kind != Null || whole.Items[1].Get("a").Kind != Null {
		t.Errorf("null within: %+v, %v", whole, err)
	}
	for _, bad := range []string{``, `{"a":1,"a":2}`, `[1`, `{"a"}`, "\"\xff\"", strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)} {
		if err := jsonv2.Unmarshal([]byte(bad), &whole); err == nil {
			t.Errorf("%.20q is read as %+v", bad, whole)
		}
	}
	if _, err := jsonv2.Marshal(Value{Kind: Num, Text: "1x"}); err == nil {
		t.Error("a number that is none was written")
	}
	if raw, err := jsonv2.Marshal([]Value{{}, {Kind: List}, {Kind: Object}}); err != nil || string(raw) != `[null,[],{}]` {
		t.Errorf("empty values: %s, %v", raw, err)
	}
}

type step struct {
	Hour int    `json:"hour" rule:"min=0,max=23,default=9"`
	Kind string `json:"kind" rule:"default=email,enum=email|call"`
}

type plan struct {
	Steps []step `json:"steps"`
	First *step  `json:"first"`
}

// TestDefaultsInUpdates checks that an update applies defaults to new list entries and new objects.
func TestDefaultsInUpdates(t *testing.T) {
	for _, mode := range []Mode{Create, Update} {
		var rec plan
		var p fault.Problems
		Decode(objectOf(t, `{"steps": [{}], "first": {}}`), &rec, mode, &p)
		if want := (step{9, "email"}); rec.Steps[0] != want || *rec.First != want {
			t.Errorf("mode %d: %+v %+v %s", mode, rec.Steps, *rec.First, said(&p))
		}
	}
}

// TestEqualObjects checks that a list keeps equal objects.
func TestEqualObjects(t *testing.T) {
	var rec plan
	var p fault.Problems
	if Decode(objectOf(t, `{"steps": [{"hour": 1}, {"hour": 2}, {"hour": 1}]}`), &rec, Create, &p); len(rec.Steps) != 3 || rec.Steps[0] != rec.Steps[2] {
		t.Errorf("%+v %s", rec.Steps, said(&p))
	}
}

type twoLists struct {
	A []string `json:"a" rule:"maxlen=2,edits"`
	B []string `json:"b" rule:"maxlen=2,edits"`
}

// TestEditsOfTwoLists checks that the edits of two lists are independent, and that entries of a
// full list can be exchanged.
func TestEditsOfTwoLists(t *testing.T) {
	rec := twoLists{B: []string{"x"}}
	var p fault.Problems
	if Decode(objectOf(t, `{"add_a": ["x"], "remove_b": ["x"]}`), &rec, Update, &p); said(&p) != "" {
		t.Error(said(&p))
	}
	rec = twoLists{A: []string{"x", "y"}}
	p = fault.Problems{}
	if Decode(objectOf(t, `{"add_a": ["z"], "remove_a": ["x"]}`), &rec, Update, &p); said(&p) != "" {
		t.Error("a swap in a full list: ", said(&p), rec.A)
	}
}
