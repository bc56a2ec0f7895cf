package sequence_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/crm"
)

// simStep and simLink are a step and a transition of a template.
type simStep struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Day     int    `json:"day"`
	Hour    int    `json:"hour"`
	Subject string `json:"subject,omitempty"`
	Message string `json:"message,omitempty"`
}

type simLink struct {
	From     int    `json:"from_step_index"`
	To       int    `json:"to_step_index"`
	Type     string `json:"transition_type"`
	Pre      int    `json:"pre_check_delay"`
	PreUnit  string `json:"pre_check_time_unit,omitempty"`
	Post     int    `json:"post_check_delay"`
	PostUnit string `json:"post_check_time_unit,omitempty"`
	All      bool   `json:"require_all"`
}

// simPlan is the simulation of a contact.
type simPlan struct {
	Contact string `json:"contact_id"`
	Steps   []simPlanned
}

type simPlanned struct {
	Index   int `json:"step_index"`
	Type    string
	Action  string
	Done    bool
	Due     *time.Time `json:"due_at"`
	Reason  string
	Subject *string
	Message *string
	Missing []string
}

const scheduled, completes = "PREVIOUS_STEP_SCHEDULED", "PREVIOUS_STEP_COMPLETES"

func simMail(index, day, hour int) simStep {
	return simStep{Type: "auto_email", Index: index, Day: day, Hour: hour, Subject: "Hello", Message: "Hi"}
}

func simCall(index, day, hour int) simStep {
	return simStep{Type: "call", Index: index, Day: day, Hour: hour}
}

// simContacts creates contacts from bodies.
func simContacts(org *apptest.Org, bodies ...string) (ids []string) {
	for _, b := range bodies {
		ids = append(ids, org.Write.Post("/v1/contacts", b).Is(201).ID())
	}
	return ids
}

func simAudience(org *apptest.Org, contacts ...string) string {
	name := fmt.Sprint("Audience ", org.Read.Post("/v1/audiences/list", nil).Is(200).Int("pagination.total_count"))
	return org.Write.Post("/v1/audiences", map[string]any{"name": name, "contact_ids": contacts}).Is(201).ID()
}

// simCampaign creates a template and a campaign that runs it, and returns the path of the campaign.
// more contains additional fields of the campaign.
func simCampaign(org *apptest.Org, audience string, more map[string]any, steps []simStep, links ...simLink) string {
	template := org.Write.Post("/v1/sequence-templates", map[string]any{"name": "Sequence", "steps": steps, "transitions": append([]simLink{}, links...)}).Is(201).ID()
	body := map[string]any{"name": "Campaign", "template_id": template, "audience_ids": []string{audience}}
	maps.Copy(body, more)
	return "/v1/campaigns/" + org.Write.Post("/v1/campaigns", body).Is(201).ID()
}

// simulated requests all pages of a simulation.
func simulated(t testing.TB, org *apptest.Org, campaign string, body map[string]any) (plans []simPlan) {
	t.Helper()
	request := map[string]any{"page_size": 500}
	maps.Copy(request, body)
	for page, total := 1, 1; len(plans) < total; page++ {
		request["page"] = page
		answer := org.Read.Post(campaign+"/simulate", request).Is(200)
		var some []simPlan
		if err := json.Unmarshal([]byte(apptest.AsJSON(answer.Value("data"))), &some); err != nil {
			t.Fatal(err)
		}
		plans, total = append(plans, some...), answer.Int("pagination.total_count")
	}
	return plans
}

