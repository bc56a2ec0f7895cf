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

// TestShutdownWhileSweeping: a server that is told to stop in the middle of two clean-ups does so at once, and the next one
// finishes them.
func TestShutdownWhileSweeping(t *testing.T) {
	t.Parallel()
	n := 4000
	if raceDetector {
		n = 2500 // still more than one transaction cleans up
	}
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	s := p.serve()
	red, blue, kept := s.tag(key, "Red"), s.tag(key, "Blue"), s.tag(key, "Kept")
	bears := func(i int) []string {
		tags := []string{red, blue} // but for the last two, whose histories tell which clean-up has come to its end
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
	if took := time.Since(asked); took > shutdownLimit { // what is in the index must be written down
		t.Errorf("the server took %v to stop", took)
	}
	s.hasNoErrors()
	t.Logf("%d of %d contacts are left", w.left(), n)
	p.passesCheck()
	w.atRest(w.shows)

	s = p.serve()
	s.awaitSwept(w, ids[n-2])
	s.awaitSwept(w, ids[n-1])
	w.shows(s)
	s.stop()
	s.hasNoErrors()
	w.done()
	p.passesCheck()
}

// TestCheckUnswept: check finds nothing wrong with what is still to be cleaned up, and reindex leaves it to the clean-up. The job
// is due in an hour, so that nothing is cleaned up meanwhile.
func TestCheckUnswept(t *testing.T) {
	for _, running := range []bool{false, true} {
		if raceDetector && !running { // nothing happens at the same time then
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
			if err := service.Index.Flush(); err != nil { // the index has what is then gone
				t.Fatal(err)
			}
			s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+gone, "")
			end()
			w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_tag", random: rand.New(rand.NewPCG(soakSeed, 11))}
			before := w.left()
			if before == 0 {
				t.Fatal("nothing is left to clean up")
			}

			if running {
				s = p.serve()
			}
			look := func() {
				t.Helper()
				if running {
					s.hasNoTag(key, gone, kept, n)
				} else {
					w.atRest(func(s *server) { s.hasNoTag(key, gone, kept, n) })
				}
			}
			look()
			p.passesCheck()
			p.run("check", "--repair").done().says(fmt.Sprintf(`Checked %d records, found 0 problems\n`, n+4)) // and user, key, organization, tag
			p.run("reindex").done().says(fmt.Sprintf(`Indexed %d records\n`, n+4))
			p.passesCheck()
			look()
			if running {
				// A contact that is written before its turn is written as it shows itself, and stays so.
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
				t.Errorf("%d contacts are left to clean up, there were %d", left, before)
			}

			w.hurry()
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

// TestCheckReindexedUnswept: an index that was made while one thing was gone from its contacts, and is read when a second one is,
// has them as they were neither before nor after. That is nothing wrong.
func TestCheckReindexedUnswept(t *testing.T) {
	if raceDetector {
		t.Skip("nothing happens at the same time")
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
		t.Fatal("nothing is left to clean up")
	}
	s = p.serve()
	p.passesCheck()
	s.counts(key, "tags", "is_empty", "", n)
	s.stop()
}

// hurry makes the jobs due that are put off.
func (w *sweep) hurry() {
	t := w.p.t
	t.Helper()
	service, _, end := w.p.open(0)
	defer end()
	jobs, _, err := service.Store.Due(time.Now().Add(24*time.Hour), 100, nil)
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

// hasNoErrors wants nothing in the log that an operator has to see to, but for what has one of the texts.
func (s *server) hasNoErrors(but ...string) {
	s.t.Helper()
	for line := range strings.Lines(s.stderr.String()) {
		known := slices.ContainsFunc(but, func(text string) bool { return strings.Contains(line, text) })
		if !known && (strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN")) {
			s.t.Errorf("the log says %s", line)
		}
	}
}

// open opens the data directory as a server would, but runs no jobs: what is to be cleaned up stays as it is. ahead is how
// far ahead of time its clock is.
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

// atRest calls fn with a server that runs no jobs.
func (w *sweep) atRest(fn func(s *server)) {
	w.p.t.Helper()
	_, s, end := w.p.open(0)
	defer end()
	fn(s)
}

// left gives the number of contacts that are still stored with what is gone from them. Each clean-up that is not over has a
// job, and no other.
func (w *sweep) left() (left int) {
	t := w.p.t
	t.Helper()
	service, _, end := w.p.open(0)
	defer end()
	jobs, _, err := service.Store.Due(time.Now().Add(24*time.Hour), 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = service.Store.View(w.org, func(tx *store.Tx) error {
		tombs, err := tx.Tombstones("contacts")
		if err != nil {
			return err
		}
		if len(tombs) != len(jobs) {
			t.Errorf("there are %d tombstones and %d jobs", len(tombs), len(jobs))
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
			t.Errorf("%d contacts are left to clean up, and there is no job", left)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// done wants the clean-up to be over, with nothing left of it.
func (w *sweep) done() {
	t := w.p.t
	t.Helper()
	service, _, end := w.p.open(0)
	defer end()
	jobs, next, err := service.Store.Due(time.Now().Add(24*time.Hour), 100, nil)
	if err != nil || len(jobs) > 0 || !next.IsZero() {
		t.Errorf("there are jobs: %v, %v, %v", jobs, next, err)
	}
	err = service.Store.View(w.org, func(tx *store.Tx) error {
		tombs, err := tx.Tombstones("contacts")
		if len(tombs) > 0 {
			t.Errorf("there are tombstones: %v", tombs)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// sound wants check to find nothing.
func (p *place) passesCheck() {
	p.t.Helper()
	if r := p.withoutRaceDetector().run("check", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"problems": []`) {
		p.t.Errorf("%d %.2000s %.2000s", r.status, r.stdout, r.stderr)
	}
}
