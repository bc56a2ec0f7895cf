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
)

// sweep is a clean-up of many contacts, and what must be true of it at any moment.
type sweep struct {
	p   *place
	org uuid.UUID
	key string
	ids []string // of those that are cleaned up, in the order in which they are
	// operation is what deleted that which they bear. The history of a contact names it once the contact was rewritten.
	operation string
	// shows looks for what was deleted wherever a server could show it, glance in one place: some clean-ups are over sooner
	// than one can look everywhere.
	shows, glance func(s *server)
	random        *rand.Rand
}

// soaking tells whether the run is the long one.
func soaking() bool { return os.Getenv("PROSPECTOR_SOAK") != "" }

// TestKill9Sweep deletes a tag that very many contacts bear. From the answer on nothing shows it, however often the server is
// killed in the middle of the clean-up. With PROSPECTOR_SOAK there are 100,000 contacts.
func TestKill9Sweep(t *testing.T) {
	t.Parallel()
	n := 5000
	if soaking() {
		n = 100_000
	} else if raceDetector {
		n = 2500 // still more than one transaction cleans up
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
	t.Logf("the tag of %d contacts was deleted in %v; a GET takes %v before and %v after", n, time.Since(began), plain, s.plainGet(key, ids[0]))

	w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "delete_tag", random: rand.New(rand.NewPCG(soakSeed, 7))}
	w.shows = func(s *server) {
		s.t.Helper()
		s.hasNoTag(key, gone, kept, n)
		for _, i := range w.some() {
			if c := s.get(key, ids[i]); !slices.Equal(c.Tags, tags(i)) {
				s.t.Errorf("contact %d has the tags %v, want %v", i, c.Tags, tags(i))
			}
			if history := s.history(key, ids[i]); strings.Contains(history, gone) {
				s.t.Errorf("the history of contact %d shows the tag: %s", i, history)
			}
		}
	}
	w.glance = func(s *server) { s.t.Helper(); s.counts(key, "tags", "is", asJSON(gone), 0) }
	w.killUntilDone(s, began)

	s = p.serve()
	w.shows(s)
	if after := s.get(key, ids[n-1]); after.UpdatedAt != before.UpdatedAt {
		t.Errorf("a contact was last updated at %s, after the clean-up at %s", before.UpdatedAt, after.UpdatedAt)
	}
	s.stop()
}

// hasNoTag looks for a tag that was deleted wherever one can be found. Every tenth of the n contacts has the tag kept.
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

// TestKill9SweepField deletes a custom field that many contacts have, makes one of another type with its key and fills it while
// the values of the first are still being cleaned up.
func TestKill9SweepField(t *testing.T) {
	if raceDetector {
		t.Skip("to the server it is the clean-up that TestKill9Sweep races")
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
	w.atRest(func(s *server) { // the clean-up waits: it is sure to be under way when the new field is filled
		s.do(http.StatusNoContent, key, "DELETE", "/v1/fields/"+field, "")
		s.do(http.StatusCreated, key, "POST", "/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "number"}`)
		w.shows(s)
		fillUpTo(s, len(fill)/2)
		w.shows(s)
	})
	w.glance = func(s *server) { s.t.Helper(); s.counts(key, "custom_field_score", "is_not_empty", "", filled) }
	began := time.Now()
	s = p.serve()
	fillUpTo(s, len(fill))
	w.killUntilDone(s, began)
}

// TestKill9SweepAccount deletes an account with many contacts.
func TestKill9SweepAccount(t *testing.T) {
	if raceDetector {
		t.Skip("to the server it is the clean-up that TestKill9Sweep races")
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
	w.glance = func(s *server) { s.t.Helper(); s.counts(key, "account_id", "is_empty", "", n) }
	began := time.Now()
	s.do(http.StatusNoContent, key, "DELETE", "/v1/accounts/"+gone, "")
	w.killUntilDone(s, began)
}

// killUntilDone kills the server again and again while it cleans up, looks at what is left each time, and lets the last one
// finish. What was cleaned up stays so, and nothing is cleaned up twice.
func (w *sweep) killUntilDone(s *server, began time.Time) {
	t := w.p.t
	t.Helper()
	most, last := len(w.ids), 3
	if raceDetector {
		last = 1
	}
	for round := 0; ; round++ {
		w.glance(s) // all else is looked at when nothing sweeps
		rewritten := len(w.ids) - most
		if round > 0 { // the first kill comes at once
			rewritten += w.random.IntN(max(1, most/4))
			s.awaitSwept(w, w.ids[rewritten])
		}
		time.AfterFunc(time.Duration(w.random.Int64N(int64(5*time.Millisecond))), func() { _ = s.process.Kill() }) // anywhere in a commit
		s.ends(-1)
		w.p.passesCheck()
		left := w.left()
		t.Logf("round %d: killed after %d contacts, %d of %d are left", round, rewritten, left, len(w.ids))
		if left > most || round > 0 && left >= len(w.ids)-rewritten {
			t.Errorf("%d contacts are left to clean up, there were %d, and %d were cleaned up", left, most, rewritten)
		}
		most = left
		w.atRest(w.shows)
		if t.Failed() || left == 0 || round == last && !soaking() {
			break
		}
		s = w.p.serve()
	}
	s = w.p.serve()
	s.awaitSwept(w, w.ids[len(w.ids)-1])
	t.Logf("all was done %v after the deletion, kills and looks included", time.Since(began))
	w.shows(s)
	for _, i := range w.some() {
		if n := strings.Count(s.history(w.key, w.ids[i]), `"`+w.operation+`"`); n != 1 {
			t.Errorf("contact %d was cleaned up %d times", i, n)
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
			s.t.Fatalf("contact %s is not cleaned up", id)
		}
	}
}

// some gives the first and the last of the contacts, and some between.
func (w *sweep) some() []int {
	some := []int{0, len(w.ids) - 1}
	for range 10 {
		some = append(some, w.random.IntN(len(w.ids)))
	}
	return some
}

// contact is what of a contact these tests look at.
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

// counts wants a list of contacts with one rule to have so many of them.
func (s *server) counts(key, field, condition, value string, want int) {
	s.t.Helper()
	rule := fmt.Sprintf(`{"field": %q, "condition": %q}`, field, condition)
	if value != "" {
		rule = fmt.Sprintf(`{"field": %q, "condition": %q, "value": %s}`, field, condition, value)
	}
	if got := s.total(key, "contacts", `{"filters": [`+rule+`], "page_size": 1}`); got != want {
		s.t.Errorf("%s: there are %d contacts, want %d", rule, got, want)
	}
}

// exports wants an export of all contacts to have so many lines, and a text in none of them.
func (s *server) exports(key string, lines int, without string) {
	s.t.Helper()
	body := s.do(http.StatusOK, key, "POST", "/v1/contacts/export", `{}`).body
	if n := bytes.Count(body, []byte("\n")); n != lines {
		s.t.Errorf("the export has %d lines, want %d", n, lines)
	}
	if bytes.Contains(body, []byte(without)) {
		s.t.Errorf("the export has %s in it", without)
	}
}

// tag makes a tag for contacts.
func (s *server) tag(key, name string) string {
	s.t.Helper()
	return s.id(s.do(http.StatusCreated, key, "POST", "/v1/tags", fmt.Sprintf(`{"name": %q, "color": "red", "object_type": "contact"}`, name)))
}

// load makes contacts, each with members of its own, and gives their ids.
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

// batch makes or changes contacts and wants each to succeed.
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

// plainGet is how long reading a contact takes: the middle of several.
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
