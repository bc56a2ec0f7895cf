package handlers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/store"
)

// damage changes entries of a bucket of an organization in the file of a stopped store, without changing
// their checksums.
func damage(t *testing.T, app *apptest.App, org uuid.UUID, bucket string, keys ...[]byte) {
	t.Helper()
	edit(t, app, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("orgs")).Bucket(org[:]).Bucket([]byte(bucket))
		for _, key := range keys {
			value := bytes.Clone(b.Get(key))
			value[len(value)-3] ^= 1
			if err := b.Put(key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// edit changes the file of the store while the service is stopped.
func edit(t *testing.T, app *apptest.App, change func(*bolt.Tx) error) {
	t.Helper()
	app.Stop()
	db, err := bolt.Open(filepath.Join(app.Config.DataDir, store.FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
	app.Start()
}

// key returns the key of a record.
func key(id string) []byte {
	parsed := uuid.MustParse(id)
	return parsed[:]
}

// damagedRecords returns the value of the metric.
func damagedRecords(t *testing.T, app *apptest.App) string {
	t.Helper()
	const name = "prospector_store_damaged_records "
	for line := range strings.Lines(string(app.Anonymous().Get("/metrics").Is(200).Body)) {
		if value, found := strings.CutPrefix(line, name); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatal("the metric is missing")
	return ""
}

// requireList requires that a list has the number of records on all pages, and reports the number of damaged
// ones.
func requireList(r *apptest.Response, total, damaged int) *apptest.Response {
	meta := `{"timestamp": "<time>"}`
	if damaged > 0 {
		meta = fmt.Sprintf(`{"timestamp": "<time>", "damaged": %d}`, damaged)
	}
	n := r.Int("pagination.page_size")
	return r.Is(200, fmt.Sprintf(`{"data": "<any>", "pagination": {"page": 1, "page_size": %d, "total_count": %d, "total_pages": %d}, "meta": %s}`,
		n, total, (total+n-1)/n, meta))
}

// TestDamagedRecord checks that a damaged record is left out of lists and exports, which say so, that
// everything else works, and that the record can be deleted. It does so on a table in memory and on one
// that has an index.
func TestDamagedRecord(t *testing.T) {
	for name, others := range map[string]int{"small table": 4, "table with an index": 2100} {
		t.Run(name, func(t *testing.T) {
			app := apptest.New(t)
			org := app.Org("Acme")
			account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
			var bodies []string
			for i := range others {
				bodies = append(bodies, fmt.Sprintf(`{"email": "c%d@x.example", "notes": "plain old text"}`, i))
			}
			for len(bodies) > 0 {
				n := min(len(bodies), 1000)
				org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(bodies[:n], ",")+`]}`).Is(200)
				bodies = bodies[n:]
			}
			bad := org.Write.Post("/v1/contacts", map[string]any{
				"email": "bad@x.example", "external_id": "x-1", "account_id": account, "notes": "plain old text",
			}).Is(201).ID()
			good := org.Write.Post("/v1/contacts", `{"email": "good@x.example"}`).Is(201).ID()
			all := others + 2
			if err := app.Index.Flush(); err != nil {
				t.Fatal(err)
			}
			list := func(body string) *apptest.Response { return org.Read.In(t).Post("/v1/contacts/list", body) }
			requireList(list(`{"page_size": 3}`), all, 0)

			damage(t, app, org.ID, "contacts.rec", key(bad))

			page := requireList(list(`{"page_size": 3}`), all-1, 1)
			if ids := page.Column("id"); len(ids) != 3 || ids[0] != good {
				t.Errorf("the page has the records %v", ids)
			}
			requireList(list(`{"sort": "email", "page_size": 2}`), all-1, 1)
			requireList(list(`{"filters": [{"field": "notes", "condition": "contains", "value": "ain old"}]}`), others, 1)
			export := org.Read.In(t).Post("/v1/contacts/export", `{}`).Is(200)
			if n := bytes.Count(export.Body, []byte("\n")); n != all-1 {
				t.Errorf("the export has %d records, want %d", n, all-1)
			}
			if got := export.Trailer.Get("X-Damaged-Records"); got != "1" {
				t.Errorf("the export reports %q damaged records", got)
			}
			compressed := remote(app, http.MethodPost, "/v1/contacts/export", org.Read.Key, "{}", "Accept-Encoding", "gzip")
			if _, plain := content(t, compressed); !bytes.Equal(plain, export.Body) || compressed.Trailer.Get("X-Damaged-Records") != "1" {
				t.Errorf("the compressed export has %d bytes, want %d, and the trailer %v", len(plain), len(export.Body), compressed.Trailer)
			}

			org.Read.In(t).Do(http.MethodGet, "/v1/contacts/"+bad, nil, "X-Request-Id", "r-500").Is(500, fmt.Sprintf(
				`{"error": {"code": "damaged", "message": "<any>", "details": [{"path": "contacts", "id": %q, "message": "<any>"}]}}`, bad))
			org.Write.In(t).Patch("/v1/contacts/"+bad, `{"notes": "new"}`).Fails(500, "damaged", bad)
			org.Read.In(t).Get("/v1/contacts/" + good).Is(200)
			app.Anonymous().In(t).Get("/readyz").Is(200, `{"data": {"status": "ok", "damaged_records": 1}, "meta": {"timestamp": "<time>"}}`)
			if got := damagedRecords(t, app); got != "1" {
				t.Errorf("the metric is %s", got)
			}
			log := app.Log.String()
			if strings.Count(log, "record is damaged and left out of lists") != 1 || !strings.Contains(log, "request_id=r-500") {
				t.Errorf("the log does not report the record once:\n%s", log)
			}

			org.Write.In(t).Do(http.MethodDelete, "/v1/contacts/"+bad, nil, "If-Match", `"1"`).Fails(412, "precondition_failed", "")
			org.Write.In(t).Delete("/v1/contacts/" + bad).Is(204)
			org.Read.In(t).Get("/v1/contacts/"+bad).Fails(404, "not_found", "")
			requireList(list(`{"page_size": 3}`), all-1, 0)
			app.Anonymous().In(t).Get("/readyz").Is(200, `{"data": {"status": "ok"}, "meta": {"timestamp": "<time>"}}`)
			if got := damagedRecords(t, app); got != "0" {
				t.Errorf("the metric is %s after the deletion", got)
			}
			org.Write.In(t).Post("/v1/contacts", `{"email": "bad@x.example", "external_id": "x-1"}`).Is(201) // its keys are free
			app.Restart()
			requireList(list(`{"page_size": 3}`), all, 0)
			history := org.Read.In(t).Get("/v1/contacts/" + bad + "/history").Is(200).Column("change")
			if !slices.Equal(history, []string{"deleted", "created"}) {
				t.Errorf("the history is %v", history)
			}
		})
	}
}

// TestDamagedHistory checks that a damaged history entry affects nothing but the history of its record.
// The response contains a request id, and the log the details.
func TestDamagedHistory(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	one := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	two := org.Write.Post("/v1/contacts", `{"email": "b@x.example"}`).Is(201).ID()
	damage(t, app, org.ID, "contacts.log", binary.BigEndian.AppendUint64(nil, 2))
	org.Read.Do(http.MethodGet, "/v1/contacts/"+two+"/history", nil, "X-Request-Id", "r-500").Is(500,
		`{"error": {"code": "damaged", "message": "data that the request needs is damaged and cannot be read; the server log has details under request id r-500"}}`)
	org.Read.Get("/v1/contacts/" + one + "/history").Is(200)
	for i := range 17 { // enough for the log to be trimmed
		org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example"}`, i)).Is(201)
	}
	requireList(org.Read.Post("/v1/contacts/list", nil), 19, 0)
	if log := app.Log.String(); !strings.Contains(log, "request_id=r-500") {
		t.Error(log)
	}
}

// TestScrub checks that a scrub finds damage that nobody has read yet.
func TestScrub(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	org.Write.Post("/v1/contacts", `{"email": "b@x.example"}`).Is(201)
	scrub := func() {
		t.Helper()
		pace := make(chan time.Time)
		close(pace)
		if err := app.Store.Scrub(t.Context(), pace); err != nil {
			t.Fatal(err)
		}
	}
	scrub()
	if log := app.Log.String(); strings.Contains(log, "damaged") {
		t.Errorf("the log reports damage in a whole store:\n%s", log)
	}
	damage(t, app, org.ID, "contacts.rec", key(id))
	damage(t, app, org.ID, "contacts.log", binary.BigEndian.AppendUint64(nil, 2))
	if got := damagedRecords(t, app); got != "0" {
		t.Errorf("the metric is %s before the scrub", got)
	}
	scrub()
	if got := damagedRecords(t, app); got != "1" {
		t.Errorf("the metric is %s after the scrub", got)
	}
	log := app.Log.String()
	if !strings.Contains(log, "id="+id) || strings.Count(log, "store entry is damaged") != 1 || !strings.Contains(log, "bucket=contacts.log") {
		t.Errorf("the log does not report the damage:\n%s", log)
	}
}

// TestLostRecord checks that a record that the store has lost without a trace, as after damage to the
// header of a page, is missed: a list is never silently short.
func TestLostRecord(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	org.Write.Post("/v1/contacts", `{"email": "b@x.example"}`).Is(201)
	check := func(want int) {
		t.Helper()
		if n, err := app.Store.CheckCounts(t.Context()); err != nil || n != want {
			t.Errorf("%d tables differ, want %d (%v)", n, want, err)
		}
	}
	check(0)
	edit(t, app, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("orgs")).Bucket(org.ID[:]).Bucket([]byte("contacts.rec")).Delete(key(id))
	})
	requireList(org.Read.Post("/v1/contacts/list", nil), 1, 1)
	check(1)
	if log := app.Log.String(); !strings.Contains(log, "table=contacts records=1 count=2") {
		t.Errorf("the log does not report the table:\n%s", log)
	}
}

// TestLostKey checks that a request with an API key whose record is lost fails, because the key may be valid. A
// program that was told that its key is invalid would give up.
func TestLostKey(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Admin.Post("/v1/api-keys", `{"name": "lost"}`).Is(201)
	lost := org.Read
	lost.Key = id.Text("data.key")
	lost.Get("/v1/me").Is(200)
	edit(t, app, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("orgs")).Bucket(org.ID[:]).Bucket([]byte("api_keys.rec")).Delete(key(id.ID()))
	})
	lost.Get("/v1/me").Fails(500, "damaged", "")
	org.Read.Get("/v1/me").Is(200)
	lost.Key = lost.Key[:len(lost.Key)-4] + "AAAA"
	lost.Get("/v1/me").Is(401)
}

// aroundTheClock are the settings of an organization that sends at any time.
const aroundTheClock = `{"time_zone": "UTC", "business_days": [1, 2, 3, 4, 5], "holidays": [], "sending_window": {"from_hour": 0, "to_hour": 24}}`
