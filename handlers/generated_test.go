package handlers_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/handlers"
	"prospector/internal/apptest"
	"prospector/internal/identity"
	"prospector/internal/service"
)

// examples contains a valid body for each operation that takes one. An entity in angle brackets
// stands for the id of one of its records.
var examples = map[string]string{
	"undo_operation":              `{}`,
	"update_organization":         `{"time_zone": "Europe/Berlin"}`,
	"create_user":                 `{"email": "grace@acme.example"}`,
	"update_user":                 `{"title": "Head of Sales"}`,
	"create_api_key":              `{"name": "sync"}`,
	"deactivate_api_key":          `{}`,
	"deactivate_user":             `{}`,
	"reply_contact":               `{}`,
	"release_campaign":            `{"overdue": "send", "captured": "keep"}`,
	"retry_campaign":              `{"status": ["failed", "unknown"]}`,
	"reopen_campaign":             `{"end_date": null}`,
	"clone_campaign":              `{"name": "Outreach again", "audience_ids": ["<audiences>"]}`,
	"correct_campaign_template":   `{"dry_run": true}`,
	"restart_campaign":            `{"reasons": ["left_audience"]}`,
	"stop_sequence":               `{"reason": "manual"}`,
	"skip_sequence_step":          `{}`,
	"postpone_sequence":           `{"until": "2036-03-09T09:00:00Z"}`,
	"restart_sequence":            `{"from": "next"}`,
	"test_mail":                   `{}`,
	"activate_user":               `{}`,
	"invite_user":                 `{}`,
	"update_me":                   `{"first_name": "Augusta"}`,
	"set_preferences":             `{"values": {"theme": "dark"}}`,
	"search":                      `{"search": "hank"}`,
	"create_account":              `{"name": "Initech"}`,
	"update_account":              `{"industry": "Software"}`,
	"batch_accounts":              `{"records": [{"name": "Initech"}]}`,
	"create_contact":              `{"email": "bill@initech.example"}`,
	"update_contact":              `{"title": "VP"}`,
	"update_preview_contact":      `{"title": "VP"}`,
	"batch_contacts":              `{"records": [{"email": "bill@initech.example"}]}`,
	"create_opportunity":          `{"name": "Printers", "account_id": "<accounts>"}`,
	"update_opportunity":          `{"stage": "won"}`,
	"batch_opportunities":         `{"records": [{"name": "Printers", "account_id": "<accounts>"}]}`,
	"create_task":                 `{"title": "Call back"}`,
	"update_task":                 `{"status": "completed"}`,
	"batch_tasks":                 `{"records": [{"title": "Call back"}]}`,
	"create_meeting":              `{"title": "Demo", "starts_at": "2026-04-01T09:00:00Z"}`,
	"update_meeting":              `{"status": "no_show"}`,
	"batch_meetings":              `{"records": [{"title": "Demo", "starts_at": "2026-04-01T09:00:00Z"}]}`,
	"find_duplicate_contacts":     `{"page_size": 5}`,
	"find_duplicate_accounts":     `{"page_size": 5}`,
	"dismiss_duplicate_contacts":  `{"ids": ["<contacts>", "<contacts>"]}`,
	"dismiss_duplicate_accounts":  `{"ids": ["<accounts>", "<accounts>"]}`,
	"merge_duplicate_contacts":    `{"min_score": 0.9}`,
	"merge_duplicate_accounts":    `{"min_score": 0.9}`,
	"merge_contacts":              `{"ids": ["<contacts>"]}`,
	"merge_accounts":              `{"ids": ["<accounts>"]}`,
	"restore_account":             `{}`,
	"restore_contact":             `{}`,
	"restore_opportunity":         `{}`,
	"restore_task":                `{}`,
	"restore_meeting":             `{}`,
	"restore_tag":                 `{}`,
	"restore_field":               `{}`,
	"restore_audience":            `{}`,
	"restore_sequence_template":   `{}`,
	"restore_campaign":            `{}`,
	"create_tag":                  `{"name": "Champion", "color": "green", "object_type": "contact"}`,
	"update_tag":                  `{"color": "blue"}`,
	"create_view":                 `{"entity": "contacts", "name": "VPs", "filtering_rules": [{"field": "title", "condition": "contains", "value": "vp"}], "sort": "last_name", "columns": ["title", "email"]}`,
	"update_view":                 `{"columns": ["email"]}`,
	"create_account_view":         `{"name": "Large", "filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 100}]}}`,
	"update_account_view":         `{"searching_rule": {"value": "paper"}}`,
	"create_field":                `{"entity": "contacts", "key": "score", "data_type": "number"}`,
	"update_field":                `{"label": "Fit"}`,
	"create_audience":             `{"name": "Everybody", "contact_ids": ["<contacts>"]}`,
	"update_audience":             `{"name": "All of them"}`,
	"add_audience_contacts":       `{"contact_ids": ["<contacts>"]}`,
	"remove_audience_contacts":    `{"contact_ids": ["<contacts>"]}`,
	"create_sequence_template":    `{"name": "Hello", "steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello {{recipient.first_name}}"}]}`,
	"update_sequence_template":    `{"name": "Good morning"}`,
	"render_sequence_template":    `{"contact_id": "<contacts>"}`,
	"render_template_draft":       `{"steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"}], "contact_id": "<contacts>"}`,
	"test_template_draft":         `{"steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"}], "step_index": 0}`,
	"create_campaign":             `{"name": "Spring", "template_id": "<sequence-templates>", "audience_ids": ["<audiences>"]}`,
	"update_campaign":             `{"prioritized": true}`,
	"enroll_campaign":             `{"audience_name": "The new ones", "contact_ids": ["<contacts>"]}`,
	"add_campaign_audiences":      `{"audience_ids": ["<audiences>"]}`,
	"remove_campaign_audiences":   `{"audience_ids": ["<audiences>"]}`,
	"admit_campaign":              `{"expect": 0}`,
	"simulate_campaign":           `{"contact_ids": ["<contacts>"]}`,
	"stop_campaign_sequence":      `{"reason": "replied"}`,
	"create_erasure":              `{"email": "bill@initech.example", "reason": "asked"}`,
	"create_suppression":          `{"email": "bill@initech.example"}`,
	"estimate_tam_preview":        `{"request_id": "0191d8a0-0000-7000-8000-000000000001", "company_filters": {}}`,
	"prepare_tam_preview":         `{"request_id": "0191d8a0-0000-7000-8000-000000000001", "company_filters": {}}`,
	"exclude_tam_preview_members": `{"company_ids": ["c1"]}`,
	"cancel_tam_preview":          `{}`,
	"cancel_operation":            `{}`,
	"import_tam_preview":          `{"max_accounts": 300, "max_contacts": 1000}`,
	"create_webhook_subscription": `{"url": "http://127.0.0.1:1/in", "triggers": ["*"]}`,
	"update_webhook_subscription": `{"triggers": ["contact.*"]}`,
	"rotate_webhook_secret":       `{}`,
	"test_webhook_subscription":   `{}`,
	"redeliver_webhook":           `{}`,
	"facet_webhook_deliveries":    `{"field": "status"}`,
	"redeliver_failed_webhooks":   `{"since": "2026-03-01T09:00:00Z"}`,
	"cancel_import":               `{}`,
}

