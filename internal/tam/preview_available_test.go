package tam_test

import (
	"fmt"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// TestPreviewAvailable says how many companies a request describes if max_candidates cuts some off.
func TestPreviewAvailable(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var firms []catalog.Company
	for i := range 7 {
		firms = append(firms, catalog.Company{ID: fmt.Sprint("c", i), Name: fmt.Sprint("Firm ", i), Industry: "Wood", Country: "Norway"})
	}
	app.Catalog(firms, nil)
	for limit, truncated := range map[int]bool{5: true, 7: false, 100: false} {
		fields := fmt.Sprintf(`{"search_input": {"max_candidates": %d}}`, limit)
		estimate := org.Read.Post(apptest.PreviewsPath+"/estimate", apptest.PreviewBody(fields)).Is(200)
		if estimate.Int("data.available_total") != 7 || estimate.Value("data.truncated") != truncated || estimate.Int("data.companies") != min(limit, 7) {
			t.Errorf("%d: the estimate is %s", limit, estimate.Body)
		}
		preview := org.Read.Get(apptest.PreviewsPath + "/" + apptest.ReadyPreview(org, fields)).Is(200)
		for _, at := range []string{"data.", "data.result."} {
			if preview.Int(at+"available_total") != 7 || preview.Value(at+"truncated") != truncated {
				t.Errorf("%d: %s of the Preview has %v and %v", limit, at, preview.Value(at+"available_total"), preview.Value(at+"truncated"))
			}
		}
		if rules := preview.Value("data.result.rules").([]any); len(rules) != 0 {
			t.Errorf("%d: the rules are %v", limit, rules)
		}
	}

	// If nothing matches, the result says which rule is to blame.
	preview := org.Read.Get(apptest.PreviewsPath + "/" + apptest.ReadyPreview(org, `{"company_filters": {"filtering_rules": {"filters": [
		{"field": "industry", "condition": "is", "value": "Wood"}, {"field": "name", "condition": "is", "value": ["Firm 1", "Firm 2"]},
		{"operator": "or", "filters": [{"field": "country", "condition": "is", "value": "Chile"}, {"field": "name", "condition": "is", "value": "Firm 2"}]}]},
		"searching_rule": {"value": "Paper"}}}`)).Is(200)
	want := []struct {
		path   string
		leaves int
	}{
		{"company_filters.filtering_rules.filters[0]", 7}, {"company_filters.filtering_rules.filters[1]", 2},
		{"company_filters.filtering_rules.filters[2]", 1}, {"company_filters.searching_rule.value", 0},
	}
	rules := preview.Value("data.result.rules").([]any)
	for i := range want {
		if len(rules) != len(want) || rules[i].(map[string]any)["path"] != want[i].path || rules[i].(map[string]any)["leaves"] != float64(want[i].leaves) {
			t.Fatalf("the rules are %v, want %v", rules, want)
		}
	}
	if preview.Int("data.available_total") != 0 || preview.Value("data.truncated") != false {
		t.Errorf("the Preview is %s", preview.Body)
	}
}
