package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// TestDropAnyDamage flips random bits in stored records and history entries. No list is silently
// short, dropping names exactly what is gone, and leaves a store in which check finds nothing.
func TestDropAnyDamage(t *testing.T) {
	const rounds, flips, contacts = 40, 6, 30
	app := apptest.New(t)
	org := app.Org("Acme")
	for i := range contacts {
		id := org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example", "notes": "n"}`, i)).Is(201).ID()
		if i%3 == 0 {
			org.Write.Patch("/v1/contacts/"+id, `{"notes": "changed"}`).Is(200)
		}
	}
	app.Stop()
	defer app.Start()
	file, err := os.ReadFile(filepath.Join(app.Config.DataDir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(21, 7))
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			cfg := apptest.Config(t.TempDir())
			path := filepath.Join(cfg.DataDir, store.FileName)
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			records, changes := flipBits(t, path, org.ID, random, flips)
			s, err := service.Open(cfg, service.Options{Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			result, err := Check.doLong(t.Context(), s, CheckInput{Repair: true, Drop: true}, func(int, int) {})
			if err != nil || !result.OK || len(result.Problems) > 0 {
				t.Fatalf("%v, %+v", err, result)
			}
			for _, d := range result.Dropped {
				switch {
				case d.ID.Valid && records[d.ID.UUID]:
					delete(records, d.ID.UUID)
				case !d.ID.Valid && changes[d.Change]:
					delete(changes, d.Change)
				default:
					t.Errorf("dropped %+v, which is not damaged", d)
				}
			}
			if len(records)+len(changes) > 0 {
				t.Errorf("not dropped: records %v, changes %v", records, changes)
			}
			left := contacts
			for _, d := range result.Dropped {
				if d.ID.Valid {
					left--
				}
			}
			err = s.Store.View(org.ID, func(tx *store.Tx) error {
				if n := tx.RecordCount("contacts"); n != left {
					t.Errorf("there are %d contacts, want %d", n, left)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			again, err := Check.doLong(t.Context(), s, CheckInput{}, func(int, int) {})
			if err != nil || !again.OK {
				t.Errorf("%v, %+v", err, again)
			}
		})
	}
}

// flipBits flips one bit in each of some contacts and entries of their change log.
func flipBits(t *testing.T, path string, org uuid.UUID, random *rand.Rand, flips int) (records map[uuid.UUID]bool, changes map[uint64]bool) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	records, changes = map[uuid.UUID]bool{}, map[uint64]bool{}
	err = db.Update(func(tx *bolt.Tx) error {
		for range flips {
			bucket := []string{"contacts.rec", "contacts.log"}[random.IntN(2)]
			b := tx.Bucket([]byte("orgs")).Bucket(org[:]).Bucket([]byte(bucket))
			var keys [][]byte
			if err := b.ForEach(func(k, _ []byte) error { keys = append(keys, bytes.Clone(k)); return nil }); err != nil {
				return err
			}
			key := keys[random.IntN(len(keys))]
			number := uint64(0)
			if len(key) == 8 {
				for _, digit := range key {
					number = number<<8 | uint64(digit)
				}
			}
			if changes[number] || len(key) == 16 && records[uuid.UUID(key)] {
				continue // a second flip might undo the first
			}
			value := bytes.Clone(b.Get(key))
			value[random.IntN(len(value))] ^= 1 << random.IntN(8)
			if len(key) == 8 {
				changes[number] = true
			} else {
				records[uuid.UUID(key)] = true
			}
			if err := b.Put(key, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return records, changes
}

// TestDropLostUser checks that a key whose user was lost with its page fails, until the damage is dropped. Then the
// key is invalid, because the user in its place is not active.
func TestDropLostUser(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Stop()
	db, err := bolt.Open(filepath.Join(app.Config.DataDir, store.FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error { // what a rebuild leaves of a store without the page
		b := tx.Bucket([]byte("orgs")).Bucket(org.ID[:])
		lost, err := tx.CreateBucketIfNotExists([]byte("lost"))
		if err != nil {
			return err
		}
		page, err := json.Marshal(store.LostPage{Organization: org.ID, Bucket: "users.rec", Page: 7})
		return errors.Join(err, lost.Put([]byte("7"), page), b.DeleteBucket([]byte("users.log")), b.Bucket([]byte("users.rec")).Delete(org.User[:]))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	app.Start()
	org.Read.Get("/v1/me").Fails(500, "damaged", "")
	result, err := Check.doLong(t.Context(), app.Service, CheckInput{Repair: true, Drop: true}, func(int, int) {})
	if err != nil || !result.OK || len(result.Dropped) == 0 {
		t.Fatalf("%v, %+v", err, result)
	}
	org.Read.Get("/v1/me").Is(401)
}

// TestSalvage checks that what is saved of a record is JSON on one line each.
func TestSalvage(t *testing.T) {
	var b bytes.Buffer
	id := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	found := []salvage{
		{Dropped: Dropped{Kind: "contacts", ID: id}, Record: json.RawMessage(`{"email":"a<b>"}`), Raw: []byte{1}},
		{Dropped: Dropped{Kind: "contacts", Change: 7}, Raw: []byte{2}},
	}
	if err := writeSalvage(&b, found); err != nil {
		t.Fatal(err)
	}
	const none = "00000000-0000-0000-0000-000000000000"
	want := `{"organization":"` + none + `","kind":"contacts","id":"` + id.UUID.String() + `","record":{"email":"a<b>"},"raw":"AQ=="}` + "\n" +
		`{"organization":"` + none + `","kind":"contacts","id":null,"change":7,"raw":"Ag=="}` + "\n"
	if b.String() != want {
		t.Errorf("got %s", &b)
	}
}

// TestDropOrganization damages the records of an organization and of its user. Dropping puts new records in their
// places, so that everything else of the organization stays within reach.
func TestDropOrganization(t *testing.T) {
	for status, change := range map[int]func(b *bolt.Bucket, key, value []byte) error{
		500: func(b *bolt.Bucket, key, value []byte) error { // a flipped bit
			value = bytes.Clone(value)
			value[len(value)-3] ^= 4
			return b.Put(key, value)
		},
		401: func(b *bolt.Bucket, key, _ []byte) error { return b.Delete(key) }, // nothing says that the user existed
	} {
		app := apptest.New(t)
		org, other := app.Org("Acme"), app.Org("Beta")
		org.Write.Post("/v1/contacts", `{"email": "ann@x.example"}`).Is(201)
		app.Stop()
		damage(t, app, org.ID, "organizations.rec", change)
		damage(t, app, org.ID, "users.rec", change)
		app.Start()
		if answer := org.Read.Post("/v1/contacts/list", `{}`).Is(status); status == 500 {
			answer.Fails(500, "damaged", "ask the operator")
		}
		other.Read.Post("/v1/contacts/list", `{}`).Is(200)
		if got := orgNames(t, app); got["Beta"] != other.ID {
			t.Errorf("before: %v", got)
		}
		result, err := Check.doLong(t.Context(), app.Service, CheckInput{Repair: true, Drop: true}, func(int, int) {})
		if err != nil || !result.OK || len(result.Problems) > 0 {
			t.Fatalf("%v, %+v", err, result)
		}
		if got := orgNames(t, app); got["damaged-"+org.ID.String()] != org.ID || got["Beta"] != other.ID {
			t.Errorf("after: %v", got)
		}
		org.Read.Post("/v1/contacts/list", `{}`).Is(401) // the user is not active
		err = app.Store.View(org.ID, func(tx *store.Tx) error {
			if n := tx.RecordCount("contacts"); n != 1 {
				t.Errorf("there are %d contacts", n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		again, err := Check.doLong(t.Context(), app.Service, CheckInput{}, func(int, int) {})
		if err != nil || !again.OK {
			t.Errorf("%v, %+v", err, again)
		}
	}
}

// orgNames returns the ids of all organizations by their names.
func orgNames(t *testing.T, app *apptest.App) map[string]uuid.UUID {
	t.Helper()
	orgs, err := Organizations(app.Service)
	if err != nil {
		t.Error(err)
	}
	names := map[string]uuid.UUID{}
	for _, o := range orgs {
		names[o.Name] = o.ID
	}
	return names
}

// damage changes the first entry of a bucket of an organization in a store that is closed.
func damage(t *testing.T, app *apptest.App, org uuid.UUID, bucket string, change func(b *bolt.Bucket, key, value []byte) error) {
	t.Helper()
	edit(t, app, org, bucket, func(b *bolt.Bucket) error {
		key, value := b.Cursor().First()
		return change(b, bytes.Clone(key), value)
	})
}

// edit changes a bucket of an organization in a store that is closed.
func edit(t *testing.T, app *apptest.App, org uuid.UUID, bucket string, change func(b *bolt.Bucket) error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(app.Config.DataDir, store.FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return change(tx.Bucket([]byte("orgs")).Bucket(org[:]).Bucket([]byte(bucket)))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
