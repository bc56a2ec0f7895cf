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

// Response is the response to a request.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	// Trailer holds the fields that follow the body.
	Trailer http.Header

	t    testing.TB
	what string
}

// Is requires a status and, if JSON is given, exactly that body. In the JSON, "<id>" matches any UUID,
// "<time>" any time and "<any>" any value.
func (r *Response) Is(status int, want ...string) *Response {
	r.t.Helper()
	if r.Status != status {
		r.t.Fatalf("%s\nstatus %d, want %d: %s", r.what, r.Status, status, r.Body)
	}
	for _, w := range want {
		if diff := Diff(w, string(r.Body)); diff != "" {
			r.t.Fatalf("%s\n%s\nbody: %s", r.what, diff, r.Body)
		}
	}
	return r
}

// Has is Is for a body that may have more members than the JSON, at any depth.
func (r *Response) Has(status int, want string) *Response {
	r.t.Helper()
	r.Is(status)
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		r.t.Fatalf("the expectation is not JSON: %v", err)
	}
	if err := json.Unmarshal(r.Body, &g); err != nil {
		r.t.Fatalf("%s\nthe response is not JSON: %s", r.what, r.Body)
	}
	if diff := diff("", w, only(w, g)); diff != "" {
		r.t.Fatalf("%s\n%s\nbody: %.2000s", r.what, diff, r.Body)
	}
	return r
}

// only returns g without the members that w does not have.
func only(w, g any) any {
	switch w := w.(type) {
	case map[string]any:
		if m, is := g.(map[string]any); is {
			kept := map[string]any{}
			for k := range w {
				if v, has := m[k]; has {
					kept[k] = only(w[k], v)
				}
			}
			return kept
		}
	case []any:
		if l, is := g.([]any); is && len(l) == len(w) {
			kept := make([]any, len(l))
			for i := range l {
				kept[i] = only(w[i], l[i])
			}
			return kept
		}
	}
	return g
}

// Fails requires an error with the status and code, whose message contains the text.
func (r *Response) Fails(status int, code, message string) *Response {
	r.t.Helper()
	r.Is(status)
	if got := r.Text("error.code"); got != code {
		r.t.Fatalf("%s\nerror code %q, want %q: %s", r.what, got, code, r.Body)
	}
	if got := r.Text("error.message"); !strings.Contains(got, message) {
		r.t.Fatalf("%s\nerror message %q does not contain %q", r.what, got, message)
	}
	return r
}

// Value returns the value at a path such as "data.tags.0".
func (r *Response) Value(path string) any {
	r.t.Helper()
	var v any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		r.t.Fatalf("%s\nthe response is not JSON: %s", r.what, r.Body)
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

// Text returns the string at a path.
func (r *Response) Text(path string) string {
	r.t.Helper()
	s, ok := r.Value(path).(string)
	if !ok {
		r.t.Fatalf("%s\n%s is not a string: %s", r.what, path, r.Body)
	}
	return s
}

// Int returns the number at a path.
func (r *Response) Int(path string) int {
	r.t.Helper()
	n, ok := r.Value(path).(float64)
	if !ok {
		r.t.Fatalf("%s\n%s is not a number: %s", r.what, path, r.Body)
	}
	return int(n)
}

// ID returns the id of an item.
func (r *Response) ID() string {
	r.t.Helper()
	return r.Text("data.id")
}

// Column returns one field of all records of a list, as text.
func (r *Response) Column(field string) []string {
	r.t.Helper()
	column := []string{}
	for _, rec := range r.Value("data").([]any) {
		column = append(column, fmt.Sprint(rec.(map[string]any)[field]))
	}
	return column
}

var (
	idPattern   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// Diff compares two JSON texts and describes the first difference. It returns "" if there is none. See
// Response.Is for the placeholders in want.
func Diff(want, got string) string {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return "the expectation is not JSON: " + err.Error()
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return "the response is not JSON: " + err.Error()
	}
	return diff("", w, g)
}

func diff(path string, w, g any) string {
	switch w := w.(type) {
	case string:
		s, isText := g.(string)
		if w == "<any>" || w == "<id>" && isText && idPattern.MatchString(s) || w == "<time>" && isText && timePattern.MatchString(s) {
			return ""
		}
	case map[string]any:
		m, ok := g.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: got %v, want an object", path, g)
		}
		var keys []string
		for k := range w {
			keys = append(keys, k)
		}
		for k := range m {
			if _, ok := w[k]; !ok {
				return fmt.Sprintf("%s.%s: unexpected, got %v", path, k, m[k])
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
			return fmt.Sprintf("%s: got %v, want %d entries", path, g, len(w))
		}
		for i := range w {
			if d := diff(fmt.Sprintf("%s[%d]", path, i), w[i], l[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(w, g) {
		return fmt.Sprintf("%s: got %v, want %v", path, g, w)
	}
	return ""
}

// Cookie returns the name and the value of the cookie that the response sets.
func (r *Response) Cookie() string {
	r.t.Helper()
	cookie, err := http.ParseSetCookie(r.Header.Get("Set-Cookie"))
	if err != nil {
		r.t.Fatalf("%s sets no cookie: %v", r.what, err)
	}
	return cookie.Name + "=" + cookie.Value
}
