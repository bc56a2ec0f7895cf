package tam_test

import (
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/research/offline"
	"prospector/internal/shape"
)

// TestPreviewAnsweredByFields checks Previews whose questions the fields of the companies answer.
func TestPreviewAnsweredByFields(t *testing.T) {
	app := apptest.New(t)
	app.TAM.Researcher = offline.Fields{}
	org := app.Org("Acme")
	uses, slack, unknown := apptest.Firm("c1"), apptest.Firm("c2"), apptest.Firm("c3")
	uses.Technologies, uses.Industry, uses.EmployeeCount = []string{"Go", "salesforce", "SAP"}, "Software", shape.NumberOf(50)
	slack.Technologies, slack.Industry, slack.EmployeeCount = []string{"Slack"}, "Retail", shape.NumberOf(60)
	app.Catalog([]catalog.Company{uses, slack, unknown}, nil)
	const products = `, "allowed_values": ["Salesforce", "Slack", "SAP"], "ai": {"question": "Which products does it use?"`
	for name, c := range map[string]struct{ dataType, more, rule, answers, summary string }{
		"several of a list": {"multi_select", products + `, "field": "technologies"}`, `{"operator": "contains", "value": "Salesforce"}`,
			`[[true, {"answer": ["Salesforce", "SAP"], "confidence": 1, "evidence": "technologies: Salesforce, SAP", "source": "catalog:technologies"}],
			[false, {"answer": ["Slack"], "confidence": 1, "evidence": "technologies: Slack", "source": "catalog:technologies"}], [null, {"status": "unanswered", "reason": "not_in_catalogue"}]]`,
			`{"status": "completed", "reason": null, "passed": 1, "not_matched": 1, "failed": 1}`},
		"one of a list": {"enum", `, "allowed_values": ["software", "Food"], "ai": {"question": "Which industry?", "field": "industry"}`, `{"value": "software"}`,
			`[[true, {"answer": "software", "confidence": 1, "evidence": "industry: software", "source": "catalog:industry"}],
			[null, {"status": "unanswered", "reason": "not_in_catalogue"}], [null, {"status": "unanswered", "reason": "not_in_catalogue"}]]`,
			`{"status": "completed", "reason": null, "passed": 1, "not_matched": 0, "failed": 2}`},
		"a number": {"number", `, "ai": {"question": "How many?", "field": "employee_count"}`, `{"value": 60}`,
			`[[false, {"answer": 50, "confidence": 1, "evidence": "employee_count: 50", "source": "catalog:employee_count"}],
			[true, {"answer": 60, "confidence": 1, "evidence": "employee_count: 60", "source": "catalog:employee_count"}], [null, {"status": "unanswered", "reason": "not_in_catalogue"}]]`,
			`{"status": "completed", "reason": null, "passed": 1, "not_matched": 1, "failed": 1}`},
		"no field": {"multi_select", products + `}`, `{"operator": "contains", "value": "Salesforce"}`,
			`[[null, {"status": "unanswered", "reason": "question_not_answerable"}], [null, {"status": "unanswered", "reason": "question_not_answerable"}], [null, {"status": "unanswered", "reason": "question_not_answerable"}]]`,
			`{"status": "completed", "reason": null, "passed": 0, "not_matched": 0, "failed": 3}`},
	} {
		t.Run(name, func(t *testing.T) {
			own := app.Org(name)
			signal := apptest.NewField(own, "accounts", "asked", c.dataType, c.more)
			id := apptest.AskedPreview(own, qualified(signal, c.rule, ``))
			own.Admin.Patch("/v1/fields/"+signal, `{"ai": {"question": "Another?", "field": "name"}}`) // the Preview has asked already
			app.Work()
			var answers []any
			for _, m := range previewRows(t, own, id, "", 100) {
				answers = append(answers, []any{m.Qualified, m.Qualification})
			}
			if diff := apptest.Diff(c.answers, apptest.AsJSON(answers)); diff != "" {
				t.Error(diff)
			}
			summary := own.Read.Get(apptest.PreviewsPath + "/" + id).Is(200).Value("data.research").(map[string]any)
			for field, want := range apptest.Object(c.summary) {
				if apptest.AsJSON(summary[field]) != apptest.AsJSON(want) {
					t.Errorf("%s is %v, want %v", field, summary[field], want)
				}
			}
		})
	}
	org.Admin.Post("/v1/fields", `{"entity": "accounts", "key": "asked", "data_type": "text", "ai": {"question": "Where?", "field": "country"}}`).
		Is(201, `{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "entity": "accounts", "key": "asked", "label": "Asked", "data_type": "text", "allowed_values": [],
		"personal": true, "ai": {"question": "Where?", "field": "country"}}, "meta": {"timestamp": "<time>"}}`)
}
