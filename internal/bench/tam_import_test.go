package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/filter"
	"prospector/internal/service"
	"prospector/internal/tam"
	"prospector/store"
)

// BenchmarkTAMImport measures the Import of a Preview of 10,000 companies and 30,000 people as
// Accounts and Contacts, and compares it with batches of the same records over HTTP.
func BenchmarkTAMImport(b *testing.B) {
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	err := s.Catalog.Generate(context.Background(), s.Store, catalog.Generation{Companies: 10_000, PeoplePerCompany: 3, Seed: 1}, func(int, int) {})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(s.API)
	defer server.Close()
	const rounds = 5
	ratios := make([]float64, rounds)
	for i := range rounds {
		imported := newTenant(b, s, fmt.Sprintf("Imported %d", i), 0)
		m := &previews{b: b, s: s, org: imported.id}
		_, preview := m.prepare()
		market := readMarket(b, s, imported, preview)
		n := len(market.accounts) + len(market.people)
		byImport := timed(b, s, n, func() { m.transfer(preview, market) })

		batched := newTenant(b, s, fmt.Sprintf("Batched %d", i), 0)
		byBatch := float64(n) / market.send(b, s, server, batched).Seconds()
		ratios[i] = byImport / byBatch
		fmt.Printf("import of %d members: %.0f records/s; batches over HTTP: %.0f/s; ratio %.2f\n",
			n, byImport, byBatch, ratios[i])
	}
	slices.Sort(ratios)
	fmt.Printf("Import of a Preview compared with batches, median ratio: %.2f, target 0.8 %s\n",
		ratios[rounds/2], verdict(ratios[rounds/2] >= 0.8))
}

// transfer imports a Preview and returns the time from acceptance to completion.
func (m *previews) transfer(preview uuid.UUID, market *marketBodies) {
	plan, err := m.s.TAM.PlanImport(context.Background(), m.org, preview, tam.ImportMax{})
	m.must(err)
	var id uuid.UUID
	m.update(func(tx *store.Tx) error {
		doc, _, err := m.s.TAM.Accept(tx, plan)
		id = doc.ID
		return err
	})
	m.s.Worker.Once(context.Background())
	m.must(m.s.Store.View(m.org, func(tx *store.Tx) error {
		doc, err := m.s.TAM.Imports.Get(tx, id)
		if got := doc.Record; err == nil && (got.Status != "completed" || got.Accounts.Created != len(market.accounts) || got.Contacts.Created != len(market.people)) {
			err = fmt.Errorf("the Import did not complete: %s", doc.JSON)
		}
		return err
	}))
}

// marketBodies holds the members of a Preview as batch records. employers are the positions of the
// people's companies among the accounts.
type marketBodies struct {
	accounts, people []map[string]any
	employers        []int
}

// accountFields and contactFields are the fields that Accounts and Contacts take from the catalog.
var (
	accountFields = []string{"name", "website", "industry", "employee_count", "annual_revenue", "founded_year", "description", "country", "location", "linkedin_url", "phone_number"}
	contactFields = []string{"first_name", "last_name", "email", "title", "phone_number", "linkedin_url", "location"}
)

func readMarket(b *testing.B, s *service.Service, t tenant, preview uuid.UUID) *marketBodies {
	market := &marketBodies{}
	selected := true
	for page := 1; ; page++ {
		var answer tam.Answer
		err := s.Store.View(t.id, func(tx *store.Tx) (err error) {
			answer, err = s.TAM.ReadMembers(tx, preview, tam.PageQuery{Page: page, Size: filter.MaxPageSize, Filter: tam.MemberFilter{Selected: &selected}})
			return err
		})
		var got struct {
			Members []struct {
				Kind string         `json:"kind"`
				Data map[string]any `json:"data"`
			} `json:"members"`
		}
		if err == nil {
			err = json.Unmarshal(answer.JSON, &got)
		}
		if err != nil {
			b.Fatal(err)
		}
		if len(got.Members) == 0 {
			return market
		}
		for _, m := range got.Members {
			if m.Kind == "company" {
				market.accounts = append(market.accounts, part(m.Data, accountFields))
				continue
			}
			market.people = append(market.people, part(m.Data, contactFields))
			market.employers = append(market.employers, len(market.accounts)-1)
		}
	}
}

// part returns an object with only some of its members.
func part(of map[string]any, keys []string) map[string]any {
	out := map[string]any{"source": "tam_import"}
	for _, key := range keys {
		out[key] = of[key]
	}
	return out
}

// send sends the accounts and then the contacts, which refer to them, as batches, and waits until
// they are indexed. The time that the client needs to build the bodies does not count.
func (m *marketBodies) send(b *testing.B, s *service.Service, server *httptest.Server, t tenant) (took time.Duration) {
	bodies := recordBatches(b, m.accounts)
	start := time.Now()
	answers := sendBatches(b, server, t, "accounts", bodies)
	took = time.Since(start)
	var ids []string
	for _, answer := range answers {
		var got struct {
			Data struct {
				Results []struct {
					ID string `json:"id"`
				} `json:"results"`
			} `json:"data"`
		}
		if err := json.Unmarshal(answer, &got); err != nil {
			b.Fatal(err)
		}
		for _, r := range got.Data.Results {
			ids = append(ids, r.ID)
		}
	}
	for i, employer := range m.employers {
		m.people[i]["account_id"] = ids[employer]
	}
	bodies = recordBatches(b, m.people)
	start = time.Now()
	sendBatches(b, server, t, "contacts", bodies)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	return took + time.Since(start)
}

func recordBatches(b *testing.B, records []map[string]any) (bodies []string) {
	for some := range slices.Chunk(records, batchRecords) {
		body, err := json.Marshal(map[string]any{"records": some})
		if err != nil {
			b.Fatal(err)
		}
		bodies = append(bodies, string(body))
	}
	return bodies
}
