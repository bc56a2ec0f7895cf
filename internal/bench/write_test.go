package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	writers   = 64
	burst     = 20_000
	sustained = time.Minute
	// bareBatch is the batch size for bare bleve.
	bareBatch = 5000
)

// bareBleve is a bleve index with the same documents and nothing else.
type bareBleve struct {
	index bleve.Index
	l     *lists
	ids   []uuid.UUID
	took  time.Duration // time to load
}

// newBareBleve loads the same documents in large batches. Only bleve's own time counts, not
// building the documents.
func newBareBleve(b *testing.B, l *lists) *bareBleve {
	index, err := scorch.NewScorch(scorch.Name, map[string]any{"path": filepath.Join(b.TempDir(), "bare")}, bleve.NewAnalysisQueue(runtime.GOMAXPROCS(0)))
	if err != nil {
		b.Fatal(err)
	}
	if err := index.Open(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { index.Close() })
	bare := &bareBleve{index: index, l: l}
	above := uuid.Nil
	for {
		var ids []uuid.UUID
		err := l.s.Store.View(l.org, func(tx *store.Tx) error {
			return tx.Records(l.kind.Entity, above, func(id uuid.UUID, _ uint64, _ []byte) (bool, error) {
				ids = append(ids, id)
				return len(ids) < bareBatch, nil
			})
		})
		if err != nil {
			b.Fatal(err)
		}
		if len(ids) == 0 {
			return bare
		}
		above = ids[len(ids)-1]
		bare.ids = append(bare.ids, ids...)
		bare.took += bare.write(b, ids)
	}
}

