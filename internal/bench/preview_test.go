package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/catalog"
	"prospector/internal/service"
	"prospector/internal/tam"
	"prospector/store"
)

// BenchmarkPreview measures a Preview of 10,000 companies and their people on a catalog of SIZE
// companies and three times as many people, and compares it with bare bbolt: preparing with writing
// the same members in the same chunks, a page with reading the same members, and excluding 1,000
// companies with writing the changed members.
func BenchmarkPreview(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	err := s.Catalog.Generate(context.Background(), s.Store, catalog.Generation{Companies: n, PeoplePerCompany: 3, Seed: 1}, func(int, int) {})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	m := &previews{b: b, s: s, org: newTenant(b, s, "Market", 0).id}
	m.prepare() // warm the per-segment caches of the index
	const rounds = 5
	var prepared, pages, filtered, excluded []float64
	for range rounds {
		took, id := m.prepare()
		bare := m.bare(id)
		prepared = append(prepared, took.Seconds()/bare.wrote.Seconds())
		fmt.Printf("preparing a Preview of %d members: %s; bare bbolt: %s; ratio %.2f\n",
			len(bare.keys), took.Round(time.Millisecond), bare.wrote.Round(time.Millisecond), prepared[len(prepared)-1])
		pages = append(pages, m.pages(id, bare, tam.MemberFilter{}))
		yes := true
		filtered = append(filtered, m.pages(id, bare, tam.MemberFilter{Kind: "person", Selected: &yes}))
		excluded = append(excluded, m.exclude(id, bare))
		bare.db.Close()
	}
	for what, ratios := range map[string][]float64{"preparing": prepared, "a page": pages, "a filtered page": filtered, "excluding": excluded} {
		slices.Sort(ratios)
		fmt.Printf("%s, median ratio: %.2f, target 2 %s\n", what, ratios[rounds/2], verdict(ratios[rounds/2] <= 2))
	}
	fmt.Printf("memory (RssAnon) at the end: %d MB, target 400 MB %s\n", rssAnon(b), verdict(rssAnon(b) <= 400))
}

type previews struct {
	b   *testing.B
	s   *service.Service
	org uuid.UUID
}

func (m *previews) must(err error) {
	m.b.Helper()
	if err != nil {
		m.b.Fatal(err)
	}
}

func (m *previews) update(fn func(tx *store.Tx) error) {
	m.b.Helper()
	m.must(m.s.Store.Update(context.Background(), m.org, store.Actor{}, fn))
}

// prepare prepares a Preview of 10,000 companies and returns the time from the request until it is
// READY.
func (m *previews) prepare() (took time.Duration, id uuid.UUID) {
	draft := tam.NewDraft(value(m.b, fmt.Sprintf(`{"request_id": %q, "company_filters": {}}`, uuid.New())))
	start := time.Now()
	m.update(func(tx *store.Tx) error {
		doc, _, err := m.s.TAM.Prepare(tx, draft)
		id = doc.ID
		return err
	})
	m.s.Worker.Once(context.Background())
	took = time.Since(start)
	m.must(m.s.Store.View(m.org, func(tx *store.Tx) error {
		doc, err := m.s.TAM.Previews.Get(tx, id)
		if err == nil && doc.Record.Status != tam.Ready {
			err = fmt.Errorf("the Preview is %s, want READY", doc.Record.Status)
		}
		return err
	}))
	return took, id
}

// bareMembers holds the members of a Preview in a bbolt file that contains nothing else.
type bareMembers struct {
	db     *bolt.DB
	keys   [][]byte
	values [][]byte
	wrote  time.Duration
}

var bareBucket = []byte("members")

