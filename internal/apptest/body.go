package apptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ListField is a field of a list, as a schema describes it.
type ListField struct {
	Key        string
	Type       string
	ReadOnly   bool `json:"read_only"`
	Sortable   bool
	Conditions []string
	Enum       *struct {
		Allowed []string `json:"allowed_values"`
	} `json:"enum_field_settings"`
}

// ResultIDs returns the ids of the records of a batch, in order.
func ResultIDs(res *Response) []string {
	var ids []string
	for _, r := range res.Value("data.results").([]any) {
		id, _ := r.(map[string]any)["id"].(string)
		ids = append(ids, id)
	}
	return ids
}

// Encoded returns the JSON of a value.
func Encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// JSONAt returns the JSON of a part of a response.
func JSONAt(t *testing.T, res *Response, path string) string {
	t.Helper()
	return Encoded(t, res.Value(path))
}

// Member returns one member of the item in a response, without decoding it.
func Member(r *Response, key string) json.RawMessage {
	var data map[string]json.RawMessage
	if err := json.Unmarshal(DataOf(r), &data); err != nil {
		panic(err)
	}
	return data[key]
}

// EqualsJSON reports whether a decoded JSON value equals the value of a JSON text.
func EqualsJSON(got any, want string) bool {
	var value any
	if err := json.Unmarshal([]byte(want), &value); err != nil {
		panic(err)
	}
	return reflect.DeepEqual(got, value)
}

// RowName returns a name for the subtest of a row of a table, cut to a readable length.
func RowName(text string) string {
	if len(text) > 80 {
		text = text[:80]
	}
	return strings.ToValidUTF8(text, "")
}

// AsJSON returns the JSON of the value at a path of a schema.
func AsJSON(v any, path ...string) string {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// ProblemsOf returns the details of an error, each as path and message.
func ProblemsOf(r *Response) []string {
	var texts []string
	details, _ := r.Value("error.details").([]any)
	for _, d := range details {
		d := d.(map[string]any)
		texts = append(texts, fmt.Sprint(d["path"], ": ", d["message"]))
	}
	return texts
}

// SameTexts requires a list of texts.
func SameTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\ngot %q\nwant %q", what, got, want)
	}
}

// JSONText is JSON text that an encoder writes unchanged.
type JSONText string

// MarshalJSON returns the text.
func (j JSONText) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// PostRaw returns the response to a request that is not validated against the API document, which takes
// long for many records.
func PostRaw(t *testing.T, org *Org, path, body string) []byte {
	t.Helper()
	req, err := http.NewRequest("POST", org.Read.URL(path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + org.Read.Key}, "Content-Type": {"application/json"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s %s: %s %s %v", path, body, res.Status, answer, err)
	}
	return answer
}

// Shows requires values at paths of a response, which are given as a JSON object.
func Shows(t *testing.T, res *Response, want string) {
	t.Helper()
	for path, value := range Object(want) {
		if got := res.Value(path); got != value {
			t.Errorf("%s is %v, want %v", path, got, value)
		}
	}
}

// DataOf returns the data of a response as raw JSON.
func DataOf(r *Response) json.RawMessage {
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		panic(err)
	}
	return answer.Data
}

// Sorted returns the texts in order.
func Sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

// WithIDs replaces names in braces by their ids.
func WithIDs(text string, ids map[string]string) string {
	for name, id := range ids {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

// NamesOf returns the names of ids, in their order.
func NamesOf[ID any](ids map[string]string, got []ID) string {
	names := []string{}
	for _, id := range got {
		name := fmt.Sprint(id)
		for n, known := range ids {
			if known == name {
				name = n
				break
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// HasProblems requires that a body is refused with exactly these fields as problems.
func HasProblems(t *testing.T, res *Response, paths ...string) {
	t.Helper()
	res.Fails(422, "validation_failed", paths[0])
	var got []string
	for _, d := range res.Value("error.details").([]any) {
		got = append(got, d.(map[string]any)["path"].(string))
	}
	if !slices.Equal(got, paths) {
		t.Errorf("problem paths = %q, want %q: %s", got, paths, res.Body)
	}
}

// ProblemPaths returns the paths of the details of an error.
func ProblemPaths(res *Response) (paths []string) {
	for _, d := range res.Value("error.details").([]any) {
		paths = append(paths, d.(map[string]any)["path"].(string))
	}
	return paths
}
