package cmd_test

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receivedDelivery is a delivery as a subscriber received it.
type receivedDelivery struct {
	id, trigger string
	data        string // with sorted members
	object      string // the id in the data
	proto       int
}

// subscriber is the endpoint of a subscription, a real server on loopback. It verifies the
// signature of every delivery with the subscription's secret, using an independent library.
type subscriber struct {
	*httptest.Server
	t   *testing.T
	id  string
	key string // API key of the organization

	mu     sync.Mutex
	secret string
	got    []receivedDelivery
	grown  chan struct{} // closed at the next delivery
	answer func(w http.ResponseWriter, r *http.Request, d receivedDelivery)
}

// newSubscriber returns a subscriber that responds 200 until answers changes that. It uses HTTPS
// with the pair, or HTTP if the pair is nil.
func newSubscriber(t *testing.T, secure *pair) *subscriber {
	t.Helper()
	b := &subscriber{t: t, grown: make(chan struct{})}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(b.handle))
	b.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust it or are killed cause noise
	if secure == nil {
		b.Start()
	} else {
		cert, err := tls.X509KeyPair([]byte(secure.cert), []byte(secure.key))
		if err != nil {
			t.Fatal(err)
		}
		b.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		b.EnableHTTP2 = true
		b.StartTLS()
	}
	t.Cleanup(func() {
		b.CloseClientConnections() // releases hanging handlers
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			b.Close()
		}()
		within(t, closed, "the answers of a subscriber end")
	})
	return b
}

// within waits for a value from the channel or for its end.
func within[T any](t *testing.T, happens <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-happens:
	case <-time.After(waitTimeout):
		t.Fatalf("timed out before %s", what)
	}
	return got
}

// gate returns a channel that responses can wait for, and a function that closes it. It is closed
// at the end of the test at the latest.
func (b *subscriber) gate() (closed <-chan struct{}, open func()) {
	gate := make(chan struct{})
	open = sync.OnceFunc(func() { close(gate) })
	b.t.Cleanup(open)
	return gate, open
}

// The path of a subscriber and the addresses of the contacts in its deliveries must not be logged.
const (
	hushPath    = "/in/hush-hush"
	hushAddress = "hush.example"
)

// subscribe creates the subscription.
func (b *subscriber) subscribe(s *server, key string, triggers ...string) {
	b.t.Helper()
	r := s.do(http.StatusCreated, key, "POST", "/v1/webhooks/subscriptions", fmt.Sprintf(`{"url": %q, "triggers": %s}`, b.URL+hushPath, asJSON(triggers)))
	var made struct{ Data struct{ Secret string } }
	if err := json.Unmarshal(r.body, &made); err != nil || !strings.HasPrefix(made.Data.Secret, "whsec_") {
		b.t.Fatalf("%v: %s", err, r.body)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.id, b.key, b.secret = s.id(r), key, made.Data.Secret
}

// answers changes how the subscriber responds. nil responds 200.
func (b *subscriber) answers(fn func(w http.ResponseWriter, r *http.Request, d receivedDelivery)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = fn
}

// hang never responds.
func hang(_ http.ResponseWriter, r *http.Request, _ receivedDelivery) { <-r.Context().Done() }

func fail(w http.ResponseWriter, _ *http.Request, _ receivedDelivery) {
	http.Error(w, "no, "+hushAddress, http.StatusInternalServerError)
}

func (b *subscriber) handle(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server was killed while sending
	}
	d, err := b.read(r, body)
	if err != nil {
		b.t.Errorf("invalid delivery: %v\n%v\n%s", err, r.Header, body)
	}
	b.mu.Lock()
	b.got = append(b.got, d)
	close(b.grown)
	b.grown = make(chan struct{})
	answer := b.answer
	b.mu.Unlock()
	if answer != nil {
		answer(w, r, d)
	}
}

