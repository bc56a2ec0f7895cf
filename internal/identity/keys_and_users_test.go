package identity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestMe(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Read.Get("/v1/me").Is(200, fmt.Sprintf(`{"data": {"org_id": %q, "user_id": %q, "user_email": "ada@acme.example", "user_first_name": "Ada",
		"user_last_name": "Marsh", "org_name": "Acme", "access": "read"}, "meta": {"timestamp": "2026-03-02T09:00:00.000Z"}}`, org.ID, org.User))
}

func TestAuthentication(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	nobody, key := app.Anonymous(), org.Read.Key
	denied := `{"detail": "a valid API key is required"}`
	wrong := key[:len(key)-1] + "x"
	if strings.HasSuffix(key, "x") {
		wrong = key[:len(key)-1] + "y"
	}
	for _, header := range []string{"Bearer " + wrong, "Bearer", "Bearer ", key, "Basic " + key, "Bearer " + key + "a", "Bearer pro_", "Token x"} {
		res := nobody.Do("GET", "/v1/me", nil, "Authorization", header).Is(401, denied)
		if res.Header.Get("Www-Authenticate") != "Bearer" || res.Header.Get("X-RateLimit-Limit") != "" {
			t.Error(header, res.Header)
		}
	}
	nobody.Do("GET", "/v1/me", nil, "Authorization", "bearer "+key).Is(200)
	nobody.Do("GET", "/v1/me", nil, "X-Prospector-Api-Key", key).Is(200)
	nobody.Do("GET", "/v1/me", nil, "X-Prospector-Api-Key", wrong).Is(401, denied)
	nobody.Do("GET", "/v1/me", nil, "X-Prospector-Api-Key", key, "Authorization", "Bearer "+wrong).Is(401, denied)
	nobody.Do("GET", "/v1/me", nil, "X-Prospector-Api-Key", wrong, "Authorization", "Bearer "+key).Is(200)
}

func TestKeys(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	grace := org.Admin.Post("/v1/users", `{"email": "grace@acme.example"}`).Is(201).ID()

	made := org.Admin.Post("/v1/api-keys", `{"name": "sync"}`).Is(201, fmt.Sprintf(`{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>",
		"name": "sync", "user_id": %q, "access": "write", "active": true, "expires_at": null, "deactivated_at": null, "last_used_at": null, "key": "<any>"},
		"meta": {"timestamp": "<time>"}}`, org.User))
	key := made.Text("data.key")
	if len(key) != 52 || !strings.HasPrefix(key, "pro_") || strings.Trim(key[4:], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		t.Errorf("unexpected key %q", key)
	}
	as := func(key, path string) *apptest.Response {
		return app.Anonymous().Do("GET", path, nil, "Authorization", "Bearer "+key)
	}
	as(key, "/v1/me").Is(200)
	as(key, "/v1/api-keys").Fails(403, "forbidden", "admin")
	graces := org.Admin.Post("/v1/api-keys", fmt.Sprintf(`{"name": "hers", "user_id": %q, "access": "read", "expires_at": "2026-03-02T10:00:00Z"}`, grace)).Is(201)
	if as(graces.Text("data.key"), "/v1/me").Is(200).Text("data.user_id") != grace {
		t.Error("the key does not act for its user")
	}

	// A key created without a user acts for the user who created it. Times are truncated to
	// milliseconds.
	hers := org.Admin.Post("/v1/api-keys", fmt.Sprintf(`{"name": "root", "user_id": %q, "access": "admin"}`, grace)).Is(201).Text("data.key")
	byHer := app.Anonymous().Do("POST", "/v1/api-keys", `{"name": "made", "expires_at": "2026-03-02T12:00:00.9999+01:00"}`, "Authorization", "Bearer "+hers).Is(201)
	if byHer.Text("data.user_id") != grace || byHer.Text("data.expires_at") != "2026-03-02T11:00:00.999Z" {
		t.Error(string(byHer.Body))
	}
	for body, message := range map[string]string{
		`{}`:                             "name: required",
		`{"name": "x", "access": "all"}`: "access: \"all\" is not one of: read, write, admin",
		`{"name": "x", "key": "pro_x"}`:  "key: unknown field",
		`{"name": "x", "active": false}`: "active: read-only field",
		`{"name": "x", "expires_at": "2026-03-02T09:00:00Z"}`:             "expires_at: must be in the future",
		`{"name": "x", "expires_at": "tomorrow"}`:                         "expires_at: \"tomorrow\" is not a time such as",
		fmt.Sprintf(`{"name": "x", "user_id": %q}`, other.User):           "user_id: does not exist",
		`{"name": "x", "user_id": "1"}`:                                   "user_id: \"1\" is not a UUID",
		`{"name": "` + strings.Repeat("x", 256) + `"}`:                    "name: must be at most 255 characters",
		`{"name": "x", "expires_at": "2026-03-02T09:00:00"}`:              "expires_at: \"2026-03-02T09:00:00\" is not a time",
		`{"name": "x", "expires_at": "9999-12-31T23:59:59-01:00"}`:        "years 0 to 9999",
		`{"name": "x", "expires_at": "2026-02-30T09:00:00Z"}`:             "expires_at: \"2026-02-30T09:00:00Z\" is not a time",
		`{"name": "x", "last_used_at": "2026-03-02T09:00:00Z", "id": ""}`: "last_used_at: read-only field",
	} {
		t.Run(message, func(t *testing.T) {
			org.Admin.In(t).Post("/v1/api-keys", body).Fails(422, "validation_failed", message)
		})
	}

	// No other response and no other place contains the plaintext.
	list := org.Admin.Get("/v1/api-keys").Is(200)
	if n := list.Int("pagination.total_count"); n != 7 || list.Int("pagination.total_pages") != 1 || list.Int("pagination.page_size") != 7 {
		t.Error(string(list.Body))
	}
	if strings.Contains(string(list.Body), key) || strings.Contains(org.Dump(), key) || strings.Contains(string(list.Body), "hash") {
		t.Error("a key is stored in plain text")
	}
	if used := list.Column("last_used_at"); !slices.Contains(used, "2026-03-02T09:00:00.000Z") {
		t.Error("no key was ever used", used)
	}

	// It ends immediately and permanently, as does an expired one.
	id := made.ID()
	off := org.Admin.Post("/v1/api-keys/"+id+"/deactivate", nil).Is(200)
	if off.Value("data.active") != false || off.Text("data.deactivated_at") != "2026-03-02T09:00:00.000Z" || off.Text("data.last_used_at") == "" {
		t.Error(string(off.Body))
	}
	as(key, "/v1/me").Is(401)
	app.Clock.Advance(time.Hour)
	again := org.Admin.Post("/v1/api-keys/"+id+"/deactivate", nil).Is(200)
	if again.Text("data.deactivated_at") != off.Text("data.deactivated_at") {
		t.Error(string(again.Body))
	}
	as(graces.Text("data.key"), "/v1/me").Is(401)
}

