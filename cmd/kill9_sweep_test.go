package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

// sweep is the sweep of a deleted value from many contacts, and what must hold at any time.
type sweep struct {
	p   *place
	org uuid.UUID
	key string
	ids []string // the contacts to sweep, in order
	// operation is the operation that deleted the value. The history of a contact names it once the
	// contact was rewritten.
	operation string
	// shows looks for the deleted value wherever a server could return it. showsQuick looks in one
	// place, because some sweeps finish before a complete check.
	shows, showsQuick func(s *server)
	random            *rand.Rand
}

// soaking reports whether this is a long run.
func soaking() bool { return os.Getenv("PROSPECTOR_SOAK") != "" }

// TestKill9Sweep deletes a tag that many contacts have. From the response on, nothing returns the
// tag, however often the server is killed during the sweep. With PROSPECTOR_SOAK there are 100,000
// contacts.
func TestKill9Sweep(t *testing.T) {
	t.Parallel()
	n := 5000
	if soaking() {
		n = 100_000
	} else if apptest.RaceDetector {
		n = 2500 // still more than one transaction sweeps
	}
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	s := p.serve()
	gone, kept := s.tag(key, "Gone"), s.tag(key, "Kept")
	tags := func(i int) []string {
		if i%10 == 0 {
			return []string{kept}
		}
		return []string{}
	}
	ids := s.load(key, n, func(i int) string { return fmt.Sprintf(`"tags": %s`, asJSON(append(tags(i), gone))) })
	before := s.get(key, ids[n-1])

	plain := s.plainGet(key, ids[0])
	began := time.Now()
	s.do(http.StatusNoContent, key, "DELETE", "/v1/tags/"+gone, "")
	t.Logf("the tag of %d contacts was deleted in %v; a GET took %v before and %v after", n, time.Since(began), plain, s.plainGet(key, ids[0]))

	w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_tag", random: rand.New(rand.NewPCG(soakSeed, 7))}
	w.shows = func(s *server) {
		s.t.Helper()
		s.hasNoTag(key, gone, kept, n)
		for _, i := range w.some() {
			if c := s.get(key, ids[i]); !slices.Equal(c.Tags, tags(i)) {
				s.t.Errorf("contact %d has the tags %v, want %v", i, c.Tags, tags(i))
			}
			if history := s.history(key, ids[i]); strings.Contains(strings.ReplaceAll(history, `"from":`, ""), "\"to\":[\""+gone) {
				s.t.Errorf("the history of contact %d shows the tag: %s", i, history)
			}
		}
	}
	w.showsQuick = func(s *server) { s.t.Helper(); s.counts(key, "tags", "is", asJSON(gone), 0) }
	w.killUntilDone(s, began)

	s = p.serve()
	w.shows(s)
	if after := s.get(key, ids[n-1]); after.UpdatedAt != before.UpdatedAt {
		t.Errorf("the sweep changed updated_at from %s to %s", before.UpdatedAt, after.UpdatedAt)
	}
	s.stop()
}

// hasNoTag looks for a deleted tag wherever it could occur. Every tenth of the n contacts has the
// tag kept.
func (s *server) hasNoTag(key, gone, kept string, n int) {
	s.t.Helper()
	for _, l := range []struct {
		condition, value string
		want             int
	}{
		{"is", asJSON(gone), 0},
		{"is", asJSON([]string{gone, kept}), n / 10},
		{"is_not", asJSON(gone), n},
		{"contains", asJSON(gone), 0},
		{"contains", asJSON([]string{gone, kept}), 0},
		{"not_contains", asJSON([]string{gone, kept}), n},
		{"not_contains", asJSON(kept), n - n/10},
		{"is_empty", "", n - n/10},
		{"is_not_empty", "", n / 10},
	} {
		s.counts(key, "tags", l.condition, l.value, l.want)
	}
	s.do(http.StatusNotFound, key, "GET", "/v1/tags/"+gone, "")
	s.exports(key, n, gone)
}

