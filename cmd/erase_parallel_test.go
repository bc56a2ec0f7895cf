package cmd_test

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
)

// TestParallelErasures: erasures at the same time all succeed, with a server and without, also if a compaction was killed
// before.
func TestParallelErasures(t *testing.T) {
	t.Parallel()
	const people = 5
	p := newPlace(t)
	_, key := p.org("Acme")
	round := "p" // who was erased cannot be added again
	create := func(s *server) {
		for i := range people {
			s.do(http.StatusCreated, key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": "%s%d@globex.example", "last_name": "Quixotrix%d"}`, round, i, i),
				"Content-Type", "application/json")
		}
	}
	killed := func() {
		t.Helper()
		if err := os.MkdirAll(p.path("data", "compact.tmp"), 0o700); err != nil {
			t.Fatal(err)
		}
		p.write("data/compact.tmp/prospector.db", "half a copy")
	}
	erase := func() {
		t.Helper()
		var running sync.WaitGroup
		for i := range people {
			running.Go(func() {
				r, err := p.try("erase", "--org", "Acme", "--email", fmt.Sprintf("%s%d@globex.example", round, i), "--yes")
				if err != nil || r.status != 0 {
					t.Errorf("exit status %d, %v\n%s%s", r.status, err, r.stdout, r.stderr)
				}
			})
		}
		running.Wait()
	}
	s := p.serve()
	create(s)
	killed()
	erase()
	if n := s.total(key, "contacts", `{}`); n != 0 {
		t.Errorf("%d contacts are left", n)
	}
	round = "q"
	create(s)
	s.stop()
	killed()
	erase()
	if _, err := os.Stat(p.path("data", "compact.tmp")); !os.IsNotExist(err) {
		t.Errorf("compact.tmp is left (%v)", err)
	}
	s = p.serve()
	if n := s.total(key, "contacts", `{}`); n != 0 {
		t.Errorf("%d contacts are left", n)
	}
	killed()
	s.stop()
	s = p.serve()
	if _, err := os.Stat(p.path("data", "compact.tmp")); !os.IsNotExist(err) {
		t.Errorf("compact.tmp is left after a start (%v)", err)
	}
	s.stop()
	p.run("compact").ok()
	p.passesCheck()
}
