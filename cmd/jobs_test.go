package cmd_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// TestShutdownWhileSweeping checks that a server that is stopped during two sweeps stops
// immediately, and that the next server finishes them.
func TestShutdownWhileSweeping(t *testing.T) {
	t.Parallel()
	n := 4000
	if apptest.RaceDetector {
		n = 2500 // still more than one transaction sweeps
	}
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	s := p.serve()
	red, blue, kept := s.tag(key, "Red"), s.tag(key, "Blue"), s.tag(key, "Kept")
	bears := func(i int) []string {
		tags := []string{red, blue} // except the last two, whose histories show which sweep has finished
		if i == n-2 {
			tags = []string{red}
		} else if i == n-1 {
			tags = []string{blue}
		}
		if i%10 == 0 {
			tags = append(tags, kept)
		}
		return tags
	}
	ids := s.load(key, n, func(i int) string { return fmt.Sprintf(`"tags": %s`, asJSON(bears(i))) })
	w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_tag", random: rand.New(rand.NewPCG(soakSeed, 10))}
	w.shows = func(s *server) {
		s.t.Helper()
		s.hasNoTag(key, red, kept, n)
		s.hasNoTag(key, blue, kept, n)
	}
	s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+red, "")
	s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+blue, "")
	s.awaitSwept(w, ids[1500])
	asked := time.Now()
	s.signal(syscall.SIGTERM)
	s.ends(0)
	if took := time.Since(asked); took > shutdownLimit { // the index must be flushed first
		t.Errorf("the server took %v to stop", took)
	}
	s.hasNoErrors()
	t.Logf("%d of %d contacts are left to sweep", w.left(), n)
	p.passesCheck()
	w.withoutJobs(w.shows)

	s = p.serve()
	s.awaitSwept(w, ids[n-2])
	s.awaitSwept(w, ids[n-1])
	w.shows(s)
	s.stop()
	s.hasNoErrors()
	w.done()
	p.passesCheck()
}

// TestCheckUnswept checks that check reports no problem for contacts that are still to be swept,
// and that reindex leaves them to the sweep. The job is due in an hour, so that no sweep runs
// during the test.
func TestCheckUnswept(t *testing.T) {
	for _, running := range []bool{false, true} {
		if apptest.RaceDetector && !running { // nothing runs concurrently then
			continue
		}
		t.Run(fmt.Sprintf("server %t", running), func(t *testing.T) {
			t.Parallel()
			const n, soon = 2500, time.Hour
			p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
			org, key := p.org("Acme")
			service, s, end := p.open(soon)
			gone, kept := s.tag(key, "Gone"), s.tag(key, "Kept")
			ids := s.load(key, n, func(i int) string {
				tags := []string{gone}
				if i%10 == 0 {
					tags = []string{kept, gone}
				}
				return fmt.Sprintf(`"tags": %s`, asJSON(tags))
			})
			if err := service.Index.Flush(); err != nil { // the index contains what is deleted next
				t.Fatal(err)
			}
			s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+gone, "")
			end()
			w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_tag", random: rand.New(rand.NewPCG(soakSeed, 11))}
			before := w.left()
			if before == 0 {
				t.Fatal("nothing is left to sweep")
			}

			if running {
				s = p.serve()
			}
			look := func() {
				t.Helper()
				if running {
					s.hasNoTag(key, gone, kept, n)
				} else {
					w.withoutJobs(func(s *server) { s.hasNoTag(key, gone, kept, n) })
				}
			}
			look()
			p.passesCheck()
			p.run("check", "--repair").done().says(fmt.Sprintf(`Checked %d records, found 0 problems\n`, n+6)) // plus user, key, organization, tags and operation
			p.run("reindex").done().says(fmt.Sprintf(`Indexed %d records\n`, n+6))
			p.passesCheck()
			look()
			if running {
				// A contact that is updated before the sweep reaches it is stored with the
				// tombstone applied.
				version := s.do(http.StatusOK, key, "GET", "/v1/contacts/"+ids[n-1], "").header.Get("ETag")
				s.do(http.StatusOK, key, "PATCH", "/v1/contacts/"+ids[n-1], `{"title": "VP"}`, "If-Match", version)
				s.do(http.StatusUnprocessableEntity, key, "PATCH", "/v1/contacts/"+ids[n-2], fmt.Sprintf(`{"add_tags": [%q]}`, gone))
				before--
				look()
				p.passesCheck()
				s.stop()
				s.hasNoErrors()
			}
			if left := w.left(); left != before {
				t.Errorf("%d contacts are left to sweep, there were %d", left, before)
			}

			w.makeJobsDue()
			s = p.serve()
			s.awaitSwept(w, ids[n-2])
			s.hasNoTag(key, gone, kept, n)
			p.passesCheck()
			s.stop()
			s.hasNoErrors()
			w.done()
			p.passesCheck()
		})
	}
}

