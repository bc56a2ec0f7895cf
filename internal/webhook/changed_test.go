package webhook_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/store"
)

// TestWebhookChanged checks that events about an update name the fields that the history names, and
// that no other event has them.
func TestWebhookChanged(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tag := apptest.NewTags(org, "contact", "A")["A"]
	apptest.NewField(org, "contacts", "tier", "text", "")
	id := org.Write.Post("/v1/contacts", `{"email": "bill@initech.example", "external_id": "x"}`).Is(201).ID()
	path := "/v1/contacts/" + id
	batch := func(record string) func() {
		return func() {
			org.Write.Post("/v1/contacts/batch", `{"match_on": "external_id", "records": [`+record+`]}`).Is(200)
		}
	}
	for _, c := range []struct {
		name    string
		do      func()
		trigger string
		want    []string
	}{
		{"one field", func() { org.Write.Patch(path, `{"first_name": "Bill"}`).Is(200) }, "contact.updated", []string{"first_name"}},
		{"several, with one that stays", func() {
			org.Write.Patch(path, `{"first_name": "Bill", "last_name": "Lumbergh", "notes": "n"}`).Is(200)
		}, "contact.updated", []string{"last_name", "notes"}},
		{"cleared", func() { org.Write.Patch(path, `{"notes": null}`).Is(200) }, "contact.updated", []string{"notes"}},
		{"a tag", func() { org.Write.Patch(path, `{"add_tags": ["`+tag+`"]}`).Is(200) }, "contact.updated", []string{"tags"}},
		{"a custom field", func() { org.Write.Patch(path, `{"custom_field_tier": "gold"}`).Is(200) }, "contact.updated", []string{"custom_field_tier"}},
		{"a batch", batch(`{"external_id": "x", "notes": "again"}`), "contact.updated", []string{"notes"}},
		{"an object that is created", batch(`{"email": "peter@initech.example"}`), "contact.created", nil},
		{"an opt-out", func() { org.Write.Patch(path, `{"do_not_contact": true}`).Is(200) }, "contact.unsubscribed", nil},
		{"a deletion", func() { org.Write.Delete(path).Is(204) }, "contact.deleted", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := apptest.NewReceiver(t)
			hook := rec.Subscribe(org, c.trigger)
			c.do()
			app.Deliver()
			first := rec.One()
			wantChanged(t, app, first, c.want)
			attempt := org.Read.Get(apptest.SubscriptionsPath + "/" + hook + "/deliveries").Is(200).Text("data.0.id")
			org.Admin.Post(apptest.SubscriptionsPath+"/"+hook+"/deliveries/"+attempt+"/redeliver", nil).Is(202)
			app.Deliver()
			again := rec.One()
			if again.Event(t).ID != first.Event(t).ID {
				t.Errorf("%s was redelivered as %s", first.Body, again.Body)
			}
			wantChanged(t, app, again, c.want)
			org.Admin.Delete(apptest.SubscriptionsPath + "/" + hook).Is(204)
			if c.trigger != "contact.updated" {
				return
			}
			var history struct{ Data []struct{ Fields []string } }
			if err := json.Unmarshal(org.Read.Get(path+"/history").Is(200).Body, &history); err != nil {
				t.Fatal(err)
			}
			if got := history.Data[0].Fields; !slices.Equal(got, c.want) {
				t.Errorf("the history names %q, want %q", got, c.want)
			}
		})
	}
}

func wantChanged(t *testing.T, app *apptest.App, h apptest.Hook, want []string) {
	t.Helper()
	e := h.Event(t)
	if !slices.Equal(e.Changed, want) || strings.Contains(h.Body, `"changed"`) != (want != nil) {
		t.Errorf("changed is %q, want %q: %s", e.Changed, want, h.Body)
	}
	if err := app.CheckEvent(e.TriggerKey, []byte(h.Body)); err != nil {
		t.Error(err)
	}
}

// TestWebhookExtra checks that an event can add members to its object, also when it is redelivered
// with a later state of the object.
func TestWebhookExtra(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	task := apptest.Makers["tasks"](org)
	rec := apptest.NewReceiver(t)
	hook := rec.Subscribe(org, "task.created")
	add := struct {
		StepIndex int `json:"step_index"`
	}{2}
	err := app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		doc, err := app.CRM.Tasks.Get(tx, uuid.MustParse(task))
		if err != nil {
			return err
		}
		return tx.Emit(store.Event{Trigger: "task.created", ID: doc.ID, Data: doc.JSON, Extra: add})
	})
	if err != nil {
		t.Fatal(err)
	}
	with := func(task *apptest.Response) string {
		return strings.TrimSuffix(string(apptest.DataOf(task)), "}") + `,"step_index":2}`
	}
	app.Deliver()
	if got, want := string(rec.One().Event(t).Data), with(org.Read.Get("/v1/tasks/"+task)); got != want {
		t.Errorf("the data is\n%s, want\n%s", got, want)
	}
	changed := with(org.Write.Patch("/v1/tasks/"+task, `{"title": "Later"}`).Is(200))
	attempt := org.Read.Get(apptest.SubscriptionsPath + "/" + hook + "/deliveries").Is(200).Text("data.0.id")
	org.Admin.Post(apptest.SubscriptionsPath+"/"+hook+"/deliveries/"+attempt+"/redeliver", nil).Is(202)
	app.Deliver()
	if got := string(rec.One().Event(t).Data); got != changed {
		t.Errorf("the redelivered data is\n%s, want\n%s", got, changed)
	}
}

// TestWebhookSuppressions checks that suppressions emit events when they are created and deleted,
// and none when the address is already suppressed.
func TestWebhookSuppressions(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "suppression.*")
	created := org.Admin.Post("/v1/suppressions", `{"email": "bill@initech.example"}`).Is(201)
	want := []apptest.Happening{{"suppression.created", string(apptest.DataOf(created))}}
	org.Admin.Post("/v1/suppressions", `{"email": "BILL@initech.example"}`).Is(200)
	org.Admin.Delete("/v1/suppressions/" + created.ID()).Is(204)
	want = append(want, apptest.Happening{"suppression.deleted", `{"id":"` + created.ID() + `"}`})
	org.Admin.Delete("/v1/suppressions/" + created.ID()).Is(404)
	domain := org.Admin.Post("/v1/suppressions", `{"domain": "initech.example", "reason": "manual"}`).Is(201)
	want = append(want, apptest.Happening{"suppression.created", string(apptest.DataOf(domain))})
	app.Deliver()
	for _, h := range rec.All() {
		if err := app.CheckEvent(h.Event(t).TriggerKey, []byte(h.Body)); err != nil {
			t.Error(err)
		}
	}
	rec.WantsExactly("suppressions", want)
}