func TestSimulateAnswer(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Müller & \"Sons\""}`).Is(201).ID()
	ids := simContacts(org, `{"email": "zoe@x.example", "first_name": "Zoë <b>", "last_name": "O\"Neil\\{{sender.email}}", "account_id": "`+account+`"}`, `{"linkedin_url": "https://www.linkedin.com/in/bo"}`)
	owner := org.Admin.Post("/v1/users", `{"email": "bea@acme.example", "first_name": "Bea"}`).Is(201).ID()
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "blocks": {"bye": {"name": "Bye", "block_type": "MANUAL", "content": "Bye, {{sender.first_name}} {{sender.title}}"}}, "steps": [
		{"index": 7, "type": "auto_email", "day": 1, "hour": 10, "subject": "For {{recipient.company}}", "message": "Hi {{ recipient.first_name }} {{recipient.last_name}}\n[[block:bye]]"},
		{"index": 3, "type": "manual_email", "day": 0, "hour": 11, "subject": "{{recipient.email}}", "message": "{{sender.company}}, {{sender.email}}"},
		{"index": 4, "type": "gift", "day": 0, "hour": 12, "gift_id": "mug"}]}`).Is(201).ID()
	campaign := org.Write.Post("/v1/campaigns", map[string]any{"name": "C", "template_id": template, "audience_ids": []string{simAudience(org, ids...)}, "owner_id": owner}).Is(201)

	// Steps are ordered by index. Emails and Tasks are rendered as plain text.
	const tasks = `{"step_index": 3, "type": "manual_email", "action": "task", "done": false, "due_at": "2026-03-02T11:00:00.000Z", "reason": "day 0 of the sequence at 11:00",
			"subject": %s, "message": "Acme, bea@acme.example", "missing": [%s]},
		{"step_index": 4, "type": "gift", "action": "task", "done": false, "due_at": "2026-03-02T12:00:00.000Z", "reason": "day 0 of the sequence at 12:00", "subject": null, "message": null, "missing": []}`
	org.Read.Post("/v1/campaigns/"+campaign.ID()+"/simulate", nil).Is(200, `{"data": [
		{"contact_id": "`+ids[0]+`", "steps": [`+fmt.Sprintf(tasks, `"zoe@x.example"`, "")+`,
			{"step_index": 7, "type": "auto_email", "action": "hold", "done": false, "due_at": "2026-03-03T10:00:00.000Z", "reason": "day 1 of the sequence at 10:00; a token without a fallback has no value", "subject": "For Müller & \"Sons\"",
				"message": "Hi Zoë <b> O\"Neil\\{{sender.email}}\nBye, Bea \n\nAcme\nUnsubscribe: `+app.URL+`/u/[hidden]", "missing": ["sender.title"]}]},
		{"contact_id": "`+ids[1]+`", "steps": [`+fmt.Sprintf(tasks, "null", `"recipient.email"`)+`,
			{"step_index": 7, "type": "auto_email", "action": "skip", "done": false, "due_at": "2026-03-03T10:00:00.000Z", "reason": "day 1 of the sequence at 10:00; the contact has no email address",
				"subject": null, "message": null, "missing": []}]}],
		"summary": {"contacts": 2, "sends": 0, "tasks": 4, "skipped": {"no_address": 1}, "held": {"missing_value": 1}, "per_day": [{"date": "2026-03-02", "sends": 0, "tasks": 4}],
			"first_at": "2026-03-02T11:00:00.000Z", "last_at": "2026-03-02T12:00:00.000Z", "people": {"reached": 2, "sends": 0, "tasks": 2, "skipped": {"no_address": 1}, "held": {"missing_value": 1}}},
		"pagination": {"page": 1, "page_size": 50, "total_count": 2, "total_pages": 1}, "meta": {"timestamp": "2026-03-02T09:00:00.000Z"}}`)

	// Each token without a value is reported once, in order.
	nobody := simContacts(org, `{"email": "n@x.example"}`)
	plan := simulated(t, org, "/v1/campaigns/"+campaign.ID(), map[string]any{"contact_ids": nobody})[0].Steps[2]
	if want := []string{"recipient.company", "recipient.first_name", "recipient.last_name", "sender.title"}; !slices.Equal(plan.Missing, want) || *plan.Subject != "For " {
		t.Errorf("missing variables = %q, want %q, for subject %q", plan.Missing, want, *plan.Subject)
	}
	// The current template is shown.
	org.Write.Patch("/v1/sequence-templates/"+template, `{"status": "ARCHIVED", "steps": [{"index": 0, "type": "call", "day": 0, "hour": 23}], "transitions": []}`).Is(200)
	simSays(t, simulated(t, org, "/v1/campaigns/"+campaign.ID(), nil)[1], "task 2026-03-02T23:00:00Z")
}