// newHeldCampaign creates a campaign that is held, because it had an owner who was deactivated.
func newHeldCampaign(o *apptest.Org) string {
	campaign := apptest.NewCampaign(o, "active")
	owner := apptest.Makers["users"](o)
	o.Write.Patch("/v1/campaigns/"+campaign, map[string]string{"owner_id": owner}).Is(200)
	o.Admin.Post("/v1/users/"+owner+"/deactivate", "").Is(200)
	o.Write.Patch("/v1/campaigns/"+campaign, map[string]any{"owner_id": o.User}).Is(200)
	return campaign
}

func newArchivedCampaign(o *apptest.Org) string {
	campaign := apptest.NewCampaign(o, "active")
	o.Write.Patch("/v1/campaigns/"+campaign, `{"status": "archived"}`).Is(200)
	return campaign
}

// begin enrolls a new contact in a campaign and returns its sequence.
func begin(o *apptest.Org, campaign string) (sequence string) {
	at := "/v1/campaigns/" + campaign
	o.Write.Post(at+"/enroll", map[string]any{"audience_name": "Audience " + uuid.NewString(), "contact_ids": []string{apptest.Makers["contacts"](o)}}).Is(200)
	o.Work()
	return o.Read.Post(at+"/sequences/list", `{"page_size": 1}`).Is(200).Text("data.0.id")
}

