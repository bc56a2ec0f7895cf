package tam_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// TestWebhookTAM checks the events of Previews and Imports, and of the records that an Import
// creates.
func TestWebhookTAM(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "*")
	// listed is the Preview as it is listed, without members.
	listed := func(key, id string) apptest.Happening {
		t.Helper()
		var answer struct{ Data []json.RawMessage }
		if err := json.Unmarshal(org.Read.Post("/v1/tam/previews/list", `{"filters": [{"field": "preview_id", "condition": "is", "value": "`+id+`"}]}`).Is(200).Body, &answer); err != nil || len(answer.Data) != 1 {
			t.Fatalf("%v: %d Previews", err, len(answer.Data))
		}
		read, event := apptest.Object(string(apptest.DataOf(org.Read.Get(apptest.PreviewsPath+"/"+id)))), apptest.Object(string(answer.Data[0]))
		delete(read, "members")
		delete(read, "pagination_meta")
		if apptest.Encoded(t, read) != apptest.Encoded(t, event) {
			t.Errorf("the Preview is %s, its event has %s", apptest.Encoded(t, read), apptest.Encoded(t, event))
		}
		return apptest.Happening{"tam_preview." + key, string(answer.Data[0])}
	}
	failed := apptest.ReadyPreview(org, `{}`)
	want := []apptest.Happening{listed("failed", failed)}
	app.Catalog([]catalog.Company{apptest.FullFirm("c1"), apptest.FullFirm("c2")}, []catalog.Person{apptest.FullWorker("p1", "c1"), apptest.FullWorker("p2", "c2")})
	cancelled := apptest.AskedPreview(org, `{}`)
	org.Write.Post(apptest.PreviewsPath+"/"+cancelled+"/cancel", nil).Is(200)
	org.Write.Post(apptest.PreviewsPath+"/"+cancelled+"/cancel", nil).Is(200)
	want = append(want, listed("cancelled", cancelled))
	full := org.Write.Post("/v1/accounts", `{"name": "My c1", "website": "c1.example"}`).Is(201).ID()
	want = append(want, apptest.ReadEvent(org, "account.created", "/v1/accounts/"+full))
	ready := apptest.ReadyPreview(org, `{}`)
	want = append(want, listed("ready", ready))
	app.Work()
	app.Deliver()
	rec.WantsExactly("Previews", want)

	app.Clock.Advance(time.Second)
	operation := apptest.AcceptImport(org, ready)
	want = []apptest.Happening{apptest.ReadEvent(org, "tam_import.accepted", apptest.ImportsPath+operation)}
	org.Write.Post(apptest.PreviewsPath+"/"+ready+"/import", nil).Is(200)
	app.Work()
	app.Deliver()
	var made []apptest.Happening
	for _, entity := range []string{"account", "contact"} {
		for _, id := range org.Read.Post("/v1/"+entity+"s/list", nil).Is(200).Column("id") {
			key := entity + map[bool]string{true: ".updated", false: ".created"}[id == full]
			made = append(made, apptest.ReadEvent(org, key, "/v1/"+entity+"s/"+id))
		}
	}
	want = append(append(want, made...), apptest.ReadEvent(org, "tam_import.completed", apptest.ImportsPath+operation))
	got := rec.Take()
	for i, h := range got {
		e := h.Event(t)
		if at := slices.Index(want, apptest.Happening{e.TriggerKey, string(e.Data)}); at < 0 || len(got) != len(want) || (i == 0) != (at == 0) || (i == len(got)-1) != (at == len(want)-1) {
			t.Errorf("unexpected event %d of %d, want %d events: %s", i, len(got), len(want), h.Body)
		}
	}
	// Existing complete records stay unchanged.
	apptest.RunImport(t, org, apptest.ReadyPreview(org, `{}`))
	org.Write.Delete(apptest.PreviewsPath + "/" + failed).Is(204)
	app.Work()
	app.Deliver()
	var keys []string
	for _, h := range rec.Take() {
		keys = append(keys, h.Event(t).TriggerKey)
	}
	if !slices.Equal(keys, []string{"tam_preview.ready", "tam_import.accepted", "tam_import.completed"}) {
		t.Errorf("an Import of existing records emitted %v", keys)
	}
}

// TestWebhookFailedImport damages the data that an Import needs.
func TestWebhookFailedImport(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "tam_import.failed", "tam_import.completed")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{apptest.Worker("p1", "c1", "A damaged title")})
	operation := apptest.AcceptImport(org, apptest.ReadyPreview(org, `{}`))
	app.Stop()
	file := filepath.Join(app.Config.DataDir, "prospector.db")
	stored, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.ReplaceAll(stored, []byte("A damaged title"), []byte("a Damaged Title")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	app.Start()
	for range 5 {
		app.Work()
		app.Clock.Advance(time.Hour)
	}
	app.Deliver()
	rec.WantsExactly("a failed Import", []apptest.Happening{apptest.ReadEvent(org, "tam_import.failed", apptest.ImportsPath+operation)})
}
