package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// TestOpenAPIForm checks the form of the API document against the requirements of linters and code
// generators.
func TestOpenAPIForm(t *testing.T) {
	type item = map[string]struct {
		OperationID, Summary, Description string
		Tags                              []string
		Parameters                        []struct{ Name, Description string }
		Responses                         map[string]struct {
			Description string
			Headers     map[string]struct{ Description string }
		}
	}
	var doc struct {
		Info            struct{ Title, Version, Description string }
		Tags            []struct{ Name, Description string }
		Paths, Webhooks map[string]item
	}
	readDocument(t, &doc)
	if doc.Info.Title == "" || doc.Info.Version != "1.0.0" || doc.Info.Description == "" {
		t.Errorf("unexpected info: %+v", doc.Info)
	}

	filed, ids := map[string]int{}, map[string]string{}
	items := maps.Clone(doc.Paths)
	maps.Copy(items, doc.Webhooks)
	for path, methods := range items {
		for method, op := range methods {
			what := method + " " + path
			if other, twice := ids[op.OperationID]; twice || op.OperationID == "" {
				t.Errorf("%s and %q share the operation id %q", what, other, op.OperationID)
			}
			ids[op.OperationID] = what
			if op.Summary == "" || op.Description == "" || strings.HasSuffix(op.Summary, ".") {
				t.Errorf("%s has the summary %q and the description %q", what, op.Summary, op.Description)
			}
			if len(op.Tags) != 1 {
				t.Errorf("%s has the tags %v, want one", what, op.Tags)
			}
			for _, tag := range op.Tags {
				filed[tag]++
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s: the parameter %s has no description", what, p.Name)
				}
			}
			refused := false
			for status, r := range op.Responses {
				refused = refused || status[0] == '4'
				if r.Description == "" {
					t.Errorf("%s: the response %s has no description", what, status)
				}
				for name, h := range r.Headers {
					if h.Description == "" {
						t.Errorf("%s: the header %s has no description", what, name)
					}
				}
			}
			if !refused && (strings.HasPrefix(path, "/v1/") || path[0] != '/') {
				t.Errorf("%s has no response 4xx", what)
			}
		}
	}
	for _, tag := range doc.Tags {
		if filed[tag.Name] == 0 || tag.Description == "" {
			t.Errorf("the group %q has %d operations and the description %q", tag.Name, filed[tag.Name], tag.Description)
		}
		delete(filed, tag.Name)
	}
	if len(filed) > 0 {
		t.Errorf("operations use the groups %v: add the missing one to groups", slices.Sorted(maps.Keys(filed)))
	}
}

// readDocument decodes the API document into the given value, and returns its raw JSON.
func readDocument(t *testing.T, into any) string {
	t.Helper()
	raw := apptest.New(t).Anonymous().Get("/openapi.json").Is(200).Body
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestOpenAPIForGenerators checks what code generators need of the schemas. A property that has a default
// itself is required in a client of openapi-typescript, and "" in an enum becomes a value of its type.
func TestOpenAPIForGenerators(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]map[string]any }
		}
	}
	raw := readDocument(t, &doc)
	for name, s := range doc.Components.Schemas {
		for key, property := range s.Properties {
			if property["default"] != nil {
				t.Errorf("%s.%s has a default itself", name, key)
			}
		}
	}
	if enums := regexp.MustCompile(`"enum":\[[^\]]*""[^\]]*\]`).FindAllString(raw, -1); enums != nil {
		t.Errorf("enums contain the empty string: %v", enums)
	}
	if !strings.Contains(raw, `"enum":["asc","desc"],"default":"asc"`) {
		t.Error("the document has no defaults")
	}
	code := doc.Components.Schemas["ErrorBody"].Properties["code"]["description"].(string)
	for _, known := range []string{"method_not_allowed", "not_found", "internal"} {
		if !strings.Contains(code, "`"+known+"`") {
			t.Errorf("the description of error codes does not contain %s: %s", known, code)
		}
	}
}

func TestOpenAPIReferences(t *testing.T) {
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	raw := readDocument(t, &doc)
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(raw, -1) {
		name, ours := strings.CutPrefix(m[1], "#/components/schemas/")
		if doc.Components.Schemas[name] == nil || !ours {
			t.Errorf("the reference %s does not resolve", m[1])
		}
		used[name] = true
	}
	for name := range doc.Components.Schemas {
		if !used[name] {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
}

// TestCustomNames checks which names of custom fields the inputs accept. For code generators these
// inputs are open.
func TestCustomNames(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties        map[string]any
				PatternProperties map[string]any
				PropertyNames     *struct{ Pattern string }
			}
		}
	}
	readDocument(t, &doc)
	inputs := 0
	for name, s := range doc.Components.Schemas {
		if s.PropertyNames == nil {
			if input := strings.HasSuffix(name, "Create") || strings.HasSuffix(name, "Update"); input && s.PatternProperties != nil {
				t.Errorf("%s accepts additional properties", name)
			}
			continue
		}
		inputs++
		names := regexp.MustCompile(s.PropertyNames.Pattern)
		for _, key := range append(slices.Collect(maps.Keys(s.Properties)), "custom_field_tier") {
			if !names.MatchString(key) {
				t.Errorf("%s does not accept %s", name, key)
			}
		}
		for _, key := range []string{"", "titel", "custom_field_", "custom_field_Tier", "custom_field_tier ", "tags2", "xtags"} {
			if names.MatchString(key) {
				t.Errorf("%s accepts %q", name, key)
			}
		}
	}
	if inputs != 2*5 {
		t.Errorf("%d inputs take custom fields, want those of five entities", inputs)
	}
}

