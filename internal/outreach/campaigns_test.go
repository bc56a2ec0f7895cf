package outreach_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// runner is an organization with a template and three audiences, ready to run campaigns.
type runner struct {
	*apptest.Org
	template           string
	north, south, west string
}

func newRunner(app *apptest.App, name string) *runner {
	r := &runner{Org: app.Org(name)}
	r.template = r.newTemplate("Warm welcome")
	r.north, r.south, r.west = r.newAudience("North"), r.newAudience("South"), r.newAudience("West")
	return r
}

func (r *runner) newTemplate(name string) string {
	return r.Write.Post("/v1/sequence-templates", map[string]any{"name": name, "steps": apptest.JSONText(`[{"index": 0, "type": "auto_email", "message": "Hello"}]`)}).Is(201).ID()
}

func (r *runner) newAudience(name string, contacts ...string) string {
	return r.Write.Post("/v1/audiences", map[string]any{"name": name, "contact_ids": contacts}).Is(201).ID()
}

// campaignBody returns the body of a campaign with the audience North. The given members are added
// or replace its members.
func (r *runner) campaignBody(members string) map[string]json.RawMessage {
	body := map[string]json.RawMessage{}
	for _, text := range []string{fmt.Sprintf(`{"name": "Spring", "template_id": %q, "audience_ids": [%q]}`, r.template, r.north), `{` + members + `}`} {
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			panic(err)
		}
	}
	return body
}

// newCampaign creates such a campaign and returns its path.
func (r *runner) newCampaign(members string) string {
	return "/v1/campaigns/" + r.Write.Post("/v1/campaigns", r.campaignBody(members)).Is(201).ID()
}

// as returns a client that acts for another user.
func (r *runner) as(user string) apptest.Client {
	c := r.Write
	c.Key = r.Admin.Post("/v1/api-keys", map[string]string{"name": "theirs", "user_id": user}).Is(201).Text("data.key")
	return c
}

