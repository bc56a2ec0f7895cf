package apptest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/record"
	"prospector/store"
)

// CustomTypes are the six data types, each with the members that its fields need, values in
// ascending order, and an invalid value.
var CustomTypes = []struct{ DataType, typ, More, Low, High, Bad, Message string }{
	{"text", "text", ``, `"Apple pie"`, `"banana = split"`, `7`, ": must be a string"},
	{"number", "number", ``, `-2.5`, `1e3`, `"7"`, `: "7" is not a number`},
	{"boolean", "boolean", ``, `false`, `true`, `"true"`, `: "true" is not true or false`},
	{"date", "date", ``, `"2026-01-31"`, `"2026-02-28"`, `"2026-02-29"`, `: "2026-02-29" is not a date such as`},
	{"enum", "enum", `, "allowed_values": ["a b", "c"]`, `"a b"`, `"c"`, `"C"`, `: "C" is not one of: a b, c`},
	{"multi_select", "multi", `, "allowed_values": ["x", "y", "z"]`, `["y", "x"]`, `["z"]`, `["x", "q"]`, `[1]: "q" is not one of: x, y, z`},
}

// NewField creates a custom field.
func NewField(org *Org, entity, key, dataType, more string) string {
	return org.Admin.Post("/v1/fields", fmt.Sprintf(`{"entity": %q, "key": %q, "data_type": %q%s}`, entity, key, dataType, more)).Is(201).ID()
}

// EntityBodies are the five entities, each with a body that creates a record; %s is the id of an
// account.
var EntityBodies = map[string]string{
	"accounts": `{"name": "Initech"}`, "contacts": `{"email": "bill@initech.example"}`, "opportunities": `{"name": "Printers", "account_id": "%s"}`,
	"tasks": `{"title": "Call back"}`, "meetings": `{"title": "Demo", "starts_at": "2026-04-01T09:00:00Z"}`,
}

// EntityBody returns the body of a new record of an entity, with additional members.
func EntityBody(entity, account, members string) string {
	body := strings.Replace(EntityBodies[entity], "%s", account, 1)
	if members == "" {
		return body
	}
	return strings.TrimSuffix(body, "}") + ", " + members + "}"
}

// Erase erases a person over the API and returns the operation.
func Erase(org *Org, email string, dryRun bool) *Response {
	id := org.Admin.Post("/v1/erasures", map[string]any{"email": email, "reason": "Request 17 of " + email, "dry_run": dryRun}).Is(202).ID()
	org.Work()
	return org.Read.Get("/v1/operations/" + id).Is(200)
}

// Forms contains a valid form for each operation that takes one.
var Forms = map[string]Form{
	"create_import":  NewForm("email\nbill@initech.example\n", `{"entity": "contacts"}`),
	"inspect_import": NewForm("email\nbill@initech.example\n", `{"entity": "contacts"}`),
}

// Makers create a record of each kind that a path can refer to.
var Makers = map[string]func(*Org) string{
	"accounts": func(o *Org) string { return o.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID() },
	"contacts": func(o *Org) string {
		return o.Write.Post("/v1/contacts", `{"email": "hank@globex.example"}`).Is(201).ID()
	},
	"opportunities": func(o *Org) string {
		account := o.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
		return o.Write.Post("/v1/opportunities", `{"name": "Reactors", "account_id": "`+account+`"}`).Is(201).ID()
	},
	"audiences":          NewAudience,
	"sequence-templates": NewTemplate,
	"campaigns":          func(o *Org) string { return NewCampaign(o, "active") },
	"drafts":             func(o *Org) string { return NewCampaign(o, "draft") },
	"preview": func(o *Org) string {
		o.Catalog([]catalog.Company{{ID: uuid.NewString(), Name: "Globex"}}, nil)
		return ReadyPreview(o, `{}`)
	},
	"imports": func(o *Org) string {
		return o.Write.Post("/v1/imports", Forms["create_import"]).Is(202).ID()
	},
	"tam-imports": func(o *Org) string {
		o.Catalog([]catalog.Company{{ID: uuid.NewString(), Name: "Globex"}}, nil)
		return AcceptImport(o, ReadyPreview(o, `{}`))
	},
	"operations": func(o *Org) string {
		o.Write.Post("/v1/tasks", `{"title": "Call"}`).Is(201)
		return o.Write.Post("/v1/tasks/bulk", `{"filters": [], "set": {"notes": "checked"}}`).Is(202).ID()
	},
	"preparing": func(o *Org) string {
		return o.Write.Post("/v1/tam/preview", map[string]any{"request_id": uuid.New(), "company_filters": map[string]any{}}).Is(202).Text("data.preview_id")
	},
	"tasks": func(o *Org) string { return o.Write.Post("/v1/tasks", `{"title": "Write"}`).Is(201).ID() },
	"meetings": func(o *Org) string {
		return o.Write.Post("/v1/meetings", `{"title": "Lunch", "starts_at": "2026-04-01T12:00:00Z"}`).Is(201).ID()
	},
	"views": func(o *Org) string {
		return o.Write.Post("/v1/views", `{"entity": "contacts", "name": "All"}`).Is(201).ID()
	},
	"account-views": func(o *Org) string {
		return o.Write.Post("/v1/account-views", `{"name": "All"}`).Is(201).ID()
	},
	"fields": func(o *Org) string {
		return o.Admin.Post("/v1/fields", `{"entity": "accounts", "key": "tier", "data_type": "text"}`).Is(201).ID()
	},
	"suppressions": func(o *Org) string {
		return o.Admin.Post("/v1/suppressions", `{"domain": "globex.example"}`).Is(201).ID()
	},
	"tags": func(o *Org) string {
		return o.Write.Post("/v1/tags", `{"name": "Target", "color": "red", "object_type": "account"}`).Is(201).ID()
	},
	"users": func(o *Org) string {
		return o.Admin.Post("/v1/users", `{"email": "`+uuid.NewString()+`@globex.example"}`).Is(201).ID()
	},
	"sessions": func(o *Org) string {
		return o.Session().Get("/v1/sessions").Is(200).Text("data.0.id")
	},
	"api-keys": func(o *Org) string { return o.Admin.Post("/v1/api-keys", `{"name": "old"}`).Is(201).ID() },
	"subscriptions": func(o *Org) string { // where nothing listens
		return o.Admin.Post(SubscriptionsPath, `{"url": "http://127.0.0.1:1/in", "triggers": ["account.*"]}`).Is(201).ID()
	},
}