// TestOpenAPIExamples validates every example in the document against its schema: of requests, responses, events,
// parameters, headers and schemas.
func TestOpenAPIExamples(t *testing.T) {
	app := apptest.New(t)
	open := apptest.Object(string(app.Anonymous().Get("/openapi.json").Is(200).Body))
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	const url = "https://prospector.example/openapi.json"
	if err := compiler.AddResource(url, open); err != nil {
		t.Fatal(err)
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	checked := map[string]int{} // by the part of the document
	check := func(at string, example any) {
		schema, err := compiler.Compile(url + "#" + at)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(example); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		checked[strings.Split(at, "/")[1]]++
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for i, item := range v {
				walk(fmt.Sprint(at, "/", i), item)
			}
		case map[string]any:
			isProperties := strings.HasSuffix(at, "/properties")    // whose members are names of fields
			if example, has := v["example"]; has && !isProperties { // of a body, a parameter or a header
				check(at+"/schema", example)
			}
			if examples, isList := v["examples"].([]any); isList && !isProperties { // of a schema
				for _, example := range examples {
					check(at, example)
				}
			}
			for key, member := range v {
				if isProperties || key != "example" && key != "examples" {
					walk(at+"/"+escape.Replace(key), member)
				}
			}
		}
	}
	walk("", open)
	for part, least := range map[string]int{"paths": 30, "webhooks": 40} {
		if checked[part] < least {
			t.Errorf("there are %d examples under %s", checked[part], part)
		}
	}
}

// eventSchemas returns the strict schema of the event of each trigger. It validates the examples
// against them, and against those that the service returns.
func eventSchemas(t *testing.T, app *apptest.App, org *apptest.Org) map[string]*jsonschema.Schema {
	t.Helper()
	var doc struct {
		Webhooks map[string]map[string]struct {
			OperationID, Summary string
			RequestBody          struct {
				Required bool
				Content  map[string]struct{ Example json.RawMessage }
			}
		}
	}
	raw := app.Anonymous().Get("/openapi.json").Is(200).Body
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	open := apptest.Object(string(raw))
	for _, s := range open["components"].(map[string]any)["schemas"].(map[string]any) {
		if schema := s.(map[string]any); schema["properties"] != nil && schema["additionalProperties"] == nil {
			schema["additionalProperties"] = false
		}
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("https://prospector.example/openapi.json", open); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, tr := range org.Read.Get("/v1/webhooks/triggers").Is(200).Value("data").([]any) {
		key := tr.(map[string]any)["key"].(string)
		post := doc.Webhooks[key]["post"]
		schema, err := compiler.Compile("https://prospector.example/openapi.json#/webhooks/" + key + "/post/requestBody/content/application~1json/schema")
		if err != nil {
			t.Fatal(err)
		}
		schemas[key] = schema
		if post.OperationID == "" || post.Summary == "" || !post.RequestBody.Required {
			t.Errorf("%s: %+v", key, post)
		}
		if diff := apptest.Diff(apptest.Encoded(t, tr.(map[string]any)["example"]), string(post.RequestBody.Content["application/json"].Example)); diff != "" {
			t.Errorf("the examples of %s differ: %s", key, diff)
		}
		conforms(t, schema, string(post.RequestBody.Content["application/json"].Example))
	}
	if len(schemas) != len(doc.Webhooks) {
		t.Errorf("%d triggers, the document has %d", len(schemas), len(doc.Webhooks))
	}
	return schemas
}

func conforms(t *testing.T, schema *jsonschema.Schema, text string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s\nis not as the document has it: %v", text, err)
	}
}

