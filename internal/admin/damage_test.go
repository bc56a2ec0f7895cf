package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// listed are lists of different kinds. The records of compared ones have nothing of other records in them.
var listed = []struct {
	path, table string
	isCompared  bool
}{
	{"/v1/contacts", "contacts", true}, {"/v1/accounts", "accounts", true}, {"/v1/tags", "tags", true},
	{"/v1/tasks", "tasks", true}, {"/v1/audiences", "audiences", false}, {"/v1/campaigns", "campaigns", false},
	{"/v1/sequence-templates", "sequence-templates", false},
}

// world is a store with several kinds of records in several organizations.
type world struct {
	app  *apptest.App
	orgs []*apptest.Org
	file []byte
	// truth are the records by organization, table and id.
	truth map[uuid.UUID]map[string]map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{app: apptest.New(t), truth: map[uuid.UUID]map[string]map[string]string{}}
	var companies []catalog.Company
	for i := range 40 {
		companies = append(companies, catalog.Company{ID: fmt.Sprint("c", i), Name: fmt.Sprint("Company ", i), Description: shape.Text(strings.Repeat("tools ", 20))})
	}
	w.app.Catalog(companies, nil)
	for n, name := range []string{"Acme", "Beta", "Gamma"} {
		org := w.app.Org(name)
		w.orgs = append(w.orgs, org)
		org.Admin.Post("/v1/webhooks/subscriptions", `{"url": "http://127.0.0.1:1/hook", "triggers": ["contact.created"]}`).Is(201)
		var members, tags []string
		for i := range 5 {
			tags = append(tags, org.Write.Post("/v1/tags", fmt.Sprintf(`{"name": "tag %d", "color": "green", "object_type": "contact"}`, i)).Is(201).ID())
		}
		for i := range 60 - 25*n {
			account := org.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "Account %d", "website": "a%d.example"}`, i, i)).Is(201).ID()
			contact := org.Write.Post("/v1/contacts", map[string]any{
				"email": fmt.Sprintf("c%d@x.example", i), "first_name": "Ann", "account_id": account, "tags": tags[i%5 : i%5+1],
				"notes": strings.Repeat("a note ", i%40), "external_id": fmt.Sprint("x", i),
			}).Is(201).ID()
			members = append(members, contact)
			org.Write.Post("/v1/tasks", map[string]any{"title": fmt.Sprint("Call ", i), "contact_id": contact}).Is(201)
			if i%4 == 0 {
				org.Write.Patch("/v1/contacts/"+contact, `{"last_name": "Marsh"}`).Is(200)
			}
		}
		audience := org.Write.Post("/v1/audiences", `{"name": "Everyone"}`).Is(201).ID()
		org.Write.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": members}).Is(200)
		template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "day": 0, "hour": 9, "type": "call"}]}`).Is(201).ID()
		org.Write.Post("/v1/campaigns", map[string]any{"name": "C", "template_id": template, "audience_ids": []string{audience}, "status": "active"}).Is(201)
		org.Write.Post("/v1/tam/preview", map[string]any{"request_id": uuid.New(), "company_filters": map[string]any{}}).Is(202)
	}
	w.app.Work()
	for _, org := range w.orgs {
		w.truth[org.ID] = map[string]map[string]string{}
		for _, l := range listed {
			records, _, status := list(w.app.Service, org.Read.Key, l.path)
			if status != 200 || len(records) == 0 {
				t.Fatalf("%s: %d, %d records", l.path, status, len(records))
			}
			w.truth[org.ID][l.table] = records
		}
	}
	w.app.Stop()
	t.Cleanup(w.app.Start)
	path := filepath.Join(w.app.Config.DataDir, store.FileName)
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var used int64
	err = db.View(func(tx *bolt.Tx) error { used = tx.Size(); return nil })
	if err = errors.Join(err, db.Close()); err == nil {
		w.file, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.file = w.file[:used] // the rest of the file is empty
	return w
}

