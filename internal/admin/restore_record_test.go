package admin

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/store"
)

// TestRestoreField checks that lists find the values of a custom field again that was damaged and is restored,
// also of records that were indexed in between.
func TestRestoreField(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	field := uuid.MustParse(org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "text"}`).Is(201).ID())
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example", "custom_field_tier": "gold"}`).Is(201).ID()
	backup, err := Backup.doLong(t.Context(), app.Service, BackupInput{}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(backup.Path)
	if err != nil {
		t.Fatal(err)
	}
	app.Stop()
	db, err := bolt.Open(filepath.Join(app.Config.DataDir, store.FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		fields := tx.Bucket([]byte("orgs")).Bucket(org.ID[:]).Bucket([]byte("fields.rec"))
		value := bytes.Clone(fields.Get(field[:]))
		value[len(value)-3] ^= 1
		return fields.Put(field[:], value)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	app.Start()
	check := func() []Problem {
		t.Helper()
		result, err := Check.doLong(t.Context(), app.Service, CheckInput{Repair: true}, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		return result.Problems
	}
	org.Write.Patch("/v1/contacts/"+contact, `{"title": "CTO"}`).Is(200)
	if found := check(); len(found) != 1 {
		t.Errorf("the check finds %v, want the damaged field", found)
	}

	_, err = RestoreRecord.doFile(t.Context(), app.Service, RestoreRecordInput{Kind: "fields", ID: field}, bytes.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	list := org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "custom_field_tier", "condition": "is", "value": "gold"}]}`).Is(200)
	if got := list.Column("id"); len(got) != 1 || got[0] != contact {
		t.Errorf("found %v, want %s", got, contact)
	}
	if found := check(); len(found) != 0 {
		t.Errorf("the check finds %v after the field is restored", found)
	}
}
