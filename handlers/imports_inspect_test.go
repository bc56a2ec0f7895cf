package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestInspectIsBounded checks that a header has a limit, and that the answer is short whatever the file is like.
func TestInspectIsBounded(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	names := func(columns, size int) (list []string) {
		for i := range columns {
			list = append(list, fmt.Sprintf("%s %d", strings.Repeat("n", size), i))
		}
		return list
	}
	cells := func(columns int) string {
		return strings.Repeat(strings.Repeat("ü", 400)+",", columns-1) + "x\n"
	}
	long := strings.Join(names(100, 3000), ",") + "\n" + cells(100)
	for _, path := range []string{"/v1/imports/inspect", "/v1/imports"} {
		org.Write.Do("POST", path, apptest.NewForm(long, `{"entity": "contacts"}`)).
			Fails(422, "validation_failed", "at most 262144 are possible")
	}

	var rows strings.Builder
	for i := range 5 {
		rows.WriteString(fmt.Sprint(i) + cells(1000))
	}
	var object []string
	for i, name := range names(1000, 3000) {
		object = append(object, fmt.Sprintf("%q: %q", name, strings.Repeat("ü", 400)+fmt.Sprint(i)))
	}
	for name, file := range map[string]string{
		"columns": strings.Join(names(1000, 200), ",") + "\n" + rows.String(),
		"members": "{" + strings.Join(object, ", ") + "}\n",
	} {
		res := org.Read.Do("POST", "/v1/imports/inspect", apptest.NewForm(file, `{"entity": "contacts"}`)).Is(200)
		if n := len(res.Body); n > 2<<20 {
			t.Errorf("%s: the answer has %d bytes", name, n)
		}
		if sample := res.Text("data.columns.0.samples.0"); len([]rune(sample)) < 20 {
			t.Errorf("%s: the first sample is %q", name, sample)
		}
	}
}