func TestSimulateContacts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	records := make([]map[string]string, 131)
	for i := range records {
		records[i] = map[string]string{"email": fmt.Sprintf("c%d@x.example", i)}
	}
	var ids []string
	for _, made := range org.Write.Post("/v1/contacts/batch", map[string]any{"records": records}).Is(200).Value("data.results").([]any) {
		ids = append(ids, made.(map[string]any)["id"].(string))
	}
	campaign := simCampaign(org, simAudience(org, ids[60:130]...), nil, []simStep{simCall(0, 0, 10)})
	of := func(body map[string]any) (contacts []string) {
		t.Helper()
		for _, p := range simulated(t, org, campaign, body) {
			contacts = append(contacts, p.Contact)
			simSays(t, p, "task 2026-03-02T10:00:00Z")
		}
		return contacts
	}
	is := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d contacts are simulated, want %d: %v", what, len(got), len(want), got)
		}
	}
	// The contacts of the audiences without duplicates.
	is("one audience", of(nil), ids[60:130])
	org.Write.Post(campaign+"/audiences/add", map[string]any{"audience_ids": []string{simAudience(org, slices.Concat(ids[:80], ids[60:70])...)}}).Is(200)
	for _, body := range []map[string]any{nil, {"contact_ids": nil}, {"page_size": 7}} {
		is("two audiences", of(body), ids[:130])
	}
	org.Read.Post(campaign+"/simulate", `{"contact_ids": []}`).Fails(422, "validation_failed", "must not be empty")
	// The given contacts in their order and without duplicates, whether or not they are in an
	// audience.
	named := func(ids ...string) map[string]any { return map[string]any{"contact_ids": ids} }
	is("named", of(named(ids[130], ids[2], strings.ToUpper(ids[130]), ids[1], ids[2])), []string{ids[130], ids[2], ids[1]})
	is("a hundred", of(named(ids[31:]...)), ids[31:])
	// Deleted contacts are in no audience.
	org.Write.Delete("/v1/contacts/" + ids[0]).Is(204)
	is("without the first", of(nil), ids[1:130])
	apptest.HasProblems(t, org.Read.Post(campaign+"/simulate", named(ids[1], ids[0])), "contact_ids[1]")

	empty := simCampaign(org, simAudience(org), nil, []simStep{simCall(0, 0, 10)})
	org.Read.Post(empty+"/simulate", nil).Is(200, `{"data": [],
		"summary": {"contacts": 0, "sends": 0, "tasks": 0, "skipped": {}, "held": {}, "per_day": [], "first_at": null, "last_at": null, "people": {"reached": 0, "sends": 0, "tasks": 0, "skipped": {}, "held": {}}},
		"pagination": {"page": 1, "page_size": 50, "total_count": 0, "total_pages": 0}, "meta": {"timestamp": "<time>"}}`)
	// A page has the summary of all contacts. Pages behind the last are empty.
	const summary = `{"contacts": 129, "sends": 0, "tasks": 129, "skipped": {}, "held": {}, "per_day": [{"date": "2026-03-02", "sends": 0, "tasks": 129}],
		"first_at": "2026-03-02T10:00:00.000Z", "last_at": "2026-03-02T10:00:00.000Z", "people": {"reached": 129, "sends": 0, "tasks": 129, "skipped": {}, "held": {}}}`
	second := org.Read.Post(campaign+"/simulate", `{"page": 2, "page_size": 100}`).Is(200, `{"data": "<any>", "summary": `+summary+`,
		"pagination": {"page": 2, "page_size": 100, "total_count": 129, "total_pages": 2}, "meta": "<any>"}`)
	if n := len(second.Value("data").([]any)); n != 29 {
		t.Errorf("the second page has %d contacts, want 29", n)
	}
	org.Read.Post(campaign+"/simulate", `{"page": 9000000000000, "page_size": 500}`).Is(200, `{"data": [], "summary": `+summary+`, "pagination": "<any>", "meta": "<any>"}`)
}

