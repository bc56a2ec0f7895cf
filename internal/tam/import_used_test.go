package tam_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"prospector/internal/apptest"
)

// TestUsedIsExact lets random changes happen before, between and after the steps of Imports, which are
// interrupted at random writes and after which the service may start again. What an Import would add
// and what it reserves equal a plain count of the records that are missing. At the end, as much is
// used as was created, and no maximum and no limit is exceeded.
func TestUsedIsExact(t *testing.T) {
	app := apptest.New(t)
	const companies, peopleEach = 350, 2 // 1,050 members: an Import takes two writes
	market(app, companies, peopleEach)
	halfway := 0
	for seed := range uint64(12) {
		m := &usage{App: app, t: t, Rand: rand.New(rand.NewPCG(seed, 1)), org: app.Org(fmt.Sprint("Org ", seed)),
			accounts: map[string]string{}, contacts: map[string]string{}}
		m.changes(40)
		previews := []string{prepared(m.org), prepared(m.org)}
		var operations []string
		var limits [2]any
		if seed%3 > 0 {
			limits = [2]any{float64(m.IntN(companies)), float64(m.IntN(companies * peopleEach))}
		}
		limit(t, app, m.org, limits[0], limits[1])
		for _, preview := range previews {
			m.changes(20)
			if operation := m.accept(preview, limits); operation != "" {
				operations = append(operations, operation)
			}
			m.changes(20)
			m.step()
		}
		for range 3 {
			m.changes(10)
			m.step()
		}
		app.Work()
		m.check(operations, limits)
		halfway += m.halfway
	}
	if halfway == 0 {
		t.Error("no Import was interrupted between its writes")
	}
}

// usage is an organization with accounts and contacts of the market.
type usage struct {
	*apptest.App
	*rand.Rand
	t   *testing.T
	org *apptest.Org

	accounts, contacts map[string]string // ids by website and email
	deleted            [2]int            // accounts and contacts that an Import had created
	halfway            int               // how often an Import was interrupted between its writes
}

// read reads the accounts and contacts, of which an Import may have created some.
func (m *usage) read() {
	m.t.Helper()
	for entity, of := range map[string]struct {
		key  string
		into map[string]string
	}{"accounts": {"website", m.accounts}, "contacts": {"email", m.contacts}} {
		clear(of.into)
		for page := 1; ; page++ {
			res := m.org.Read.Post("/v1/"+entity+"/list", fmt.Sprintf(`{"page": %d, "page_size": 500}`, page)).Is(200)
			ids, keys := res.Column("id"), res.Column(of.key)
			for i, id := range ids {
				if of.into[keys[i]] != "" {
					m.t.Fatalf("there are two %s %s", entity, keys[i])
				}
				of.into[keys[i]] = id
			}
			if len(ids) < 500 {
				break
			}
		}
	}
}

// changes creates and deletes n records of the market.
func (m *usage) changes(n int) {
	m.t.Helper()
	m.read()
	for range n {
		website := fmt.Sprintf("c%03d.example", m.IntN(350))
		entity, kind, records, key, body := "accounts", 0, m.accounts, website, `{"name": "Mine", "website": "`+website+`"}`
		if m.IntN(3) > 0 {
			email := strings.Replace(website, ".example", fmt.Sprintf("p%d@mail.example", m.IntN(2)), 1)
			entity, kind, records, key, body = "contacts", 1, m.contacts, email, `{"email": "`+email+`"}`
		}
		if id := records[key]; id == "" {
			records[key] = m.org.Write.Post("/v1/"+entity, body).Is(201).ID()
		} else {
			if m.org.Read.Get("/v1/"+entity+"/"+id).Is(200).Text("data.source") == "tam_import" {
				m.deleted[kind]++
			}
			m.org.Write.Delete("/v1/" + entity + "/" + id).Is(204)
			delete(records, key)
		}
	}
}

