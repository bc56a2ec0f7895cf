package offline_test

import (
	"context"
	"errors"
	"testing"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/internal/research/offline"
	"prospector/internal/shape"
)

var company = catalog.Company{
	ID: "c1", Name: "Alder", Website: "alder.example", Industry: " software ", Country: "Germany",
	EmployeeCount: shape.NumberOf(250), AnnualRevenue: shape.NumberOf(1250000.5), FoundedYear: shape.NumberOf(0),
	Keywords: []string{"B2B", " hiring "}, Technologies: []string{"salesforce", "Go", "SAP"},
}

// TestResearch checks the answer that the field of a question gives, with its evidence, or why there is none.
func TestResearch(t *testing.T) {
	said := func(answer, evidence, source string) string {
		return `{"answer":` + answer + `,"confidence":1,"evidence":"` + evidence + `","source":"catalog:` + source + `"}`
	}
	const unknown, notAnswerable = `{"status":"unanswered","reason":"not_in_catalogue"}`, `{"status":"unanswered","reason":"question_not_answerable"}`
	products := []string{"Salesforce", "SAP", "Slack"}
	for _, c := range []struct {
		what string
		q    research.Question
		want string
	}{
		{"a text", research.Question{Type: crm.TextField, Field: "country"}, said(`"Germany"`, "country: Germany", "country")},
		{"a text with spaces", research.Question{Type: crm.TextField, Field: "industry"}, said(`"software"`, "industry: software", "industry")},
		{"an empty text", research.Question{Type: crm.TextField, Field: "location"}, unknown},
		{"a number", research.Question{Type: crm.NumberField, Field: "employee_count"}, said(`250`, "employee_count: 250", "employee_count")},
		{"a fraction", research.Question{Type: crm.NumberField, Field: "annual_revenue"}, said(`1250000.5`, "annual_revenue: 1250000.5", "annual_revenue")},
		{"an unknown number", research.Question{Type: crm.NumberField, Field: "founded_year"}, unknown},
		{"an allowed value", research.Question{Type: crm.EnumField, Allowed: []string{"Retail", "Software"}, Field: "industry"}, said(`"Software"`, "industry: Software", "industry")},
		{"no allowed value", research.Question{Type: crm.EnumField, Allowed: []string{"Retail", "Soft"}, Field: "industry"}, unknown},
		{"several values", research.Question{Type: crm.MultiSelectField, Allowed: products, Field: "technologies"}, said(`["Salesforce","SAP"]`, "technologies: Salesforce, SAP", "technologies")},
		{"one value of a list", research.Question{Type: crm.MultiSelectField, Allowed: []string{"Hiring"}, Field: "keywords"}, said(`["Hiring"]`, "keywords: Hiring", "keywords")},
		{"a list of a text", research.Question{Type: crm.MultiSelectField, Allowed: []string{"Germany"}, Field: "country"}, said(`["Germany"]`, "country: Germany", "country")},
		{"no value of a list", research.Question{Type: crm.MultiSelectField, Allowed: []string{"Slack"}, Field: "technologies"}, unknown},
		{"no field", research.Question{Type: crm.TextField, Text: "Where is it based?"}, notAnswerable},
		{"a field that companies do not have any more", research.Question{Type: crm.TextField, Field: "shoes"}, notAnswerable},
	} {
		t.Run(c.what, func(t *testing.T) {
			found, err := offline.Fields{}.Research(t.Context(), c.q, &company)
			if err != nil {
				t.Fatal(err)
			}
			found = c.q.Check(found)
			if got, err := found.Encode(); err != nil || string(got) != c.want {
				t.Errorf("%s %v, want %s", got, err, c.want)
			}
		})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := (offline.Fields{}).Research(ended, research.Question{Field: "name"}, &company); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
