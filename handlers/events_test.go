package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

// eventDocument is the part of the API document about one event.
type eventDocument struct {
	Security   *[]any
	Parameters []struct {
		Name, In string
		Required bool
	}
	RequestBody struct {
		Required bool
		Content  map[string]struct{ Example json.RawMessage }
	}
	Responses map[string]any
}

func (d *eventDocument) example() []byte { return d.RequestBody.Content["application/json"].Example }

// documentedEvents returns the events of the API document.
func documentedEvents(t *testing.T) map[string]eventDocument {
	t.Helper()
	var doc struct {
		Webhooks map[string]struct{ Post eventDocument }
	}
	readDocument(t, &doc)
	events := map[string]eventDocument{}
	for key, item := range doc.Webhooks {
		events[key] = item.Post
	}
	return events
}

func TestEventDocument(t *testing.T) {
	app := apptest.New(t)
	events := documentedEvents(t)
	if got := slices.Sorted(maps.Keys(events)); !slices.Equal(got, apptest.TriggerKeys()) {
		t.Errorf("the document has the events %v, want %v", got, apptest.TriggerKeys())
	}
	for key, d := range events {
		headers := map[string]bool{}
		for _, p := range d.Parameters {
			headers[p.Name] = p.In == "header" && p.Required
		}
		want := map[string]bool{"webhook-id": true, "webhook-timestamp": true, "webhook-signature": true}
		if !maps.Equal(headers, want) || d.Security == nil || len(*d.Security) > 0 || !d.RequestBody.Required {
			t.Errorf("%s has %+v", key, d)
		}
		if got := slices.Sorted(maps.Keys(d.Responses)); !slices.Equal(got, []string{"2XX", "410", "default"}) {
			t.Errorf("%s returns %v", key, got)
		}
		if err := app.CheckEvent(key, d.example()); err != nil {
			t.Errorf("%s: the document refuses its example: %v", key, err)
		}
	}
}

// TestEventSchemas checks that the schemas of events are as strict as those of responses.
func TestEventSchemas(t *testing.T) {
	app := apptest.New(t)
	events := documentedEvents(t)
	for _, c := range []struct{ key, old, new string }{
		{"contact.created", `"contact.created"`, `"contact.deleted"`},
		{"contact.created", `"contact.created"`, `"account.created"`},
		{"contact.updated", `"do_not_contact":false`, `"do_not_contact":0`},
		{"contact.updated", `"first_name"`, `"name"`},
		{"task.updated", `"open"`, `"done"`},
		{"tag.deleted", `"data":{`, `"data":{"name":"x",`},
		{"account.created", `"org_id"`, `"org"`},
		{"tam_preview.ready", `"READY"`, `"ready"`},
		{"tam_import.completed", `"operation_id"`, `"id"`},
	} {
		t.Run(c.key, func(t *testing.T) {
			example := events[c.key]
			wrong := strings.Replace(string(example.example()), c.old, c.new, 1)
			if wrong == string(example.example()) {
				t.Fatalf("the example of %s has no %s: %s", c.key, c.old, wrong)
			}
			if app.CheckEvent(c.key, []byte(wrong)) == nil {
				t.Errorf("%s: the document allows %s", c.key, wrong)
			}
		})
	}
	gone := `{"id":"019cd74b-e0bd-74cf-bbd0-63257982bd64","trigger_key":"contact.created","created_at":"2026-03-10T10:30:00.125Z",` +
		`"org_id":"019cd6c2-8c00-7438-ae6b-a7bca9d37914","user_id":null,"data":{"id":"019cd707-3f91-775a-b036-789ac35526db","deleted":true}}`
	if err := app.CheckEvent("contact.created", []byte(gone)); err != nil {
		t.Errorf("the document refuses an event redelivered after its deletion: %v", err)
	}
}

// exampleEvent is the decoded example of an event.
type exampleEvent struct {
	ID         uuid.UUID
	TriggerKey string    `json:"trigger_key"`
	CreatedAt  time.Time `json:"created_at"`
	Changed    []string
	Data       map[string]any
}

func readExamples(t *testing.T) map[string]exampleEvent {
	t.Helper()
	examples := map[string]exampleEvent{}
	for key, d := range documentedEvents(t) {
		var e exampleEvent
		if err := json.Unmarshal(d.example(), &e); err != nil {
			t.Fatal(err)
		}
		examples[key] = e
	}
	return examples
}

