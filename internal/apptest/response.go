package apptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// Response is what a request was answered.
type Response struct {
	Status int
	Header http.Header
	Body   []byte

	t    testing.TB
	what string
}

// Is wants a status and, where a JSON text is given, exactly that body. "<id>", "<time>" and "<any>" stand for any
// UUID, any time and anything.
func (r *Response) Is(status int, want ...string) *Response {
	r.t.Helper()
	if r.Status != status {
		r.t.Fatalf("%s\nanswered %d, want %d: %s", r.what, r.Status, status, r.Body)
	}
	for _, w := range want {
		if diff := Diff(w, string(r.Body)); diff != "" {
			r.t.Fatalf("%s\n%s\nbody: %s", r.what, diff, r.Body)
		}
	}
	return r
}

// Fails wants an error with the status and code, whose message has the text in it.
func (r *Response) Fails(status int, code, message string) *Response {
	r.t.Helper()
	r.Is(status)
	if got := r.Text("error.code"); got != code {
		r.t.Fatalf("%s\nanswered the code %q, want %q: %s", r.what, got, code, r.Body)
	}
	if got := r.Text("error.message"); !strings.Contains(got, message) {
		r.t.Fatalf("%s\nanswered the message %q, want %q in it", r.what, got, message)
	}
	return r
}

// Value is the value at a path such as "data.tags.0".
func (r *Response) Value(path string) any {
	r.t.Helper()
	var v any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		r.t.Fatalf("%s\nanswered no JSON: %s", r.what, r.Body)
	}
	for _, key := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(at) {
				r.t.Fatalf("%s\nhas no %s: %s", r.what, path, r.Body)
			}
			v = at[i]
		default:
			r.t.Fatalf("%s\nhas no %s: %s", r.what, path, r.Body)
		}
	}
	return v
}

// Text is a text at a path.
func (r *Response) Text(path string) string {
	r.t.Helper()
	s, ok := r.Value(path).(string)
	if !ok {
		r.t.Fatalf("%s\n%s is no text: %s", r.what, path, r.Body)
	}
	return s
}

// Int is a number at a path.
func (r *Response) Int(path string) int {
	r.t.Helper()
	n, ok := r.Value(path).(float64)
	if !ok {
		r.t.Fatalf("%s\n%s is no number: %s", r.what, path, r.Body)
	}
	return int(n)
}

// ID is the id of an item.
func (r *Response) ID() string {
	r.t.Helper()
	return r.Text("data.id")
}

// Column is one field of all records of a list, as text.
func (r *Response) Column(field string) []string {
	r.t.Helper()
	column := []string{}
	for _, rec := range r.Value("data").([]any) {
		column = append(column, fmt.Sprint(rec.(map[string]any)[field]))
	}
	return column
}

var (
	idHole   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	timeHole = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// Diff says where a JSON text is not what was wanted, or nothing.
func Diff(want, got string) string {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return "the expectation is no JSON: " + err.Error()
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return "the answer is no JSON: " + err.Error()
	}
	return diff("", w, g)
}

func diff(path string, w, g any) string {
	switch w := w.(type) {
	case string:
		s, isText := g.(string)
		if w == "<any>" || w == "<id>" && isText && idHole.MatchString(s) || w == "<time>" && isText && timeHole.MatchString(s) {
			return ""
		}
	case map[string]any:
		m, ok := g.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: want an object, got %v", path, g)
		}
		var keys []string
		for k := range w {
			keys = append(keys, k)
		}
		for k := range m {
			if _, ok := w[k]; !ok {
				return fmt.Sprintf("%s.%s: not wanted, got %v", path, k, m[k])
			}
		}
		sort.Strings(keys)
		for _, k := range keys {
			if _, ok := m[k]; !ok {
				return fmt.Sprintf("%s.%s: missing", path, k)
			}
			if d := diff(path+"."+k, w[k], m[k]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		l, ok := g.([]any)
		if !ok || len(l) != len(w) {
			return fmt.Sprintf("%s: want %d entries, got %v", path, len(w), g)
		}
		for i := range w {
			if d := diff(fmt.Sprintf("%s[%d]", path, i), w[i], l[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(w, g) {
		return fmt.Sprintf("%s: want %v, got %v", path, w, g)
	}
	return ""
}
