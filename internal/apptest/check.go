package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"prospector/store"
)

// WholeList reads a complete list, in the order in which its records were created.
func WholeList[T any](t testing.TB, o *Org, path string, rules ...string) (all []T) {
	t.Helper()
	for page := 1; ; page++ {
		res := o.Read.Post(path+"/list", fmt.Sprintf(`{"sort": "id", "page_size": 500, "page": %d, "filters": [%s]}`, page, strings.Join(rules, ", "))).Is(200)
		var answer struct{ Data []T }
		if err := json.Unmarshal(res.Body, &answer); err != nil {
			t.Fatal(err)
		}
		all = append(all, answer.Data...)
		if page >= res.Int("pagination.total_pages") {
			return all
		}
	}
}

// IsRule returns a rule of a filter that a field is a value.
func IsRule(field, value string) string {
	return fmt.Sprintf(`{"field": %q, "condition": "is", "value": %q}`, field, value)
}

// CheckConsistency requires that the store and the indexes are consistent.
func CheckConsistency(t *testing.T, app *App, org *Org) {
	t.Helper()
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { t.Errorf("store: "+format, args...) }, app.Kinds.Portions()...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Index.Check(context.Background(), false, func(int, int) {}, func(what string, _ bool) { t.Error("index: " + what) }, func(string) {}); err != nil {
		t.Fatal(err)
	}
}
