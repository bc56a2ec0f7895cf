package handlers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"prospector/handlers"
	"prospector/internal/apptest"
)

// access is the access that each operation requires according to the specification. Reading
// requires read access, except for API keys. Administration covers keys, users, fields,
// suppressions, webhook subscriptions and settings of the organization.
var access = map[string]string{
	"get_me": "read", "get_organization": "read", "update_organization": "admin", "list_users": "read", "create_user": "admin", "update_user": "admin", "deactivate_user": "admin", "activate_user": "admin",
	"create_session": "", "redeem_session": "", "list_sessions": "signed_in", "delete_session": "signed_in", "delete_current_session": "signed_in",
	"update_me": "signed_in", "get_preferences": "signed_in", "set_preferences": "signed_in", "invite_user": "admin",
	"list_api_keys": "admin", "create_api_key": "admin", "deactivate_api_key": "admin", "get_schema": "read", "list_indexes": "read",
	"create_account": "write", "get_account": "read", "update_account": "write", "delete_account": "write", "list_accounts": "read",
	"create_contact": "write", "get_contact": "read", "update_contact": "write", "delete_contact": "write", "list_contacts": "read", "update_preview_contact": "write",
	"batch_accounts": "write", "get_account_history": "read", "export_accounts": "read",
	"batch_contacts": "write", "get_contact_history": "read", "export_contacts": "read",
	"create_opportunity": "write", "get_opportunity": "read", "update_opportunity": "write", "delete_opportunity": "write", "list_opportunities": "read",
	"batch_opportunities": "write", "get_opportunity_history": "read", "export_opportunities": "read",
	"create_task": "write", "get_task": "read", "update_task": "write", "delete_task": "write", "list_tasks": "read",
	"batch_tasks": "write", "get_task_history": "read", "export_tasks": "read",
	"create_meeting": "write", "get_meeting": "read", "update_meeting": "write", "delete_meeting": "write", "list_meetings": "read",
	"batch_meetings": "write", "get_meeting_history": "read", "export_meetings": "read",
	"list_accounts_trash": "read", "restore_account": "write", "list_contacts_trash": "read", "restore_contact": "write", "list_opportunities_trash": "read", "restore_opportunity": "write", "list_tasks_trash": "read", "restore_task": "write", "list_meetings_trash": "read", "restore_meeting": "write",
	"list_tags_trash": "read", "restore_tag": "write", "bulk_tags_trash": "write", "list_fields_trash": "read", "restore_field": "admin", "bulk_fields_trash": "admin",
	"list_audiences_trash": "read", "restore_audience": "write", "bulk_audiences_trash": "write", "get_audience_history": "read",
	"list_sequence_templates_trash": "read", "restore_sequence_template": "write", "bulk_sequence_templates_trash": "write", "get_sequence_template_history": "read",
	"list_campaigns_trash": "read", "restore_campaign": "write", "bulk_campaigns_trash": "write", "get_campaign_history": "read",
	"search":        "read",
	"bulk_accounts": "write", "bulk_contacts": "write", "bulk_opportunities": "write", "bulk_tasks": "write", "bulk_meetings": "write",
	"get_operation": "read", "list_operations": "read", "cancel_operation": "write", "undo_operation": "write",
	"bulk_accounts_trash": "write", "bulk_contacts_trash": "write", "bulk_opportunities_trash": "write", "bulk_tasks_trash": "write", "bulk_meetings_trash": "write",
	"facet_accounts": "read", "facet_contacts": "read", "facet_opportunities": "read", "facet_tasks": "read", "facet_meetings": "read",
	"find_duplicate_contacts": "read", "find_duplicate_accounts": "read", "merge_contacts": "write", "merge_accounts": "write",
	"dismiss_duplicate_contacts": "write", "dismiss_duplicate_accounts": "write", "merge_duplicate_contacts": "write", "merge_duplicate_accounts": "write", "create_erasure": "admin",
	"create_view": "write", "get_view": "read", "update_view": "write", "delete_view": "write", "list_views": "read",
	"create_account_view": "write", "get_account_view": "read", "update_account_view": "write", "delete_account_view": "write", "list_account_views": "read",
	"create_field": "admin", "list_fields": "read", "update_field": "admin", "delete_field": "admin",
	"list_companies": "read", "list_people": "read",
	"create_suppression": "admin", "delete_suppression": "admin", "list_suppressions": "read",
	"create_tag": "write", "get_tag": "read", "update_tag": "write", "delete_tag": "write", "list_tags": "read",
	"estimate_tam_preview": "read", "prepare_tam_preview": "write", "get_tam_import_preview": "read", "list_tam_preview_members": "read",
	"exclude_tam_preview_members": "write", "cancel_tam_preview": "write", "delete_tam_preview": "write", "list_tam_previews": "read",
	"import_tam_preview": "write", "get_tam_import": "read", "list_tam_imports": "read", "get_tam_import_balance": "read",
	"list_webhook_triggers": "read", "create_webhook_subscription": "admin", "get_webhook_subscription": "read", "update_webhook_subscription": "admin",
	"delete_webhook_subscription": "admin", "list_webhook_subscriptions": "read", "rotate_webhook_secret": "admin", "test_webhook_subscription": "admin",
	"list_webhook_deliveries": "read", "list_all_webhook_deliveries": "read", "facet_webhook_deliveries": "read", "export_webhook_deliveries": "read", "redeliver_webhook": "admin", "redeliver_failed_webhooks": "admin",
	"create_audience": "write", "get_audience": "read", "update_audience": "write", "delete_audience": "write", "list_audiences": "read",
	"list_audience_contacts": "read", "add_audience_contacts": "write", "remove_audience_contacts": "write",
	"create_sequence_template": "write", "get_sequence_template": "read", "update_sequence_template": "write", "delete_sequence_template": "write",
	"list_sequence_templates": "read", "render_sequence_template": "read", "render_template_draft": "read", "test_template_draft": "write",
	"create_campaign": "write", "get_campaign": "read", "update_campaign": "write", "delete_campaign": "write", "list_campaigns": "read", "enroll_campaign": "write",
	"add_campaign_audiences": "write", "remove_campaign_audiences": "write", "get_campaign_stats": "read", "simulate_campaign": "read",
	"list_campaign_sequences": "read", "stop_campaign_sequence": "write", "list_outbox": "read", "get_unsubscribe_page": "", "unsubscribe": "",
	"release_campaign": "write", "restart_campaign": "write", "admit_campaign": "write",
	"correct_campaign_template": "write", "reopen_campaign": "write", "clone_campaign": "write",
	"stop_sequence": "write", "skip_sequence_step": "write", "postpone_sequence": "write", "restart_sequence": "write", "retry_campaign": "write", "reply_contact": "write", "list_sequences": "read", "export_sequences": "read",
	"export_outbox": "read", "get_planned_sends": "read", "get_contact_timeline": "read", "get_mail_status": "write", "test_mail": "admin",
	"create_import": "write", "inspect_import": "read", "get_import": "read", "list_imports": "read", "cancel_import": "write", "get_import_rejects": "read",
	"get_tag_uses": "read", "get_account_uses": "read", "get_field_uses": "read", "get_audience_uses": "read", "get_sequence_template_uses": "read",
	"get_view_uses": "read", "get_account_view_uses": "read", "get_user_uses": "read",
	"get_health": "", "get_readiness": "", "get_openapi": "", "get_docs": "", "get_docs_page": "", "get_metrics": "",
}

