package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/turn"
	"prospector/store"
)

// Bars of BenchmarkAttack.
const (
	maxSlowdown = 5   // of the p99 of another organization
	maxGrowth   = 500 // MB of memory over the level before
	maxLinger   = 100 * time.Millisecond
)

// BenchmarkAttack lets one organization attack the service in each way that was found to hurt, and measures
// what another one notices: the p99 of reading, listing and updating a contact, with and without the attack in
// the same run, the growth of memory, and for how long the work goes on after the attacker has disconnected. The
// attacker has SIZE contacts (default 20,000) and the catalog half as many companies. Attacker and victim share the
// processors with the service.
func BenchmarkAttack(b *testing.B) {
	a := newArena(b)
	for _, attack := range a.attacks() {
		b.Run(attack.name, func(b *testing.B) { a.measure(b, attack) })
	}
}

// arena is the service with the organizations of the attacker and of the victim.
type arena struct {
	s                *service.Service
	attacker, victim tenant
	url, addr        string
	contact          string // of the victim
	contacts         []uuid.UUID
	active           atomic.Int64 // requests that the service works on
}

// attack is one way to attack. run sends one request and returns when it is answered or ctx has ended.
type attack struct {
	name    string
	clients int
	run     func(ctx context.Context, client int)
	after   func() // ends what goes on without a client
}

func newArena(b *testing.B) *arena {
	n := 20_000
	if os.Getenv("SIZE") != "" {
		n = size(b)
	}
	cfg := settings(b.TempDir())
	cfg.Limits = service.Defaults().Limits
	s, err := service.Open(cfg, service.Options{Log: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	a := &arena{s: s, attacker: newTenant(b, s, "Attacker", 10), victim: newTenant(b, s, "Victim", 10)}
	if err := s.Catalog.Generate(b.Context(), s.Store, catalog.Generation{Companies: n / 2, PeoplePerCompany: 1, Seed: 1}, func(int, int) {}); err != nil {
		b.Fatal(err)
	}
	a.contact = load(b, s, a.victim, 3_000, 2)[0].String()
	a.loadAttacker(b, n)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("Authorization"), a.attacker.key) {
			a.active.Add(1)
			defer a.active.Add(-1)
		}
		s.API.ServeHTTP(w, r)
	}))
	a.url, a.addr = server.URL, server.Listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	workers.Go(func() { s.Worker.Run(ctx) })
	workers.Go(func() { s.Webhooks.Sender.Run(ctx) })
	b.Cleanup(func() {
		server.Close()
		cancel()
		workers.Wait()
		s.Close()
	})
	return a
}

// loadAttacker creates the attacker's contacts. Their notes and a custom field have many distinct words.
func (a *arena) loadAttacker(b *testing.B, n int) {
	r := rand.New(rand.NewPCG(4, 4))
	err := a.s.Store.Update(context.Background(), a.attacker.id, store.Actor{}, func(tx *store.Tx) error {
		_, err := a.s.CRM.Fields.Create(tx, record.NewDraft[crm.Field](value(b, `{"entity":"contacts","key":"remark","label":"Remark","data_type":"text"}`)))
		return err
	})
	for made := 0; made < n && err == nil; made += loadTx {
		err = a.s.Store.Update(context.Background(), a.attacker.id, store.Actor{}, func(tx *store.Tx) error {
			for i := range min(loadTx, n-made) {
				body := value(b, fmt.Sprintf(`{"email":"c%d@attack.example","first_name":"C","title":%q,"notes":%q,"custom_field_remark":%q}`,
					made+i, words(r, 2), words(r, 20), words(r, 5)))
				doc, err := a.s.CRM.Contacts.Create(tx, record.NewDraft[crm.Contact](body))
				if err != nil {
					return err
				}
				a.contacts = append(a.contacts, doc.ID)
			}
			return nil
		})
	}
	if err != nil {
		b.Fatal(err)
	}
}

// words returns n random words.
func words(r *rand.Rand, n int) string {
	all := make([]string, n)
	for i := range all {
		word := make([]byte, 7)
		for j := range word {
			word[j] = 'a' + byte(r.IntN(26))
		}
		all[i] = string(word)
	}
	return strings.Join(all, " ")
}

// do sends a request with a JSON body.
func (a *arena) do(ctx context.Context, t tenant, method, path, body string) (status int, err error) {
	status, _, err = a.request(ctx, t, method, path, "application/json", body)
	return status, err
}

