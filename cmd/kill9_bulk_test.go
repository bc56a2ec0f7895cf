package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// bulkOperation has the fields of a bulk operation that these tests check.
type bulkOperation struct {
	Status                   string
	Matched, Changed, Failed int
}

func (s *server) operation(key, id string) bulkOperation {
	s.t.Helper()
	var o bulkOperation
	if err := json.Unmarshal(s.item(key, "/v1/operations/"+id), &o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// TestKill9Bulk kills the server while it changes many contacts. The operation goes on, changes each contact once,
// and counts exactly.
func TestKill9Bulk(t *testing.T) {
	t.Parallel()
	n := 6000
	if soaking() {
		n = 100_000
	} else if apptest.RaceDetector {
		n = 2000
	}
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	_, key := p.org("Acme")
	s := p.serve()
	ids := s.load(key, n, func(i int) string { return `"title": "Old"` })
	random := rand.New(rand.NewPCG(soakSeed, 11))
	id := s.id(s.do(http.StatusAccepted, key, "POST", "/v1/contacts/bulk", fmt.Sprintf(`{"filters": [], "set": {"title": "New"}, "expect": %d}`, n)))
	deleted := ids[n-1] // the operation comes to it last
	s.do(http.StatusNoContent, key, "DELETE", "/v1/contacts/"+deleted, "")
	changed := 0
	for round := range 4 {
		time.AfterFunc(time.Duration(random.Int64N(int64(5*time.Millisecond))), func() { _ = s.process.Kill() })
		s.ends(-1)
		p.passesCheck()
		s = p.serve()
		o := s.operation(key, id)
		t.Logf("round %d: %+v", round, o)
		if o.Changed < changed || o.Matched != n {
			t.Errorf("%+v after %d were changed", o, changed)
		}
		changed = o.Changed
		next := min(changed+1+random.IntN(n/4), n-1)
		s.awaitBulk(key, id, func(o bulkOperation) bool { return o.Status != "running" || o.Changed >= next })
	}
	s.awaitBulk(key, id, func(o bulkOperation) bool { return o.Status != "running" })
	if o := s.operation(key, id); o != (bulkOperation{"completed", n, n - 1, 1}) {
		t.Errorf("the operation ends with %+v", o)
	}
	s.counts(key, "title", "is", `"New"`, n-1)
	for range 20 {
		i := random.IntN(n - 1)
		if times := strings.Count(s.history(key, ids[i]), `"bulk_contacts"`); times != 1 {
			t.Errorf("contact %d was changed %d times", i, times)
		}
	}
	s.stop()
	p.passesCheck()
}

// awaitBulk waits until an operation satisfies a condition.
func (s *server) awaitBulk(key, id string, done func(bulkOperation) bool) {
	s.t.Helper()
	for late := time.Now().Add(20 * waitTimeout); !done(s.operation(key, id)); {
		if time.Now().After(late) {
			s.t.Fatalf("the operation is %+v", s.operation(key, id))
		}
	}
}
