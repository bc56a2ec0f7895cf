package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// loadTx is the number of records loaded in one transaction.
const loadTx = 1000

// The store also holds small organizations next to the large one.
const (
	smallOrgs    = 50
	smallRecords = 200
)

// size returns the number of contacts of the large organization: SIZE, or 100,000.
func size(b *testing.B) int {
	s := os.Getenv("SIZE")
	if s == "" {
		return 100_000
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 10_000 {
		b.Fatalf("SIZE must be an integer of at least 10000, not %q", s)
	}
	return n
}

// openService opens the whole service on a directory, as serve runs it with default settings, except
// that there is no rate limit and webhooks may go to loopback addresses.
func openService(b *testing.B, dir string) *service.Service {
	s, err := service.Open(settings(dir), service.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// settings returns the default configuration for benchmarks.
func settings(dir string) service.Config {
	cfg := service.Config{DataDir: dir}
	cfg.Log.Level, cfg.Log.Format = "error", "text"
	cfg.Limits.BodyBytes, cfg.Limits.ImportBytes = 8<<20, 1<<30
	cfg.Trash.Retention, cfg.Imports.Retention = 30*24*time.Hour, 30*24*time.Hour
	cfg.Index.CacheBytes = 256 << 20
	cfg.Research.UnitRate, cfg.TAM.Retention = 1, 24*time.Hour
	cfg.Sequences.Speed = 1
	cfg.Mail.DailyCap, cfg.Mail.MinGap = 200, 30*time.Second
	hooks := &cfg.Webhooks
	hooks.AllowPrivateNetworks, hooks.Timeout, hooks.Retention = true, 15*time.Second, 30*24*time.Hour
	hooks.MaxPending, hooks.Concurrency = 100_000, 64
	hooks.RetrySchedule = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour}
	return cfg
}

// tenant is an organization with an API key.
type tenant struct {
	id   uuid.UUID
	key  string
	tags []uuid.UUID
}

func value(b *testing.B, text string) shape.Value {
	v, err := shape.ParseObject([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func newTenant(b *testing.B, s *service.Service, name string, tags int) tenant {
	ctx := context.Background()
	org, err := s.Identity.CreateOrganization(ctx, store.Actor{}, value(b, fmt.Sprintf(`{"name":%q}`, name)))
	if err != nil {
		b.Fatal(err)
	}
	t := tenant{id: org.ID}
	err = s.Store.Update(ctx, org.ID, store.Actor{}, func(tx *store.Tx) error {
		user, err := s.Identity.Users.Create(tx, record.NewDraft[identity.User](value(b, `{"first_name":"Ann","last_name":"Smith","email":"ann@bench.example"}`)))
		if err != nil {
			return err
		}
		if _, t.key, err = s.Identity.CreateKey(tx, record.NewDraft[identity.Key](value(b, fmt.Sprintf(`{"name":"bench","access":"write","user_id":%q}`, user.ID)))); err != nil {
			return err
		}
		for i := range tags {
			doc, err := s.CRM.Tags.Create(tx, record.NewDraft[crm.Tag](value(b, fmt.Sprintf(`{"name":"Tag %d","color":"blue","object_type":"contact"}`, i))))
			if err != nil {
				return err
			}
			t.tags = append(t.tags, doc.ID)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return t
}

var (
	firstNames = strings.Fields("Ann Anna Antonio Bill Carla Dmitri Elena Fatima George Hanna Ivan Julia Karl Laura Miguel Nadia Oscar Petra Quentin Rosa Samir Tanja Ulrich Vera Wei Xenia Yusuf Zoe")
	lastParts  = strings.Fields("Smi Ander Berg Carl Dun Eber Fair Gold Hart Iver John Kling Lumber Morgen New Ober Peter Quin Rosen Stein Thom Under Vander Wester")
	lastEnds   = strings.Fields("th son gh man field stein wood ton sen baum berg ham")
	levels     = []string{"VP", "Director of", "Head of", "Manager,", "Senior Manager,", "Chief", "Lead,", "Associate,", "Vice President,"}
	areas      = strings.Fields("Sales Marketing Operations Finance Engineering Product Support Security Data Legal People Procurement Logistics Research")
	regions    = []string{"", " EMEA", " North America", " APAC", " Global"}
	places     = []string{"Austin, Texas", "Berlin", "Paris", "São Paulo", "Tokyo", "Nairobi", "Oslo", "Lyon", "Köln", "Warsaw", "Austin"}
	hosts      = strings.Fields("initech ashgrove globex umbrella hooli vandelay stark wayne acme wonka")
	remarks    = []string{"Met at the fair in spring; wants the reports with the new cover sheet.", "Asked for a call back after the budget round.", "Prefers email, is rarely at the desk."}
)

func choose[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// contactBody returns the n-th contact.
func contactBody(r *rand.Rand, n int, tags []uuid.UUID) shape.Value {
	text := func(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }
	first, last := choose(r, firstNames), choose(r, lastParts)+choose(r, lastEnds)
	members := []shape.Member{
		{Key: "first_name", Value: text(first)},
		{Key: "last_name", Value: text(last)},
		{Key: "email", Value: text(fmt.Sprintf("%s.%s%d@%s.example", strings.ToLower(first), strings.ToLower(last), n, choose(r, hosts)))},
		{Key: "title", Value: text(choose(r, levels) + " " + choose(r, areas) + choose(r, regions))},
		{Key: "location", Value: text(choose(r, places))},
		{Key: "linkedin_url", Value: text(fmt.Sprintf("https://linkedin.example/in/%s-%d", strings.ToLower(last), n))},
		{Key: "source", Value: text(choose(r, []string{"api", "csv", "csv", "tam_import"}))},
		{Key: "scoring", Value: shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: "heat_score", Value: text(choose(r, []string{"hot", "warm", "cold"}))}}}},
	}
	if r.IntN(10) < 7 {
		members = append(members, shape.Member{Key: "phone_number", Value: text(fmt.Sprintf("+1 555 %07d", r.IntN(10_000_000)))})
	}
	if r.IntN(20) == 0 {
		members = append(members, shape.Member{Key: "do_not_contact", Value: shape.Value{Kind: shape.Bool, True: true}})
	}
	if r.IntN(4) == 0 {
		members = append(members, shape.Member{Key: "notes", Value: text(choose(r, remarks))})
	}
	var items []shape.Value
	for range r.IntN(4) {
		if tag := text(choose(r, tags).String()); !containsText(items, tag.Text) {
			items = append(items, tag)
		}
	}
	members = append(members, shape.Member{Key: "tags", Value: shape.Value{Kind: shape.List, Items: items}})
	return shape.Value{Kind: shape.Object, Members: members}
}

func containsText(items []shape.Value, text string) bool {
	for _, v := range items {
		if v.Text == text {
			return true
		}
	}
	return false
}

// firstDay is when the first contact was created. Each following contact is created a minute and a
// half later.
var firstDay = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

// load creates contacts, many per transaction, and returns their ids.
func load(b *testing.B, s *service.Service, t tenant, n int, seed uint64) []uuid.UUID {
	r := rand.New(rand.NewPCG(seed, 7))
	ids := make([]uuid.UUID, 0, n)
	for len(ids) < n {
		drafts := make([]record.Draft[crm.Contact], min(loadTx, n-len(ids)))
		for i := range drafts {
			drafts[i] = record.NewDraft[crm.Contact](contactBody(r, len(ids)+i, t.tags))
		}
		err := s.Store.Update(context.Background(), t.id, store.Actor{Operation: "load"}, func(tx *store.Tx) error {
			for _, d := range drafts {
				at := shape.At(firstDay.Add(time.Duration(len(ids)) * 90 * time.Second))
				doc, err := s.CRM.Contacts.CreateAs(tx, tx.NewID(), d, func(c *crm.Contact) { c.CreatedAt, c.UpdatedAt = at, at })
				if err != nil {
					return err
				}
				ids = append(ids, doc.ID)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return ids
}

// plan compiles a list request.
func plan(b *testing.B, k *index.Kind, body string) *filter.Plan {
	var q filter.ListBody
	var p fault.Problems
	shape.Decode(value(b, body), &q, shape.Create, &p)
	compiled := filter.Compile(k.Kind, filter.NoCustomFields, q, &p)
	if err := p.Err(); err != nil {
		b.Fatalf("%s: %v", body, err)
	}
	return compiled
}

// rssAnon returns the anonymous memory of this process (without file pages) in MB.
func rssAnon(b *testing.B) int {
	bytes := anonOf(os.Getpid())
	if bytes == 0 {
		b.Skip("needs /proc/self/status")
	}
	return int(bytes >> 20)
}

// anonOf returns the anonymous memory of a process (without file pages) in bytes, or 0 if the
// process has exited.
func anonOf(pid int) (bytes int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	if _, rest, has := strings.Cut(string(status), "RssAnon:"); has {
		_, _ = fmt.Sscan(rest, &bytes)
	}
	return bytes << 10
}

func dirSize(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