// newWaitingSequence creates a sequence of a paused campaign.
func newWaitingSequence(o *apptest.Org) string {
	campaign := apptest.NewCampaign(o, "active")
	o.Write.Patch("/v1/campaigns/"+campaign, `{"status": "paused"}`).Is(200)
	return begin(o, campaign)
}

func newStoppedSequence(o *apptest.Org) string {
	id := newWaitingSequence(o)
	o.Write.Post("/v1/sequences/"+id+"/stop", `{"reason": "manual"}`).Is(200)
	return id
}

// newToken sends a message and returns the token of its unsubscribe link.
func newToken(o *apptest.Org) string {
	template := o.Write.Post("/v1/sequence-templates", examples["create_sequence_template"]).Is(201).ID()
	audience := o.Write.Post("/v1/audiences", map[string]any{"name": "Audience " + uuid.NewString(), "contact_ids": []string{apptest.Makers["contacts"](o)}}).Is(201).ID()
	campaign := o.Write.Post("/v1/campaigns", map[string]any{
		"name": "Mail", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": o.User,
		"missing_values": "send",
	}).Is(201).ID()
	o.Work()
	return apptest.UnsubscribeToken(o, campaign)
}

// path fills in the parameters of an operation: ids are those of new records of the organization.
func path(t *testing.T, app *apptest.App, org *apptest.Org, op *handlers.Operation) string {
	t.Helper()
	segments := strings.Split(op.Path, "/")
	for i, s := range segments {
		switch {
		case s == "{entity}":
			segments[i] = op.Entities[0]
		case s == "{attempt_id}":
			segments[i] = apptest.AttemptDelivery(app, org, segments[i-2])
		case s == "{sequence_id}":
			segments[i] = begin(org, segments[i-2])
		case s == "{token}":
			segments[i] = newToken(org)
		case s == "{page}":
			segments[i] = "contacts"
		case strings.HasPrefix(s, "{"):
			maker := apptest.Makers[segments[i-1]]
			if strings.HasPrefix(op.Path, "/v1/tam/imports") {
				maker = apptest.Makers["tam-imports"]
			}
			switch op.Name {
			case "cancel_tam_preview":
				maker = apptest.Makers["preparing"]
			case "delete_campaign":
				maker = apptest.Makers["drafts"]
			case "release_campaign":
				maker = newHeldCampaign
			case "reopen_campaign":
				maker = newArchivedCampaign
			case "stop_sequence", "skip_sequence_step", "postpone_sequence":
				maker = newWaitingSequence
			case "restart_sequence":
				maker = newStoppedSequence
			case "undo_operation":
				maker = endedOperation
			}
			if strings.HasPrefix(op.Name, "restore_") {
				maker = trashed(segments[i-1])
			}
			if maker == nil {
				t.Fatalf("no maker for %s: add one", segments[i-1])
			}
			segments[i] = maker(org)
		}
	}
	return strings.Join(segments, "/")
}