// TestKill9SweepField deletes a custom field that many contacts have, creates one of another type
// with the same key, and fills it while the old values are still being swept.
func TestKill9SweepField(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("TestKill9Sweep already covers this sweep with the race detector")
	}
	t.Parallel()
	const n, every = 4000, 5
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	s := p.serve()
	field := s.id(s.do(http.StatusCreated, key, "POST", "/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "text"}`))
	ids := s.load(key, n, func(i int) string { return fmt.Sprintf(`"custom_field_score": "oldscore%d"`, i) })
	s.stop()

	var fill, bare []string
	for i, id := range ids {
		if i%every == 0 {
			fill = append(fill, id)
		} else {
			bare = append(bare, id)
		}
	}
	filled := 0
	fillUpTo := func(s *server, end int) {
		var records []string
		for i, id := range fill[filled:end] {
			records = append(records, fmt.Sprintf(`{"id": %q, "custom_field_score": %d}`, id, 1000+filled+i))
		}
		s.batch(key, records)
		filled = end
	}
	w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: bare, operation: "delete_field", random: rand.New(rand.NewPCG(soakSeed, 8))}
	w.shows = func(s *server) {
		s.t.Helper()
		const field = "custom_field_score"
		s.counts(key, field, "is_not_empty", "", filled)
		s.counts(key, field, "is_empty", "", n-filled)
		s.counts(key, field, "greater_than", "999", filled)
		s.counts(key, field, "is", "1000", min(filled, 1))
		s.exports(key, n, "oldscore")
		for _, i := range w.some() {
			if c := s.get(key, bare[i]); c.Score != nil {
				s.t.Errorf("contact %s has the score %v", c.ID, c.Score)
			}
			i %= len(fill)
			want := any(float64(1000 + i))
			if i >= filled {
				want = nil
			}
			if c := s.get(key, fill[i]); c.Score != want {
				s.t.Errorf("contact %s has the score %v, want %v", c.ID, c.Score, want)
			}
		}
	}
	w.withoutJobs(func(s *server) { // no sweep runs here, so it is certainly unfinished when the new field is filled
		s.do(http.StatusNoContent, key, "DELETE", "/v1/fields/"+field, "")
		s.do(http.StatusCreated, key, "POST", "/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "number"}`)
		w.shows(s)
		fillUpTo(s, len(fill)/2)
		w.shows(s)
	})
	w.showsQuick = func(s *server) { s.t.Helper(); s.counts(key, "custom_field_score", "is_not_empty", "", filled) }
	began := time.Now()
	s = p.serve()
	fillUpTo(s, len(fill))
	w.killUntilDone(s, began)
}

// TestKill9SweepAccount deletes an account with many contacts.
func TestKill9SweepAccount(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("TestKill9Sweep already covers this sweep with the race detector")
	}
	t.Parallel()
	const n = 3000
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	s := p.serve()
	account := func(name string) string {
		return s.id(s.do(http.StatusCreated, key, "POST", "/v1/accounts", fmt.Sprintf(`{"name": %q}`, name)))
	}
	gone, kept := account("Gone"), account("Kept")
	s.load(key, n/10, func(int) string { return fmt.Sprintf(`"account_id": %q`, kept) })
	ids := s.load(key, n, func(int) string { return fmt.Sprintf(`"account_id": %q`, gone) })
	w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_account", random: rand.New(rand.NewPCG(soakSeed, 9))}
	w.shows = func(s *server) {
		s.t.Helper()
		s.counts(key, "account_id", "is", asJSON(gone), 0)
		s.counts(key, "account_id", "is", asJSON(kept), n/10)
		s.counts(key, "account_id", "is_not", asJSON(gone), n+n/10)
		s.counts(key, "account_id", "is_empty", "", n)
		s.counts(key, "account_id", "is_not_empty", "", n/10)
		s.exports(key, n+n/10, gone)
		for _, i := range w.some() {
			if c := s.get(key, ids[i]); c.AccountID != nil {
				s.t.Errorf("contact %d has the account %s", i, *c.AccountID)
			}
		}
	}
	w.showsQuick = func(s *server) { s.t.Helper(); s.counts(key, "account_id", "is_empty", "", n) }
	began := time.Now()
	s.do(http.StatusNoContent, key, "DELETE", "/v1/accounts/"+gone, "")
	w.killUntilDone(s, began)
}

// killUntilDone repeatedly kills the server while it sweeps, checks what is left each time, and
// lets the last server finish. Swept contacts stay swept, and no contact is swept twice.
func (w *sweep) killUntilDone(s *server, began time.Time) {
	t := w.p.t
	t.Helper()
	most, last := len(w.ids), 3
	if apptest.RaceDetector {
		last = 1
	}
	for round := 0; ; round++ {
		w.showsQuick(s) // the complete check happens when nothing sweeps
		rewritten := len(w.ids) - most
		if round > 0 { // the first kill happens immediately
			rewritten += w.random.IntN(max(1, most/4))
			s.awaitSwept(w, w.ids[rewritten])
		}
		time.AfterFunc(time.Duration(w.random.Int64N(int64(5*time.Millisecond))), func() { _ = s.process.Kill() }) // at any point of a commit
		s.ends(-1)
		w.p.passesCheck()
		left := w.left()
		t.Logf("round %d: killed after %d contacts, %d of %d are left", round, rewritten, left, len(w.ids))
		if left > most || round > 0 && left >= len(w.ids)-rewritten {
			t.Errorf("%d contacts are left to sweep, there were %d, and %d were swept", left, most, rewritten)
		}
		most = left
		w.withoutJobs(w.shows)
		if t.Failed() || left == 0 || round == last && !soaking() {
			break
		}
		s = w.p.serve()
	}
	s = w.p.serve()
	s.awaitSwept(w, w.ids[len(w.ids)-1])
	t.Logf("the sweep finished %v after the deletion, including kills and checks", time.Since(began))
	w.shows(s)
	for _, i := range w.some() {
		if n := strings.Count(s.history(w.key, w.ids[i]), `"`+w.operation+`"`); n != 1 {
			t.Errorf("contact %d was swept %d times", i, n)
		}
	}
	s.stop()
	w.done()
	w.p.passesCheck()
}