// TestEventExamples checks that the service could have sent the examples.
func TestEventExamples(t *testing.T) {
	examples := readExamples(t)
	for key, e := range examples {
		if e.TriggerKey != key {
			t.Errorf("%s has the example of %s", key, e.TriggerKey)
		}
		if at, _ := e.ID.Time().UnixTime(); at != e.CreatedAt.Unix() {
			t.Errorf("%s: the id was created at %v, the event at %v", key, time.Unix(at, 0).UTC(), e.CreatedAt)
		}
		object, event, _ := strings.Cut(key, ".")
		if (event == "updated") != (len(e.Changed) > 0) {
			t.Errorf("%s: changed is %q", key, e.Changed)
		}
		for _, field := range e.Changed {
			if _, has := e.Data[field]; !has {
				t.Errorf("%s: the changed field %s is not in %v", key, field, e.Data)
			}
		}
		if event == "deleted" {
			if want := map[string]any{"id": examples[object+".created"].Data["id"]}; !reflect.DeepEqual(e.Data, want) {
				t.Errorf("%s has %v, want %v", key, e.Data, want)
			}
			continue
		}
		for _, field := range []string{"created_at", "updated_at", "finished_at"} {
			text, _ := e.Data[field].(string)
			if at, err := time.Parse(time.RFC3339, text); text != "" && (err != nil || at.After(e.CreatedAt) || at.Year() != 2026 || at.Month() != time.March) {
				t.Errorf("%s: %s is %s, the event was created at %v", key, field, text, e.CreatedAt)
			}
		}
		updated := e.Data["updated_at"] != e.Data["created_at"]
		if event == "created" && updated || event == "updated" && !updated {
			t.Errorf("%s: created_at is %v, updated_at %v", key, e.Data["created_at"], e.Data["updated_at"])
		}
		if out := e.Data["do_not_contact"]; object == "contact" && out != (event == "unsubscribed") {
			t.Errorf("%s: do_not_contact is %v", key, out)
		}
		if empty := emptyFields(e.Data); (event == "created" || event == "ready") && empty > 3 {
			t.Errorf("%s: %d fields of the example have no value: %v", key, empty, e.Data)
		}
	}
	for key, want := range map[string]string{
		"tam_preview.ready":     "contacts_by_account failure_reason:<nil> progress:1 result status:READY totals",
		"tam_preview.failed":    "contacts_by_account:<nil> failure_reason:catalogue_empty progress:0 result:<nil> status:FAILED totals:<nil>",
		"tam_preview.cancelled": "contacts_by_account:<nil> failure_reason:<nil> progress:0.42 result:<nil> status:CANCELLED totals:<nil>",
		"tam_import.accepted":   "failure_reason:<nil> finished_at:<nil> progress:0 status:accepted",
		"tam_import.completed":  "failure_reason:<nil> finished_at:2026 progress:1 status:completed",
		"tam_import.failed":     "failure_reason:internal finished_at:2026 progress:0.35 status:failed",
	} {
		for field := range strings.FieldsSeq(want) {
			if got := fmt.Sprint(examples[key].Data); !strings.Contains(got, field) {
				t.Errorf("%s lacks %s: %s", key, field, got)
			}
		}
	}
}

func emptyFields(record map[string]any) (n int) {
	for _, v := range record {
		if v == nil {
			n++
		}
	}
	return n
}

// TestEventReferences checks that references in the examples point to other examples.
func TestEventReferences(t *testing.T) {
	examples := readExamples(t)
	id := func(object string) any { return examples[object+".updated"].Data["id"] }
	for _, c := range []struct {
		key, field string
		want       any
	}{
		{"contact.updated", "account_id", id("account")}, {"contact.updated", "tags", []any{id("tag")}},
		{"opportunity.updated", "account_id", id("account")}, {"opportunity.updated", "contact_id", id("contact")},
		{"task.updated", "account_id", id("account")}, {"task.updated", "contact_id", id("contact")},
		{"meeting.updated", "account_id", id("account")}, {"meeting.updated", "contact_id", id("contact")},
		{"tag.updated", "object_type", "contact"},
		{"tam_import.completed", "preview_id", examples["tam_preview.ready"].Data["preview_id"]},
	} {
		if got := examples[c.key].Data[c.field]; got == nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s is %v, want %v", c.key, c.field, got, c.want)
		}
	}
	request := examples["tam_preview.ready"].Data["request"].(map[string]any)
	if got := request["contact_tag_ids"]; !reflect.DeepEqual(got, []any{id("tag")}) {
		t.Errorf("the Preview tags contacts with %v, want %v", got, id("tag"))
	}
}

