package imports_test

import (
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestQuestions checks that an import that cannot know what dates mean writes nothing and asks, and that the answer helps.
func TestQuestions(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Post("/v1/fields", map[string]any{"entity": "contacts", "key": "joined", "label": "Joined", "data_type": "date"}).Is(201)
	file := "email,Joined\n" + strings.Repeat("ada@x.example,03/04/2025\n", 300)
	run := func(file, options string) *apptest.Response {
		id := org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts"`+options+`}`)).Is(202).ID()
		app.Work()
		return org.Read.Get(path + "/" + id).Is(200)
	}
	for _, options := range []string{"", `, "dry_run": true`} {
		asked := run(file, options)
		if asked.Text("data.status") != "failed" || asked.Text("data.failure_reason") != "ambiguous_dates" || counts(asked) != "0 0 0 0" ||
			asked.Text("data.questions.0.code") != "ambiguous_dates" || asked.Text("data.questions.0.column") != "Joined" ||
			asked.Text("data.questions.0.samples.0") != "03/04/2025" || asked.Text("data.questions.0.choices.1") != "mdy" {
			t.Errorf("%s", asked.Body)
		}
	}
	if list := org.Read.Post("/v1/contacts/list", nil).Is(200).Column("email"); len(list) != 0 || len(files(t, app)) != 0 {
		t.Errorf("%q were imported, and the files %q are left", list, files(t, app))
	}
	in := org.Read.Do("POST", path+"/inspect", apptest.NewForm(file, `{}`)).Is(200)
	if in.Text("data.questions.0.column") != "Joined" {
		t.Errorf("%s", in.Body)
	}
	in = org.Read.Do("POST", path+"/inspect", apptest.NewForm(file, `{"date_order": "dmy"}`)).Is(200)
	if len(in.Value("data.questions").([]any)) != 0 {
		t.Errorf("%s", in.Body)
	}
	org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts", "date_order": "ymd"}`)).Fails(422, "validation_failed", "date_order")
	for _, c := range []struct{ file, options, want string }{
		{file, `, "date_order": "mdy"`, "2025-03-04"},
		{file, `, "locale": "de"`, "2025-04-03"},
		{file + "bo@x.example,12/25/2024\n", "", "2025-03-04"}, // beyond the rows that are looked at first
	} {
		done := run(c.file, c.options)
		joined := org.Read.Post("/v1/contacts/list", map[string]any{"search": "ada"}).Is(200).Text("data.0.custom_field_joined")
		if done.Text("data.status") != "completed" || joined != c.want || len(done.Value("data.questions").([]any)) != 0 {
			t.Errorf("%s is %s: %s", c.options, joined, done.Body)
		}
	}
	done := run(file, `, "date_order": "dmy"`)
	if got := done.Text("data.warnings.0"); got != `column "Joined": dates such as 03/04/2025 were read as day/month` {
		t.Errorf("%s", done.Body)
	}
}