// deliversMail restarts an app without a mail server with one, which holds the campaigns that captured
// messages. It releases one of them, and then sends a message, one that bounces and one whose delivery is
// unknown.
func deliversMail(t *testing.T, app *apptest.App, org *apptest.Org) {
	t.Helper()
	server := apptest.NewMailServer(t)
	app.Stop()
	server.Settings(&app.Config)
	app.Start()
	for _, id := range org.Read.Post("/v1/campaigns/list", `{"filters": [{"field": "name", "condition": "is", "value": "Mail"}]}`).Is(200).Column("id") {
		org.Write.Post("/v1/campaigns/"+id+"/release", `{"captured": "keep"}`)
	}
	for _, reply := range []func(stage, to string) string{
		nil, apptest.Answering(apptest.MailContent, apptest.MailDrop), apptest.Answering("RCPT", "550 5.1.1 no such user"),
	} {
		server.Reply(reply)
		template := org.Write.Post("/v1/sequence-templates", examples["create_sequence_template"]).Is(201).ID()
		audience := org.Write.Post("/v1/audiences", map[string]any{"name": "Audience " + uuid.NewString(), "contact_ids": []string{apptest.Makers["contacts"](org)}}).Is(201).ID()
		org.Write.Post("/v1/campaigns", map[string]any{
			"name": "Sent", "status": "active", "template_id": template, "audience_ids": []string{audience}, "missing_values": "send",
		}).Is(201)
		app.Work()
		app.Sequences.Wait()
	}
}

// fileImports makes an import that is completed, one that is cancelled, and one that fails because its file is gone.
func fileImports(t *testing.T, app *apptest.App, org *apptest.Org) {
	t.Helper()
	apptest.Makers["imports"](org)
	app.Work()
	org.Write.Post("/v1/imports/"+apptest.Makers["imports"](org)+"/cancel", nil).Is(200)
	apptest.Makers["imports"](org)
	if err := os.RemoveAll(app.Config.ImportDir()); err != nil {
		t.Fatal(err)
	}
	app.Work()
}

// TestOpenAPIEvents validates delivered events against the document.
func TestOpenAPIEvents(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	schemas := eventSchemas(t, app, org)
	rec := apptest.NewReceiver(t)
	hook := rec.Subscribe(org, "*")
	apptest.ReadyPreview(org, `{}`) // the catalog is empty
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	org.Write.Post(apptest.PreviewsPath+"/"+apptest.AskedPreview(org, `{}`)+"/cancel", nil).Is(200)
	apptest.RunImport(t, org, apptest.ReadyPreview(org, `{}`))
	fileImports(t, app, org)
	apptest.NewField(org, "contacts", "tier", "text", "")
	for entity, update := range map[string]string{"accounts": `{"notes": "n"}`, "contacts": `{"do_not_contact": true, "custom_field_tier": "gold"}`, "opportunities": `{"amount": 1.5}`, "tasks": `{"status": "completed"}`,
		"meetings": `{"ends_at": "2026-04-01T13:00:00Z"}`, "tags": `{"color": "blue"}`, "audiences": `{"status": "archived"}`, "sequence-templates": `{"status": "INACTIVE"}`} {
		at := "/v1/" + entity + "/" + apptest.Makers[entity](org)
		org.Write.Do(http.MethodPatch, at, update).Is(200)
		org.Write.Delete(at).Is(204)
		if _, restores := access["list_"+strings.ReplaceAll(entity, "-", "_")+"_trash"]; restores {
			org.Write.Post(at+"/restore", `{}`).Is(200)
		}
	}
	for _, id := range org.Read.Post("/v1/suppressions/list", nil).Is(200).Column("id") { // of the contact who opted out
		org.Admin.Delete("/v1/suppressions/" + id).Is(204)
	}
	campaign := "/v1/campaigns/" + apptest.Makers["drafts"](org)
	for _, update := range []string{`{"prioritized": true}`, `{"status": "active"}`, `{"status": "paused"}`, `{"status": "completed"}`, `{"status": "archived"}`} {
		org.Write.Do(http.MethodPatch, campaign, update).Is(200)
	}
	org.Write.Delete(campaign).Is(204)
	org.Write.Post(campaign+"/restore", `{}`).Is(200)
	newToken(org)
	running := apptest.Makers["campaigns"](org)
	org.Write.Post("/v1/campaigns/"+running+"/sequences/"+begin(org, running)+"/stop", `{"reason": "replied"}`).Is(200)
	app.LinkBase = "nowhere" // no message can contain such a link
	newToken(org)
	newcomerCampaign(app, org)
	deliversMail(t, app, org)
	apptest.AttemptDelivery(app, org, hook)
	var attempts []string
	for _, page := range []string{"1", "2"} {
		attempts = append(attempts, org.Read.Get(apptest.SubscriptionsPath+"/"+hook+"/deliveries?page_size=100&page="+page).Is(200).Column("id")...)
	}
	for _, attempt := range attempts {
		org.Admin.Post(apptest.SubscriptionsPath+"/"+hook+"/deliveries/"+attempt+"/redeliver", nil).Is(202)
	}
	app.Deliver()
	times := map[string]int{}
	for _, h := range rec.Take() {
		key := h.Event(t).TriggerKey
		times[key]++
		conforms(t, schemas[key], h.Body)
	}
	delete(schemas, "tam_import.failed") // tested by TestWebhookFailedImport
	for key := range schemas {
		if times[key] < 2 {
			t.Errorf("%s arrived %d times", key, times[key])
		}
	}
}
