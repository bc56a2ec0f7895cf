package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

const (
	enrolled  = 10_000 // the most that one request accepts
	simulated = 100
)

// BenchmarkOutreach measures enrolling contacts over HTTP, compared with a bare write of the same
// keys, and simulating a campaign, compared with a list.
func BenchmarkOutreach(b *testing.B) {
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	o := &outreachBench{b: b, org: newTenant(b, s, "Large", 60), random: rand.New(rand.NewPCG(5, 6)), client: &http.Client{}}
	o.contacts = load(b, s, o.org, size(b), 1)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(s.API)
	defer server.Close()
	o.url = server.URL
	o.bare = newBareSets(b)
	o.measureEnrolling()
	o.measureSimulating()
}

// outreachBench measures audiences and campaigns of one organization.
type outreachBench struct {
	b        *testing.B
	org      tenant
	contacts []uuid.UUID
	random   *rand.Rand
	client   *http.Client
	url      string
	bare     *bareSets
}

// post sends a request and returns the id in its response, if there is one, and how long it took.
func (o *outreachBench) post(path string, body any, status int) (id uuid.UUID, took time.Duration) {
	o.b.Helper()
	text, isText := body.(string)
	if !isText {
		raw, err := json.Marshal(body)
		if err != nil {
			o.b.Fatal(err)
		}
		text = string(raw)
	}
	start := time.Now()
	answer, err := sendFor(o.client, o.org, http.MethodPost, o.url+path, text, status)
	took = time.Since(start)
	if err != nil {
		o.b.Fatalf("%s: %v", path, err)
	}
	if status == http.StatusCreated {
		var created struct{ Data struct{ ID uuid.UUID } }
		if err := json.Unmarshal(answer, &created); err != nil {
			o.b.Fatal(err)
		}
		id = created.Data.ID
	}
	return id, took
}

func (o *outreachBench) some(n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i, at := range o.random.Perm(len(o.contacts))[:n] {
		ids[i] = o.contacts[at]
	}
	return ids
}

// campaign creates a campaign with an audience of the given number of contacts.
func (o *outreachBench) campaign(name, template string, contacts []uuid.UUID) uuid.UUID {
	chosen, _ := o.post("/v1/sequence-templates", template, http.StatusCreated)
	audience, _ := o.post("/v1/audiences", map[string]any{"name": name, "contact_ids": contacts}, http.StatusCreated)
	id, _ := o.post("/v1/campaigns", map[string]any{"name": name, "template_id": chosen, "audience_ids": []uuid.UUID{audience}, "status": "paused"}, http.StatusCreated)
	return id
}

// measureEnrolling enrolls, adds and removes contacts, alternating with the bare writes.
func (o *outreachBench) measureEnrolling() {
	campaign := o.campaign("Enrolled", `{"name": "Call", "steps": [{"index": 0, "type": "call"}]}`, o.some(1))
	audience, _ := o.post("/v1/audiences", `{"name": "Added"}`, http.StatusCreated)
	found, _ := o.post("/v1/audiences", `{"name": "Found"}`, http.StatusCreated)
	filter := fmt.Sprintf(`{"filters": [{"field": "tags", "condition": "is", "value": %q}]}`, o.org.tags[0])
	var enroll, add, remove, find, page comparison
	for i := range 11 {
		ids := o.some(enrolled)
		_, took := o.post("/v1/campaigns/"+campaign.String()+"/enroll", map[string]any{"audience_name": fmt.Sprintf("Round %d", i), "contact_ids": ids}, http.StatusOK)
		enroll.note(took, o.bare.write(o.b, uuid.New(), ids, true))

		body, path := map[string]any{"contact_ids": ids}, "/v1/audiences/"+audience.String()+"/contacts/"
		bare := uuid.New()
		_, took = o.post(path+"add", body, http.StatusOK)
		add.note(took, o.bare.write(o.b, bare, ids, true))
		_, inAudience := o.post(path+"list", `{"page_size": 50}`, http.StatusOK)
		_, inAll := o.post("/v1/contacts/list", `{"page_size": 50}`, http.StatusOK)
		page.note(inAudience, inAll)
		_, took = o.post(path+"remove", body, http.StatusOK)
		remove.note(took, o.bare.write(o.b, bare, ids, false))

		_, took = o.post("/v1/audiences/"+found.String()+"/contacts/add", filter, http.StatusOK)
		_, listed := o.post("/v1/contacts/list", filter, http.StatusOK)
		if i == 0 {
			fmt.Printf("\nadding a whole filtered list: %v; the list alone: %v\n",
				took.Round(10*time.Microsecond), listed.Round(10*time.Microsecond))
		}
		find.note(took, listed)
	}
	fmt.Printf("%d contacts, %d per request over HTTP, compared with a bare write of the same keys:\n",
		len(o.contacts), enrolled)
	enroll.print("enrolling", 3)
	add.print("adding to an audience", 0)
	remove.print("removing from it", 0)
	find.print("adding a list that is in already, against the list", 0)
	page.print("a page of an audience, against one of all", 0)
}