func (a *arena) request(ctx context.Context, t tenant, method, path, contentType, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+t.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// observed are the durations of the victim's requests.
type observed struct{ get, list, patch []time.Duration }

// observe measures the victim's requests, one at a time, for as long as d.
func (a *arena) observe(b *testing.B, d time.Duration) (o observed) {
	timed := func(to *[]time.Duration, method, path, body string) {
		start := time.Now()
		if status, err := a.do(context.Background(), a.victim, method, path, body); err != nil || status != http.StatusOK {
			b.Errorf("%s %s: %d %v", method, path, status, err)
		}
		*to = append(*to, time.Since(start))
	}
	for i, until := 0, time.Now().Add(d); time.Now().Before(until); i++ {
		timed(&o.get, "GET", "/v1/contacts/"+a.contact, "")
		timed(&o.list, "POST", "/v1/contacts/list", `{"filters":[{"field":"title","condition":"contains","value":"vp"}],"sort":"last_name"}`)
		timed(&o.patch, "PATCH", "/v1/contacts/"+a.contact, fmt.Sprintf(`{"location":"Room %d"}`, i))
	}
	return o
}

func (o *observed) add(other observed) {
	o.get, o.list, o.patch = append(o.get, other.get...), append(o.list, other.list...), append(o.patch, other.patch...)
}

// measure runs an attack and prints its effect.
func (a *arena) measure(b *testing.B, attack attack) {
	const phase = 3 * time.Second
	turn.UseSpareThreads()    // as the service does; the testing package has changed it back
	a.observe(b, time.Second) // warm up
	without := a.observe(b, phase)
	debug.FreeOSMemory()
	before, most := rssAnon(b), 0
	ctx, stop := context.WithCancel(context.Background())
	var attackers, watching sync.WaitGroup
	var sent atomic.Int64
	for i := range attack.clients {
		attackers.Go(func() {
			for ctx.Err() == nil {
				attack.run(ctx, i)
				sent.Add(1)
			}
		})
	}
	watching.Go(func() {
		for ctx.Err() == nil {
			most = max(most, rssAnon(b))
			wait, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			<-wait.Done()
			cancel()
		}
	})
	during := a.observe(b, 2*phase)
	stop()
	if attack.after != nil {
		attack.after()
	}
	left := time.Now()
	for a.active.Load() > 0 || attack.after != nil && a.s.Worker.Stats().Running > 0 {
		time.Sleep(time.Millisecond)
	}
	linger := time.Since(left)
	attackers.Wait()
	watching.Wait()
	without.add(a.observe(b, phase))

	fmt.Printf("\n%s (%d clients, %d requests):\n", attack.name, attack.clients, sent.Load())
	for _, of := range []struct {
		name            string
		without, during []time.Duration
	}{{"GET", without.get, during.get}, {"list", without.list, during.list}, {"PATCH", without.patch, during.patch}} {
		ratio := float64(percentile(of.during, 99)) / float64(percentile(of.without, 99))
		fmt.Printf("  %s (p50, p90, p99): without %s (%d); during %s (%d); p99 ratio %.1f, target %d %s\n", of.name,
			spread(of.without), len(of.without), spread(of.during), len(of.during), ratio, maxSlowdown, verdict(ratio <= maxSlowdown))
	}
	fmt.Printf("  memory: %d MB before, %d MB more, target %d MB %s; work ends after %s, target %s %s\n", before, most-before, maxGrowth,
		verdict(most-before <= maxGrowth), linger.Round(time.Millisecond), maxLinger, verdict(linger <= maxLinger))
}

// attacks returns the ways to attack.
func (a *arena) attacks() []attack {
	r := rand.New(rand.NewPCG(9, 9))
	rules := func(n int, field, condition string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"field":%q,"condition":%q,"value":%q}`, field, condition, words(r, 1)[:4])
		}
		return `{"operator":"or","filters":[` + strings.Join(all, ",") + `]}`
	}
	values := `[{"field":"title","condition":"is","value":["` + strings.ReplaceAll(words(r, 10_000), " ", `","`) + `"]}]`
	half := bytes.Repeat([]byte(" "), 4<<20)
	post := func(path, body string) func(context.Context, int) {
		return func(ctx context.Context, _ int) { _, _ = a.do(ctx, a.attacker, "POST", path, body) }
	}
	list := func(name, path, filters string) attack {
		return attack{name: name, clients: 12, run: post(path, `{"filters":`+filters+`}`)}
	}
	preview := func() string {
		return fmt.Sprintf(`{"request_id":%q,"company_filters":{"filtering_rules":%s}}`, uuid.New(), rules(1000, "description", "contains"))
	}
	form, file := importForm(r, 20_000)
	return []attack{
		list("contains", "/v1/contacts/list", rules(1000, "notes", "contains")),
		list("values", "/v1/contacts/list", values),
		{name: "search words", clients: 12, run: post("/v1/contacts/list", `{"search":"`+words(r, 50)+`"}`)},
		list("custom fields", "/v1/contacts/list", rules(1000, "custom_field_remark", "contains")),
		list("catalog", "/v1/companies/list", rules(1000, "description", "contains")),
		{name: "estimates", clients: 12, run: post("/v1/tam/preview/estimate", preview())},
		{name: "simulate", clients: 12, run: a.simulation()},
		{name: "stalled exports", clients: 40, run: func(ctx context.Context, _ int) { a.stall(ctx, "/v1/contacts/export", 2, []byte("{}")) }},
		{name: "half-sent bodies", clients: 40, run: func(ctx context.Context, _ int) { a.stall(ctx, "/v1/contacts", 8<<20, half) }},
		{name: "zeros", clients: 40, run: post("/v1/contacts", `{"tags":[`+strings.Repeat("0,", 1<<19)+`0]}`)},
		{name: "zeros in a batch", clients: 40, run: post("/v1/contacts/batch", `{"records":[`+strings.Repeat("0,", 490_000)+`0]}`)},
		a.background("Previews", "/v1/tam/preview", "application/json", "preview_id", preview),
		a.background("imports", "/v1/imports", form, "id", func() string { return file }),
		{name: "batches with 50 subscriptions", clients: 12, run: a.batches()},
	}
}

// stall sends a request with a body of the length, of which it sends only a part, and reads nothing.
func (a *arena) stall(ctx context.Context, path string, length int, body []byte) {
	conn, err := net.Dial("tcp", a.addr)
	if err != nil {
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		path, a.attacker.key, length)
	if err == nil {
		_, err = conn.Write(body)
	}
	if err == nil {
		<-ctx.Done()
	}
}

// simulation simulates a campaign of all contacts.
func (a *arena) simulation() func(context.Context, int) {
	var path string
	prepare := sync.OnceFunc(func() {
		create := func(path string, body string) string {
			answer, err := sendFor(http.DefaultClient, a.attacker, http.MethodPost, a.url+path, body, http.StatusCreated)
			if err != nil {
				panic(err)
			}
			_, id, _ := strings.Cut(string(answer), `"id":"`)
			return id[:36]
		}
		audience := create("/v1/audiences", `{"name":"All"}`)
		for from := 0; from < len(a.contacts); from += 10_000 {
			ids := fmt.Sprintf("%q", a.contacts[from:min(from+10_000, len(a.contacts))])
			body := `{"contact_ids":` + strings.ReplaceAll(ids, " ", ",") + `}`
			if _, err := send(http.DefaultClient, a.attacker, http.MethodPost, a.url+"/v1/audiences/"+audience+"/contacts/add", body); err != nil {
				panic(err)
			}
		}
		template := create("/v1/sequence-templates", `{"name":"T","steps":[{"index":0,"type":"auto_email","subject":"S","message":"M"}]}`)
		path = "/v1/campaigns/" + create("/v1/campaigns", fmt.Sprintf(`{"name":"C","template_id":%q,"audience_ids":[%q]}`, template, audience)) + "/simulate"
	})
	return func(ctx context.Context, _ int) {
		prepare()
		_, _ = a.do(ctx, a.attacker, "POST", path, `{"page_size":500}`)
	}
}