func TestCampaign(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	bob := apptest.Makers["users"](org.Org)

	sparse := fmt.Sprintf(`{"data": {"id": "<id>", "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "name": "Spring", "status": "draft",
		"prioritized": false, "end_date": null, "template_id": %q, "template_name": "Warm welcome", "audiences": [{"id": %q, "name": "North"}], "owner_id": "%s", "missing_values": "hold", "admit": "ask", "newcomers": 0, "transport": null, "held": null},
		"meta": {"timestamp": "2026-03-02T09:00:00.000Z"}}`, org.template, org.north, org.User)
	org.Write.Post("/v1/campaigns", org.campaignBody("")).Is(201, sparse)
	org.Write.Post("/v1/campaigns", org.campaignBody(`"status": null, "prioritized": null, "end_date": null, "owner_id": null`)).Is(201, sparse)
	org.Write.Post("/v1/campaigns", org.campaignBody(`"status": "", "end_date": "", "owner_id": ""`)).Is(201, sparse)
	if got := org.as(bob).Post("/v1/campaigns", org.campaignBody("")).Is(201).Text("data.owner_id"); got != bob {
		t.Errorf("the owner is %s, want the key's user %s", got, bob)
	}

	// Audiences are in the order of the request, without duplicates.
	want := fmt.Sprintf(`{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "name": "Herbst & <Söhne>", "status": "paused", "prioritized": true, "end_date": "2026-06-30",
		"template_id": %q, "template_name": "Warm welcome", "audiences": [{"id": %q, "name": "South"}, {"id": %q, "name": "North"}], "owner_id": %q, "missing_values": "hold", "admit": "ask", "newcomers": 0, "transport": null, "held": null},
		"meta": {"timestamp": "<time>"}}`, org.template, org.south, org.north, bob)
	made := org.Write.Post("/v1/campaigns", org.campaignBody(fmt.Sprintf(`"name": "Herbst & <Söhne>", "status": "paused", "prioritized": true, "end_date": "2026-06-30", "owner_id": %q,
		"audience_ids": [%q, %q, %[2]q, %q]`, bob, org.south, org.north, strings.ToUpper(org.north)))).Is(201, want)
	path := "/v1/campaigns/" + made.ID()
	read := org.Read.Get(path).Is(200, want)
	if read.Header.Get("ETag") == "" || read.Header.Get("ETag") != made.Header.Get("ETag") {
		t.Errorf("the ETags are %q and %q", made.Header.Get("ETag"), read.Header.Get("ETag"))
	}
	for _, status := range []string{"draft", "active", "paused"} {
		if got := org.Write.Post("/v1/campaigns", org.campaignBody(`"status": "`+status+`"`)).Is(201).Text("data.status"); got != status {
			t.Errorf("created with status %s, got %s", status, got)
		}
	}

	// PATCH changes single fields, and absent fields stay unchanged.
	etag := made.Header.Get("ETag")
	now := itemFields(t, read)
	for _, c := range []struct{ field, value string }{
		{"name", `"Winter"`}, {"prioritized", `false`}, {"end_date", `"2026-07-01"`}, {"end_date", `null`}, {"end_date", `"2026-08-01"`}, {"end_date", `""`},
		{"owner_id", `"` + org.User.String() + `"`}, {"prioritized", `true`}, {"prioritized", `null`}, {"status", `"active"`},
	} {
		app.Clock.Advance(time.Second)
		res := org.Write.Patch(path, fmt.Sprintf(`{%q: %s}`, c.field, c.value)).Is(200)
		value := map[string]string{`""`: `null`}[c.value]
		if value == "" {
			value = c.value
		}
		if c.field == "prioritized" && value == "null" {
			value = "false"
		}
		if c.field == "status" && value == `"active"` {
			now["transport"] = json.RawMessage(`"outbox"`)
		}
		now[c.field], now["updated_at"] = json.RawMessage(value), json.RawMessage(app.Clock.Now().Format(`"2006-01-02T15:04:05.000Z"`))
		text, _ := json.Marshal(now)
		res.Is(200, `{"data": `+string(text)+`, "meta": {"timestamp": "<time>"}}`)
		org.Read.Get(path).Is(200, `{"data": `+string(text)+`, "meta": {"timestamp": "<time>"}}`)
		if res.Header.Get("ETag") == etag {
			t.Errorf("%s: the ETag did not change", c.field)
		}
		etag = res.Header.Get("ETag")
	}
	// Without an owner, the user of the key is the owner, as on create.
	if got := org.as(bob).Patch(path, `{"owner_id": null}`).Is(200).Text("data.owner_id"); got != bob {
		t.Errorf("the owner is %s, want %s", got, bob)
	}

	// The response of GET can be sent back and changes nothing.
	app.Clock.Advance(time.Second)
	read = org.Read.Get(path).Is(200)
	before := org.Dump()
	for _, body := range []any{read.Value("data"), `{}`, `{"name": "Winter", "status": "active"}`} {
		if res := org.Write.Patch(path, body).Is(200); string(apptest.DataOf(res)) != string(apptest.DataOf(read)) || res.Header.Get("ETag") != read.Header.Get("ETag") {
			t.Errorf("%v changed it to %s", body, res.Body)
		}
	}
	if org.Dump() != before {
		t.Error("an update without a change wrote something")
	}
}

