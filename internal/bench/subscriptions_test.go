package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/internal/webhook"
	"prospector/store"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// subscribeMany creates 50 subscriptions to endpoints at which nothing listens.
func subscribeMany(tx *store.Tx, s *service.Service, trigger string) error {
	for i := range 50 {
		var body shape.Value
		if err := json.Unmarshal(fmt.Appendf(nil, `{"url":"http://127.0.0.1:1/%d","triggers":[%q]}`, i, trigger), &body); err != nil {
			return err
		}
		if _, _, err := s.Webhooks.Create(tx, record.NewDraft[webhook.Subscription](body)); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkSubscriptions compares batches of 1,000 contacts over HTTP with and without 50 webhook subscriptions
// to them, in turns. The sender queues and delivers the events meanwhile.
func BenchmarkSubscriptions(b *testing.B) {
	s, err := service.Open(settings(b.TempDir()), service.Options{Log: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	server := httptest.NewServer(s.API)
	defer server.Close()
	none, many := newTenant(b, s, "None", 10), newTenant(b, s, "Many", 10)
	err = s.Store.Update(context.Background(), many.id, store.Actor{}, func(tx *store.Tx) error { return subscribeMany(tx, s, "contact.*") })
	if err != nil {
		b.Fatal(err)
	}
	for _, beside := range []bool{false, true} {
		what := "while nothing is delivered"
		stop := func() {}
		if beside {
			what, stop = "while events are delivered", sending(s)
		}
		var took [2][]time.Duration
		for i := range 10 {
			for which, t := range []tenant{none, many} {
				body := batchBodies(b, t, batchRecords)[0]
				start := time.Now()
				if _, err := send(http.DefaultClient, t, http.MethodPost, server.URL+"/v1/contacts/batch", body); err != nil {
					b.Fatal(err)
				}
				if i > 0 {
					took[which] = append(took[which], time.Since(start))
				}
			}
		}
		stop()
		slices.Sort(took[0])
		slices.Sort(took[1])
		without, with := took[0][len(took[0])/2], took[1][len(took[1])/2]
		ratio := float64(with) / float64(without)
		fmt.Printf("\na batch of %d contacts %s: %s; with 50 subscriptions: %s; ratio %.2f, target 2 %s\n", batchRecords, what,
			without.Round(time.Millisecond), with.Round(time.Millisecond), ratio, verdict(ratio <= 2))
	}
}