// endedOperation makes an operation that can be undone.
func endedOperation(o *apptest.Org) string {
	id := apptest.Makers["operations"](o)
	o.Work()
	return id
}

// trashed returns a maker of deleted records.
func trashed(entity string) func(*apptest.Org) string {
	maker := apptest.Makers[entity]
	if entity == "campaigns" {
		maker = apptest.Makers["drafts"]
	}
	return func(o *apptest.Org) string {
		id := maker(o)
		o.Admin.Delete("/v1/" + entity + "/" + id).Is(204)
		return id
	}
}

func withID(op *handlers.Operation, id string) string {
	segments := strings.Split(op.Path, "/")
	for i, s := range segments {
		if strings.HasSuffix(s, "id}") {
			segments[i] = id
		}
	}
	return strings.Join(segments, "/")
}

func client(org *apptest.Org, access identity.Access) apptest.Client {
	switch access {
	case identity.Read:
		return org.Read
	case identity.Write:
		return org.Write
	case handlers.SignedIn:
		return org.Session()
	}
	return org.Admin
}

var placeholder = regexp.MustCompile(`<([a-z-]+)>`)

// example returns a valid body of an operation.
func example(org *apptest.Org, op *handlers.Operation) any {
	b, ok := examples[op.Name]
	form, isForm := apptest.Forms[op.Name]
	switch {
	case isForm:
		return form
	case ok:
		return placeholder.ReplaceAllStringFunc(b, func(s string) string { return apptest.Makers[strings.Trim(s, "<>")](org) })
	case strings.HasPrefix(op.Name, "list_") && op.Method == http.MethodPost, strings.HasPrefix(op.Name, "export_"):
		return `{"filters": []}`
	case strings.HasPrefix(op.Name, "bulk_") && strings.HasSuffix(op.Name, "_trash"):
		return `{"filters": [], "restore": true}`
	case strings.HasPrefix(op.Name, "bulk_"):
		return `{"filters": [], "set": {"notes": "checked"}}`
	case strings.HasPrefix(op.Name, "facet_"):
		return `{"field": "tags"}`
	}
	return nil
}

// TestEveryOperation tests what all operations of the table have in common.
func TestEveryOperation(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Limits.BodyBytes, c.Limits.ImportBytes = 64<<10, 64<<10 })
	uncovered = func() []string { return gaps(app) }
	ops := app.API.Operations()
	for i := range ops {
		op := &ops[i]
		if strings.HasPrefix(op.Path, "/v1/sessions") && op.Access == handlers.Public {
			continue // see TestSignIn and TestRedeem
		}
		if op.Access == handlers.Public {
			app.Anonymous().Do(op.Method, path(t, app, app.Org("Acme "+op.Name), op), nil).Is(op.Status)
			continue
		}
		everyOperation(t, app, op)
	}
}

