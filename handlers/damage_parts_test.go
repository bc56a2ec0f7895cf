package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/store"
)

// partKey returns the key of a part of a record.
func partKey(id string, n byte) []byte { return append(key(id), 0, 0, 0, n) }

// requireDamaged requires that the server reports this number of damaged records and parts.
func requireDamaged(t *testing.T, app *apptest.App, want string) {
	t.Helper()
	if got := damagedRecords(t, app); got != want {
		t.Errorf("the metric of damaged records is %s, want %s", got, want)
	}
}

// TestDamagedCounters checks that contacts of a campaign whose counters are damaged can opt out, reply, and be
// deleted and merged, and that the damage is visible.
func TestDamagedCounters(t *testing.T) {
	f := newDamageFixture(t)
	into := f.Write.Post("/v1/contacts", `{"email": "di@x.example"}`).Is(201).ID()
	message := f.Read.Post("/v1/outbox/list", `{"filters": [`+apptest.IsRule("contact_id", f.contacts[0])+`]}`).Is(200).Text("data.0.id")
	counts := partKey(f.bad["campaigns"], 0)
	damage(t, f.app, f.Org.ID, "campaigns.counts.part", counts)

	f.app.Anonymous().Post(f.UnsubscribePath(message), nil).Is(200)
	f.Write.Patch("/v1/contacts/"+f.contacts[1], `{"do_not_contact": true}`).Is(200)
	f.Admin.Post("/v1/suppressions", `{"email": "c2@x.example"}`).Is(201)
	f.Write.Post("/v1/contacts/"+f.contacts[3]+"/replied", nil).Is(200, `{"data": {"stopped": 2}, "meta": {"timestamp": "<time>"}}`)
	f.Write.Post("/v1/contacts/"+into+"/merge", `{"ids": ["`+f.contacts[4]+`"]}`).Is(200)
	f.Write.Delete("/v1/contacts/" + into).Is(204)
	f.app.Work()
	for _, status := range f.Read.Post("/v1/sequences/list", nil).Is(200).Column("status") {
		if status != "stopped" {
			t.Errorf("a sequence is %s, want stopped", status)
		}
	}
	f.Read.Get("/v1/campaigns/" + f.good["campaigns"] + "/stats").Is(200)
	f.Read.Get("/v1/campaigns/"+f.bad["campaigns"]+"/stats").Fails(500, "damaged", f.bad["campaigns"])
	requireDamaged(t, f.app, "1")
	f.app.Anonymous().Get("/readyz").Is(200, `{"data": {"status": "ok", "damaged_records": 1}, "meta": {"timestamp": "<time>"}}`)
}

// TestDamagedParts damages what is stored beside records. Requests for other records must not fail, and the damage
// is counted until it is overwritten.
func TestDamagedParts(t *testing.T) {
	f := newDamageFixture(t)
	parts := func(bucket string) (keys [][]byte) {
		t.Helper()
		edit(t, f.app, func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("orgs")).Bucket(f.Org.ID[:]).Bucket([]byte(bucket))
			return b.ForEach(func(k, v []byte) error {
				if len(v) > 4 {
					keys = append(keys, bytes.Clone(k))
				}
				return nil
			})
		})
		if len(keys) == 0 {
			t.Fatalf("%s is empty", bucket)
		}
		return keys
	}
	f.Write.Delete("/v1/tasks/" + f.bad["tasks"]).Is(204)
	f.Write.Delete("/v1/contacts/" + f.contacts[4]).Is(204)
	for _, bucket := range []string{"trash.part", "outreach.part", "senders.sent.part"} {
		t.Run(bucket, func(t *testing.T) {
			f.t = t
			keys := parts(bucket)[:1]
			damage(t, f.app, f.Org.ID, bucket, keys...)
			for _, failure := range f.use() {
				t.Error(failure)
			}
			id := f.request(http.MethodPost, "/v1/contacts", `{"email": "gone@x.example"}`).Is(201).ID()
			f.request(http.MethodDelete, "/v1/contacts/"+id, nil).Is(204)
			if log := f.app.Log.String(); !strings.Contains(log, "bucket="+bucket) {
				t.Errorf("the log does not report the damage:\n%s", log)
			}
			edit(t, f.app, func(tx *bolt.Tx) error {
				b := tx.Bucket([]byte("orgs")).Bucket(f.Org.ID[:]).Bucket([]byte(bucket))
				for _, key := range keys {
					if err := b.Delete(key); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// TestDamagedSignIn checks that a sign-in that needs a damaged record fails as damaged, and reveals no id.
func TestDamagedSignIn(t *testing.T) {
	for _, table := range []string{"users", "credentials", "organizations"} {
		t.Run(table, func(t *testing.T) {
			app := apptest.New(t)
			org := app.Org("Acme")
			apptest.SetPassword(t, app, org, apptest.Password)
			apptest.SignIn(app, "ada@acme.example", apptest.Password).Is(201)
			id := org.User.String()
			if table == "organizations" {
				id = org.ID.String()
			}
			damage(t, app, org.ID, table+".rec", key(id))
			r := apptest.SignIn(app, "ada@acme.example", apptest.Password)
			r.Fails(500, "damaged", "")
			if strings.Contains(string(r.Body), id) {
				t.Errorf("the response has the id: %s", r.Body)
			}
			edit(t, app, func(tx *bolt.Tx) error {
				return tx.Bucket([]byte("orgs")).Bucket(org.ID[:]).Bucket([]byte(table + ".rec")).Delete(key(id))
			})
			if table == "organizations" {
				apptest.SignIn(app, "ada@acme.example", apptest.Password).Fails(500, "damaged", "")
			}
		})
	}
}

// TestPageDamagedWhileRunning checks that requests that need a page that was damaged while the server runs fail as
// damaged, and that the page is counted.
func TestPageDamagedWhileRunning(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var records []string
	for i := range 200 {
		records = append(records, fmt.Sprintf(`{"email": "c%d@x.example"}`, i))
	}
	org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
	account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	var page int64
	edit(t, app, func(tx *bolt.Tx) error {
		page = int64(tx.Bucket([]byte("orgs")).Bucket(org.ID[:]).Bucket([]byte("contacts.rec")).Root())
		return nil
	})
	if page == 0 {
		t.Fatal("the table has no page of its own")
	}
	file, err := os.OpenFile(filepath.Join(app.Config.DataDir, store.FileName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	size := os.Getpagesize()
	if _, err := file.WriteAt(make([]byte, size), page*int64(size)); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		"/v1/contacts/list": `{}`, "/v1/contacts/facets": `{"field": "account_id"}`, "/v1/contacts": `{"email": "new@x.example"}`,
	} {
		org.Write.Post(path, body).Fails(500, "damaged", "")
	}
	org.Read.Get("/v1/accounts/" + account).Is(200)
	if got := damagedRecords(t, app); got == "0" {
		t.Error("the page is not counted")
	}
	if log := app.Log.String(); !strings.Contains(log, "store file has a damaged page; restart the server") {
		t.Errorf("the log does not report the page:\n%s", log)
	}
}