func TestAccess(t *testing.T) {
	app := apptest.New(t)
	ops := app.API.Operations()
	for _, op := range ops {
		if want, known := access[op.Name]; !known || string(op.Access) != want {
			t.Errorf("%s requires %q, the specification says %q", op.Name, op.Access, want)
		}
	}
	if len(ops) != len(access) {
		t.Errorf("%d operations, the contract has %d", len(ops), len(access))
	}
}

// TestOpenAPI checks that the API document is as strict as the service, which successful requests
// cannot show.
func TestOpenAPI(t *testing.T) {
	app := apptest.New(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Security   *[]any
			Parameters []struct {
				Name, In string
				Required bool
			}
			RequestBody *struct {
				Required bool
				Content  map[string]struct {
					Schema struct {
						Ref        string `json:"$ref"`
						Additional any    `json:"additionalProperties"`
					}
				}
			}
			Responses map[string]struct {
				Headers map[string]any
				Codes   []string `json:"x-error-codes"`
			}
		}
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal(app.Anonymous().Get("/openapi.json").Is(200).Body, &doc); err != nil {
		t.Fatal(err)
	}
	for _, op := range app.API.Operations() {
		d := doc.Paths[op.Path][strings.ToLower(op.Method)]
		public := op.Access == handlers.Public
		if public != (d.Security != nil && len(*d.Security) == 0) {
			t.Errorf("%s: security is %v", op.Name, d.Security)
		}
		has := func(in, name string) bool {
			for _, p := range d.Parameters {
				if p.In == in && p.Name == name {
					return p.Required == (in == "path")
				}
			}
			return false
		}
		changes := (op.Method == "PATCH" || op.Method == "DELETE") && op.Access != handlers.SignedIn                                        // sessions have no version
		writesByPost := op.Method == "POST" && op.Access != "read" && !public && op.Name != "test_mail" && op.Name != "test_template_draft" // which write nothing
		if has("header", "If-Match") != changes || has("header", "Idempotency-Key") != writesByPost {
			t.Errorf("%s: parameters %v", op.Name, d.Parameters)
		}
		for segment := range strings.SplitSeq(op.Path, "/") {
			if name, is := strings.CutPrefix(segment, "{"); is && !has("path", strings.TrimSuffix(name, "}")) {
				t.Errorf("%s: parameters %v", op.Name, d.Parameters)
			}
		}
		if !public {
			for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
				if d.Responses["429"].Headers[header] == nil {
					t.Errorf("%s: 429 has no header %s", op.Name, header)
				}
			}
			if !slices.Equal(d.Responses["401"].Codes, []string{"unauthorized"}) {
				t.Errorf("%s: 401 has %v", op.Name, d.Responses["401"].Codes)
			}
		}
		signsIn := public && strings.HasPrefix(op.Path, "/v1/")
		if takesBody := (!public || signsIn) && (op.Method == "POST" || op.Method == "PUT" || op.Method == "PATCH"); takesBody != (d.RequestBody != nil) {
			t.Errorf("%s: body %v", op.Name, d.RequestBody)
		} else if takesBody && d.RequestBody.Content["multipart/form-data"].Schema.Additional == false {
			continue // its options are a component, which is tested with those of other operations
		} else if takesBody {
			schema := doc.Components.Schemas[strings.TrimPrefix(d.RequestBody.Content["application/json"].Schema.Ref, "#/components/schemas/")]
			if schema["additionalProperties"] != false && schema["propertyNames"] == nil {
				t.Errorf("%s: the request body accepts additional properties", op.Name)
			}
		}
	}
	schema := func(name string) map[string]any { return doc.Components.Schemas[name] }
	for _, c := range []struct{ got, want string }{
		{apptest.AsJSON(schema("TagCreate"), "required"), `["name","color","object_type"]`},
		{apptest.AsJSON(schema("AccountCreate"), "required"), `["name"]`},
		{apptest.AsJSON(schema("FilterRule"), "required"), `["field","condition"]`},
		{apptest.AsJSON(schema("FilterExpression"), "required"), `["filters"]`},
		{apptest.AsJSON(schema("FilterExpression"), "additionalProperties"), "false"},
		{apptest.AsJSON(schema("FilterExpression")["properties"], "filters"), `{"$ref":"#/components/schemas/FilterList"}`},
		{apptest.AsJSON(schema("FilterList")), `{"items":{"$ref":"#/components/schemas/Filter"},"type":"array"}`},
		{apptest.AsJSON(schema("Filter")), `{"oneOf":[{"$ref":"#/components/schemas/FilterRule"},{"$ref":"#/components/schemas/FilterExpression"}]}`},
		{apptest.AsJSON(schema("Filters"), "oneOf"), `[{"$ref":"#/components/schemas/FilterList"},{"$ref":"#/components/schemas/FilterExpression"}]`},
		{apptest.AsJSON(schema("ListBody")["properties"], "page_size"), `{"anyOf":[{"default":50,"maximum":500,"minimum":1,"type":"integer"},{"type":"null"}],"description":"The number of entries per page."}`},
		{apptest.AsJSON(schema("TagCreate")["properties"], "name"), `{"maxLength":100,"minLength":1,"pattern":"^[a-zA-Z0-9 ]+$","type":"string"}`},
		{apptest.AsJSON(schema("AccountUpdate")["properties"], "employee_count"), `{"maximum":9007199254740992,"minimum":0,"type":["integer","null"]}`},
		{apptest.AsJSON(schema("OrganizationUpdate")["properties"], "time_zone"), `{"maxLength":64,"type":["string","null"]}`},
		{apptest.AsJSON(schema("Contact")["properties"], "account_id"), `{"format":"uuid","type":["string","null"]}`},
		{apptest.AsJSON(schema("Scoring")["properties"], "heat_score"), `{"anyOf":[{"enum":["hot","warm","cold"],"type":"string"},{"type":"null"}]}`},
		{apptest.AsJSON(schema("ScoringUpdate")["properties"], "heat_score"), `{"anyOf":[{"enum":["hot","warm","cold"],"type":"string"},{"type":"null"}]}`},
		{apptest.AsJSON(schema("TaskCreate")["properties"], "due_at"), `{"format":"date-time","type":["string","null"]}`},
		{apptest.AsJSON(len(schema("Contact")["required"].([]any))), apptest.AsJSON(len(apptest.Object(apptest.Record("contacts", `{}`))))},
	} {
		if c.got != c.want {
			t.Errorf("the document contains %s, want %s", c.got, c.want)
		}
	}
}
