package outreach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// guarded is an organization whose customers are not in the dynamic audience of a running campaign.
type guarded struct {
	*apptest.Org
	t                    *testing.T
	app                  *apptest.App
	tag, account, other  string   // paths
	customers            []string // 30, each with the tag, the account and the custom field "grade"
	audience, campaign   string   // paths
	before               []string // who is in the audience
	field, fieldOfOthers string   // paths
}

func id(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// newGuarded starts the campaign for an audience whose filters may have $TAG, $ACCOUNT and $OTHER.
func newGuarded(t *testing.T, app *apptest.App, name, filters string) *guarded {
	t.Helper()
	org := app.Org(name)
	g := &guarded{Org: org, t: t, app: app}
	g.tag = "/v1/tags/" + org.Write.Post("/v1/tags", `{"name": "Customer", "color": "red", "object_type": "contact"}`).Is(201).ID()
	g.account = "/v1/accounts/" + org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	g.other = "/v1/accounts/" + org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	field := func(key string) string {
		return "/v1/fields/" + org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "`+key+`", "data_type": "enum", "allowed_values": ["a", "b"]}`).Is(201).ID()
	}
	g.field, g.fieldOfOthers = field("grade"), field("unused")
	for i := range 30 {
		g.customers = append(g.customers, org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example", "first_name": "C", "title": "CTO",
			"tags": ["Customer"], "account_id": %q, "custom_field_grade": "a"}`, i, id(g.account))).Is(201).ID())
	}
	org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "lead@y.example", "first_name": "Lead", "title": "CTO", "account_id": %q}`, id(g.other))).Is(201)
	org.Write.Post("/v1/contacts", `{"email": "free@z.example", "first_name": "Free", "title": "CTO"}`).Is(201)
	g.audience = apptest.DynamicAudience(org, "Leads", strings.NewReplacer("$TAG", id(g.tag), "$ACCOUNT", id(g.account), "$OTHER", id(g.other)).Replace(filters))
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hi", "message": "Hello"}]}`).Is(201).ID()
	g.campaign = "/v1/campaigns/" + org.Write.Post("/v1/campaigns", map[string]any{
		"name": "C", "status": "active", "template_id": template, "audience_ids": []string{id(g.audience)},
	}).Is(201).ID()
	app.Work()
	g.before = g.members()
	if len(g.before) == 0 || slices.Contains(g.before, g.customers[0]) {
		t.Fatalf("the audience has %d contacts", len(g.before))
	}
	return g
}

func (g *guarded) members() []string {
	ids := g.Read.Post(g.audience+"/contacts/list", `{"page_size": 500}`).Is(200).Column("id")
	slices.Sort(ids)
	return ids
}

// joinsNobody checks that the audience has the contacts that it had, and that nobody else has a sequence.
func (g *guarded) joinsNobody(when string) {
	g.t.Helper()
	g.app.Work()
	if got := g.members(); !slices.Equal(got, g.before) {
		g.t.Errorf("%s: the audience has %d contacts, not %d", when, len(got), len(g.before))
	}
	for _, contact := range g.Read.Post(g.campaign+"/sequences/list", `{"page_size": 500}`).Is(200).Column("contact_id") {
		if !slices.Contains(g.before, contact) {
			g.t.Errorf("%s: %s has a sequence", when, contact)
		}
	}
}

