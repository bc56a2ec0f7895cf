package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

func (m *market) generate(ctx context.Context, g Generation, report func(done, total int)) error {
	return m.Generate(ctx, m.st, g, report)
}

// everything returns all fields of all companies and people.
func (m *market) everything() string {
	fields := func(s *shape.Struct) (keys []string) {
		for _, f := range s.Fields {
			keys = append(keys, f.Key)
		}
		return keys
	}
	return valuesOf(m, m.Companies, fields(shape.Of[Company]())...) + "\n\n" + valuesOf(m, m.People, fields(shape.Of[Person]())...)
}

// TestGenerateAgain generates a market repeatedly. The same market changes nothing, a larger one
// adds records, and one that was interrupted is completed.
func TestGenerateAgain(t *testing.T) {
	few, more := Generation{Companies: 300, PeoplePerCompany: 2, Seed: 7}, Generation{Companies: 1200, PeoplePerCompany: 3, Seed: 7}
	m := newMarket(t)
	last := 0
	if err := m.generate(t.Context(), few, func(done, total int) { last = done * 1000 / total }); err != nil || last != 1000 {
		t.Fatal(err, last)
	}
	before, err := m.st.Dump(Org)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.generate(t.Context(), few, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if after, err := m.st.Dump(Org); err != nil || after != before {
		t.Errorf("generating the same market again changed something (%v)", err)
	}
	companies := valuesOf(m, m.Companies, "id", "name", "website", "description")
	ctx, cancel := context.WithCancel(t.Context())
	if err := m.generate(ctx, more, func(int, int) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := m.generate(t.Context(), more, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if now := valuesOf(m, m.Companies, "id", "name", "website", "description"); !strings.HasPrefix(now, companies+"\n") {
		t.Error("generating more companies changed existing ones")
	}

	whole := newMarket(t)
	if err := whole.generate(t.Context(), more, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if !sameLines(whole.everything(), m.everything()) {
		t.Error("a market that was generated in steps differs from one that was generated at once")
	}
	other := newMarket(t)
	more.Seed++
	if err := other.generate(t.Context(), more, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if id, _, _ := strings.Cut(other.everything(), "|"); strings.Contains(m.everything(), id) {
		t.Error("another seed generates the same ids")
	}
}

// sameLines reports whether two texts have the same lines in any order.
func sameLines(a, b string) bool {
	count := map[string]int{}
	for line := range strings.Lines(strings.TrimSpace(a) + "\n") {
		count[line]++
	}
	for line := range strings.Lines(strings.TrimSpace(b) + "\n") {
		count[line]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestGenerated checks the contents of a market. It has every seniority and department, and some
// duplicates and missing values.
func TestGenerated(t *testing.T) {
	m := newMarket(t)
	const companies, each = 3000, 3
	if err := m.generate(t.Context(), Generation{Companies: companies, PeoplePerCompany: each, Seed: 1}, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	seen, twice, missing := map[string]int{}, map[string]int{}, map[string]int{}
	share := func(kind, value string) {
		if value == "" {
			missing[kind]++
		} else if seen[kind+value]++; seen[kind+value] > 1 {
			twice[kind]++
		}
	}
	isID := func(id string) {
		if u, err := uuid.Parse(id); err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 {
			t.Errorf("the id %q", id)
		}
		share("id", id)
	}
	values := map[string]map[string]bool{}
	note := func(kind, value string) {
		if values[kind] == nil {
			values[kind] = map[string]bool{}
		}
		values[kind][value] = true
	}
	err := m.st.View(Org, func(tx *store.Tx) error {
		err := m.Companies.Scan(tx, func(d store.Doc[Company]) (bool, error) {
			c := d.Record
			isID(c.ID)
			share("website", string(c.Website))
			note("industry", string(c.Industry))
			note("country", string(c.Country))
			if c.Website != "" && !strings.HasSuffix(string(c.Website), ".example") || len(c.Technologies) == 0 || len(c.Keywords) == 0 {
				t.Errorf("%+v", c)
			}
			for fact, words := range map[string]string{"worldwide": "ships worldwide", "b2b": "(B2B)", "founded": "was founded in", "hiring": "is hiring"} {
				if strings.Contains(string(c.Description), words) {
					seen[fact]++
				}
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		return m.People.Scan(tx, func(d store.Doc[Person]) (bool, error) {
			p := d.Record
			isID(p.ID)
			share("email", string(p.Email))
			share("linkedin", string(p.LinkedinURL))
			share("employer", string(p.CompanyID))
			note("seniority", string(p.Seniority))
			note("department", string(p.Department))
			if strings.Contains(string(p.Email), "@") && !strings.HasSuffix(string(p.Email), ".example") {
				t.Errorf("%+v", p)
			}
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	between := func(what string, n, least, most int) {
		t.Helper()
		if n < least || n > most {
			t.Errorf("%s: %d, want %d to %d", what, n, least, most)
		}
	}
	between("duplicate ids", twice["id"], 0, 0)
	between("companies that share a domain", twice["website"], companies/200, companies/50)
	between("companies without a website", missing["website"], companies/100, companies/20)
	between("people who share an email", twice["email"], companies*each/200, companies*each/40)
	between("people who share a profile", twice["linkedin"], companies*each/200, companies*each/40)
	between("people without an employer", missing["employer"], companies*each/300, companies*each/50)
	for _, fact := range []string{"worldwide", "b2b", "founded", "hiring"} {
		between(fact, seen[fact], companies/10, companies)
	}
	between("industries", len(values["industry"]), len(words().Industries), len(words().Industries))
	between("countries", len(values["country"]), 25, 40)
	between("departments, including an empty one", len(values["department"]), len(words().Departments)+1, len(words().Departments)+1)
	for _, s := range shape.Of[Person]().Field("seniority").Enum {
		if !values["seniority"][s] {
			t.Errorf("nobody has the seniority %s", s)
		}
	}
}

// TestCompanyNames checks that domains are unique, also after every combination of words was used.
func TestCompanyNames(t *testing.T) {
	g, seen := Generation{Seed: 3}, map[string]bool{}
	for i := range 130_000 { // enough to need numbered domains
		_, domain := g.companyName(i)
		if seen[domain] {
			t.Fatalf("the domain %s occurs again at company %d", domain, i)
		}
		seen[domain] = true
	}
}