// TestKeyReplayedWithoutPlaintext checks that a replayed creation returns the same key without its
// plaintext, which is not stored anywhere.
func TestKeyReplayedWithoutPlaintext(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	first := org.Admin.Do("POST", "/v1/api-keys", `{"name": "sync"}`, "Idempotency-Key", "a").Is(201)
	again := org.Admin.Do("POST", "/v1/api-keys", `{"name": "sync"}`, "Idempotency-Key", "a").Is(201)
	if again.ID() != first.ID() || strings.Contains(string(again.Body), "pro_") || strings.Contains(org.Dump(), first.Text("data.key")) {
		t.Error(string(again.Body))
	}
}

func TestUsers(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Admin.Post("/v1/users", `{"email": "grace@acme.example", "title": "CTO"}`).Is(201, `{"data": {"id": "<id>", "created_at": "<time>",
		"updated_at": "<time>", "email": "grace@acme.example", "first_name": null, "last_name": null, "title": "CTO", "access": "write", "active": true, "last_seen_at": null}, "meta": {"timestamp": "<time>"}}`).ID()
	org.Admin.Patch("/v1/users/"+id, `{"first_name": "Grace", "email": "g@acme.example"}`).Is(200)
	org.Admin.Patch("/v1/users/"+id, `{"email": null}`).Fails(422, "validation_failed", "email: required")
	org.Admin.Post("/v1/users", `{"email": "nobody"}`).Fails(422, "validation_failed", "email: \"nobody\" is not an email address")
	for unit, long := range map[string]string{"characters": strings.Repeat("g", 245), "bytes": strings.Repeat("ü", 123)} {
		body := `{"email": "` + long + `@x.example"}`
		org.Admin.Post("/v1/users", body).Fails(422, "validation_failed", "email: must be at most 254 "+unit)
		org.Admin.Patch("/v1/users/"+id, body).Fails(422, "validation_failed", "email: must be at most 254 "+unit)
	}
	longest := org.Admin.Post("/v1/users", `{"email": "`+strings.Repeat("g", 244)+`@x.example"}`).Is(201).Text("data.email")
	org.Admin.Post("/v1/users", `{"first_name": "Grace"}`).Fails(422, "validation_failed", "email: required")
	if got := org.Read.Get("/v1/users").Is(200).Column("email"); !slices.Equal(got, []string{"ada@acme.example", "g@acme.example", longest}) {
		t.Error(got)
	}
}