// TestDeletionJoinsNobody deletes and merges what keeps customers out of the audience of a running campaign. It is
// refused, or with force the audience becomes static.
func TestDeletionJoinsNobody(t *testing.T) {
	app := apptest.New(t)
	deleteTag := func(g *guarded, force bool) *apptest.Response { return g.Write.Delete(g.tag + query(force)) }
	deleteAccount := func(g *guarded, force bool) *apptest.Response { return g.Write.Delete(g.account + query(force)) }
	deleteForGood := func(g *guarded, force bool) *apptest.Response {
		return g.Write.Delete(g.account + strings.Replace("?permanent=true"+query(force), "true?", "true&", 1))
	}
	deleteField := func(g *guarded, force bool) *apptest.Response { return g.Admin.Delete(g.field + query(force)) }
	mergeAccount := func(g *guarded, force bool) *apptest.Response {
		return g.Write.Post(g.other+"/merge", map[string]any{"ids": []string{id(g.account)}, "force": force})
	}
	merge := func(change string) func(g *guarded, force bool) *apptest.Response {
		return func(g *guarded, force bool) *apptest.Response {
			another := g.Write.Post("/v1/contacts", change).Is(201).ID()
			return g.Write.Post("/v1/contacts/"+g.customers[0]+"/merge", map[string]any{"ids": []string{another}, "force": force})
		}
	}
	for i, tt := range []struct {
		name, filters string
		act           func(g *guarded, force bool) *apptest.Response
		why           string
	}{
		{"tag is_not", `[{"field": "tags", "condition": "is_not", "value": "$TAG"}]`, deleteTag, `the filters of the dynamic audience "Leads" name it`},
		{"tag not_contains", `[{"field": "tags", "condition": "not_contains", "value": ["$TAG"]}]`, deleteTag, "name it"},
		{"tag is_empty", `[{"field": "tags", "condition": "is_empty"}]`, deleteTag, `contacts would join the dynamic audience "Leads"`},
		{"tag nested", `{"operator": "or", "filters": [{"field": "title", "condition": "is", "value": "none"}, {"operator": "and", "filters": [
			{"field": "title", "condition": "is", "value": "CTO"}, {"field": "tags", "condition": "is_empty"}]}]}`, deleteTag, "would join"},
		{"account is_not", `[{"field": "account_id", "condition": "is_not", "value": "$ACCOUNT"}]`, deleteAccount, "name it"},
		{"account for good", `[{"field": "account_id", "condition": "is_not", "value": ["$ACCOUNT", "$OTHER"]}]`, deleteForGood, "name it"},
		{"account is_empty", `[{"field": "account_id", "condition": "is_empty"}]`, deleteAccount, "would join"},
		{"merge is_not", `[{"field": "account_id", "condition": "is_not", "value": "$ACCOUNT"}]`, mergeAccount, "name it"},
		{"merge into", `[{"field": "account_id", "condition": "is", "value": "$OTHER"}]`, mergeAccount, "would join"},
		{"field is_empty", `[{"field": "custom_field_grade", "condition": "is_empty"}]`, deleteField, "name it"},
		{"field is_not", `[{"field": "custom_field_grade", "condition": "is_not", "value": "a"}]`, deleteField, "name it"},
		{"contacts", `{"operator": "or", "filters": [{"field": "account_id", "condition": "is", "value": "$OTHER"}, {"operator": "and", "filters": [
			{"field": "tags", "condition": "is", "value": "$TAG"}, {"field": "phone_number", "condition": "is_not_empty"}]}]}`,
			merge(`{"email": "same@x.example", "phone_number": "1"}`), `the contact would join the dynamic audience "Leads"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuarded(t, app, fmt.Sprint("Acme ", i), tt.filters)
			tt.act(g, false).Fails(409, "in_use", tt.why).Has(409, fmt.Sprintf(`{"error": {"details": [{"path": "audiences", "id": %q}]}}`, id(g.audience)))
			g.joinsNobody("refused")
			g.Read.Get(g.audience).Has(200, `{"data": {"type": "dynamic"}}`)
			if res := tt.act(g, true); res.Status != 204 && res.Status != 200 {
				t.Fatalf("with force: %s", res.Body)
			}
			g.joinsNobody("with force")
			g.Read.Get(g.audience).Has(200, fmt.Sprintf(`{"data": {"type": "static", "filters": null, "contact_count": %d}}`, len(g.before)))
		})
	}
}

func query(force bool) string {
	if force {
		return "?force=true"
	}
	return ""
}

// TestDeletionAllowed deletes what audiences name or leave, without anybody joining one.
func TestDeletionAllowed(t *testing.T) {
	app := apptest.New(t)
	g := newGuarded(t, app, "Acme", `[{"field": "tags", "condition": "is_empty"}]`)
	vip := g.Write.Post("/v1/tags", `{"name": "VIP", "color": "red", "object_type": "contact"}`).Is(201).ID()
	g.Write.Patch("/v1/contacts/"+g.customers[0], `{"add_tags": ["VIP"]}`).Is(200)
	tagged := apptest.DynamicAudience(g.Org, "Tagged", `[{"field": "tags", "condition": "is_not_empty"}]`)
	g.Write.Delete("/v1/tags/" + vip).Is(204) // who has it has another, too
	g.joinsNobody("the tag is one of two")
	holds(t, g.Org, tagged, 30)
	g.Admin.Delete(g.fieldOfOthers).Is(204)
	g.Write.Delete(g.account).Is(204)
	g.joinsNobody("nothing names the account")

	// Archived audiences refuse nothing, and keep their contacts. They cannot be activated with filters that name what
	// is gone.
	named := apptest.DynamicAudience(g.Org, "Named", `[{"field": "tags", "condition": "is_not", "value": "Customer"}]`)
	g.Write.Patch(named, `{"status": "archived"}`).Is(200)
	g.Write.Patch(g.audience, `{"status": "archived"}`).Is(200)
	g.Write.Delete(g.tag).Is(204)
	g.joinsNobody("archived")
	g.Write.Patch(named, `{"status": "active"}`).Fails(422, "invalid_filter", "filters: tags: "+id(g.tag)+" does not exist")
	g.Write.Patch(named, `{"status": "active", "filters": []}`).Is(200)

	// What requires a record refuses its deletion also with force.
	g.Write.Post("/v1/opportunities", map[string]any{"name": "Deal", "account_id": id(g.other)}).Is(201)
	at := apptest.DynamicAudience(g.Org, "Other", `[{"field": "account_id", "condition": "is", "value": "`+id(g.other)+`"}]`)
	g.Write.Delete(g.other+"?force=true").Fails(409, "in_use", "an opportunity refers to this record")
	g.Read.Get(at).Has(200, `{"data": {"type": "dynamic", "contact_count": 1}}`)
}

// TestBulkDeletionJoinsNobody deletes accounts in bulk. Those that would make contacts join an audience fail.
func TestBulkDeletionJoinsNobody(t *testing.T) {
	app := apptest.New(t)
	g := newGuarded(t, app, "Acme", `[{"field": "account_id", "condition": "is_empty"}]`)
	unused := g.Write.Post("/v1/accounts", `{"name": "Hooli"}`).Is(201).ID()
	named := apptest.DynamicAudience(g.Org, "Named", `[{"field": "account_id", "condition": "is_not", "value": "`+id(g.other)+`"}]`)
	ids := []string{id(g.account), id(g.other), unused}
	g.Write.Post("/v1/accounts/bulk", map[string]any{"ids": ids, "set": map[string]any{"notes": "x"}, "force": true}).
		Fails(422, "validation_failed", "force: must be combined with delete")
	run := func(force bool) *apptest.Response {
		op := g.Write.Post("/v1/accounts/bulk", map[string]any{"ids": ids, "delete": true, "force": force}).Is(202).ID()
		app.Work()
		return g.Read.Get("/v1/operations/" + op)
	}
	run(false).Has(200, `{"data": {"status": "completed", "changed": 1, "failed": 2, "problems": [{"code": "in_use"}, {"code": "in_use"}]}}`)
	g.joinsNobody("refused")
	g.Read.Get(named).Has(200, `{"data": {"type": "dynamic", "contact_count": 31}}`)
	ids = ids[:2]
	run(true).Has(200, `{"data": {"status": "completed", "changed": 2, "failed": 0}}`)
	g.joinsNobody("with force")
	g.Read.Get(g.audience).Has(200, `{"data": {"type": "static", "contact_count": 1}}`)
	g.Read.Get(named).Has(200, `{"data": {"type": "static", "contact_count": 31}}`)
}

// TestRestoreJoinsNobody restores contacts without what was deleted meanwhile.
func TestRestoreJoinsNobody(t *testing.T) {
	app := apptest.New(t)
	g := newGuarded(t, app, "Acme", `[{"field": "tags", "condition": "is_empty"}]`)
	for _, contact := range g.customers {
		g.Write.Delete("/v1/contacts/" + contact).Is(204)
	}
	g.Write.Delete(g.tag).Is(204) // no contact has it
	g.Write.Post("/v1/contacts/"+g.customers[0]+"/restore", `{}`).Fails(409, "in_use", `the contact would join the dynamic audience "Leads"`)
	g.joinsNobody("restored")
	lead := g.before[0]
	g.Write.Delete("/v1/contacts/" + lead).Is(204)
	g.Write.Post("/v1/contacts/"+lead+"/restore", `{}`).Is(200)
	g.joinsNobody("who matched before joins again")
	g.Write.Post("/v1/contacts/"+g.customers[0]+"/restore", `{"force": true}`).Is(200)
	g.joinsNobody("with force")
	g.Read.Get(g.audience).Has(200, `{"data": {"type": "static"}}`)
}

// TestFieldChangeJoinsNobody changes custom fields that audiences name.
func TestFieldChangeJoinsNobody(t *testing.T) {
	app := apptest.New(t)
	g := newGuarded(t, app, "Acme", `[{"field": "custom_field_grade", "condition": "is_not", "value": ["a", "b"]}]`)
	g.Admin.Patch(g.field, `{"allowed_values": ["a"]}`).Fails(409, "in_use", `cannot remove "b": the filters of the dynamic audience "Leads" name it`)
	g.Admin.Patch(g.field, `{"allowed_values": ["a", "b", "c"]}`).Is(200)
	g.joinsNobody("a value more")
	g.Admin.Patch(g.field, `{"allowed_values": ["a", "b"]}`).Is(200)
	g.joinsNobody("a value less")
	// A contact in the trash has a value that is not allowed any more when it is restored.
	for _, contact := range g.customers {
		g.Write.Delete("/v1/contacts/" + contact).Is(204)
	}
	g.Write.Patch(g.audience, `{"filters": [{"field": "custom_field_grade", "condition": "is_empty"}]}`).Is(200)
	g.Admin.Patch(g.field, `{"allowed_values": ["b"]}`).Is(200)
	g.Write.Post("/v1/contacts/"+g.customers[0]+"/restore", `{}`).Fails(409, "in_use", "would join")
	g.joinsNobody("restored")
}

// TestManyDeletionJoinsNobody deletes a tag of more contacts than a transaction looks at.
func TestManyDeletionJoinsNobody(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for _, name := range []string{"Many", "More"} {
		org.Write.Post("/v1/tags", `{"name": "`+name+`", "color": "red", "object_type": "contact"}`).Is(201)
	}
	tags := org.Read.Post("/v1/tags/list", `{"sort": "name"}`).Is(200).Column("id")
	contacts := createMany(org, `, "title": "CTO", "tags": ["Many", "More"]`)
	path := apptest.DynamicAudience(org, "Untagged", `[{"field": "tags", "condition": "is_empty"}, {"field": "title", "condition": "is", "value": "CTO"}]`)
	app.Work()
	org.Write.Delete("/v1/tags/" + tags[0]).Is(204) // all have the other
	app.Work()
	holds(t, org, path, 0)
	org.Write.Delete("/v1/tags/"+tags[1]).Fails(409, "in_use", "contacts would join")
	org.Write.Patch("/v1/contacts/"+contacts[0], `{"title": "CEO"}`).Is(200)
	org.Write.Delete("/v1/tags/"+tags[1]).Fails(409, "in_use", "contacts would join")
	holds(t, org, path, 0)
	org.Write.Delete("/v1/tags/" + tags[1] + "?force=true").Is(204)
	app.Work()
	keeps(t, app, org, path, 0)
}