// awaitSwept waits until a contact is rewritten.
func (s *server) awaitSwept(w *sweep, id string) {
	s.t.Helper()
	most := waitTimeout
	if soaking() {
		most = 20 * waitTimeout
	}
	for late := time.Now().Add(most); !strings.Contains(s.history(w.key, id), `"`+w.operation+`"`); {
		if time.Now().After(late) {
			s.t.Fatalf("contact %s is not swept", id)
		}
	}
}

// some returns the indexes of the first and last contacts and of some in between.
func (w *sweep) some() []int {
	some := []int{0, len(w.ids) - 1}
	for range 10 {
		some = append(some, w.random.IntN(len(w.ids)))
	}
	return some
}

// contact has the fields of a contact that these tests check.
type contact struct {
	ID        string
	Title     *string
	Tags      []string
	AccountID *string `json:"account_id"`
	UpdatedAt string  `json:"updated_at"`
	Score     any     `json:"custom_field_score"`
}

func (s *server) get(key, id string) contact {
	s.t.Helper()
	var item struct{ Data contact }
	r := s.do(http.StatusOK, key, "GET", "/v1/contacts/"+id, "")
	if err := json.Unmarshal(r.body, &item); err != nil {
		s.t.Fatalf("%v: %s", err, r.body)
	}
	return item.Data
}

func (s *server) history(key, id string) string {
	s.t.Helper()
	return string(s.do(http.StatusOK, key, "GET", "/v1/contacts/"+id+"/history", "").body)
}

// counts checks that a list of contacts with one rule has so many contacts.
func (s *server) counts(key, field, condition, value string, want int) {
	s.t.Helper()
	rule := fmt.Sprintf(`{"field": %q, "condition": %q}`, field, condition)
	if value != "" {
		rule = fmt.Sprintf(`{"field": %q, "condition": %q, "value": %s}`, field, condition, value)
	}
	if got := s.total(key, "contacts", `{"filters": [`+rule+`], "page_size": 1}`); got != want {
		s.t.Errorf("%s: got %d contacts, want %d", rule, got, want)
	}
}

// exports checks that an export of all contacts has so many lines and does not contain the text.
func (s *server) exports(key string, lines int, without string) {
	s.t.Helper()
	body := s.do(http.StatusOK, key, "POST", "/v1/contacts/export", `{}`).body
	if n := bytes.Count(body, []byte("\n")); n != lines {
		s.t.Errorf("the export has %d lines, want %d", n, lines)
	}
	if bytes.Contains(body, []byte(without)) {
		s.t.Errorf("the export contains %s", without)
	}
}

// tag creates a tag for contacts.
func (s *server) tag(key, name string) string {
	s.t.Helper()
	return s.id(s.do(http.StatusCreated, key, "POST", "/v1/tags", fmt.Sprintf(`{"name": %q, "color": "red", "object_type": "contact"}`, name)))
}

// load creates contacts, each with members of its own, and returns their ids.
func (s *server) load(key string, n int, members func(i int) string) (ids []string) {
	s.t.Helper()
	records := make([]string, n)
	for i := range records {
		records[i] = fmt.Sprintf(`{"email": "ann%d@acme.example", %s}`, i, members(i))
	}
	for some := range slices.Chunk(records, 1000) {
		ids = append(ids, s.batch(key, some)...)
	}
	return ids
}

// batch creates or updates contacts and checks that each succeeds.
func (s *server) batch(key string, records []string) (ids []string) {
	s.t.Helper()
	var answer struct {
		Data struct {
			Failed  int
			Results []struct{ ID string }
		}
	}
	r := s.do(http.StatusOK, key, "POST", "/v1/contacts/batch", `{"records": [`+strings.Join(records, ", ")+`]}`)
	if err := json.Unmarshal(r.body, &answer); err != nil || answer.Data.Failed > 0 || len(answer.Data.Results) != len(records) {
		s.t.Fatalf("%v: %.1000s", err, r.body)
	}
	for _, result := range answer.Data.Results {
		ids = append(ids, result.ID)
	}
	return ids
}

// plainGet returns the median duration of reading a contact.
func (s *server) plainGet(key, id string) time.Duration {
	s.t.Helper()
	var took []time.Duration
	for range 21 {
		began := time.Now()
		s.get(key, id)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