func (b *subscriber) read(r *http.Request, body []byte) (receivedDelivery, error) {
	b.mu.Lock()
	secret := b.secret
	b.mu.Unlock()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return receivedDelivery{}, err
	}
	if err := hook.Verify(body, r.Header); err != nil {
		return receivedDelivery{}, err
	}
	var e struct {
		ID         string
		TriggerKey string `json:"trigger_key"`
		Data       json.RawMessage
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return receivedDelivery{}, err
	}
	d := receivedDelivery{id: e.ID, trigger: e.TriggerKey, data: inOrder(e.Data), proto: r.ProtoMajor}
	var head struct{ ID string }
	if err := json.Unmarshal(e.Data, &head); err != nil {
		return d, err
	}
	if d.object = head.ID; d.id == "" || d.object == "" || d.id != r.Header.Get("Webhook-Id") || r.URL.Path != hushPath {
		return d, fmt.Errorf("at %s, %+v", r.URL, d)
	}
	return d, nil
}

// inOrder returns a JSON object with sorted members.
func inOrder(object []byte) string {
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return err.Error()
	}
	return asJSON(members)
}

// all returns the deliveries received so far.
func (b *subscriber) all() []receivedDelivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]receivedDelivery{}, b.got...)
}

// forget discards the deliveries received so far.
func (b *subscriber) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = nil
}

// awaitDeliveries waits for so many deliveries and returns them.
func (b *subscriber) awaitDeliveries(n int) []receivedDelivery {
	b.t.Helper()
	late := time.After(waitTimeout)
	for {
		b.mu.Lock()
		got, grown := b.got, b.grown
		b.mu.Unlock()
		if len(got) >= n {
			return append([]receivedDelivery{}, got...)
		}
		select {
		case <-grown:
		case <-late:
			b.t.Fatalf("got %d deliveries, want %d", len(got), n)
		}
	}
}

// attempt has the fields of an attempt that these tests check.
type attempt struct {
	SourceEventID string `json:"source_event_id"`
	Attempt       int
	Status        string
	DurationMS    int       `json:"duration_ms"`
	CreatedAt     time.Time `json:"created_at"`
	ResponseCode  *int      `json:"response_code"`
	Error         string
}

// attempts returns the latest recorded attempts and their total number.
func (b *subscriber) attempts(s *server, query string) (page []attempt, total int) {
	b.t.Helper()
	var list struct {
		Data       []attempt
		Pagination struct {
			TotalCount int `json:"total_count"`
		}
	}
	r := s.do(http.StatusOK, b.key, "GET", "/v1/webhooks/subscriptions/"+b.id+"/deliveries?"+query, "")
	if err := json.Unmarshal(r.body, &list); err != nil {
		b.t.Fatalf("%v: %s", err, r.body)
	}
	return list.Data, list.Pagination.TotalCount
}

// awaitAttempts waits until so many attempts are recorded.
func (b *subscriber) awaitAttempts(s *server, n int) (page []attempt) {
	b.t.Helper()
	s.awaitMilestone(milestone{fmt.Sprintf("%d attempts are on record", n), func() bool {
		var total int
		page, total = b.attempts(s, "page_size=100")
		return total == n
	}})
	return page
}

// pending returns the number of pending deliveries from the metrics.
func (s *server) pending() string {
	s.t.Helper()
	r, err := send(client, "GET", s.url+"/metrics", "")
	if err != nil {
		s.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^prospector_webhook_deliveries_pending (\S+)$`).FindSubmatch(r.body)
	if m == nil {
		s.t.Fatalf("the metrics do not contain the number of pending deliveries: %s", r.body)
	}
	return string(m[1])
}

// awaitNoPending waits until no delivery is pending.
func (s *server) awaitNoPending() {
	s.t.Helper()
	s.awaitMilestone(milestone{"nothing waits to be delivered", func() bool { return s.pending() == "0" }})
}

// logHasNoSecrets checks that the log contains no payload, URL or secret of the subscribers.
func (s *server) logHasNoSecrets(of ...*subscriber) {
	s.t.Helper()
	log := s.stderr.String()
	for _, b := range of {
		bare := strings.TrimPrefix(b.secret, "whsec_")
		raw, err := base64.StdEncoding.DecodeString(bare)
		if err != nil || len(raw) == 0 {
			s.t.Fatalf("%q: %v", bare, err)
		}
		for _, text := range []string{bare, fmt.Sprintf("%x", raw), b.Listener.Addr().String(), hushPath, hushAddress} {
			if strings.Contains(log, text) {
				s.t.Errorf("the log contains %q", text)
			}
		}
	}
}

// newWebhookPlace returns a place with an organization that may call endpoints on this machine and
// logs at the most detailed level.
func newWebhookPlace(t *testing.T, env ...string) *acmePlace {
	t.Helper()
	d := &acmePlace{place: newPlace(t, append([]string{"PROSPECTOR_RATE_LIMIT_PER_MINUTE=0", "PROSPECTOR_LOG_LEVEL=debug",
		"PROSPECTOR_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true"}, env...)...)}
	d.org, d.key = d.place.org("Acme")
	return d
}

// contact creates a contact and returns its id and its data.
func (s *server) contact(key string, name any) (id, data string) {
	s.t.Helper()
	id = s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": "%v@%s", "notes": "ünï\u2028 <b>"}`, name, hushAddress)))
	return id, inOrder(s.item(key, "/v1/contacts/"+id))
}