func TestSimulateRefusals(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	ids := simContacts(org, `{"email": "a@x.example"}`, `{"email": "b@x.example"}`)
	foreign := simContacts(other, `{"email": "a@x.example"}`)[0]
	campaign := simCampaign(org, simAudience(org, ids...), nil, []simStep{simCall(0, 0, 10)})
	gone := simCampaign(org, simAudience(org), nil, []simStep{simCall(0, 0, 10)})
	org.Write.Delete(gone).Is(204)
	before := org.Dump()

	const unknown = "01a1df2e-8444-7421-8fa2-6ffddf9945ea"
	for _, path := range []string{gone, "/v1/campaigns/" + unknown, "/v1/campaigns/x"} {
		org.Read.Post(path+"/simulate", nil).Fails(404, "not_found", "Resource not found")
	}
	other.Admin.Post(campaign+"/simulate", nil).Fails(404, "not_found", "Resource not found")
	app.Anonymous().Post(campaign+"/simulate", nil).Is(401)
	org.Read.Get(campaign+"/simulate").Fails(405, "method_not_allowed", "")
	org.Read.Post(campaign+"/simulate", `[]`).Fails(400, "invalid_json", "")

	var many []string
	for i := range 10_001 {
		many = append(many, fmt.Sprintf("01a1df2e-8444-7421-8fa2-%012x", i))
	}
	for _, c := range []struct {
		body  string
		paths []string
	}{
		{`{"contact_id": "` + ids[0] + `"}`, []string{"contact_id"}},
		{`{"contact_ids": "` + ids[0] + `", "page": 0, "page_size": 501, "pages": 1}`, []string{"contact_ids", "page", "page_size", "pages"}},
		{apptest.AsJSON(map[string]any{"contact_ids": []any{ids[0], "x", 4, nil, ids[1]}}), []string{"contact_ids[1]", "contact_ids[2]", "contact_ids[3]"}},
		{apptest.AsJSON(map[string]any{"contact_ids": []any{unknown, ids[0], foreign, campaign[len("/v1/campaigns/"):]}}), []string{"contact_ids[0]", "contact_ids[2]", "contact_ids[3]"}},
		{apptest.AsJSON(map[string]any{"contact_ids": []any{ids[0], ids[0], ids[1], ids[0], unknown}}), []string{"contact_ids[4]"}},
		{apptest.AsJSON(map[string]any{"contact_ids": many}), []string{"contact_ids"}},
	} {
		apptest.HasProblems(t, org.Read.Post(campaign+"/simulate", c.body), c.paths...)
	}
	if org.Dump() != before {
		t.Error("a refused simulation changed something")
	}
}

