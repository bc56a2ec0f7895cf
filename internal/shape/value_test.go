package shape

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"prospector/internal/fault"
)

// FuzzParseObject compares the strict parser with encoding/json. Accepted bodies have the same
// meaning there, and refused bodies violate one of the additional rules.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a": [1, -0.5e+10, "x\u00e9\n", null, true, false, {}]}`, `{"a": 1, "a": 2}`, `[]`, `{"a": "\ud800"}`, "{\"\xff\": 1}",
		`{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, `{} x`, ``, `{"a": 1e999}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := ParseObject(body)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.InvalidJSON {
				t.Fatalf("refused with %s", code)
			}
			if lenient(body) {
				t.Fatalf("refused for no reason: %v", err)
			}
			return
		}
		if got, want := CountValues(body), size(v); got != want {
			t.Fatalf("counted %d values, want %d", got, want)
		}
		if v.Kind != Object || !utf8.Valid(body) || !json.Valid(body) {
			t.Fatal("accepted what is no JSON object of valid UTF-8")
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := plain(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("read as %v, want %v", got, want)
		}
	})
}

// lenient reports whether a body satisfies the rules of the strict parser, with an independent
// implementation.
func lenient(body []byte) bool {
	if !utf8.Valid(body) || !json.Valid(body) || bytes.Contains(body, []byte(`\u`)) { // lone surrogates hide in escapes
		return false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	first, err := d.Token()
	if err != nil || first != json.Delim('{') {
		return false
	}
	type level struct {
		object bool
		keys   map[string]bool
		key    bool // the next token is a key
	}
	stack := []level{{true, map[string]bool{}, true}}
	for len(stack) > 0 {
		tok, err := d.Token()
		if err != nil || len(stack) > MaxDepth {
			return false
		}
		top := &stack[len(stack)-1]
		if s, ok := tok.(string); ok && top.object && top.key {
			if top.keys[s] {
				return false
			}
			top.keys[s], top.key = true, false
			continue
		}
		top.key = top.object
		switch tok {
		case json.Delim('{'):
			stack = append(stack, level{true, map[string]bool{}, true})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
	return true
}

// plain converts a value to the form that encoding/json returns.
func plain(v Value) any {
	switch v.Kind {
	case Bool:
		return v.True
	case String:
		return v.Text
	case Num:
		return json.Number(v.Text)
	case Object:
		m := map[string]any{}
		for _, member := range v.Members {
			m[member.Key] = plain(member.Value)
		}
		return m
	case List:
		l := []any{}
		for _, item := range v.Items {
			l = append(l, plain(item))
		}
		return l
	}
	return nil
}

// size returns the number of values in v.
func size(v Value) int {
	n := 1
	for _, item := range v.Items {
		n += size(item)
	}
	for _, m := range v.Members {
		n += size(m.Value)
	}
	return n
}

func TestCountValues(t *testing.T) {
	for body, want := range map[string]int{
		`{}`: 1, `{ }`: 1, ` [ ] `: 1, `{"a": 1}`: 2, `{"a":[]}`: 2, `{"a": [ [], {}, "x,[{", "\"", "\\\\"]}`: 7,
		`{"a,b": {"c": [1,2 , 3]}, "d": null}`: 7, `[[[[`: 4, `{"a": "b`: 2, `{"a\`: 2,
	} {
		t.Run(body, func(t *testing.T) {
			if got := CountValues([]byte(body)); got != want {
				t.Errorf("%d values, want %d", got, want)
			}
		})
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(`{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`)
	}
	if _, err := ParseObject(nested(MaxDepth)); err != nil {
		t.Error(err)
	}
	if _, err := ParseObject(nested(MaxDepth + 1)); fault.CodeOf(err) != fault.InvalidJSON {
		t.Error(err)
	}
}