// list returns the records of a list by id, and how many it says are damaged.
func list(s *service.Service, key, path string) (records map[string]string, damaged, status int) {
	records = map[string]string{}
	for page := 1; ; page++ {
		req := httptest.NewRequest("POST", path+"/list", strings.NewReader(fmt.Sprintf(`{"page": %d, "page_size": 100}`, page)))
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		res := httptest.NewRecorder()
		s.API.ServeHTTP(res, req)
		var body struct {
			Data []json.RawMessage `json:"data"`
			Meta struct {
				Total   int `json:"total"`
				Damaged int `json:"damaged"`
			} `json:"meta"`
		}
		if err := json.Unmarshal(res.Body.Bytes(), &body); err != nil || res.Code != 200 {
			return records, 0, res.Code
		}
		for _, raw := range body.Data {
			var head struct {
				ID string `json:"id"`
			}
			_ = json.Unmarshal(raw, &head) // an id that cannot be read is empty, and unknown
			records[head.ID] = string(raw)
		}
		if len(body.Data) < 100 {
			return records, body.Meta.Damaged, res.Code
		}
	}
}

// mutation changes a file.
type mutation struct {
	name  string
	apply func(file []byte, random *rand.Rand)
}

var mutations = []mutation{
	{"flipped bit", func(file []byte, random *rand.Rand) { file[random.IntN(len(file))] ^= 1 << random.IntN(8) }},
	{"flipped bit in a page header", func(file []byte, random *rand.Rand) {
		size := os.Getpagesize()
		file[random.IntN(len(file)/size)*size+random.IntN(80)] ^= 1 << random.IntN(8)
	}},
	{"damaged meta page", func(file []byte, random *rand.Rand) {
		size := os.Getpagesize()
		at := random.IntN(2) * size
		file[at+random.IntN(80)] ^= 1 << random.IntN(8)
		if random.IntN(2) == 0 {
			clear(file[at : at+size])
		}
	}},
	{"zeroed page", func(file []byte, random *rand.Rand) {
		size := os.Getpagesize()
		at := random.IntN(len(file)/size) * size
		clear(file[at : at+size])
	}},
	{"swapped pages", func(file []byte, random *rand.Rand) {
		size := os.Getpagesize()
		a, b := random.IntN(len(file)/size)*size, random.IntN(len(file)/size)*size
		page := bytes.Clone(file[a : a+size])
		copy(file[a:a+size], file[b:b+size])
		copy(file[b:b+size], page)
	}},
}

// TestDamagedPages damages pages of the store file at random: no list has a wrong record or is silently
// short, everything else goes on, and dropping names what is gone and leaves a store that check and
// backup accept. PROSPECTOR_SOAK is the number of damaged files, 10 by default.
func TestDamagedPages(t *testing.T) {
	rounds := 2 * len(mutations)
	if v := os.Getenv("PROSPECTOR_SOAK"); v != "" {
		var err error
		if rounds, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, seed))
	refused, gone := 0, 0
	for round := range rounds {
		m := mutations[round%len(mutations)]
		file := bytes.Clone(w.file)
		m.apply(file, random)
		t.Run(fmt.Sprint(round, " ", m.name), func(t *testing.T) {
			lost, opened := w.survive(t, file)
			if !opened {
				refused++
			}
			gone += lost
		})
	}
	t.Logf("seed %d: %d files of %d pages, %d refused because nothing can be found in them, %d records gone in the others",
		seed, rounds, len(w.file)/os.Getpagesize(), refused, gone)
	if refused*10 > rounds+20 {
		t.Errorf("%d of %d files were refused", refused, rounds)
	}
}