// background starts work that goes on without a client. idName names its id in the answer. Afterwards it cancels what is
// not over.
func (a *arena) background(name, path, contentType, idName string, body func() string) attack {
	var mu sync.Mutex
	var ids []string
	return attack{name: name, clients: 4, run: func(ctx context.Context, _ int) {
		mu.Lock()
		next := body()
		mu.Unlock()
		_, answer, err := a.request(ctx, a.attacker, "POST", path, contentType, next)
		if _, id, found := strings.Cut(string(answer), `"`+idName+`":"`); err == nil && found {
			mu.Lock()
			ids = append(ids, id[:36])
			mu.Unlock()
		}
		wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		<-wait.Done()
	}, after: func() {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			_, _ = a.do(context.Background(), a.attacker, "POST", path+"/"+id+"/cancel", "")
		}
	}}
}

// importForm returns the body of an import of n contacts, and its media type.
func importForm(r *rand.Rand, n int) (contentType, body string) {
	var b strings.Builder
	form := multipart.NewWriter(&b)
	_ = form.WriteField("options", `{"entity":"contacts"}`)
	file, _ := form.CreateFormFile("file", "contacts.csv")
	fmt.Fprintln(file, "Email,Name,Title,Notes")
	for i := range n {
		fmt.Fprintf(file, "import%d@attack.example,%s,%s,%s\n", i, words(r, 2), words(r, 2), words(r, 20))
	}
	_ = form.Close()
	return form.FormDataContentType(), b.String()
}

// batches creates contacts while 50 endpoints that accept nothing are subscribed.
func (a *arena) batches() func(context.Context, int) {
	subscribe := sync.OnceFunc(func() {
		err := a.s.Store.Update(context.Background(), a.attacker.id, store.Actor{}, func(tx *store.Tx) error {
			return subscribeMany(tx, a.s, "contact.created")
		})
		if err != nil {
			panic(err)
		}
	})
	var made atomic.Int64
	return func(ctx context.Context, _ int) {
		subscribe()
		var body strings.Builder
		for i := range batchRecords {
			fmt.Fprintf(&body, `,{"email":"b%d-%d@attack.example"}`, made.Load(), i)
		}
		made.Add(1)
		_, _ = a.do(ctx, a.attacker, "POST", "/v1/contacts/batch", `{"records":[`+body.String()[1:]+`]}`)
	}
}