// missing counts what an Import of the market with the given maxima, of which nil means none, would
// create.
func (m *usage) missing(most [2]any) (n [2]int) {
	isFull := func(kind int) bool { return most[kind] != nil && float64(n[kind]) >= most[kind].(float64) }
	for i := range 350 {
		id := fmt.Sprintf("c%03d", i)
		if m.accounts[id+".example"] == "" {
			if isFull(0) {
				continue
			}
			n[0]++
		}
		for j := range 2 {
			if m.contacts[fmt.Sprintf("%sp%d@mail.example", id, j)] == "" && !isFull(1) {
				n[1]++
			}
		}
	}
	return n
}

// accept accepts the Import of a Preview, with maxima that make it fit the limits. It returns "" if
// there is nothing to import.
func (m *usage) accept(preview string, limits [2]any) (operation string) {
	m.t.Helper()
	before := used(m.org)
	if got, want := wouldAdd(m.org, preview), m.missing([2]any{}); got != want {
		m.t.Errorf("the Import would add %v, want %v", got, want)
	}
	var most [2]any
	body := map[string]any{}
	for kind, key := range []string{"max_accounts", "max_contacts"} {
		if limits[kind] != nil {
			most[kind] = max(0, limits[kind].(float64)-float64(before[kind]))
		} else if m.IntN(2) == 0 {
			most[kind] = float64(m.IntN(500))
		}
		body[key] = most[kind]
	}
	want := m.missing(most)
	if limits[0] != nil && want[0] < m.missing([2]any{})[0] {
		m.org.Write.Post(preview+"/import", nil).Fails(402, "import_limit_exceeded", "max_accounts")
	}
	res := m.org.Write.Post(preview+"/import", body)
	if res.Status == 409 && res.Text("error.code") == "nothing_to_import" && want == [2]int{} {
		return ""
	}
	if got := used(m.org); got != [2]int{before[0] + want[0], before[1] + want[1]} {
		m.t.Errorf("%v are used after the acceptance, before %v, want %v more", got, before, want)
	}
	return res.Is(202).Text("data.operation_id")
}

// step runs jobs up to a random write, and may start the service again.
func (m *usage) step() {
	m.t.Helper()
	ctx, stop := context.WithCancel(m.t.Context())
	defer stop()
	cut := &cutContext{Context: ctx, stop: stop}
	cut.left.Store(int64(1 + m.IntN(6)))
	m.Worker.Once(cut)
	m.halfway += m.org.Read.Post("/v1/tam/imports/list", `{"filters": [{"field": "status", "condition": "is", "value": "running"}]}`).Is(200).Int("pagination.total_count")
	switch m.IntN(3) {
	case 0:
		m.Restart()
	case 1:
		m.Crash()
		m.Start()
	}
}

// check compares the balance with the completed Imports and with the records.
func (m *usage) check(operations []string, limits [2]any) {
	m.t.Helper()
	var created [2]int
	for _, operation := range operations {
		res := m.org.Read.Get("/v1/tam/imports/" + operation).Is(200)
		if res.Text("data.status") != "completed" {
			m.t.Errorf("%s", res.Body)
		}
		for kind, key := range []string{"accounts", "contacts"} {
			n := res.Int("data." + key + ".created")
			if most := res.Value("data.max_" + key); most != nil && float64(n) > most.(float64) {
				m.t.Errorf("more than the maximum was created: %s", res.Body)
			}
			created[kind] += n
		}
	}
	var there [2]int
	for kind, entity := range []string{"accounts", "contacts"} {
		there[kind] = m.deleted[kind] + m.org.Read.Post("/v1/"+entity+"/list", `{"page_size": 1, "filters": [{"field": "source", "condition": "is", "value": "tam_import"}]}`).Is(200).Int("pagination.total_count")
	}
	got := used(m.org)
	if got != created || created != there {
		m.t.Errorf("%v are used, the Imports report %v, and there were %v", got, created, there)
	}
	if limits[0] != nil && (float64(got[0]) > limits[0].(float64) || float64(got[1]) > limits[1].(float64)) {
		m.t.Errorf("%v are used of %v", got, limits)
	}
}

// cutContext ends when Err was called a number of times, which every write does once.
type cutContext struct {
	context.Context
	left atomic.Int64
	stop func()
}

func (c *cutContext) Err() error {
	if c.left.Add(-1) == 0 {
		c.stop()
	}
	return c.Context.Err()
}