// write indexes the current versions of the records and returns how long bleve took.
func (x *bareBleve) write(b *testing.B, ids []uuid.UUID) time.Duration {
	batch := bleve.NewBatch()
	err := x.l.s.Store.View(x.l.org, func(tx *store.Tx) error {
		for _, id := range ids {
			_, public, err := tx.Reader(x.l.kind.Entity).Public(id)
			if err != nil {
				return err
			}
			row, err := x.l.kind.Row(filter.NoCustomFields, id, public)
			if err != nil {
				return err
			}
			batch.Update(newBareDocument(x.l.kind.Kind, row))
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if err := x.index.Batch(batch); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// rewrite indexes random records again for a while and returns the documents per second of bleve's
// time.
func (x *bareBleve) rewrite(b *testing.B, d time.Duration) float64 {
	var took time.Duration
	docs := 0
	for took < d {
		ids := make([]uuid.UUID, bareBatch)
		for i := range ids {
			ids[i] = x.ids[rand.IntN(len(x.ids))]
		}
		took += x.write(b, ids)
		docs += len(ids)
	}
	return float64(docs) / took.Seconds()
}

func measureLoading(b *testing.B, bare *bareBleve, n int, written, loading time.Duration) {
	ours, theirs := float64(n)/loading.Seconds(), float64(n)/bare.took.Seconds()
	fmt.Printf("\nloading: %.0f records/s (written in %s, indexed in %s); bare bleve in batches of %d: %.0f/s; ratio %.2f, target 0.5 %s\n",
		ours, written.Round(time.Millisecond), loading.Round(time.Millisecond), bareBatch, theirs, ours/theirs, verdict(ours/theirs >= 0.5))
}

func benchBody(n int) shape.Value {
	return shape.Value{Kind: shape.Object, Members: []shape.Member{
		{Key: "title", Value: shape.Value{Kind: shape.String, Text: fmt.Sprintf("VP Operations %d", n%1000)}},
	}}
}

// measureUpdates measures durable updates of single records by many writers: a burst, compared with
// bare bbolt; a sustained minute, compared with bare bleve and with lists running concurrently; and
// over HTTP.
func measureUpdates(b *testing.B, s *service.Service, t tenant, l *lists, ids []uuid.UUID, bleve *bareBleve) {
	inProcess := func(n int) error {
		return s.Store.Update(context.Background(), t.id, store.Actor{Operation: "update_contact", RequestID: "bench"}, func(tx *store.Tx) error {
			_, err := s.CRM.Contacts.Update(tx, ids[rand.IntN(len(ids))], nil, benchBody(n))
			return err
		})
	}
	_, public, err := contactOf(s, t.id, ids[0])
	if err != nil {
		b.Fatal(err)
	}
	bbolt := newBareCommitter(b, ids, len(public))
	var bursts [2][]float64
	for range 3 {
		for i, update := range []func(int) error{inProcess, bbolt.update} {
			start := time.Now()
			if err := many(burst, time.Hour, update); err != nil {
				b.Fatal(err)
			}
			bursts[i] = append(bursts[i], burst/time.Since(start).Seconds())
			if err := s.Index.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for i := range bursts {
		slices.Sort(bursts[i])
	}
	ratio := bursts[0][1] / bursts[1][1]
	fmt.Printf("\nsingle-record updates of %d bytes, %d writers, durable, indexing on\n", len(public), writers)
	fmt.Printf("burst of %d: %.0f/s; bare bbolt group commits: %.0f/s; ratio %.2f, target 0.3 %s\n",
		burst, bursts[0][1], bursts[1][1], ratio, verdict(ratio >= 0.3))

	server := httptest.NewServer(s.API)
	defer server.Close()
	before := bleve.rewrite(b, 10*time.Second)
	rate := map[string]float64{}
	for _, way := range []struct {
		name   string
		update func(int) error
		list   func(body string) error
	}{
		{"in process", inProcess, func(body string) error { l.page(plan(b, l.kind, body)); return nil }},
		{"over HTTP", overHTTP(server.URL, t, ids), listHTTP(server.URL, t)},
	} {
		stop, done := make(chan struct{}), make(chan map[string][]time.Duration)
		go func() { done <- listsBeside(b, len(ids), way.list, stop) }()
		var count atomic.Int64
		err := many(1<<40, sustained, func(n int) error { count.Add(1); return way.update(n) })
		close(stop)
		times := <-done
		if err != nil {
			b.Fatal(err)
		}
		rate[way.name] = float64(count.Load()) / sustained.Seconds()
		if err := s.Index.Flush(); err != nil {
			b.Fatal(err)
		}
		fmt.Printf("sustained for %s %s: %.0f/s; p50 and p99 of 10 concurrent lists/s:",
			sustained, way.name, rate[way.name])
		for name, list := range times {
			slices.Sort(list)
			fmt.Printf(" %s %s %s;",
				name, list[len(list)/2].Round(10*time.Microsecond), list[len(list)*99/100].Round(10*time.Microsecond))
		}
		fmt.Println()
	}
	again := bleve.rewrite(b, 10*time.Second)
	theirs := (before + again) / 2
	fmt.Printf("bare bleve re-indexing in batches of %d: %.0f/s before, %.0f/s after; ratio in process %.2f, target 0.5 %s; ratio over HTTP %.2f\n",
		bareBatch, before, again, rate["in process"]/theirs, verdict(rate["in process"]/theirs >= 0.5), rate["over HTTP"]/theirs)
}

func contactOf(s *service.Service, org, id uuid.UUID) (change uint64, public []byte, err error) {
	err = s.Store.View(org, func(tx *store.Tx) error {
		change, public, err = tx.Reader("contacts").Public(id)
		public = bytes.Clone(public)
		return err
	})
	return change, public, err
}

// many runs all writers until the given number of updates is made or the time is over.
func many(most int64, d time.Duration, update func(n int) error) error {
	var count atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	deadline := time.Now().Add(d)
	for range writers {
		wg.Go(func() {
			for count.Add(1) <= most && time.Now().Before(deadline) {
				if err := update(rand.Int()); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// listsEvery is the interval at which listsBeside runs its three shapes.
const listsEvery = 300 * time.Millisecond

// listsBeside runs three shapes at a fixed interval until it is stopped and returns their
// durations.
func listsBeside(b *testing.B, n int, list func(body string) error, stop chan struct{}) map[string][]time.Duration {
	shapes := compared(n, uuid.New())
	bodies := map[string]string{"default": `{}`, "halfway by email": shapes[2].body, "nested by last_name": shapes[6].body}
	times := map[string][]time.Duration{}
	tick := time.NewTicker(listsEvery)
	defer tick.Stop()
	for {
		for name, body := range bodies {
			start := time.Now()
			if err := list(body); err != nil {
				b.Error(err)
			}
			times[name] = append(times[name], time.Since(start))
		}
		select {
		case <-stop:
			return times
		case <-tick.C:
		}
	}
}

// send sends a request as the tenant and returns the response body. The status must be 200.
func send(client *http.Client, t tenant, method, url, body string) ([]byte, error) {
	return sendFor(client, t, method, url, body, http.StatusOK)
}

// sendFor is send with another expected status.
func sendFor(client *http.Client, t tenant, method, url, body string, status int) ([]byte, error) {
	req, err := http.NewRequest(method, url, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+t.key)
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != status {
		err = fmt.Errorf("%s: %.300s", res.Status, answer)
	}
	return answer, err
}

func overHTTP(url string, t tenant, ids []uuid.UUID) func(int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
	return func(n int) error {
		_, err := send(client, t, http.MethodPatch, url+"/v1/contacts/"+ids[rand.IntN(len(ids))].String(), fmt.Sprintf(`{"title": "VP Operations %d"}`, n%1000))
		return err
	}
}

func listHTTP(url string, t tenant) func(body string) error {
	client := &http.Client{}
	return func(body string) error {
		_, err := send(client, t, http.MethodPost, url+"/v1/contacts/list", body)
		return err
	}
}
