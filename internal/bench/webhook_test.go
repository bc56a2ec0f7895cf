package bench

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/webhook"
	"prospector/store"
)

// events is the number of deliveries in one round of BenchmarkWebhooks.
const events = 20_000

// BenchmarkWebhooks measures how fast events are delivered, compared with a bare loop of signed
// requests to the same receiver, and how long they take to reach an endpoint that responds while all
// others of its organization hang.
func BenchmarkWebhooks(b *testing.B) {
	b.Run("rate", func(b *testing.B) {
		s := openService(b, b.TempDir())
		b.Cleanup(func() { s.Close() })
		measureDeliveries(b, s)
	})
	b.Run("fairness", func(b *testing.B) {
		s := openService(b, b.TempDir())
		b.Cleanup(func() { s.Close() })
		measureFairness(b, s)
	})
}

// subscribe creates a subscription for the tenant.
func subscribe(b *testing.B, s *service.Service, t tenant, trigger, url string) (id uuid.UUID) {
	err := s.Store.Update(context.Background(), t.id, store.Actor{}, func(tx *store.Tx) error {
		doc, _, err := s.Webhooks.Create(tx, record.NewDraft[webhook.Subscription](value(b, fmt.Sprintf(`{"url":%q,"triggers":[%q]}`, url, trigger))))
		id = doc.ID
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return id
}

// sending runs delivery until stop is called. stop returns when no attempt is in flight.
func sending(s *service.Service) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Webhooks.Sender.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// counter is an endpoint that reads, counts and acknowledges requests.
type counter struct {
	*httptest.Server
	left atomic.Int64
	all  chan struct{}
	last atomic.Pointer[[]byte]
}

func newCounter(b *testing.B) *counter {
	c := &counter{all: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		c.last.Store(&body)
		if c.left.Add(-1) == 0 {
			c.all <- struct{}{}
		}
	}))
	b.Cleanup(c.Close)
	return c
}

// timed returns how many of the n requests that run sends arrive per second.
func (c *counter) timed(n int, run func()) float64 {
	c.left.Store(int64(n))
	start := time.Now()
	run()
	<-c.all
	return float64(n) / time.Since(start).Seconds()
}

// deliveries measures delivery to one endpoint. Each round has its own organization.
type deliveries struct {
	b      *testing.B
	s      *service.Service
	to     *counter
	server *httptest.Server
	atOnce int // the most that one endpoint receives
	turns  int
}

// measureDeliveries measures deliveries per second of waiting events, and of events written at the
// same time, alternating with a bare loop.
func measureDeliveries(b *testing.B, s *service.Service) {
	d := &deliveries{b: b, s: s, to: newCounter(b), server: httptest.NewServer(s.API), atOnce: s.Config.Webhooks.Concurrency / 4}
	defer d.server.Close()
	const rounds = 5
	for _, way := range []struct {
		name         string
		ours, theirs func() float64
	}{
		{"already queued", d.waiting, d.posts},
		{"caused by concurrent batches of contacts over HTTP", d.caused, d.postsBeside},
	} {
		var ours, theirs, ratios []float64
		for i := range rounds {
			ours = append(ours, way.ours())
			d.settle()
			theirs = append(theirs, way.theirs())
			d.settle()
			ratios = append(ratios, ours[i]/theirs[i])
		}
		for _, list := range [][]float64{ours, theirs, ratios} {
			slices.Sort(list)
		}
		fmt.Printf("\n%d deliveries of %d bytes %s: %.0f/s; bare loop of signed requests, %d at once: %.0f/s; ratio %.2f (%.2f to %.2f), target 0.3 %s\n",
			events, len(*d.to.last.Load()), way.name, ours[rounds/2], d.atOnce, theirs[rounds/2], ratios[rounds/2], ratios[0], ratios[rounds-1], verdict(ratios[rounds/2] >= 0.3))
	}
}

func (d *deliveries) tenant() tenant {
	d.turns++
	return newTenant(d.b, d.s, fmt.Sprintf("Turn %d", d.turns), 10)
}

// settle waits until delivery is idle and checks that every delivery is recorded.
func (d *deliveries) settle() {
	if err := d.s.Index.Flush(); err != nil {
		d.b.Fatal(err)
	}
	if pending, err := d.s.Webhooks.Pending(); err != nil || pending > 0 {
		d.b.Fatalf("%d deliveries are still pending after all have arrived (error %v)", pending, err)
	}
}

// waiting writes the events of that many contacts but not the contacts, because indexing them would
// continue into the measurement.
func (d *deliveries) waiting() float64 {
	t := d.tenant()
	_, data, err := contactOf(d.s, t.id, load(d.b, d.s, t, 1, 1)[0])
	subscribe(d.b, d.s, t, "contact.created", d.to.URL)
	for made := 0; made < events && err == nil; made += loadTx {
		err = d.s.Store.Update(context.Background(), t.id, store.Actor{}, func(tx *store.Tx) error {
			for range loadTx {
				if err := tx.Emit(store.Event{Trigger: "contact.created", ID: uuid.New(), Data: data}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		d.b.Fatal(err)
	}
	var stop func()
	rate := d.to.timed(events, func() { stop = sending(d.s) })
	stop()
	return rate
}

func (d *deliveries) posts() float64 {
	return d.to.timed(events, func() { signedPosts(d.b, d.to, d.atOnce, events) })
}

func (d *deliveries) caused() float64 {
	t := d.tenant()
	subscribe(d.b, d.s, t, "contact.created", d.to.URL)
	bodies := batchBodies(d.b, t, events)
	defer sending(d.s)()
	return d.to.timed(events, func() { sendBatches(d.b, d.server, t, "contacts", bodies) })
}

// postsBeside is the bare loop while the same batches are written without any subscription.
func (d *deliveries) postsBeside() float64 {
	t := d.tenant()
	bodies := batchBodies(d.b, t, events)
	return d.to.timed(events, func() {
		var wg sync.WaitGroup
		wg.Go(func() { signedPosts(d.b, d.to, d.atOnce, events) })
		sendBatches(d.b, d.server, t, "contacts", bodies)
		wg.Wait()
	})
}

// signedPosts sends n requests like the last one that the endpoint received, several at once, each
// with its own signature.
func signedPosts(b *testing.B, to *counter, atOnce, n int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce, DisableCompression: true}, Timeout: 15 * time.Second}
	defer client.CloseIdleConnections()
	key, body := []byte(rand.Text()), *to.last.Load()
	post := func() error {
		req, err := http.NewRequest(http.MethodPost, to.URL, bytes.NewReader(body))
		if err != nil {
			return err
		}
		id, at := uuid.NewString(), strconv.FormatInt(time.Now().Unix(), 10)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Webhook-Id", id)
		req.Header.Set("Webhook-Timestamp", at)
		req.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return errors.Join(err, res.Body.Close())
	}
	var begun atomic.Int64
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for begun.Add(1) <= int64(n) {
				if err := post(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