// TestEventCounts checks that the counts in the examples of the Preview and its Import add up.
func TestEventCounts(t *testing.T) {
	events := documentedEvents(t)
	var ready, completed struct {
		Data struct {
			Result            struct{ Accounts, Contacts exampleCounts }
			ContactsByAccount map[string]struct{ New, Existing, Total int } `json:"contacts_by_account"`
			Totals            struct {
				Companies, People struct{ Matched, Eligible, Excluded int }
			}
			Research struct {
				Passed, Failed int
				NotMatched     int `json:"not_matched"`
				Cost           struct{ Companies, Units int }
			}
			Accounts, Contacts struct{ Created, Reused, Skipped int }
		}
	}
	for key, into := range map[string]any{"tam_preview.ready": &ready, "tam_import.completed": &completed} {
		d := events[key]
		if err := json.Unmarshal(d.example(), into); err != nil {
			t.Fatal(err)
		}
	}
	p, m := ready.Data, completed.Data
	p.Result.Accounts.addUp(t)
	p.Result.Contacts.addUp(t)
	var chosen exampleCounts
	for _, c := range p.ContactsByAccount {
		chosen.New, chosen.Existing, chosen.Eligible = chosen.New+c.New, chosen.Existing+c.Existing, chosen.Eligible+c.Total
		if c.New+c.Existing != c.Total {
			t.Errorf("contacts_by_account is %v", p.ContactsByAccount)
		}
	}
	accounts, contacts, research := p.Result.Accounts, p.Result.Contacts, p.Research
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"new contacts", chosen.New, contacts.New}, {"existing contacts", chosen.Existing, contacts.Existing}, {"contacts", chosen.Eligible, contacts.Eligible},
		{"companies", p.Totals.Companies.Matched, accounts.Matched}, {"people", p.Totals.People.Matched, contacts.Matched},
		{"excluded companies", p.Totals.Companies.Excluded, accounts.Matched - accounts.Eligible},
		{"excluded people", p.Totals.People.Excluded, contacts.Matched - contacts.Eligible},
		{"passed", research.Passed, accounts.Eligible}, {"not matched", research.NotMatched, accounts.Exclusions["QUALIFIER_NOT_MATCHED"]},
		{"failed", research.Failed, accounts.Exclusions["QUALIFIER_FAILED"]},
		{"units", research.Cost.Units, research.Passed + research.NotMatched}, {"researched", research.Cost.Companies, research.Cost.Units + research.Failed},
		{"imported accounts", m.Accounts.Created + m.Accounts.Reused + m.Accounts.Skipped, accounts.Eligible},
		{"imported contacts", m.Contacts.Created + m.Contacts.Reused + m.Contacts.Skipped, contacts.Eligible},
	} {
		if c.got != c.want || c.got == 0 {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}

type exampleCounts struct {
	Matched, Eligible, New, Existing int
	Duplicates                       int `json:"duplicate_source_rows"`
	Exclusions                       map[string]int
}

func (c *exampleCounts) addUp(t *testing.T) {
	t.Helper()
	sum := c.Eligible + c.Duplicates
	for _, n := range c.Exclusions {
		sum += n
	}
	if c.Matched != sum || c.Eligible != c.New+c.Existing || c.Matched == 0 {
		t.Errorf("%+v does not add up", *c)
	}
}

// TestEventDocs requires that the page contains every event with its example.
func TestEventDocs(t *testing.T) {
	app := apptest.New(t)
	elements := parsePage(t, app.Anonymous().Get("/docs/events").Is(200).Body)
	text, shown, linked := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, e := range elements {
		text[e.attr["id"]] = e.text.String()
		if id, is := strings.CutPrefix(e.attr["href"], "/docs/events#"); is && e.within("contents") {
			linked[id] = true
		}
		if e.name == "code" && e.in[len(e.in)-1].name == "pre" {
			for _, in := range e.in {
				shown[in.attr["id"]] = e.text.String()
			}
		}
	}
	for key, d := range documentedEvents(t) {
		id := "event-" + key
		if !linked[id] || !strings.Contains(text[id], key) {
			t.Errorf("%s is not on the page: %s", key, text[id])
		}
		var example, want any
		if json.Unmarshal(d.example(), &want) != nil || json.Unmarshal([]byte(shown[id]), &example) != nil || !reflect.DeepEqual(example, want) {
			t.Errorf("%s shows %s, want %s", key, shown[id], d.example())
		}
	}
	for _, trigger := range app.Webhooks.TriggerRegistry.Triggers {
		if !strings.Contains(text["event-"+trigger.Key], strings.TrimSuffix(trigger.Description, ".")) {
			t.Errorf("%s does not contain %q", trigger.Key, trigger.Description)
		}
	}
	for _, want := range []string{"webhook-id", "webhook-timestamp", "webhook-signature", "410", "The subscription is disabled"} {
		if !strings.Contains(text["events"], want) {
			t.Errorf("the section on events does not contain %s: %s", want, text["events"])
		}
	}
	if !linked["events"] || !strings.Contains(text["event-tag.deleted"], "GoneEvent") || !strings.Contains(text["event-tag.created"], "TagEvent or GoneEvent") {
		t.Errorf("the page has no link to the section on events: %s", text["event-tag.created"])
	}
}