func TestOrganization(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Read.Get("/v1/organization").Is(200, fmt.Sprintf(`{"data": {"id": %q, "created_at": "<time>", "updated_at": "<time>", "name": "Acme",
		"time_zone": "UTC", "business_days": [1, 2, 3, 4, 5], "holidays": [], "sending_window": {"from_hour": 0, "to_hour": 24},
		"postal_address": null, "mail_footer": "{{organization.name}}\n{{organization.postal_address}}\nUnsubscribe: {{unsubscribe_url}}", "sender_domains": [], "billing_mode": "platform",
		"limits": {"rate_limit_per_minute": null, "accounts_per_month": null, "contacts_per_month": null}}, "meta": {"timestamp": "<time>"}}`, org.ID))
	changed := org.Admin.Patch("/v1/organization", `{"name": "Acme GmbH", "time_zone": "Europe/Berlin", "business_days": [1, 2, 6], "holidays": ["2026-12-25", "2026-01-01"],
		"sending_window": {"from_hour": 8, "to_hour": 18}}`).Is(200)
	if changed.Text("data.name") != "Acme GmbH" || changed.Int("data.sending_window.to_hour") != 18 || changed.Int("data.business_days.2") != 6 {
		t.Error(string(changed.Body))
	}
	// Absent nested fields stay unchanged; null restores the default.
	if got := org.Admin.Patch("/v1/organization", `{"sending_window": {"from_hour": 9}}`).Is(200); got.Int("data.sending_window.to_hour") != 18 {
		t.Error(string(got.Body))
	}
	reset := org.Admin.Patch("/v1/organization", `{"sending_window": null, "business_days": null, "time_zone": null, "holidays": null}`).Is(200)
	if reset.Int("data.sending_window.from_hour") != 8 || reset.Int("data.sending_window.to_hour") != 18 || len(reset.Value("data.business_days").([]any)) != 5 || reset.Text("data.time_zone") != "UTC" || len(reset.Value("data.holidays").([]any)) != 0 {
		t.Error(string(reset.Body))
	}
	if got := org.Admin.Patch("/v1/organization", `{"time_zone": ""}`).Is(200).Text("data.time_zone"); got != "UTC" {
		t.Errorf("an empty time zone is %q", got)
	}
	for body, message := range map[string]string{
		`{"time_zone": "Mars/Olympus"}`:                           "time_zone: \"Mars/Olympus\" is not an IANA time zone",
		`{"time_zone": "posixrules"}`:                             "time_zone: \"posixrules\" is not an IANA time zone",
		`{"time_zone": "right/UTC"}`:                              "time_zone: \"right/UTC\" is not an IANA time zone",
		`{"business_days": [1, 2, 3, 4, 5, 6, 7, 1]}`:             "business_days: must have at most 7 entries",
		`{"time_zone": "Local"}`:                                  "time_zone: \"Local\" is not an IANA time zone",
		`{"business_days": [0]}`:                                  "business_days[0]: must be between 1 and 7",
		`{"business_days": [1, 8]}`:                               "business_days[1]: must be between 1 and 7",
		`{"business_days": [1.5]}`:                                "business_days[0]: 1.5 is not an integer",
		`{"holidays": ["25.12.2026"]}`:                            "holidays[0]: \"25.12.2026\" is not a date",
		`{"holidays": ["2026-02-30"]}`:                            "holidays[0]: \"2026-02-30\" is not a date",
		`{"sending_window": {"from_hour": 18, "to_hour": 18}}`:    "sending_window.from_hour: must differ from to_hour",
		`{"sending_window": {"to_hour": 25}}`:                     "sending_window.to_hour: must be between 1 and 24",
		`{"sending_window": {"from_hour": -1}}`:                   "sending_window.from_hour: must be between 0 and 23",
		`{"limits": {"accounts_per_month": 5}}`:                   "limits: read-only field",
		`{"billing_mode": "usage_based"}`:                         "billing_mode: read-only field",
		`{"sender_domains": ["acme.example"]}`:                    "sender_domains: read-only field",
		`{"postal_address": "` + strings.Repeat("x", 1001) + `"}`: "postal_address: must be at most 1000 characters",
		`{"name": ""}`:                                            "name: required",
		`{"name": "  "}`:                                          "name: must not be blank",
		`{"id": "` + org.User.String() + `"}`:                     "id: read-only field",
	} {
		t.Run(message, func(t *testing.T) {
			org.Admin.In(t).Patch("/v1/organization", body).Fails(422, "validation_failed", message)
		})
	}
	item := org.Read.Get("/v1/organization").Is(200).Value("data")
	org.Admin.Patch("/v1/organization", item).Is(200)
}