// TestSimulateChangesNothing checks that a simulation changes no record, version or counter, and
// causes no event.
func TestSimulateChangesNothing(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	hooks := apptest.NewReceiver(t)
	hooks.Subscribe(org, "*")
	ids := simContacts(org, `{"email": "a@x.example"}`, `{"first_name": "Bo", "last_name": "Lee"}`, `{"email": "c@x.example", "do_not_contact": true}`)
	audience := simAudience(org, ids...)
	campaign := simCampaign(org, audience, map[string]any{"status": "active", "end_date": "2026-03-03"}, []simStep{simMail(0, 0, 0), simCall(1, 0, 9), simMail(2, 5, 9)},
		simLink{From: 0, To: 2, Type: completes, Pre: 1, PreUnit: "minutes"})
	app.Work()
	app.Deliver()
	seen := func() (all []string) {
		for _, kind := range []string{"contacts", "accounts", "tasks", "meetings", "audiences", "campaigns", "sequence-templates", "webhooks/subscriptions"} {
			all = append(all, string(org.Read.Post("/v1/"+kind+"/list", nil).Is(200).Body))
		}
		for _, path := range []string{campaign, "/v1/audiences/" + audience, "/v1/contacts/" + ids[0], "/v1/contacts/" + ids[0] + "/history"} {
			res := org.Read.Get(path).Is(200)
			all = append(all, res.Header.Get("ETag")+string(res.Body))
		}
		return append(all, string(org.Read.Get(campaign+"/stats").Is(200).Body), org.Dump())
	}
	before := seen()
	if len(hooks.Take()) == 0 {
		t.Fatal("no event was received")
	}
	for _, body := range []any{nil, map[string]any{"contact_ids": ids[1:]}, `{"contact_ids": ["x"]}`} {
		first := org.Read.Post(campaign+"/simulate", body)
		if again := org.Read.Post(campaign+"/simulate", body); first.Header.Get("ETag") != "" || string(again.Body) != string(first.Body) && first.Status == 200 {
			t.Errorf("the repeated simulation returned\n%s, want\n%s", again.Body, first.Body)
		}
		org.Write.Do("POST", campaign+"/simulate", body, "Idempotency-Key", "once")
	}
	app.Work()
	app.Deliver()
	for i, now := range seen() {
		if now != before[i] {
			t.Errorf("before\n%s\nnow\n%s", before[i], now)
		}
	}
	if told := hooks.Take(); len(told) > 0 {
		t.Errorf("a simulation caused events: %v", told)
	}
}

func TestSimulateStatus(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := simContacts(org, `{"email": "a@x.example"}`, `{"email": "b@x.example", "do_not_contact": true}`)
	campaign := simCampaign(org, simAudience(org, ids...), nil, []simStep{simMail(0, 0, 8), simCall(1, 1, 8)}, simLink{From: 0, To: 1, Type: completes, Post: 2, PostUnit: "days"})
	steps := []string{"send 2026-03-02T09:00:00Z | day 0 of the sequence at 08:00; that time has passed, due at once", "task 2026-03-04T08:00:00Z | 2 days after step 0 was completed"}
	optedOut := slices.Repeat([]string{"skip never | the contact has opted out"}, 2)
	over := func(status string) []string {
		return slices.Repeat([]string{"skip never | the campaign is " + status}, 2)
	}
	for _, c := range []struct {
		change        string
		first, second []string
	}{
		{`{"status": "draft"}`, steps, optedOut}, {`{"status": "active"}`, steps, optedOut}, {`{"status": "paused"}`, steps, optedOut}, {`{"prioritized": true}`, steps, optedOut},
		{`{"status": "completed"}`, over("completed"), over("completed")}, {`{"status": "archived"}`, over("archived"), over("archived")},
	} {
		org.Write.Patch(campaign, c.change).Is(200)
		plans := simulated(t, org, campaign, nil)
		simSays(t, plans[0], c.first...)
		simSays(t, plans[1], c.second...)
		for _, s := range append(plans[0].Steps, plans[1].Steps...) {
			if s.Action == "skip" && (s.Subject != nil || s.Message != nil || s.Missing == nil || len(s.Missing) > 0) {
				t.Errorf("with %s: unexpected skipped step %+v", c.change, s)
			}
		}
	}
}

