package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/store"
)

func decodeInto(t *testing.T, body []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

// catalogDump returns the whole catalog without generated ids, sorted, because an import that was
// continued after a kill may add records in another order.
func (p *place) catalogDump() string {
	p.t.Helper()
	service, _, end := p.open(0)
	defer end()
	made := regexp.MustCompile(anID)
	var lines []string
	err := service.Store.View(catalog.Org, func(tx *store.Tx) error {
		for _, table := range []string{"companies", "people"} {
			err := tx.Records(table, uuid.Nil, func(_ uuid.UUID, _ uint64, public []byte) (bool, error) {
				lines = append(lines, table+" "+made.ReplaceAllString(string(public), "<id>"))
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestKill9Catalog repeatedly kills an import of companies and people that runs alone or with a
// server, or kills the server. Half of the people refer to companies in a second file. The finished
// catalog equals that of an undisturbed import.
func TestKill9Catalog(t *testing.T) {
	t.Parallel()
	const rows = 4000
	var companies, people, late strings.Builder
	companies.WriteString("id,name,website,description\n")
	late.WriteString("name,website\n")
	people.WriteString("id,first_name,email,title,company_website\n")
	for i := range rows {
		fmt.Fprintf(&companies, "c%d,Company %d,c%d.example,%s\n", i, i, i%(rows-rows/10), strings.Repeat("word ", 40))
		fmt.Fprintf(&people, "p%d,Ada %d,p%d@x.example,VP %d,%s%d.example\n", i, i, i, i, []string{"c", "late"}[i%2], i)
		if i%20 == 1 {
			fmt.Fprintf(&late, "Late %d,late%d.example\n", i, i)
		}
	}
	begin := func() *place {
		p := newPlace(t)
		p.org("Acme")
		p.write("companies.csv", companies.String())
		p.write("people.csv", people.String())
		p.write("late.csv", late.String())
		return p
	}
	whole := []string{"catalog", "import", "--companies", "companies.csv", "--people", "people.csv"}
	finish := func(p *place) string {
		p = p.withoutRaceDetector()
		p.run(whole...).withoutProgress().ok()
		p.run("catalog", "import", "--companies", "late.csv").withoutProgress().ok()
		p.passesCheck()
		return p.catalogDump()
	}
	want := finish(begin())

	p := begin()
	random := rand.New(rand.NewPCG(soakSeed, 11))
	rounds := 9
	if apptest.RaceDetector {
		rounds = 3
	}
	for round := range rounds {
		var s *server
		if round%3 > 0 {
			s = p.serve()
		}
		c := p.start(whole...)
		victim := c
		if round%3 == 2 {
			victim = s
		}
		c.killAt(c.progressLines(1+2*round), time.Duration(random.Int64N(int64(20*time.Millisecond))), victim)
		t.Logf("round %d: the command exited with %d", round, c.status)
		if s != nil {
			_ = s.process.Kill() // it may have been killed already
			s.ends(-1)
		}
		p.passesCheck()
	}
	if got := finish(p); got != want {
		t.Errorf("after the kills the catalog has %d lines, want %d, or the wrong ones", strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
}
