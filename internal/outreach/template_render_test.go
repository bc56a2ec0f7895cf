package outreach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/identity"
)

const tplTokens = "{{recipient.first_name}}/{{recipient.last_name}}/{{recipient.company}}/{{recipient.email}}/{{sender.first_name}}/{{sender.last_name}}/{{sender.company}}/{{sender.title}}/{{sender.email}}"

func TestRender(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme Sales")
	account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	bill := org.Write.Post("/v1/contacts", `{"first_name": "Bill", "last_name": "Lumbergh", "email": "Bill@initech.example", "title": "VP", "account_id": "`+account+`"}`).Is(201).ID()
	grace := org.Admin.Post("/v1/users", `{"email": "grace@acme.example", "first_name": "Grace", "last_name": "Hopper", "title": "Admiral"}`).Is(201).ID()

	// Every token, in subjects, messages and blocks; the steps are ordered by index.
	path := apptest.TemplatesPath + "/" + org.Write.Post(apptest.TemplatesPath, map[string]any{"name": "T", "blocks": map[string]any{"all": map[string]string{"name": "A", "content": "<" + tplTokens + ">"}, "none": map[string]string{"name": "N"}}, "steps": []any{
		map[string]any{"index": 9, "type": "auto_email", "message": "[[block:all]]\n[[block:none]][[ block:all ]][[block: all ]]"},
		map[string]any{"index": 2, "type": "auto_email", "subject": tplTokens, "message": "Dear {{ recipient.first_name\t}},"},
		map[string]any{"index": 5, "type": "call", "message": "Call {{recipient.first_name}} of {{recipient.company}}"},
	}}).Is(201).ID()
	shown := func(sender string) string {
		tokens := "Bill/Lumbergh/Initech/Bill@initech.example/" + sender
		return fmt.Sprintf(`{"data": {"steps": [
			{"index": 2, "type": "auto_email", "subject": %[1]q, "message": %[3]q, "missing": []},
			{"index": 5, "type": "call", "subject": null, "message": "Call Bill of Initech", "missing": []},
			{"index": 9, "type": "auto_email", "subject": "Re: %[2]s", "message": %[4]q, "missing": []}]}, "meta": {"timestamp": "<time>"}}`,
			tokens, tokens, "Dear Bill,"+app.Footer("Acme Sales"), "<"+tokens+">\n[[ block:all ]]<"+tokens+">"+app.Footer("Acme Sales"))
	}
	as := org.Read
	as.Key = org.Admin.Post("/v1/api-keys", map[string]string{"name": "k", "user_id": grace, "access": "read"}).Is(201).Text("data.key")
	org.Admin.Patch("/v1/users/"+org.User.String(), `{"title": "Founder"}`).Is(200)
	before := org.Dump()
	const ada, hopper = "Ada/Marsh/Acme Sales/Founder/ada@acme-sales.example", "Grace/Hopper/Acme Sales/Admiral/grace@acme.example"
	org.Read.Post(path+"/render", map[string]any{"contact_id": bill}).Is(200, shown(ada))
	org.Write.Post(path+"/render", map[string]any{"contact_id": bill, "user_id": nil}).Is(200, shown(ada))
	as.Post(path+"/render", map[string]any{"contact_id": bill}).Is(200, shown(hopper))
	org.Read.Post(path+"/render", map[string]any{"contact_id": strings.ToUpper(bill), "user_id": grace}).Is(200, shown(hopper))
	as.Post(path+"/render", map[string]any{"contact_id": bill, "user_id": org.User}).Is(200, shown(ada))

	// The contact must exist. All problems are reported at once.
	other := app.Org("Umbrella")
	foreign := other.Write.Post("/v1/contacts", `{"email": "x@umbrella.example"}`).Is(201).ID()
	const nobody = "0190b2f0-0000-7000-8000-000000000000"
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{"contact_id: required"}},
		{`{"contact_id": null}`, []string{"contact_id: required"}},
		{`{"contact_id": "x"}`, []string{"contact_id: \"x\" is not a UUID"}},
		{`{"contact_id": ["` + bill + `"]}`, []string{"contact_id: must be a UUID"}},
		{`{"contact_id": "` + nobody + `"}`, []string{"contact_id: does not exist"}},
		{`{"contact_id": "` + foreign + `"}`, []string{"contact_id: does not exist"}},
		{`{"contact_id": "` + account + `"}`, []string{"contact_id: does not exist"}},
		{`{"contact_id": "` + bill + `", "user_id": "` + nobody + `"}`, []string{"user_id: does not exist"}},
		{`{"contact_id": "` + bill + `", "user_id": "` + other.User.String() + `"}`, []string{"user_id: does not exist"}},
		{`{"contact_id": "` + foreign + `", "user_id": "` + bill + `"}`, []string{"contact_id: does not exist", "user_id: does not exist"}},
		{`{"contact_id": "` + bill + `", "user_id": 7, "x": 1}`, []string{"user_id: must be a UUID", "x: unknown field"}},
		{`{"contact": "` + bill + `"}`, []string{"contact: unknown field", "contact_id: required"}},
	} {
		t.Run(c.body, func(t *testing.T) {
			if got := apptest.Sorted(apptest.ProblemsOf(org.Read.In(t).Post(path+"/render", c.body).Fails(422, "validation_failed", ""))); !slices.Equal(got, c.want) {
				t.Errorf("%s: problems = %q, want %q", c.body, got, c.want)
			}
		})
	}
	org.Read.Post(path+"/render", nil).Fails(422, "validation_failed", "contact_id: required")
	org.Read.Post(apptest.TemplatesPath+"/"+nobody+"/render", map[string]string{"contact_id": bill}).Fails(404, "not_found", "Resource not found")
	org.Read.Post(apptest.TemplatesPath+"/x/render", map[string]string{"contact_id": bill}).Fails(404, "not_found", "Resource not found")
	other.Read.Post(path+"/render", map[string]string{"contact_id": foreign}).Fails(404, "not_found", "Resource not found")
	if org.Dump() != before {
		t.Error("rendering changed something")
	}

	// The current template is rendered, also if it is archived, and also for contacts who opted out
	// or are suppressed.
	org.Admin.Post("/v1/suppressions", `{"domain": "initech.example"}`).Is(201)
	org.Write.Patch("/v1/contacts/"+bill, `{"do_not_contact": true}`).Is(200)
	org.Write.Patch(path, `{"status": "ARCHIVED"}`).Is(200)
	org.Write.Patch("/v1/accounts/"+account, `{"name": "Initrode"}`).Is(200)
	org.Admin.Patch("/v1/organization", `{"name": "Acme & Co"}`).Is(200)
	res := org.Read.Post(path+"/render", map[string]any{"contact_id": bill}).Is(200)
	if got := res.Text("data.steps.0.subject"); got != "Bill/Lumbergh/Initrode/Bill@initech.example/Ada/Marsh/Acme & Co/Founder/ada@acme-sales.example" {
		t.Errorf("the subject is %q", got)
	}
}