// TestCheckReindexedUnswept rebuilds the index after one deletion and reads it after a second one,
// before either is swept. The index then matches neither the state before nor the state after both
// deletions. This is not a problem.
func TestCheckReindexedUnswept(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("nothing runs concurrently in this test")
	}
	t.Parallel()
	const n, soon = 2500, time.Hour
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	_, s, end := p.open(soon)
	red, blue := s.tag(key, "Red"), s.tag(key, "Blue")
	ids := s.load(key, n, func(int) string { return fmt.Sprintf(`"tags": %s`, asJSON([]string{red, blue})) })
	s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+red, "")
	end()
	p.run("reindex").done()
	_, s, end = p.open(soon)
	s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+blue, "")
	s.counts(key, "tags", "is_empty", "", n)
	s.counts(key, "tags", "is", asJSON([]string{red, blue}), 0)
	end()
	p.passesCheck()
	w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_tag"}
	if w.left() == 0 {
		t.Fatal("nothing is left to sweep")
	}
	s = p.serve()
	p.passesCheck()
	s.counts(key, "tags", "is_empty", "", n)
	s.stop()
}

// makeJobsDue makes postponed jobs due.
func (w *sweep) makeJobsDue() {
	t := w.p.t
	t.Helper()
	service, _, end := w.p.open(0)
	defer end()
	jobs, _, err := service.Store.Due(time.Now().Add(24*time.Hour), 100, nil, nil)
	if err != nil || len(jobs) == 0 {
		t.Fatal(jobs, err)
	}
	for _, job := range jobs {
		err := service.Store.Update(context.Background(), job.Org, store.Actor{}, func(tx *store.Tx) error { return tx.Reschedule(job.ID, tx.Now(), 0) })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// hasNoErrors checks that the log has no errors or warnings, except lines that contain one of the texts, and that the
// store is a copy, which is true of those that tests have copied.
func (s *server) hasNoErrors(but ...string) {
	s.t.Helper()
	but = append(but, "reason=copied")
	for line := range strings.Lines(s.stderr.String()) {
		known := slices.ContainsFunc(but, func(text string) bool { return strings.Contains(line, text) })
		if !known && (strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN")) {
			s.t.Errorf("the log contains %s", line)
		}
	}
}

// open opens the data directory as a server does, but runs no jobs, so nothing is swept. ahead is
// how far its clock is ahead of real time.
func (p *place) open(ahead time.Duration) (*service.Service, *server, func()) {
	p.t.Helper()
	clock := func() time.Time { return time.Now().Add(ahead) }
	service, err := service.Open(apptest.Config(p.path("data")), service.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: clock})
	if err != nil {
		p.t.Fatal(err)
	}
	web := httptest.NewServer(service.API)
	return service, &server{t: p.t, url: web.URL}, func() {
		p.t.Helper()
		web.Close()
		if err := service.Close(); err != nil {
			p.t.Error(err)
		}
	}
}

// withoutJobs calls fn with a server that runs no jobs.
func (w *sweep) withoutJobs(fn func(s *server)) {
	w.p.t.Helper()
	_, s, end := w.p.open(0)
	defer end()
	fn(s)
}

// left returns the number of contacts that are stored with deleted values. It checks that every
// unfinished sweep has exactly one job.
func (w *sweep) left() (left int) {
	t := w.p.t
	t.Helper()
	service, _, end := w.p.open(0)
	defer end()
	jobs := w.sweepJobs(service)
	err := service.Store.View(w.org, func(tx *store.Tx) error {
		tombs, err := tx.Tombstones("contacts")
		if err != nil {
			return err
		}
		if len(tombs) != len(jobs) {
			t.Errorf("got %d tombstones but %d jobs", len(tombs), len(jobs))
		}
		for _, id := range w.ids {
			doc, err := service.CRM.Contacts.Get(tx, uuid.MustParse(id))
			if err != nil {
				return err
			}
			if strings.Contains(doc.Version(), "-") {
				left++
			}
		}
		if left > 0 && len(jobs) == 0 {
			t.Errorf("%d contacts are left to sweep, but there is no job", left)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// sweepJobs returns the jobs that are left, except those that forget what is old.
func (w *sweep) sweepJobs(s *service.Service) []store.Job {
	t := w.p.t
	t.Helper()
	jobs, next, err := s.Store.Due(time.Now().Add(60*24*time.Hour), 100, nil, nil)
	if err != nil || !next.IsZero() {
		t.Fatalf("more jobs are left, due at %v (%v)", next, err)
	}
	return slices.DeleteFunc(jobs, func(j store.Job) bool { return strings.HasSuffix(j.Kind, ".expire") })
}

// done checks that the sweep is finished and left no job or tombstone.
func (w *sweep) done() {
	t := w.p.t
	t.Helper()
	service, _, end := w.p.open(0)
	defer end()
	if jobs := w.sweepJobs(service); len(jobs) > 0 {
		t.Errorf("jobs are left: %v", jobs)
	}
	isSwept(t, service, w.org)
}

// isSwept checks that no tombstone of contacts is left.
func isSwept(t *testing.T, s *service.Service, org uuid.UUID) {
	t.Helper()
	err := s.Store.View(org, func(tx *store.Tx) error {
		tombs, err := tx.Tombstones("contacts")
		if len(tombs) > 0 {
			t.Errorf("tombstones are left: %v", tombs)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// passesCheck checks that check reports no problem.
func (p *place) passesCheck() {
	p.t.Helper()
	if r := p.withoutRaceDetector().run("check", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"problems": []`) {
		p.t.Errorf("%d %.2000s %.2000s", r.status, r.stdout, r.stderr)
	}
}