// bare writes the members of a Preview to a new file, in the same chunks as the Preview.
func (m *previews) bare(id uuid.UUID) *bareMembers {
	bare := &bareMembers{}
	m.must(m.s.Store.View(m.org, func(tx *store.Tx) error {
		doc, err := m.s.TAM.Previews.Get(tx, id)
		if err != nil {
			return err
		}
		totals := doc.Record.Totals
		numbers := make([]uint32, totals.Companies.Matched+totals.People.Matched)
		for i := range numbers {
			numbers[i] = uint32(i)
		}
		return store.NewParts("previews.members").Each(tx, id, numbers, func(n uint32, v []byte) error {
			bare.keys = append(bare.keys, append(slices.Clone(id[:]), byte(n>>24), byte(n>>16), byte(n>>8), byte(n)))
			bare.values = append(bare.values, append(make([]byte, 4), v...))
			return nil
		})
	}))
	var err error
	bare.db, err = bolt.Open(filepath.Join(m.b.TempDir(), "bare.db"), 0o600, &bolt.Options{InitialMmapSize: 1 << 30, FreelistType: bolt.FreelistMapType})
	m.must(err)
	start := time.Now()
	for from := 0; from < len(bare.keys); from += tam.MembersPerWrite {
		m.must(bare.db.Update(func(tx *bolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(bareBucket)
			if err != nil {
				return err
			}
			bucket.FillPercent = 1
			for i := from; i < min(from+tam.MembersPerWrite, len(bare.keys)); i++ {
				if err := bucket.Put(bare.keys[i], bare.values[i]); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	bare.wrote = time.Since(start)
	return bare
}

const pageSize = 50

// pages returns the time that random pages take, divided by the time to read the same members from
// the bare file.
func (m *previews) pages(id uuid.UUID, bare *bareMembers, f tam.MemberFilter) float64 {
	const reads = 500
	r := rand.New(rand.NewPCG(1, 2))
	read := func(page int) (data []byte) {
		m.must(m.s.Store.View(m.org, func(tx *store.Tx) error {
			var answer tam.Answer
			var err error
			if at := (tam.PageQuery{Page: page, Size: pageSize, Filter: f}); at.Filter == (tam.MemberFilter{}) {
				answer, err = m.s.TAM.Read(tx, id, at, nil)
			} else {
				answer, err = m.s.TAM.ReadMembers(tx, id, at)
			}
			data = answer.JSON
			return err
		}))
		return data
	}
	type answer struct {
		Members []struct {
			SourceOrdinal int `json:"source_ordinal"`
		}
		PaginationMeta struct {
			TotalCount int `json:"total_count"`
		} `json:"pagination_meta"`
	}
	var page answer
	m.must(json.Unmarshal(read(1), &page))
	total := page.PaginationMeta.TotalCount
	numbers := make([]int, reads)
	ordinals := make([][]int, reads)
	for i := range numbers {
		numbers[i] = 1 + r.IntN((total+pageSize-1)/pageSize)
		page = answer{}
		m.must(json.Unmarshal(read(numbers[i]), &page))
		for _, member := range page.Members {
			ordinals[i] = append(ordinals[i], member.SourceOrdinal)
		}
	}
	start := time.Now()
	for _, n := range numbers {
		read(n)
	}
	ours := time.Since(start)
	start = time.Now()
	for _, page := range ordinals {
		bare.read(m.b, page)
	}
	floor := time.Since(start)
	fmt.Printf("a page of %d members out of %d: %s; read from bare bbolt: %s; ratio %.2f\n",
		pageSize, total, ours/reads, floor/reads, ours.Seconds()/floor.Seconds())
	return ours.Seconds() / floor.Seconds()
}

// read assembles members as a response contains them.
func (x *bareMembers) read(b *testing.B, ordinals []int) []byte {
	out := make([]byte, 0, 1<<16)
	err := x.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bareBucket).Cursor()
		for i, n := range ordinals {
			var v []byte
			if i > 0 && ordinals[i-1] == n-1 {
				_, v = c.Next()
			} else {
				_, v = c.Seek(x.keys[n])
			}
			out = append(append(out, v...), ',')
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// exclude returns the time to exclude 1,000 companies, divided by the time to write their members
// and those of their people to the bare file.
func (m *previews) exclude(id uuid.UUID, bare *bareMembers) float64 {
	var body tam.ExcludeBody
	var changed []int
	for n := 0; len(body.CompanyIDs) < 1000 || !isCompany(bare.values[n]); n++ {
		if isCompany(bare.values[n]) {
			var member struct {
				SourceID string `json:"source_id"`
			}
			m.must(json.Unmarshal(append(slices.Clone(bare.values[n][5:]), '}'), &member))
			body.CompanyIDs = append(body.CompanyIDs, member.SourceID)
		}
		changed = append(changed, n)
	}
	start := time.Now()
	m.update(func(tx *store.Tx) error {
		done, err := m.s.TAM.Exclude(tx, id, body)
		if err == nil && len(done.UnknownIDs) > 0 {
			err = fmt.Errorf("%d unknown ids", len(done.UnknownIDs))
		}
		return err
	})
	ours := time.Since(start)
	start = time.Now()
	m.must(bare.db.Update(func(tx *bolt.Tx) error {
		for _, n := range changed {
			if err := tx.Bucket(bareBucket).Put(bare.keys[n], bare.values[n]); err != nil {
				return err
			}
		}
		return nil
	}))
	floor := time.Since(start)
	fmt.Printf("excluding 1000 companies with their people: %s; bare write of %d members: %s; ratio %.2f\n",
		ours.Round(time.Microsecond), len(changed), floor.Round(time.Microsecond), ours.Seconds()/floor.Seconds())
	return ours.Seconds() / floor.Seconds()
}

func isCompany(stored []byte) bool {
	var member struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(append(slices.Clone(stored[5:]), '}'), &member) == nil && member.Kind == "company"
}