// TestRenderMissing checks that tokens without a value are rendered as nothing and reported once,
// in order.
func TestRenderMissing(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	nobody := org.Write.Post("/v1/contacts", `{"linkedin_url": "https://linkedin.example/in/x", "account_id": "`+account+`"}`).Is(201).ID()
	gone := org.Write.Post("/v1/accounts", `{"name": "Gone"}`).Is(201).ID()
	bill := org.Write.Post("/v1/contacts", `{"first_name": "Bill", "email": "b@x.example", "account_id": "`+gone+`"}`).Is(201).ID()
	org.Write.Delete("/v1/accounts/" + gone).Is(204)
	render := func(path, contact string, want ...string) {
		t.Helper()
		if got := apptest.Rendered(org, path, contact); !slices.Equal(got, want) {
			t.Errorf("rendered %q, want %q", got, want)
		}
	}
	const again = "{{sender.title}},{{recipient.email}},{{ recipient.first_name }},{{recipient.last_name}},{{recipient.first_name}},{{sender.title}}"
	render(apptest.TextTemplate(org, "S", again), nobody, "S|,,,,,|[sender.title recipient.email recipient.first_name recipient.last_name]")
	render(apptest.TextTemplate(org, "a {{recipient.last_name}}b", again), nobody, "a b|,,,,,|[recipient.last_name sender.title recipient.email recipient.first_name]")
	render(apptest.TextTemplate(org, "{{recipient.company}}", again+"{{recipient.company}}"), bill, "<nil>|,b@x.example,Bill,,Bill,|[recipient.company sender.title recipient.last_name subject]")
	render(apptest.TextTemplate(org, "{{recipient.company}}", "{{recipient.last_name}}"), nobody, "Initech||[recipient.last_name]")
	render(apptest.TextTemplate(org, "", "m"), bill, "<nil>|m|[subject]")

	// Values that a contact loses are missing from then on.
	path := apptest.TextTemplate(org, "S", tplTokens)
	full := org.Write.Post("/v1/contacts", `{"first_name": "A", "last_name": "B", "email": "c@x.example", "account_id": "`+account+`"}`).Is(201).ID()
	render(path, full, "S|A/B/Initech/c@x.example/Ada/Marsh/Acme//ada@acme.example|[sender.title]")
	org.Write.Patch("/v1/contacts/"+full, `{"first_name": null, "last_name": "", "account_id": null}`).Is(200)
	render(path, full, "S|///c@x.example/Ada/Marsh/Acme//ada@acme.example|[recipient.first_name recipient.last_name recipient.company sender.title]")
	bare := org.Admin.Post("/v1/users", `{"email": "bare@acme.example"}`).Is(201).ID()
	res := org.Read.Post(path+"/render", map[string]string{"contact_id": full, "user_id": bare}).Is(200)
	if got := res.Text("data.steps.0.message"); got != "///c@x.example///Acme//bare@acme.example"+app.Footer("Acme") || !apptest.EqualsJSON(res.Value("data.steps.0.missing"),
		`["recipient.first_name", "recipient.last_name", "recipient.company", "sender.first_name", "sender.last_name", "sender.title"]`) {
		t.Errorf("%s", res.Body)
	}
	org.Write.Delete("/v1/contacts/" + full).Is(204)
	org.Read.Post(path+"/render", map[string]string{"contact_id": full}).Fails(422, "validation_failed", "contact_id: does not exist")
}