// measureSimulating simulates a campaign, alternating with a list.
func (o *outreachBench) measureSimulating() {
	type fields = map[string]any
	var steps, transitions []fields
	for i := range 10 {
		step := fields{"index": i, "type": "auto_email", "hour": 8 + i, "message": "Hello {{recipient.first_name}},\n\nhow is {{recipient.company|your company}}?\n\n{{sender.first_name}} {{sender.last_name}}"}
		if i%5 == 4 {
			step["type"] = "call"
		} else if i%2 == 0 {
			step["subject"] = "A question about {{recipient.company|your company}}"
		}
		steps = append(steps, step)
		if i > 0 {
			transitions = append(transitions, fields{"from_step_index": i - 1, "to_step_index": i, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 2, "pre_check_time_unit": "business_days"})
		}
	}
	template, err := json.Marshal(fields{"name": "Ten steps", "steps": steps, "transitions": transitions})
	if err != nil {
		o.b.Fatal(err)
	}
	contacts := o.some(simulated)
	account, _ := o.post("/v1/accounts", `{"name": "Acme"}`, http.StatusCreated)
	for i, id := range contacts { // make each contact reachable and give it an account
		body := fmt.Sprintf(`{"account_id": %q, "do_not_contact": false, "email": "simulated%d@bench.example"}`, account, i)
		if _, err := send(o.client, o.org, http.MethodPatch, o.url+"/v1/contacts/"+id.String(), body); err != nil {
			o.b.Fatal(err)
		}
	}
	path := "/v1/campaigns/" + o.campaign("Simulated", string(template), contacts).String() + "/simulate"
	answer, err := send(o.client, o.org, http.MethodPost, o.url+path, `{"page_size": 500}`)
	if n := strings.Count(string(answer), `"action":"send"`); err != nil || n != 8*simulated {
		o.b.Fatalf("simulation sends %d messages (error %v)", n, err)
	}
	var c comparison
	for range 40 {
		_, ours := o.post(path, `{"page_size": 500}`, http.StatusOK)
		_, theirs := o.post("/v1/contacts/list", `{"page_size": 500}`, http.StatusOK)
		c.note(ours, theirs)
	}
	c.print(fmt.Sprintf("simulating %d contacts through %d steps (%d KB), against a list of 500", simulated, len(steps), len(answer)>>10), 1)
	o.measureWholeCampaign(string(template))
}

// measureWholeCampaign simulates ten thousand contacts, alternating with a list of as many.
func (o *outreachBench) measureWholeCampaign(template string) {
	const wanted = 10_000
	contacts := o.contacts[:min(wanted, len(o.contacts))]
	path := "/v1/campaigns/" + o.campaign("Whole", template, contacts).String() + "/simulate"
	var c comparison
	for range 5 {
		_, ours := o.post(path, `{"page_size": 500}`, http.StatusOK)
		var theirs time.Duration
		for page := 1; page <= (len(contacts)+499)/500; page++ {
			_, took := o.post("/v1/contacts/list", fmt.Sprintf(`{"page_size": 500, "page": %d}`, page), http.StatusOK)
			theirs += took
		}
		c.note(ours, theirs)
	}
	c.print(fmt.Sprintf("simulating %d contacts through 10 steps, against a list of them", len(contacts)), 10)
}

// comparison holds the durations of an operation and of its alternative, measured in the same
// rounds.
type comparison struct {
	ours, theirs []time.Duration
	ratios       []float64
}

func (c *comparison) note(ours, theirs time.Duration) {
	c.ours, c.theirs = append(c.ours, ours), append(c.theirs, theirs)
	c.ratios = append(c.ratios, float64(ours)/float64(theirs))
}

// print prints the medians. A target of 0 means that there is no target.
func (c *comparison) print(what string, target float64) {
	slices.Sort(c.ours)
	slices.Sort(c.theirs)
	slices.Sort(c.ratios)
	half := len(c.ratios) / 2
	fmt.Printf("%s: %v, %v, ratio %.2f (%.2f to %.2f)",
		what, c.ours[half].Round(10*time.Microsecond), c.theirs[half].Round(10*time.Microsecond),
		c.ratios[half], c.ratios[0], c.ratios[len(c.ratios)-1])
	if target > 0 {
		fmt.Printf(", target %g %s", target, verdict(c.ratios[half] <= target))
	}
	fmt.Println()
}

// bareSets is a bbolt file that holds only the keys of sets.
type bareSets struct{ db *bolt.DB }

func newBareSets(b *testing.B) *bareSets {
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, InitialMmapSize: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return &bareSets{db}
}

// write puts or deletes the keys of a set in one transaction and in key order: one key per id, and
// the chunks.
func (s *bareSets) write(b *testing.B, owner uuid.UUID, ids []uuid.UUID, put bool) time.Duration {
	const chunk = 384
	start := time.Now()
	ids = slices.SortedFunc(slices.Values(ids), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	change := func(bucket *bolt.Bucket, a, b uuid.UUID, value []byte) error {
		key := slices.Concat(a[:], b[:])
		if put {
			return bucket.Put(key, value)
		}
		return bucket.Delete(key)
	}
	err := s.db.Update(func(tx *bolt.Tx) error {
		chunks, err := tx.CreateBucketIfNotExists([]byte("chunks"))
		if err != nil {
			return err
		}
		owners, err := tx.CreateBucketIfNotExists([]byte("owners"))
		if err != nil {
			return err
		}
		for some := range slices.Chunk(ids, chunk) {
			if err := change(chunks, owner, some[len(some)-1], make([]byte, valueHead+16*(1+len(some)))); err != nil {
				return err
			}
		}
		for _, id := range ids {
			if err := change(owners, id, owner, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
