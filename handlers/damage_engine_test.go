package handlers_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/store"
)

// The numbers of the parts of an organization in outreach.part.
const (
	clockPart    = 0 // of the installation
	stopJobsPart = 3
	editionPart  = 5
)

// newManySequences returns an organization with an active campaign of 250 contacts, more than one transaction stops.
func newManySequences(t *testing.T, change ...func(*apptest.App)) (app *apptest.App, org *apptest.Org, campaign string) {
	app = apptest.New(t)
	for _, c := range change {
		c(app)
	}
	org = app.Org("Acme")
	org.Admin.Patch("/v1/organization", aroundTheClock).Is(200)
	var records []string
	for i := range 250 {
		records = append(records, fmt.Sprintf(`{"email": "c%d@x.example"}`, i))
	}
	org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
	audience := org.Write.Post("/v1/audiences", `{"name": "All"}`).Is(201).ID()
	org.Write.Post("/v1/audiences/"+audience+"/contacts/add", `{"filters": []}`).Is(200)
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [
		{"index": 0, "type": "auto_email", "day": 0, "hour": 0, "subject": "Hello", "message": "Hello"},
		{"index": 1, "type": "auto_email", "day": 5, "hour": 0, "subject": "Again", "message": "Hello again"}]}`).Is(201).ID()
	campaign = org.Write.Post("/v1/campaigns", fmt.Sprintf(`{"name": "C", "template_id": %q, "audience_ids": [%q], "status": "active"}`,
		template, audience)).Is(201).ID()
	app.Work()
	return app, org, campaign
}

// TestDamagedStopJobs checks that all sequences stop that a job was to stop, although the list of such jobs is damaged.
func TestDamagedStopJobs(t *testing.T) {
	app, org, campaign := newManySequences(t)
	contact := org.Read.Post("/v1/contacts/list", `{"page_size": 1}`).Is(200).Text("data.0.id")
	stopped := func() int {
		return org.Read.Post("/v1/sequences/list", `{"page_size": 1, "filters": [`+apptest.IsRule("status", "stopped")+`]}`).Is(200).Int("pagination.total_count")
	}
	org.Write.Patch("/v1/campaigns/"+campaign, `{"status": "archived"}`).Is(200)
	if n := stopped(); n == 250 {
		t.Fatal("no job is left that stops sequences")
	}
	damage(t, app, org.ID, "outreach.part", partKey(org.ID.String(), stopJobsPart))
	org.Write.Patch("/v1/contacts/"+contact, `{"do_not_contact": true}`).Is(200)
	if n := stopped(); n != 250 {
		t.Errorf("%d sequences are stopped, want 250", n)
	}
	requireDamaged(t, app, "0") // the list was written again
	app.Work()
	org.Write.Delete("/v1/contacts/" + contact).Is(204)
	apptest.CheckConsistency(t, app, org)
}

// TestDamagedClock checks that sequences continue when the stored time of a scaled clock is damaged.
func TestDamagedClock(t *testing.T) {
	app, org, _ := newManySequences(t, func(app *apptest.App) {
		app.Stop()
		app.Config.Sequences.Speed = 24
		app.Start()
	})
	damage(t, app, uuid.Nil, "outreach.part", partKey(uuid.Nil.String(), clockPart))
	if log := app.Log.String(); !strings.Contains(log, "bucket=outreach.part") {
		t.Errorf("the log does not report the damage:\n%s", log)
	}
	requireDamaged(t, app, "0") // the time was written again
	for range 40 {
		app.Clock.Advance(time.Hour)
		app.Work()
	}
	again := org.Read.Post("/v1/outbox/list", `{"page_size": 1, "filters": [`+apptest.IsRule("subject", "Again")+`]}`).Is(200).Int("pagination.total_count")
	if again != 250 {
		t.Errorf("%d contacts have the second email, want 250", again)
	}
}

// TestDamagedEdition checks that sequences are not converted again when it is damaged that they were.
func TestDamagedEdition(t *testing.T) {
	app, org, _ := newManySequences(t)
	app.Restart() // converts them, or finds that there is nothing to convert
	before := org.Read.Post("/v1/sequences/list", `{"page_size": 500, "sort": "id"}`).Is(200)
	damage(t, app, org.ID, "outreach.part", partKey(org.ID.String(), editionPart))
	after := org.Read.Post("/v1/sequences/list", `{"page_size": 500, "sort": "id"}`).Is(200)
	if fmt.Sprint(before.Value("data")) != fmt.Sprint(after.Value("data")) {
		t.Error("the sequences have changed")
	}
	requireDamaged(t, app, "1")
	org.Write.Post("/v1/contacts/"+before.Text("data.0.contact_id")+"/replied", nil).Is(200)
	app.Work()
}

// TestTruncatedWhileRunning checks that the service is not ready after its store file was shorter than it must be, until it
// starts again.
func TestTruncatedWhileRunning(t *testing.T) {
	app, _, _ := newManySequences(t)
	path := filepath.Join(app.Config.DataDir, store.FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{256 << 10, 8 << 10} { // the file was shorter than the first when it was opened, and longer than the second
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		app.Anonymous().Get("/readyz").Fails(503, "unavailable", "the store file was truncated while the server runs")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(file)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	app.Anonymous().Get("/readyz").Fails(503, "unavailable", "the store file was truncated while the server runs")
	app.Restart()
	app.Anonymous().Get("/readyz").Is(200)
}