// TestSimulateEnd checks that end_date is the last day in the organization's time zone. Later steps
// and the steps that wait for them are skipped.
func TestSimulateEnd(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Patch("/v1/organization", `{"time_zone": "Asia/Tokyo"}`).Is(200) // it is 18:00 on March 2nd
	steps := []simStep{simMail(0, 1, 23), simCall(1, 2, 0), simMail(2, 0, 0), simCall(3, 0, 9), simCall(4, 0, 9), simMail(5, 0, 9)}
	campaign := simCampaign(org, simAudience(org, simContacts(org, `{"email": "a@x.example"}`)...), map[string]any{"end_date": "2026-03-03", "status": "active"}, steps,
		simLink{From: 1, To: 2, Type: completes}, simLink{From: 1, To: 3, Type: scheduled, Pre: 1, PreUnit: "hours"}, simLink{From: 2, To: 4, Type: scheduled},
		simLink{From: 0, To: 5, Type: completes, Pre: 59, PreUnit: "minutes"})
	const ended = "; the campaign ends before then"
	simSays(t, simulated(t, org, campaign, nil)[0], "send 2026-03-03T23:00:00+09:00 | day 1 of the sequence at 23:00", "skip 2026-03-04T00:00:00+09:00 | day 2 of the sequence at 00:00"+ended,
		"skip never | waits for step 1, which does not end before the campaign does", "skip 2026-03-04T01:00:00+09:00 | 1 hour after step 1 was due"+ended,
		"skip never | waits for step 2, which does not end before the campaign does", "send 2026-03-03T23:59:00+09:00 | 59 minutes after step 0 was completed")
	org.Write.Patch(campaign, `{"end_date": "2026-03-04"}`).Is(200)
	simSays(t, simulated(t, org, campaign, nil)[0], "send 2026-03-03T23:00:00+09:00", "task 2026-03-04T00:00:00+09:00", "send 2026-03-04T00:00:00+09:00",
		"task 2026-03-04T01:00:00+09:00", "task 2026-03-04T00:00:00+09:00", "send 2026-03-03T23:59:00+09:00")

	// After the end date nothing is due in time, even before the campaign completes.
	app.Clock.Advance(54 * time.Hour) // to the first instant of March 5th
	for _, s := range simulated(t, org, campaign, nil)[0].Steps {
		if s.Action != "skip" || s.Due != nil && !strings.HasSuffix(s.Reason, ended) {
			t.Errorf("step planned after the end: %+v", s)
		}
	}
	app.Work()
	simSays(t, simulated(t, org, campaign, nil)[0], slices.Repeat([]string{"skip never | the campaign is completed"}, len(steps))...)
}

func TestSimulateUnreachable(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := simContacts(org, `{"email": "a@one.example"}`, `{"email": "B@one.example"}`, `{"email": "c@mail.two.example"}`, `{"email": "b@one.example", "do_not_contact": true}`,
		`{"linkedin_url": "https://www.linkedin.com/in/ed"}`)
	campaign := simCampaign(org, simAudience(org, ids...), nil, []simStep{simMail(0, 0, 10), {Type: "manual_email", Index: 1, Hour: 9}, simMail(2, 1, 4)},
		simLink{From: 0, To: 1, Type: completes, Pre: 1, PreUnit: "days"}, simLink{From: 1, To: 2, Type: scheduled, Pre: 1, PreUnit: "days"})
	suppressed := []string{org.Admin.Post("/v1/suppressions", `{"email": "b@ONE.example"}`).Is(200).ID(), org.Admin.Post("/v1/suppressions", `{"domain": "two.example"}`).Is(201).ID()}
	all := []string{"send 2026-03-02T10:00:00Z", "task 2026-03-03T09:00:00Z | 1 day after step 0 was completed", "send 2026-03-04T04:00:00Z | 1 day after step 1 was due"}
	nobody := func(why string) []string { return slices.Repeat([]string{"skip never | " + why}, 3) }
	const onList = "the contact's email address, its domain or another address of the person is suppressed"
	wants := [][]string{all, nobody(onList), nobody(onList), nobody("the contact has opted out"), {
		"skip 2026-03-02T10:00:00Z | day 0 of the sequence at 10:00; the contact has no email address", "task 2026-03-03T09:00:00Z | 1 day after step 0 was skipped",
		"skip 2026-03-04T04:00:00Z | 1 day after step 1 was due; the contact has no email address"}}
	for i, p := range simulated(t, org, campaign, nil) {
		simSays(t, p, wants[i]...)
	}
	// Released contacts are simulated.
	for _, id := range suppressed {
		org.Admin.Delete("/v1/suppressions/" + id).Is(204)
	}
	org.Write.Patch("/v1/contacts/"+ids[3], `{"do_not_contact": false}`).Is(200)
	wants = [][]string{all, all, all, nobody("another contact of the campaign has the same email address")}
	for i, p := range simulated(t, org, campaign, nil)[:4] {
		simSays(t, p, wants[i]...)
	}
	simSums(org, campaign, nil, `{"contacts": 5, "sends": 6, "tasks": 4, "skipped": {"duplicate_address": 3, "no_address": 2}, "held": {}, "per_day": [{"date": "2026-03-02", "sends": 3, "tasks": 0},
		{"date": "2026-03-03", "sends": 0, "tasks": 4}, {"date": "2026-03-04", "sends": 3, "tasks": 0}], "first_at": "2026-03-02T10:00:00.000Z", "last_at": "2026-03-04T04:00:00.000Z", "people": {"reached": 4, "sends": 3, "tasks": 4, "skipped": {"duplicate_address": 1, "no_address": 1}, "held": {}}}`)
}