// itemFields decodes the item of a response, field by field.
func itemFields(t *testing.T, r *apptest.Response) map[string]json.RawMessage {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(apptest.DataOf(r), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestBadCampaigns checks the validation of each field on create and, where the field can be
// updated, on update.
func TestBadCampaigns(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), newRunner(app, "Umbrella")
	path := org.newCampaign("")
	contact := apptest.Makers["contacts"](org.Org)
	inactive, archived, gone := org.newTemplate("Inactive"), org.newTemplate("Archived"), org.newTemplate("Gone")
	org.Write.Patch("/v1/sequence-templates/"+inactive, `{"status": "INACTIVE"}`).Is(200)
	org.Write.Patch("/v1/sequence-templates/"+archived, `{"status": "ARCHIVED"}`).Is(200)
	org.Write.Delete("/v1/sequence-templates/" + gone).Is(204)
	old, lost := org.newAudience("Old"), org.newAudience("Lost")
	org.Write.Patch("/v1/audiences/"+old, `{"status": "archived"}`).Is(200)
	org.Write.Delete("/v1/audiences/" + lost).Is(204)
	const unknown = `"0190b2f0-0000-7000-8000-000000000000"`
	before := org.Dump()

	for _, c := range []struct {
		field, value, message string
		update                string // the message of an update, if it differs
	}{
		{"name", `null`, "name: required", ""},
		{"name", `""`, "name: required", ""},
		{"name", `7`, "name: must be a string", ""},
		{"name", `"` + strings.Repeat("ü", 256) + `"`, "name: must be at most 255 characters", ""},
		{"name", `"a\u0000"`, "name: must not contain NUL characters", ""},
		{"status", `"running"`, "status: \"running\" is not one of: draft, active, paused, completed, archived", ""},
		{"status", `"Active"`, `status: "Active" is not one of: `, ""},
		{"status", `1`, "status: must be a string", ""},
		{"prioritized", `"true"`, "prioritized: \"true\" is not true or false", ""},
		{"prioritized", `1`, "prioritized: must be true or false", ""},
		{"end_date", `"2026-02-29"`, "end_date: \"2026-02-29\" is not a date such as", ""},
		{"end_date", `"2026-06-30T00:00:00Z"`, "end_date: \"2026-06-30T00:00:00Z\" is not a date such as", ""},
		{"end_date", `"30.6.2026"`, "end_date: \"30.6.2026\" is not a date such as", ""},
		{"end_date", `20260630`, "end_date: must be a date such as", ""},
		{"template_id", `null`, "template_id: required", ""},
		{"template_id", `""`, "template_id: required", ""},
		{"template_id", `"x"`, "template_id: \"x\" is not a UUID", ""},
		{"template_id", `["` + org.template + `"]`, "template_id: must be a UUID", ""},
		{"template_id", unknown, "template_id: does not exist", ""},
		{"template_id", `"` + gone + `"`, "template_id: does not exist", ""},
		{"template_id", `"` + org.north + `"`, "template_id: does not exist", ""},
		{"template_id", `"` + other.template + `"`, "template_id: does not exist", ""},
		{"template_id", `"` + inactive + `"`, "template_id: the template is INACTIVE, not ACTIVE", ""},
		{"template_id", `"` + archived + `"`, "template_id: the template is ARCHIVED, not ACTIVE", ""},
		{"owner_id", `"x"`, "owner_id: \"x\" is not a UUID", ""},
		{"owner_id", unknown, "owner_id: does not exist", ""},
		{"owner_id", `"` + contact + `"`, "owner_id: does not exist", ""},
		{"owner_id", `"` + other.User.String() + `"`, "owner_id: does not exist", ""},
		{"template_name", `"Cold call"`, "template_name: read-only field", ""},
		{"audiences", `[]`, "audiences: read-only field", ""},
		{"audiences", `[{"id": "` + org.south + `", "name": "South"}]`, "audiences: read-only field", ""},
		{"audiences", `[{"id": "` + org.north + `", "name": "Nord"}]`, "audiences: read-only field", ""},
		{"audiences", `null`, "audiences: read-only field", ""},
		{"id", unknown, "id: read-only field", ""},
		{"created_at", `"2020-01-01T00:00:00Z"`, "created_at: read-only field", ""},
		{"updated_at", `null`, "updated_at: read-only field", ""},
		{"tags", `[]`, "tags: unknown field", ""},
		{"custom_field_x", `1`, "custom_field_x: unknown field", ""},
		{"audience_ids", `null`, "audience_ids: required", "audience_ids"},
		{"audience_ids", `[]`, "audience_ids: ", "audience_ids"},
		{"audience_ids", `"` + org.north + `"`, "audience_ids: must be a list", "audience_ids"},
		{"audience_ids", `["` + org.north + `", "x"]`, `audience_ids[1]: "x" is not a UUID`, "audience_ids"},
		{"audience_ids", `[null]`, "audience_ids[0]: must be a UUID", "audience_ids"},
		{"audience_ids", `[1]`, "audience_ids[0]: must be a UUID", "audience_ids"},
		{"audience_ids", `["` + org.north + `", ` + unknown + `]`, "audience_ids[1]: does not exist", "audience_ids"},
		{"audience_ids", `["` + lost + `"]`, "audience_ids[0]: does not exist", "audience_ids"},
		{"audience_ids", `["` + contact + `"]`, "audience_ids[0]: does not exist", "audience_ids"},
		{"audience_ids", `["` + org.north + `", "` + org.north + `", "` + other.north + `"]`, "audience_ids[2]: does not exist", "audience_ids"},
		{"audience_ids", `["` + org.north + `", "` + old + `"]`, "audience_ids[1]: the audience is archived", "audience_ids"},
	} {
		t.Run(c.message, func(t *testing.T) {
			member := fmt.Sprintf(`%q: %s`, c.field, c.value)
			res := org.Write.In(t).Post("/v1/campaigns", org.campaignBody(member)).Fails(422, "validation_failed", c.message)
			if place, _, _ := strings.Cut(c.message, ":"); res.Text("error.details.0.path") != place {
				t.Errorf("%s: unexpected path of the first problem: %s", member, res.Text("error.details.0.path"))
			}
			if c.update == "" {
				c.update = c.message
			}
			org.Write.In(t).Patch(path, `{`+member+`}`).Fails(422, "validation_failed", c.update)
		})
	}
	for _, status := range []string{"completed", "archived"} {
		t.Run(status, func(t *testing.T) {
			org.Write.In(t).Post("/v1/campaigns", org.campaignBody(`"status": "`+status+`"`)).Fails(422, "validation_failed", `status: "`+status+`" is not one of: draft, active, paused, which a new campaign can have`)
		})
	}

	// All problems of a body are reported at once.
	for _, body := range []any{nil, `{}`} {
		apptest.HasProblems(t, org.Write.Post("/v1/campaigns", body), "name", "template_id", "audience_ids")
	}
	res := org.Write.Post("/v1/campaigns", org.campaignBody(fmt.Sprintf(`"name": "", "status": "completed", "prioritized": 1, "end_date": "x", "template_id": %q, "owner_id": %s,
		"audience_ids": [%q, "x", %q, %s], "colour": 1`, inactive, unknown, org.north, old, unknown))).Fails(422, "validation_failed", "")
	if got, want := apptest.Sorted(apptest.ProblemPaths(res)), apptest.Sorted([]string{"name", "status", "prioritized", "end_date", "template_id", "owner_id", "audience_ids[1]", "audience_ids[2]", "audience_ids[3]", "colour"}); !slices.Equal(got, want) {
		t.Errorf("problem paths = %q, want %q", got, want)
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	// The limits themselves are valid, and several campaigns may have the same name.
	long := strings.Repeat("ü", 255)
	org.newCampaign(`"name": "` + long + `", "end_date": "9999-12-31"`)
	org.newCampaign(`"name": "` + long + `", "end_date": "9999-12-31", "status": "active"`)
	org.newCampaign(`"name": "` + long + `", "end_date": "0001-01-01", "status": "active"`)
}

// TestCampaignList filters, sorts and searches by every field of a campaign.
func TestCampaignList(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), newRunner(app, "Umbrella")
	other.newCampaign(`"name": "Theirs"`)
	ids := map[string]string{"ada": org.User.String(), "bob": apptest.Makers["users"](org.Org), "warm": org.template, "cold": org.newTemplate("Cold call"), "nobody": other.template,
		"north": org.north, "south": org.south, "west": org.west}
	fill := func(text string) string {
		for name, id := range ids {
			text = strings.ReplaceAll(text, "{"+name+"}", id)
		}
		return text
	}
	for _, c := range []struct{ name, status, members string }{
		{"Alpha", "draft", `"template_id": "{warm}", "audience_ids": ["{north}"]`},
		{"beta", "active", `"template_id": "{cold}", "audience_ids": ["{north}", "{south}"], "prioritized": true, "end_date": "2026-06-30", "owner_id": "{bob}"`},
		{"Gamma ray", "paused", `"template_id": "{warm}", "audience_ids": ["{south}"], "end_date": "2026-12-31"`},
		{"Äpfel", "archived", `"template_id": "{cold}", "audience_ids": ["{west}", "{south}", "{north}"], "prioritized": true`},
	} {
		path := org.campaignAs(c.status, fill(c.members)+`, "name": "`+c.name+`"`)
		ids[c.name] = strings.TrimPrefix(path, "/v1/campaigns/")
		app.Clock.Advance(24 * time.Hour)
	}
	for _, c := range []struct{ rules, want string }{
		{`[]`, "Alpha beta Gamma ray Äpfel"},
		{`[{"field": "id", "condition": "is", "value": "{beta}"}]`, "beta"},
		{`[{"field": "id", "condition": "is_not", "value": ["{beta}", "{Alpha}"]}]`, "Gamma ray Äpfel"},
		{`[{"field": "name", "condition": "contains", "value": "A R"}]`, "Gamma ray"},
		{`[{"field": "name", "condition": "is", "value": ["beta", "alpha"]}]`, "beta"},
		{`[{"field": "status", "condition": "is", "value": ["draft", "paused"]}]`, "Alpha Gamma ray"},
		{`[{"field": "status", "condition": "is_not", "value": "archived"}]`, "Alpha beta Gamma ray"},
		{`[{"field": "prioritized", "condition": "is", "value": true}]`, "beta Äpfel"},
		{`[{"field": "prioritized", "condition": "equals", "value": false}]`, "Alpha Gamma ray"},
		{`[{"field": "end_date", "condition": "is_empty"}]`, "Alpha Äpfel"},
		{`[{"field": "end_date", "condition": "is", "value": "2026-06-30"}]`, "beta"},
		{`[{"field": "end_date", "condition": "is_after", "value": "2026-06-30"}]`, "Gamma ray"},
		{`[{"field": "end_date", "condition": "is_before", "value": "2026-12-31"}]`, "beta"},
		{`[{"field": "template_id", "condition": "is", "value": "{warm}"}]`, "Alpha Gamma ray"},
		{`[{"field": "template_id", "condition": "is", "value": "{nobody}"}]`, ""},
		{`[{"field": "template_name", "condition": "contains", "value": "CALL"}]`, "beta Äpfel"},
		{`[{"field": "template_name", "condition": "is", "value": "Warm welcome"}]`, "Alpha Gamma ray"},
		{`[{"field": "audiences", "condition": "is", "value": "{north}"}]`, "Alpha beta Äpfel"},
		{`[{"field": "audiences", "condition": "is", "value": ["{north}", "{west}"]}]`, "Alpha beta Äpfel"},
		{`[{"field": "audiences", "condition": "is_not", "value": ["{west}", "{nobody}"]}]`, "Alpha beta Gamma ray"},
		{`[{"field": "audiences", "condition": "contains", "value": ["{north}", "{south}"]}]`, "beta Äpfel"},
		{`[{"field": "audiences", "condition": "not_contains", "value": ["{north}", "{south}"]}]`, "Alpha Gamma ray"},
		{`[{"field": "audiences", "condition": "is_empty"}]`, ""},
		{`[{"field": "audiences", "condition": "is_not_empty"}]`, "Alpha beta Gamma ray Äpfel"},
		{`[{"field": "owner_id", "condition": "is", "value": "{bob}"}]`, "beta"},
		{`[{"field": "owner_id", "condition": "is_not", "value": "{bob}"}]`, "Alpha Gamma ray Äpfel"},
		{`[{"field": "created_at", "condition": "is", "value": "2026-03-03"}]`, "beta"},
		{`[{"field": "updated_at", "condition": "greater_than", "value": "2026-03-03T09:00:00Z"}]`, "Gamma ray Äpfel"},
		{`[{"field": "status", "condition": "is", "value": "active"}, {"field": "audiences", "condition": "is", "value": "{south}"}]`, "beta"},
		{`{"operator": "or", "filters": [{"field": "name", "condition": "is", "value": "Alpha"}, {"operator": "and", "filters": [{"field": "prioritized", "condition": "is", "value": true},
			{"field": "audiences", "condition": "is", "value": "{west}"}]}]}`, "Alpha Äpfel"},
		{`{"filters": []}`, "Alpha beta Gamma ray Äpfel"},
	} {
		t.Run(c.rules, func(t *testing.T) {
			res := org.Read.In(t).Post("/v1/campaigns/list", fill(`{"sort": "created_at", "filters": `+c.rules+`}`)).Is(200)
			if got := strings.Join(res.Column("name"), " "); got != c.want {
				t.Errorf("%s: %s, want %s", c.rules, got, c.want)
			}
		})
	}
	for body, want := range map[string]string{
		`{}`:                                    "Äpfel Gamma ray beta Alpha",
		`{"sort": "name"}`:                      "Alpha beta Gamma ray Äpfel",
		`{"sort": "status"}`:                    "beta Äpfel Alpha Gamma ray",
		`{"sort": "-prioritized,name"}`:         "beta Äpfel Alpha Gamma ray",
		`{"sort": "end_date"}`:                  "beta Gamma ray Alpha Äpfel",
		`{"sort": "-end_date"}`:                 "Gamma ray beta Äpfel Alpha",
		`{"sort": "template_name,-name"}`:       "Äpfel beta Gamma ray Alpha",
		`{"sort": "owner_id,name"}`:             "Alpha Gamma ray Äpfel beta",
		`{"search": "gam"}`:                     "Gamma ray",
		`{"search": "CALL äpf"}`:                "Äpfel",
		`{"search": "welcome", "sort": "name"}`: "Alpha Gamma ray",
		`{"search": "theirs"}`:                  "",
		`{"page": 2, "page_size": 3}`:           "Alpha",
	} {
		t.Run(body, func(t *testing.T) {
			if got := strings.Join(org.Read.In(t).Post("/v1/campaigns/list", body).Is(200).Column("name"), " "); got != want {
				t.Errorf("%s: %s, want %s", body, got, want)
			}
		})
	}
	// Lists show the same as GET.
	res := org.Read.Post("/v1/campaigns/list", `{"sort": "created_at", "page_size": 1, "page": 2}`).Is(200)
	read := apptest.DataOf(org.Read.Get("/v1/campaigns/" + ids["beta"]))
	res.Is(200, `{"data": [`+string(read)+`], "pagination": {"page": 2, "page_size": 1, "total_count": 4, "total_pages": 4}, "meta": {"timestamp": "<time>"}}`)
	for rule, path := range map[string]string{
		`{"field": "audiences", "condition": "is", "value": "North"}`:               "filters[0].value",
		`{"field": "audiences", "condition": "equals", "value": "{north}"}`:         "filters[0].condition",
		`{"field": "audiences.name", "condition": "is", "value": "North"}`:          "filters[0].field",
		`{"field": "audience_ids", "condition": "is", "value": "{north}"}`:          "filters[0].field",
		`{"field": "status", "condition": "is", "value": "running"}`:                "filters[0].value",
		`{"field": "end_date", "condition": "is", "value": "2026-06-30T00:00:00Z"}`: "filters[0].value",
	} {
		t.Run(rule, func(t *testing.T) {
			org.Read.In(t).Post("/v1/campaigns/list", fill(`{"filters": [`+rule+`]}`)).Fails(422, "invalid_filter", path)
		})
	}
	org.Read.Post("/v1/campaigns/list", `{"sort": "audiences"}`).Fails(422, "invalid_sort", "audiences")
}

// TestCampaignSchema compares the schema of campaigns with their fields and with what lists accept.
func TestCampaignSchema(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	shown := itemFields(t, org.Read.Get(org.newCampaign("")).Is(200))
	types := map[string]string{"id": "reference", "created_at": "datetime", "updated_at": "datetime", "name": "text", "status": "enum", "prioritized": "boolean", "end_date": "date",
		"template_id": "reference", "template_name": "text", "audiences": "multi", "owner_id": "reference", "missing_values": "enum", "admit": "enum", "newcomers": "number", "transport": "enum"}
	values := map[string]string{"text": `"x"`, "boolean": `true`, "number": `0`, "date": `"2026-03-01"`, "datetime": `"2026-03-01"`, "multi": `"` + org.north + `"`, "reference": `"` + org.north + `"`}
	var schema struct {
		Data struct{ Fields []apptest.ListField }
	}
	if err := json.Unmarshal(org.Read.Get("/v1/schemas/campaigns").Is(200).Body, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Data.Fields) != len(types) || len(shown) != len(types)+1 { // lists do not know the object held
		t.Errorf("the schema has %d fields, a campaign shows %d", len(schema.Data.Fields), len(shown))
	}
	for _, f := range schema.Data.Fields {
		if f.Type != types[f.Key] || shown[f.Key] == nil {
			t.Errorf("%s is %s", f.Key, f.Type)
		}
		if readOnly := slices.Contains([]string{"id", "created_at", "updated_at", "template_name", "audiences", "newcomers", "transport"}, f.Key); f.ReadOnly != readOnly || f.Sortable != (f.Type != "multi") {
			t.Errorf("%s: read_only is %v, sortable %v", f.Key, f.ReadOnly, f.Sortable)
		}
		if f.Key == "status" && !slices.Equal(f.Enum.Allowed, campaignStatuses) {
			t.Errorf("the statuses are %v", f.Enum.Allowed)
		}
		for _, condition := range []string{"is", "is_not", "equals", "contains", "not_contains", "is_empty", "is_not_empty", "is_before", "is_after", "greater_than", "less_than"} {
			value := values[f.Type]
			if f.Type == "enum" {
				value = string(jsonOf(f.Enum.Allowed[0]))
			}
			rule := fmt.Sprintf(`{"field": %q, "condition": %q, "value": %s}`, f.Key, condition, value)
			if strings.HasSuffix(condition, "_empty") {
				rule = fmt.Sprintf(`{"field": %q, "condition": %q}`, f.Key, condition)
			}
			res := org.Read.Post("/v1/campaigns/list", `{"filters": [`+rule+`]}`)
			if slices.Contains(f.Conditions, condition) {
				res.Is(200)
			} else {
				res.Fails(422, "invalid_filter", "filters[0].condition")
			}
		}
	}
}
