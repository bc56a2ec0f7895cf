package admin

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/store"
)

// TestDropSuppressions damages suppressions. Dropping them keeps everyone suppressed whose address a key still
// has, and warns about the others.
func TestDropSuppressions(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	healthy := uuid.MustParse(org.Admin.Post("/v1/suppressions", `{"email": "eve@x.example"}`).Is(201).ID())
	known := org.Admin.Post("/v1/suppressions", `{"email": "Ann@x.example", "reason": "asked"}`).Is(201).ID()
	org.Admin.Post("/v1/suppressions", `{"domain": "blocked.example"}`).Is(201)
	unknown := org.Admin.Post("/v1/suppressions", `{"email": "bob@x.example"}`).Is(201).ID()
	err := app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		return app.CRM.SuppressErased(tx, "erased@x.example")
	})
	if err != nil {
		t.Fatal(err)
	}
	app.Stop()
	inBucket(t, app, org.ID, "suppressions.rec", func(b *bolt.Bucket, key, value []byte) error {
		if bytes.Equal(key, healthy[:]) {
			return nil // without it, the whole page would count as damaged
		}
		value[len(value)-1] ^= 4
		return b.Put(key, value)
	})
	inBucket(t, app, org.ID, "suppressions.key.subject", func(b *bolt.Bucket, key, _ []byte) error {
		if bytes.HasPrefix(key, []byte("bob@")) {
			return b.Delete(key)
		}
		return nil
	})
	app.Start()
	result, err := Check.doLong(t.Context(), app.Service, CheckInput{Repair: true, Drop: true}, func(int, int) {})
	if err != nil || !result.OK || len(result.Problems) > 0 || len(result.Dropped) != 4 {
		t.Fatalf("%v, %+v", err, result)
	}
	for _, d := range result.Dropped {
		isLost := d.ID.UUID.String() == unknown
		if d.Replaced == isLost || (d.Warning != "") != isLost {
			t.Errorf("dropped %+v", d)
		}
	}
	err = app.Store.View(org.ID, func(tx *store.Tx) error {
		for address, want := range map[string]bool{
			"ann@X.example": true, "c@sub.blocked.example": true, "erased@x.example": true, "bob@x.example": false,
		} {
			if got := app.CRM.IsSuppressed(tx, address); got != want {
				t.Errorf("%s is suppressed: %v, want %v", address, got, want)
			}
		}
		doc, err := app.CRM.Suppressions.Get(tx, uuid.MustParse(known))
		if err == nil && (doc.Record.Email != "ann@x.example" || doc.Record.Reason != "damaged") {
			t.Errorf("got %s", doc.JSON)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	again, err := Check.doLong(t.Context(), app.Service, CheckInput{}, func(int, int) {})
	if err != nil || !again.OK {
		t.Errorf("%v, %+v", err, again)
	}
}

// TestCheckSharedParts checks that a check finds damage in what the trash and erasures keep beside the records.
func TestCheckSharedParts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/contacts", `{"email": "ann@x.example"}`).Is(201).ID()
	org.Write.Delete("/v1/contacts/" + id).Is(204)
	err := app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		return app.CRM.SuppressErased(tx, "erased@x.example")
	})
	if err != nil {
		t.Fatal(err)
	}
	app.Stop()
	for _, bucket := range []string{"trash.part", "erasures.part"} {
		damage(t, app, org.ID, bucket, func(b *bolt.Bucket, key, value []byte) error {
			value = bytes.Clone(value)
			value[len(value)-1] ^= 4
			return b.Put(key, value)
		})
	}
	app.Start()
	result, err := Check.doLong(t.Context(), app.Service, CheckInput{}, func(int, int) {})
	if err != nil || result.OK || len(result.Problems) != 2 {
		t.Errorf("%v, %+v", err, result)
	}
}

// inBucket calls change for every entry of a bucket of an organization in a store that is closed.
func inBucket(t *testing.T, app *apptest.App, org uuid.UUID, bucket string, change func(b *bolt.Bucket, key, value []byte) error) {
	t.Helper()
	edit(t, app, org, bucket, func(b *bolt.Bucket) error {
		type entry struct{ key, value []byte }
		var all []entry
		err := b.ForEach(func(key, value []byte) error {
			all = append(all, entry{bytes.Clone(key), bytes.Clone(value)})
			return nil
		})
		for _, e := range all {
			err = errors.Join(err, change(b, e.key, e.value))
		}
		return err
	})
}