// TestSimulateThreads checks that an email without a subject is a reply to the email sent before
// it, which need not have the previous index.
func TestSimulateThreads(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contacts := simContacts(org, `{"email": "a@x.example"}`)
	apptest.StoreRecord(t, app, org, app.CRM.Contacts, contacts[0], func(c *crm.Contact) { c.FirstName = "Ann\r\nBcc: b@x.example" })
	audience := simAudience(org, contacts...)
	mail := func(index, day int, subject string) simStep {
		return simStep{Type: "auto_email", Index: index, Day: day, Hour: 10, Subject: subject, Message: "Hi"}
	}
	for _, c := range []struct {
		steps []simStep
		links []simLink
		want  string // the subject and the missing tokens of each step by index
	}{
		{[]simStep{mail(0, 0, "Hello"), mail(1, 1, ""), mail(2, 2, "News"), mail(3, 3, "")}, nil, "Hello [] Re: Hello [] News [] Re: News []"},
		{[]simStep{mail(0, 0, ""), mail(1, 1, "Hello"), mail(2, 2, "")}, nil, "- [subject] Hello [] Re: Hello []"},
		{[]simStep{mail(0, 3, ""), mail(1, 0, "RE: Hello"), mail(2, 1, "")}, nil, "RE: Hello [] RE: Hello [] RE: Hello []"},
		{[]simStep{mail(5, 0, "Hello"), mail(2, 0, "")}, []simLink{{From: 5, To: 2, Type: completes, Pre: 1, PreUnit: "minutes"}}, "Re: Hello [] Hello []"},
		{[]simStep{mail(5, 0, "Hello"), mail(2, 0, "")}, []simLink{{From: 5, To: 2, Type: completes}}, "Re: Hello [] Hello []"}, // at the same instant, and after it
		{[]simStep{mail(0, 0, "Dear {{recipient.first_name}}"), mail(1, 1, "")}, nil, "Dear Ann  Bcc: b@x.example [] Re: Dear Ann  Bcc: b@x.example []"},
	} {
		got := ""
		for _, s := range simulated(t, org, simCampaign(org, audience, nil, c.steps, c.links...), nil)[0].Steps {
			subject := "-"
			if s.Subject != nil {
				subject = *s.Subject
			}
			got += fmt.Sprint(" ", subject, " ", s.Missing)
		}
		if got[1:] != c.want {
			t.Errorf("%+v: subjects =%s, want %s", c.steps, got, c.want)
		}
	}
}