// TestRenderThread checks that an email without a subject is a reply to the last one with a
// subject.
func TestRenderThread(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	bill := org.Write.Post("/v1/contacts", `{"first_name": "Bill", "last_name": "{{x}}"}`).Is(201).ID()
	step := func(index int, kind, subject string) string {
		return fmt.Sprintf(`{"index": %d, "type": %q, "subject": %q, "message": "m"}`, index, kind, subject)
	}
	const email = "auto_email"
	for _, c := range []struct{ steps, want []string }{
		{[]string{step(0, email, "Hi {{recipient.first_name}}"), step(1, email, ""), step(2, email, "New"), step(3, email, ""), step(4, email, "")}, []string{"Hi Bill []", "Re: Hi Bill []", "New []", "Re: New []", "Re: New []"}},
		{[]string{step(0, email, ""), step(1, email, "First"), step(2, email, "")}, []string{"<nil> [subject]", "First []", "Re: First []"}},
		{[]string{step(3, email, ""), step(1, email, "Re: Your shop"), step(2, email, "")}, []string{"Re: Your shop []", "Re: Your shop []", "Re: Your shop []"}},
		{[]string{step(0, email, "RE: x"), step(1, email, ""), step(2, email, "Regarding"), step(3, email, "")}, []string{"RE: x []", "RE: x []", "Regarding []", "Re: Regarding []"}},
		{[]string{step(0, email, "{{recipient.last_name}}"), step(1, email, "")}, []string{"{{x}} []", "Re: {{x}} []"}},
		// A subject whose tokens have no value counts as missing.
		{[]string{step(0, email, "S"), step(1, email, "{{recipient.company}}"), step(2, email, "{{recipient.email}}")}, []string{"S []", "Re: S [recipient.company]", "Re: S [recipient.email]"}},
		// Tasks have no thread.
		{[]string{step(0, "call", "C"), step(1, email, ""), step(2, "task", ""), step(3, "gift", "G {{recipient.first_name}}"), step(4, email, "E"), step(5, "auto_linkedin_message", ""), step(6, email, "")},
			[]string{"C []", "<nil> [subject]", "<nil> []", "G Bill []", "E []", "<nil> []", "Re: E []"}},
	} {
		path := newTpl(org, `"steps": [`+strings.Join(c.steps, ",")+`]`)
		var got []string
		for _, s := range apptest.Rendered(org, path, bill) {
			parts := strings.Split(s, "|")
			got = append(got, parts[0]+" "+parts[2])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\nrendered %q, want %q", c.steps, got, c.want)
		}
	}
}