// item returns the data of a response.
func (s *server) item(key, path string) []byte {
	s.t.Helper()
	r := s.do(http.StatusOK, key, "GET", path, "")
	var item struct{ Data json.RawMessage }
	if err := json.Unmarshal(r.body, &item); err != nil {
		s.t.Fatalf("%v: %s", err, r.body)
	}
	return item.Data
}

// ids returns the ids of all contacts of an organization.
func (p *place) ids(org string) (ids []string) {
	p.t.Helper()
	var contacts []contact
	if err := json.Unmarshal([]byte(p.exported(org, "contacts")), &contacts); err != nil {
		p.t.Fatal(err)
	}
	for _, c := range contacts {
		ids = append(ids, c.ID)
	}
	return ids
}

// TestWebhook checks that events are delivered to their subscribers, also over HTTPS with a
// certificate that the machine trusts. Endpoints with an untrusted certificate receive nothing.
// Proxies from the environment are not used.
func TestWebhook(t *testing.T) {
	t.Parallel()
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	go func() {
		for {
			conn, err := proxy.Accept()
			if err != nil {
				return
			}
			t.Error("a proxy was used")
			conn.Close()
		}
	}()
	d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=1h", "PROSPECTOR_WEBHOOKS_TIMEOUT=5s")
	d.env = append(d.env, "SSL_CERT_FILE="+d.path("trusted.pem"), "SSL_CERT_DIR="+d.dir, "NO_PROXY=", "no_proxy=")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		d.env = append(d.env, name+"=http://"+proxy.Addr().String(), strings.ToLower(name)+"=http://"+proxy.Addr().String())
	}
	trusted, stranger := newPair(t, "trusted", tomorrow), newPair(t, "stranger", tomorrow)
	d.write("trusted.pem", trusted.cert)
	plain, safe, strange := newSubscriber(t, nil), newSubscriber(t, &trusted), newSubscriber(t, &stranger)
	nowhere := &subscriber{t: t, Server: &httptest.Server{URL: "http://hooks.invalid"}}
	s := d.serve()
	for _, b := range []*subscriber{plain, safe, strange, nowhere} {
		b.subscribe(s, d.key, "contact.created")
	}
	id, data := s.contact(d.key, "ada")
	for b, proto := range map[*subscriber]int{plain: 1, safe: 2} {
		if got := b.awaitDeliveries(1)[0]; got.trigger != "contact.created" || got.object != id || got.data != data || got.proto != proto {
			t.Errorf("%s got %+v, want HTTP/%d and %s", b.URL, got, proto, data)
		}
		if last := b.awaitAttempts(s, 1)[0]; last.Status != "succeeded" || *last.ResponseCode != 200 {
			t.Errorf("%s: %+v", b.URL, last)
		}
	}
	for b, class := range map[*subscriber]string{strange: "^tls: ", nowhere: "^(dns|timeout): "} { // a timeout where no DNS server responds
		last := b.awaitAttempts(s, 1)[0]
		if last.Status != "failed" || !regexp.MustCompile(class).MatchString(last.Error) || last.ResponseCode != nil {
			t.Errorf("%s: %+v", b.URL, last)
		}
	}
	if got := strange.all(); len(got) > 0 {
		t.Errorf("an untrusted endpoint received %+v", got)
	}
	// The secret is not returned again and is not exported.
	if all := string(d.all(d.org)); !strings.Contains(all, plain.URL) || strings.Contains(all, plain.secret[10:]) {
		t.Errorf("the export of the organization is %s", all)
	}
	d.passesCheck()
	s.stop()
	s.hasNoErrors()
	s.logHasNoSecrets(plain, safe, strange)
	d.passesCheck()
}