func everyOperation(t *testing.T, app *apptest.App, op *handlers.Operation) {
	org, other := app.Org("Acme "+op.Name), app.Org("Umbrella "+op.Name)
	body := example(org, op)
	at := path(t, app, org, op)
	as, session := client(org, op.Access), org.Session()
	before := org.Dump()
	unchanged := func(what string) {
		t.Helper()
		if org.Dump() != before {
			t.Fatalf("%s changed something", what)
		}
	}

	app.Anonymous().Do(op.Method, at, body).Is(401, `{"detail": "a valid API key is required"}`)
	unchanged("a request without a key")

	for _, access := range []identity.Access{identity.Read, identity.Write} {
		if !access.Covers(op.Access) {
			client(org, access).Do(op.Method, at, body).Fails(403, "forbidden", string(op.Access))
		}
	}
	if op.Access == handlers.SignedIn {
		org.Admin.Do(op.Method, at, body).Fails(403, "forbidden", "requires a session")
	} else {
		session.Do(op.Method, at, body, "X-Prospector-Console", "").Fails(403, "forbidden", "X-Prospector-Console")
		session.Do(op.Method, at, body, "Origin", "https://elsewhere.example").Fails(403, "forbidden", "Origin of this server")
	}
	unchanged("a request with too little access")

	as.Do(op.Method, at+"?colour=red", body).Fails(422, "validation_failed", "colour: unknown query parameter")
	res := as.Do(http.MethodTrace, at, nil).Fails(405, "method_not_allowed", "")
	if allow := strings.Split(res.Header.Get("Allow"), ", "); !slices.Contains(allow, op.Method) || !slices.IsSorted(allow) {
		t.Fatalf("Allow is %q", allow)
	}
	unchanged("a refused request")

	if form, isForm := body.(apptest.Form); isForm {
		refusedForms(as, op.Method, at, form)
		if n := org.Read.Post("/v1/imports/list", nil).Is(200).Int("pagination.total_count"); n > 0 {
			t.Fatalf("refused forms left %d imports", n)
		}
	} else if body != nil {
		as.Do(op.Method, at, `{"name": `).Fails(400, "invalid_json", "one JSON object")
		as.Do(op.Method, at, body, "Content-Type", "text/plain").Fails(415, "unsupported_media_type", "application/json")
		as.Do(op.Method, at, body, "Content-Type", "").Fails(415, "unsupported_media_type", "application/json")
		as.Do(op.Method, at, `{"x": "`+strings.Repeat("a", 64<<10)+`"}`).Fails(413, "body_too_large", "65536")
		as.Do(op.Method, at, `{"colour": 1}`).Fails(422, "validation_failed", "colour: unknown field")
		unchanged("a refused body")
	}

	if strings.Contains(op.Path, "id}") {
		foreign := client(other, op.Access)
		foreign.Do(op.Method, at, body).Fails(404, "not_found", "Resource not found")
		as.Do(op.Method, withID(op, "0190b2f0-0000-7000-8000-000000000000"), body).Fails(404, "not_found", "Resource not found")
		as.Do(op.Method, withID(op, "not-a-uuid"), body).Fails(404, "not_found", "Resource not found")
		unchanged("another organization's request")
	}
	if slices.Contains(op.ErrorCodes(), "precondition_failed") {
		as.Do(op.Method, at, body, "If-Match", `"9999"`).Fails(412, "precondition_failed", "the record has version")
		unchanged("a request for another version")
	}
	if slices.Contains(op.ErrorCodes(), "idempotency_key_reused") {
		idempotent(t, as, op, at, body)
		return
	}
	as.Do(op.Method, at, body).Is(op.Status)
	if op.Access == identity.Read {
		unchanged("a read")
	}
}

// refusedForms makes requests whose forms are invalid.
func refusedForms(as apptest.Client, method, at string, form apptest.Form) {
	as.Do(method, at, `{}`).Fails(415, "unsupported_media_type", "multipart/form-data")
	as.Do(method, at, form, "Content-Type", "").Fails(415, "unsupported_media_type", "multipart/form-data")
	as.Do(method, at, "--x\r\nContent-Disposition: form-data; name=file\r\n\r\nemail\n", "Content-Type", "multipart/form-data; boundary=x").Fails(400, "invalid_form", "ends before")
	as.Do(method, at, apptest.NewForm(string(form.File), `{"entity": `)).Fails(400, "invalid_json", "one JSON object")
	as.Do(method, at, apptest.NewForm(string(form.File), `{"colour": 1}`)).Fails(422, "validation_failed", "colour: unknown field")
	as.Do(method, at, apptest.NewForm(strings.Repeat("a", 64<<10+1), string(form.Options))).Fails(413, "body_too_large", "65536")
}

// showsSecret are the operations whose first response contains a secret that replays do not
// contain.
var showsSecret = []string{"create_api_key", "invite_user", "create_webhook_subscription", "rotate_webhook_secret"}