// TestRenderPlain has values with special characters. They are plain text and stay unchanged, except
// for the spaces around them.
func TestRenderPlain(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const name = "Acme {{sender.email}} & <Söhne>"
	org.Admin.Patch("/v1/organization", map[string]string{"name": name}).Is(200)
	path := newTpl(org, `"steps": [{"index": 0, "type": "auto_email", "subject": "{{recipient.first_name}}, {{recipient.company}} {{sender.company}} {{sender.title}}", "message": "{{recipient.first_name}}[[block:x]]{{recipient.company}}\r\n&amp; <p>{{sender.title}}"}],
		"blocks": {"x": {"name": "X", "content": " x={{recipient.last_name}} "}}`)
	for _, value := range []string{"{{recipient.email}}", "{{sender.company}}", "{{", "}}", "{{ recipient.last_name", "[[block:x]]", "[[block:", "]]", "<b>&\"'</b>", "&lt;", `a\b\n"c"\u0041`, "Zoë 日本 🙂", "%s %d %[1]s", "$1 ${x}",
		"a\u2028\u2029b", " spaces ", `"email":"evil@x.example"`, `","first_name":"Eve`, "\u200b\ufeff"} {
		account := org.Write.Post("/v1/accounts", map[string]string{"name": value}).Is(201).ID()
		contact := org.Write.Post("/v1/contacts", map[string]string{"notes": value, "title": value, "first_name": value, "last_name": value, "email": "c@x.example", "account_id": account}).Is(201).ID()
		org.Admin.Patch("/v1/users/"+org.User.String(), map[string]string{"title": value}).Is(200)
		res := org.Read.Post(path+"/render", map[string]string{"contact_id": contact}).Is(200)
		value = strings.TrimSpace(value)
		if want := value + ", " + value + " " + name + " " + value; res.Text("data.steps.0.subject") != want || len(res.Value("data.steps.0.missing").([]any)) != 0 {
			t.Errorf("the subject of %q is %s, want %q", value, res.Body, want)
		}
		if want := value + " x=" + value + " " + value + "\r\n&amp; <p>" + value + app.Footer(name); res.Text("data.steps.0.message") != want {
			t.Errorf("the message of %q is %s, want %q", value, res.Body, want)
		}
	}
	// A subject is always one line; a message keeps the lines of names that an earlier version stored.
	account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	contact := org.Write.Post("/v1/contacts", map[string]string{"first_name": "Bill", "last_name": "L", "account_id": account}).Is(201).ID()
	apptest.StoreRecord(t, app, org, app.CRM.Accounts, account, func(a *crm.Account) { a.Name = "Initech\r\nBcc: all@x.example" })
	apptest.StoreRecord(t, app, org, app.CRM.Contacts, contact, func(c *crm.Contact) { c.FirstName, c.LastName = "Bill\nX: y", "l\n\nm" })
	apptest.StoreRecord(t, app, org, app.Identity.Users, org.User.String(), func(u *identity.User) { u.Title = "\r\r" })
	res := org.Read.Post(path+"/render", map[string]string{"contact_id": contact}).Is(200)
	subject := res.Text("data.steps.0.subject")
	if strings.ContainsAny(subject, "\r\n") || strings.Join(strings.Fields(subject), " ") != strings.Join(strings.Fields("Bill X: y, Initech Bcc: all@x.example "+name), " ") {
		t.Errorf("the subject is %q", subject)
	}
	if want := "Bill\nX: y x=l\n\nm Initech\r\nBcc: all@x.example\r\n&amp; <p>" + app.Footer(name); res.Text("data.steps.0.message") != want {
		t.Errorf("the message is %q, want %q", res.Text("data.steps.0.message"), want)
	}
}