// NewAudience creates an empty audience and returns its id.
func NewAudience(o *Org) string {
	return o.Write.Post("/v1/audiences", map[string]any{"name": "Audience " + uuid.NewString()}).Is(201).ID()
}

// NewTemplate creates a template with one call and returns its id.
func NewTemplate(o *Org) string {
	return o.Write.Post("/v1/sequence-templates", `{"name": "Calls", "steps": [{"index": 0, "type": "call", "hour": 9}]}`).Is(201).ID()
}

// NewCampaign creates a campaign with the status, a new template and a new audience.
func NewCampaign(o *Org, status string) string {
	return o.Write.Post("/v1/campaigns", map[string]any{
		"name": "Outreach", "status": status, "template_id": NewTemplate(o), "audience_ids": []string{NewAudience(o)},
	}).Is(201).ID()
}

// UnsubscribeToken returns the token of the unsubscribe link in the newest message of a campaign.
func UnsubscribeToken(o *Org, campaign string) string {
	sent := o.Read.Post("/v1/outbox/list", map[string]any{"filters": []any{map[string]any{"field": "campaign_id", "condition": "is", "value": campaign}}}).Is(200)
	return strings.TrimPrefix(o.UnsubscribePath(sent.Text("data.0.id")), "/u/")
}

// StoreRecord changes a record in a way that the API refuses, like an earlier version that allowed it.
func StoreRecord[T any](
	t *testing.T, app *App, org *Org, kind *record.Kind[T], id string, change func(*T),
) {
	t.Helper()
	err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		doc, err := kind.Get(tx, uuid.MustParse(id))
		if err != nil {
			return err
		}
		rec := doc.Record
		change(&rec)
		_, err = kind.Replace(tx, doc, rec)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Crowd creates many contacts in batches, with the given members.
func Crowd(t *testing.T, org *Org, n int, members func(i int) string) []string {
	t.Helper()
	var ids []string
	for len(ids) < n {
		var records []string
		for i := len(ids); i < min(len(ids)+1000, n); i++ {
			records = append(records, fmt.Sprintf(`{"first_name": "Ann", "last_name": "N%d", %s}`, i, members(i)))
		}
		res := org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
		if res.Int("data.failed") != 0 {
			t.Fatal(string(res.Body[:1000]))
		}
		ids = append(ids, ResultIDs(res)...)
	}
	return ids
}

// SetSenderDomains does what prospector org set --sender-domain does.
func SetSenderDomains(t *testing.T, app *App, org *Org, domains ...string) {
	t.Helper()
	err := app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		_, err := app.Identity.Configure(tx, Body(t, map[string]any{"sender_domains": domains}))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// NewTags creates tags of an object type, and returns their ids by name.
func NewTags(org *Org, object string, names ...string) map[string]string {
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = org.Write.Post("/v1/tags", map[string]string{"name": name, "color": "red", "object_type": object}).Is(201).ID()
	}
	return ids
}

// AttemptDelivery tests a subscription, and returns the id of the attempt.
func AttemptDelivery(app *App, o *Org, subscription string) string {
	o.Admin.Post(SubscriptionsPath+"/"+subscription+"/test", nil).Is(202)
	app.Deliver()
	return o.Read.Get(SubscriptionsPath + "/" + subscription + "/deliveries").Is(200).Text("data.0.id")
}