// idempotent makes the same request twice with one Idempotency-Key, and then different requests.
func idempotent(t *testing.T, as apptest.Client, op *handlers.Operation, at string, body any) {
	t.Helper()
	const header = "Idempotency-Key"
	first := as.Do(op.Method, at, body, header, "k-1").Is(op.Status)
	again := as.Do(op.Method, at, body, header, "k-1").Is(op.Status)
	if string(first.Body) != string(again.Body) && !slices.Contains(showsSecret, op.Name) || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("the repeated request returned a different response: %s and %s", first.Body, again.Body)
	}
	if first.Header.Get("ETag") != again.Header.Get("ETag") {
		t.Fatal("the replayed response has another ETag")
	}
	if form, isForm := body.(apptest.Form); isForm {
		form.Options = append(form.Options, ' ')
		as.Do(op.Method, at, form, header, "k-1").Fails(409, "idempotency_key_reused", "used before with a different request")
		return // the checks of the header are the same for all operations
	}
	as.Do(op.Method, at, `{ }`, header, "k-1").Fails(409, "idempotency_key_reused", "used before with a different request")
	req, err := http.NewRequest(op.Method, as.URL(at), strings.NewReader(body.(string)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + as.Key}, "Content-Type": {"application/json"}, header: {"a", "b"}}
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != 422 {
		t.Errorf("%s: unexpected response to two idempotency keys: %v, %v", op.Name, res, err)
	} else {
		res.Body.Close()
	}
	for _, bad := range []string{strings.Repeat("k", 256), "tab\there", "ümlaut"} {
		as.Do(op.Method, at, body, header, bad).Fails(422, "validation_failed", "Idempotency-Key")
	}
}

func TestUnknownPaths(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1/contacts/", "/v1//contacts", "/v1/contacts/a/b/c", "/v1/me/"} {
		t.Run(path, func(t *testing.T) {
			app.Anonymous().In(t).Get(path).Is(401)
			org.Read.In(t).Get(path).Fails(404, "not_found", "Resource not found")
		})
	}
	for _, path := range []string{"/nothing", "/healthz/", "/v2/me"} {
		t.Run(path, func(t *testing.T) {
			app.Anonymous().In(t).Get(path).Fails(404, "not_found", "Resource not found")
		})
	}
	res := app.Anonymous().Post("/healthz", nil).Fails(405, "method_not_allowed", "GET")
	if res.Header.Get("Allow") != "GET" {
		t.Fatal(res.Header)
	}
	// A literal next to a parameter: list is not the id of a contact.
	org.Read.Get("/v1/contacts/list").Fails(404, "not_found", "")
	res = org.Read.Post("/v1/contacts/0190b2f0-0000-7000-8000-000000000000", nil).Fails(405, "method_not_allowed", "")
	if res.Header.Get("Allow") != "DELETE, GET, PATCH" {
		t.Fatal(res.Header)
	}
	org.Read.Get("/v1/schemas/nothing").Fails(404, "not_found", "")
}

// newcomerCampaign returns the id of a campaign in which one person awaits confirmation.
func newcomerCampaign(app *apptest.App, org *apptest.Org) string {
	contact := org.Write.Post("/v1/contacts", `{"email": "newcomer@globex.example", "title": "Newcomer"}`).Is(201).ID()
	org.Write.Delete("/v1/contacts/" + contact).Is(204)
	audience := apptest.DynamicAudience(org, "Newcomers", `[{"field": "title", "condition": "is", "value": "Newcomer"}]`)
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", `+apptest.OneMail+`}`).Is(201).ID()
	campaign := org.Write.Post("/v1/campaigns", fmt.Sprintf(
		`{"name": "Newcomers", "template_id": %q, "audience_ids": [%q], "status": "active"}`, template, apptest.IDIn(audience))).Is(201).ID()
	app.Work()
	org.Write.Post("/v1/contacts/"+contact+"/restore", nil).Is(200)
	app.Work()
	return campaign
}
