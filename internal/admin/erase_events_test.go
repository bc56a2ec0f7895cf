package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"prospector/internal/admin"
	"prospector/internal/apptest"
)

// TestEraseEvents: events that wait while a person is erased have no name of the person and fit their schemas when they
// are delivered, and so do those that the erasure emits, at any time.
func TestEraseEvents(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	isDown := true
	var titles []string
	received := map[string]int{}
	endpoint := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || isDown {
			answer.WriteHeader(http.StatusInternalServerError)
			return
		}
		var event struct {
			TriggerKey string `json:"trigger_key"`
			Data       struct{ Title string }
		}
		if err := json.Unmarshal(body, &event); err != nil {
			t.Error(err)
		}
		if err := app.CheckEvent(event.TriggerKey, body); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
		if strings.Contains(string(body), "Quixotrix") || strings.Contains(string(body), "zeb@") {
			t.Errorf("an event has the person: %s", body)
		}
		received[event.TriggerKey]++
		if strings.HasPrefix(event.TriggerKey, "task.") {
			titles = append(titles, event.Data.Title)
		}
	}))
	defer endpoint.Close()
	contact := w.Post("/v1/contacts", `{"email": "zeb@globex.example", "first_name": "Zebulon", "last_name": "Quixotrix"}`).Is(201).ID()
	own := w.Post("/v1/tasks", map[string]any{"title": "Ask Zebulon Quixotrix", "contact_id": contact}).Is(201).ID()
	audience := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": []string{contact}}).Is(201).ID()
	template := w.Post("/v1/sequence-templates", `{"name": "One", "steps": [
		{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello {{recipient.first_name}}"},
		{"index": 1, "type": "call", "hour": 9, "subject": "Call {{recipient.last_name}}", "message": "Say hello"}]}`).Is(201).ID()
	hook := map[string]any{"url": endpoint.URL, "triggers": []string{"task.created", "task.updated", "task.deleted", "contact.deleted", "message.sent", "sequence.stopped"}}
	org.Admin.Post("/v1/webhooks/subscriptions", hook).Is(201)
	w.Post("/v1/campaigns", map[string]any{"name": "Mail", "status": "active", "template_id": template, "audience_ids": []string{audience},
		"owner_id": org.User}).Is(201)
	app.Work()
	w.Patch("/v1/tasks/"+own, `{"notes": "He is in"}`).Is(200)
	app.Deliver()
	app.Stop()
	in := admin.EraseInput{Org: org.ID.String(), Email: "zeb@globex.example", Confirmed: true}
	if _, err := admin.Erase.Run(context.Background(), admin.Caller{Config: app.Config, Progress: func(int, int) {}}, in); err != nil {
		t.Fatal(err)
	}
	app.Start()
	isDown = false
	for range 30 {
		app.Clock.Advance(time.Hour)
		app.Work()
		app.Deliver()
	}
	if received["task.created"] == 0 || received["task.updated"] == 0 || received["contact.deleted"] == 0 {
		t.Errorf("received %v", received)
	}
	for _, title := range titles {
		if title != "" && !strings.Contains(title, "[erased]") {
			t.Errorf("the titles are %q", titles)
		}
	}
}
