package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestOptOutColumns checks which columns opt people out, and with which values.
func TestOptOutColumns(t *testing.T) {
	app := apptest.New(t)
	n := 0
	for _, c := range []struct {
		headers string // separated by bars
		yes, no string // values, separated by bars
	}{
		// Flags: every value but a no.
		{"Unsubscribed|UNSUB_TIME|Werbesperre|HasOptedOutOfEmail|Email Opt Out|Désabonnement|Fecha de baja|Unsubscribed from all email|Opt-out date|isUnsubscribed|Abgemeldet am",
			"yes|true|2025-03-01|01.03.2025 10:12|unsubscribed|opted out|x|Abgemeldet|subscribed", "no|false|0|nein|n/a|-|NULL"},
		// A status: only such words.
		{"Status|Email Status|Marketing status|lastState|MEMBER_STATUS|Abonnementstatus|Estado|Statut",
			"unsubscribed|Opted Out|opted-out|Do not contact|abgemeldet|Désabonné|dado de baja|emailsUnsubscribed", "Customer|subscribed|yes|true|2025-03-01|bounced|active|Baja"},
		// Nothing about emails.
		{"Do Not Call|Fax opt-out|Newsletter|Marketing contact status|Opted in|Bounced|Priority", "", "yes|true|2025-03-01|x"},
	} {
		for _, header := range strings.Split(c.headers, "|") {
			var file strings.Builder
			fmt.Fprintf(&file, "Email,First Name,%s\n", header)
			var want []string
			for i, value := range slices.DeleteFunc(strings.Split(c.yes, "|"), func(v string) bool { return v == "" }) {
				want = append(want, fmt.Sprintf("y%d@x.example", i))
				fmt.Fprintf(&file, "y%d@x.example,Ada,%s\n", i, value)
			}
			for i, value := range strings.Split(c.no, "|") {
				fmt.Fprintf(&file, "n%d@x.example,Bo,%s\n", i, value)
			}
			n++
			org := app.Org(fmt.Sprint("Acme ", n))
			done := imported(t, app, org, "contacts", file.String(), "")
			got := org.Read.Post("/v1/suppressions/list", `{"sort": "email"}`).Is(200).Column("email")
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v have opted out, want %v: %s", header, got, want, done.Body)
			}
		}
	}
}

// TestOptOutQuestions checks that an import asks about a column that may have opt-outs, and takes the answer.
func TestOptOutQuestions(t *testing.T) {
	app := apptest.New(t)
	run := func(org *apptest.Org, file, options string) *apptest.Response {
		id := org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts"`+options+`}`)).Is(202).ID()
		app.Work()
		return org.Read.Get(path + "/" + id).Is(200)
	}
	late := "Email,Remark\n" // the word is behind the rows that are looked at first
	for i := range 400 {
		late += fmt.Sprintf("p%d@x.example,friendly\n", i)
	}
	for i, c := range []struct {
		column, file string
		samples      string
		flag, status int // how many opt out if the column is mapped so
	}{
		{"Kontakt abbestellt?", "Email,Kontakt abbestellt?\na@x.example,vielleicht\nb@x.example,nein\nc@x.example,abgemeldet\n", "[abgemeldet]", 2, 1},
		{"Remark", late + "z@x.example,Unsubscribed\n", "[Unsubscribed]", 401, 1},
		{"Unsubscribed", "Email,Unsubscribed\na@x.example,by mail\nb@x.example,no\nc@x.example,no\n", "[by mail]", 1, 0},
		{"Remark", `[{"Email": "a@x.example", "Remark": "opted out"}, {"Email": "b@x.example", "Remark": "active"}]`, "[opted out]", 1, 1},
	} {
		org := app.Org(fmt.Sprint("Acme ", i))
		for _, options := range []string{"", `, "dry_run": true`} {
			asked := run(org, c.file, options)
			if asked.Text("data.status") != "failed" || asked.Text("data.failure_reason") != "mapping_required" || counts(asked) != "0 0 0 0" ||
				asked.Text("data.questions.0.code") != "mapping_required" || asked.Text("data.questions.0.column") != c.column ||
				fmt.Sprint(asked.Value("data.questions.0.samples")) != c.samples || fmt.Sprint(asked.Value("data.questions.0.choices")) != "[do_not_contact opt_out_status ]" {
				t.Errorf("%s: %s", c.column, asked.Body)
			}
		}
		if i != 1 { // whose word is behind the beginning
			in := org.Read.Do("POST", path+"/inspect", apptest.NewForm(c.file, `{}`)).Is(200)
			if in.Text("data.questions.0.code") != "mapping_required" {
				t.Errorf("%s: %s", c.column, in.Body)
			}
		}
		for field, want := range map[string]int{"do_not_contact": c.flag, "opt_out_status": c.status, "": 0} {
			org := app.Org(fmt.Sprint("Acme ", i, " as ", len(field)))
			done := run(org, c.file, fmt.Sprintf(`, "mapping": {%q: %q}`, c.column, field))
			got := org.Read.Post("/v1/suppressions/list", nil).Is(200).Int("pagination.total_count")
			if done.Text("data.status") != "completed" || got != want {
				t.Errorf("%s as %q: %d have opted out, want %d: %s", c.column, field, got, want, done.Body)
			}
		}
	}
	// Few values that cannot be read opt out without a question.
	org := app.Org("Few")
	file := "Email,Unsubscribed\n"
	for i := range 20 {
		file += fmt.Sprintf("p%d@x.example,no\n", i)
	}
	done := run(org, file+"a@x.example,by mail\n", "")
	if got := org.Read.Post("/v1/suppressions/list", nil).Is(200).Column("email"); done.Text("data.status") != "completed" || !slices.Equal(got, []string{"a@x.example"}) {
		t.Errorf("%v: %s", got, done.Body)
	}
	// In a column that somebody has mapped, subscribed means no.
	org = app.Org("Mapped")
	run(org, "Email,State\na@x.example,subscribed\nb@x.example,Active\nc@x.example,opted in\nd@x.example,gone\n", `, "mapping": {"State": "do_not_contact"}`)
	if got := org.Read.Post("/v1/suppressions/list", nil).Is(200).Column("email"); !slices.Equal(got, []string{"d@x.example"}) {
		t.Errorf("%v", got)
	}
}