// survive runs the service on a damaged file and repairs it. It returns the number of records that are gone.
func (w *world) survive(t *testing.T, file []byte) (gone int, opened bool) {
	cfg := apptest.Config(filepath.Join(t.TempDir(), "data"))
	path := filepath.Join(cfg.DataDir, store.FileName)
	if err := errors.Join(os.Mkdir(cfg.DataDir, 0o700), os.WriteFile(path, file, 0o600)); err != nil {
		t.Fatal(err)
	}
	log := &apptest.Log{}
	s, err := service.Open(cfg, service.Options{Log: slog.New(slog.NewTextHandler(log, nil)), Clock: w.app.Clock.Now})
	if err != nil {
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "restore a backup") {
			t.Errorf("open: %v", err)
		}
		return 0, false
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	if s.Store.Rebuilt() {
		t.Error("the rebuild is not finished")
	}
	w.compare(t, s, nil)
	result, err := Check.doLong(t.Context(), s, CheckInput{Repair: true, Drop: true}, func(int, int) {})
	if err != nil || !result.OK {
		t.Fatalf("check --repair --drop: %v, %+v", err, result)
	}
	gone = w.compare(t, s, result.Dropped)
	if gone > 0 {
		t.Logf("%d records are gone, dropped %+v", gone, result.Dropped)
	}
	again, err := Check.doLong(t.Context(), s, CheckInput{}, func(int, int) {})
	if err != nil || !again.OK || len(again.Problems) > 0 {
		t.Errorf("check: %v, %+v", err, again)
	}
	if _, err := Backup.doLong(t.Context(), s, BackupInput{}, func(int, int) {}); err != nil {
		t.Errorf("backup: %v", err)
	}
	return gone, true
}

// compare compares all lists with what was written. Before anything was dropped, a list says that it is
// short. Afterwards it is complete but for what was dropped.
func (w *world) compare(t *testing.T, s *service.Service, dropped []Dropped) (gone int) {
	t.Helper()
	for _, org := range w.orgs {
		for _, l := range listed {
			truth := w.truth[org.ID][l.table]
			records, damaged, status := list(s, org.Read.Key, l.path)
			if status == 401 || status == 500 && dropped == nil {
				if !keyIsGone(s, org, dropped) {
					t.Errorf("%s: %d", l.path, status)
				}
				continue
			}
			if status != 200 {
				t.Errorf("%s: %d", l.path, status)
			}
			missing := slices.Collect(maps.Keys(truth))
			missing = slices.DeleteFunc(missing, func(id string) bool { return records[id] != "" })
			for id, record := range records {
				if truth[id] == "" || dropped == nil && l.isCompared && record != truth[id] {
					t.Errorf("%s: got %s\nwant %s", l.path, record, truth[id])
				}
			}
			if dropped == nil {
				if len(missing) > 0 && damaged == 0 {
					t.Errorf("%s is silently short of %v", l.path, missing)
				}
				continue
			}
			gone += len(missing)
			unknown := 0
			for _, d := range dropped {
				if d.Organization == org.ID && d.Kind == l.table {
					unknown += d.Missing
					missing = slices.DeleteFunc(missing, func(id string) bool { return d.ID.Valid && d.ID.UUID.String() == id })
				}
			}
			if damaged > 0 || len(missing) > unknown {
				t.Errorf("%s: %d damaged, gone and not named: %v (%d unknown)", l.path, damaged, missing, unknown)
			}
		}
	}
	return gone
}

// keyIsGone reports whether the damage is in the records by which a request is authenticated.
func keyIsGone(s *service.Service, org *apptest.Org, dropped []Dropped) bool {
	damaged, authenticating := s.Store.DamagedIDs(org.ID), []string{"api_keys", "users", "organizations"}
	var lost []store.LostPage
	_ = s.Store.View(uuid.Nil, func(tx *store.Tx) (err error) { lost, err = tx.LostPages(); return err })
	return slices.ContainsFunc(authenticating, func(table string) bool { return len(damaged[table]) > 0 }) ||
		slices.ContainsFunc(dropped, func(d Dropped) bool {
			return d.Organization == org.ID && (slices.Contains(authenticating, d.Kind) || d.Page > 0 && d.Kind == "")
		}) ||
		slices.ContainsFunc(lost, func(l store.LostPage) bool { // the list of its tables
			return l.Organization == org.ID && l.Bucket == ""
		})
}
