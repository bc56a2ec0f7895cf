package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

func TestUpdateIsAllOrNothing(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	insert(t, s, orgA, person{Name: "first", Email: "taken@x"})
	before, err := s.Dump(orgA)
	if err != nil {
		t.Fatal(err)
	}
	for name, fail := range map[string]func(*Tx) error{
		"error": func(*Tx) error { return errRefused },
		"panic": func(*Tx) error { panic("oops") },
		"unique key taken": func(tx *Tx) error {
			_, err := people.Insert(tx, tx.NewID(), person{Name: "third", Email: "taken@x"})
			return err
		},
		"unique key taken by the same transaction": func(tx *Tx) error {
			_, err := people.Insert(tx, tx.NewID(), person{Name: "third", Email: "second@x"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
				p := person{Name: "second", Email: "second@x", Tags: []string{"a"}, hidden: hidden{Token: "t"}}
				if _, err := people.Insert(tx, tx.NewID(), p); err != nil {
					return err
				}
				if _, err := tx.Enqueue("mail", tx.Now(), nil); err != nil {
					return err
				}
				return fail(tx)
			})
			if err == nil {
				t.Fatal("the update succeeded")
			}
			if after, _ := s.Dump(orgA); after != before {
				t.Errorf("it left something behind:\n%s\nwas\n%s", after, before)
			}
			if _, _, found, _ := s.Lookup("people", "token", []byte("t")); found {
				t.Error("it left a global key behind")
			}
			if due, _, _ := s.Due(s.Now(), 1, nil, nil); len(due) != 0 {
				t.Error("it left a job behind")
			}
		})
	}
}

func TestOrganizationsAreApart(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	id := numberedID(7, 1)
	for _, name := range []string{"a", "b"} {
		org := orgA
		if name == "b" {
			org = orgB
		}
		write(t, s, org, func(tx *Tx) error {
			_, err := people.Insert(tx, id, person{Name: name, Email: "same@x", Tags: []string{"same"}})
			return err
		})
	}
	write(t, s, orgA, func(tx *Tx) error {
		d, err := people.Get(tx, id)
		if err != nil {
			return err
		}
		return people.Delete(tx, d)
	})
	if got := names(t, s, orgA); got != "" {
		t.Errorf("a has %q", got)
	}
	read(t, s, orgB, func(tx *Tx) error {
		d, err := people.Get(tx, id)
		if err != nil || d.Record.Name != "b" || people.Count(tx) != 1 {
			t.Errorf("b has %+v, %v", d.Record, err)
		}
		if found, ok := people.Find(tx, "email", []byte("same@x")); !ok || found != id {
			t.Error("b's unique key is gone")
		}
		if ids, err := people.IDs(tx, "tag", []byte("same"), 0); len(ids) != 1 || err != nil {
			t.Error("b's key is gone")
		}
		return nil
	})
	orgs, err := s.Organizations()
	if err != nil || !slices.Equal(orgs, append(orgs[:0:0], orgA, orgB)) {
		t.Errorf("organizations: %v, %v", orgs, err)
	}
	if found := append(problems(t, s, orgA), problems(t, s, orgB)...); found != nil {
		t.Error(found)
	}
}

func TestAWriteInAViewIsAnError(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for name, fn := range map[string]func(*Tx){
		"put":      func(tx *Tx) { tx.put("x", []byte("k"), nil) },
		"delete":   func(tx *Tx) { tx.delete("x", []byte("k")) },
		"id":       func(tx *Tx) { tx.NewID() },
		"sequence": func(tx *Tx) { tx.setSequence("x", 1) },
	} {
		err := s.View(orgA, func(tx *Tx) error { fn(tx); return nil })
		if err == nil || !strings.Contains(err.Error(), "write in a read-only transaction") {
			t.Errorf("%s: %v", name, err)
		}
	}
	insert(t, s, orgA, person{Name: "still works"})
}

// TestTxAgainstMap compares the buffered transaction with a plain map: reads and scans see its own
// writes merged with those of the file, and only transactions that returned nil are committed.
func TestTxAgainstMap(t *testing.T) {
	s := open(t, t.TempDir(), Options{commit: func(btx *bolt.Tx) error {
		btx.DB().NoSync = true // hundreds of commits that need not survive a crash
		return btx.Commit()
	}})
	r := rand.New(rand.NewPCG(1, 2))
	key := func() []byte { return []byte(strings.Repeat("k", r.IntN(2)) + fmt.Sprint(r.IntN(40))) }
	committed := map[string]string{}
	for round := range 300 {
		model := maps.Clone(committed)
		fail := round%5 == 4
		err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
			for step := range r.IntN(40) {
				k := key()
				switch r.IntN(6) {
				case 0, 1:
					v := strings.Repeat("v", r.IntN(3)) + fmt.Sprint(step)
					if r.IntN(8) == 0 {
						v = "" // an empty value exists, unlike a deleted one
					}
					tx.put("m", k, []byte(v))
					model[string(k)] = v
				case 2, 3:
					tx.delete("m", k)
					delete(model, string(k))
				case 4:
					want, ok := model[string(k)]
					if got := tx.get("m", k); (got != nil) != ok || string(got) != want {
						return fmt.Errorf("get %s: got %q, want %q", k, got, want)
					}
				case 5:
					if err := scanLikeMap(tx, model, k, r.IntN(60), r.IntN(2) == 0); err != nil {
						return err
					}
				}
			}
			if fail {
				return errRefused
			}
			return nil
		})
		if fail != errors.Is(err, errRefused) || !fail && err != nil {
			t.Fatal(err)
		}
		if !fail {
			committed = model
		}
		read(t, s, orgA, func(tx *Tx) error { return scanLikeMap(tx, committed, nil, 1000, false) })
	}
}

// scanLikeMap compares a scan of up to limit keys with the model. If churn is set, the function of
// the scan rewrites what it receives, which the scan must not notice.
func scanLikeMap(tx *Tx, model map[string]string, from []byte, limit int, churn bool) error {
	var got, want []string
	for _, k := range slices.Sorted(maps.Keys(model)) {
		if k >= string(from) && len(want) <= limit {
			want = append(want, k+"="+model[k])
		}
	}
	for k, v := range tx.scanWhileWriting("m", from) {
		got = append(got, string(k)+"="+string(v))
		if churn {
			tx.delete("m", k)
			tx.put("m", append(slices.Clone(k), '!'), v)
		}
		if len(got) > limit {
			break
		}
	}
	if churn {
		for _, kv := range got {
			k, v, _ := strings.Cut(kv, "=")
			tx.delete("m", []byte(k+"!"))
			tx.put("m", []byte(k), []byte(v))
		}
		// The model has no keys that end in "!".
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("scan from %q: got %q, want %q", from, got, want)
	}
	return nil
}

// hold keeps the commit loop busy until the returned function is called, so that Updates queue up.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		err := s.Update(context.Background(), orgB, boss, func(*Tx) error {
			close(began)
			<-end
			return nil
		})
		if err != nil {
			t.Errorf("the holder: %v", err)
		}
	}()
	<-began
	return func() { close(end); <-done }
}

func waitQueued(s *Store, n int) {
	for {
		s.mu.Lock()
		queued := s.queue.Len()
		s.mu.Unlock()
		if queued >= n {
			return
		}
		runtime.Gosched()
	}
}

// together runs n Updates that wait in the queue at the same time, and returns their errors.
func together(t *testing.T, s *Store, n int, fn func(i int, tx *Tx) error) []error {
	t.Helper()
	errs := make([]error, n)
	release := hold(t, s)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			errs[i] = s.Update(context.Background(), orgA, boss, func(tx *Tx) error { return fn(i, tx) })
		})
	}
	waitQueued(s, n)
	release()
	wg.Wait()
	return errs
}

// counting counts the commits of a store. Its clock stands still, so that no batch reaches maxBatchTime on a slow
// machine.
func counting() (Options, *atomic.Int32) {
	commits, opt := &atomic.Int32{}, newClock().options()
	opt.commit = func(btx *bolt.Tx) error { commits.Add(1); return btx.Commit() }
	return opt, commits
}

func TestARefusalCostsTheOthersNothing(t *testing.T) {
	opt, commits := counting()
	s := open(t, t.TempDir(), opt)
	insert(t, s, orgA, person{Name: "first", Email: "taken@x"})
	commits.Store(0)
	const n = 100
	errs := together(t, s, n, func(i int, tx *Tx) error {
		if _, err := people.Insert(tx, tx.NewID(), person{Name: "p", Email: fmt.Sprintf("%d@x", i), Tags: []string{"t"}}); err != nil {
			return err
		}
		switch i % 5 {
		case 0:
			return errRefused
		case 1:
			panic("oops")
		case 2:
			_, err := people.Insert(tx, tx.NewID(), person{Name: "q", Email: "taken@x"})
			return err
		}
		return nil
	})
	if got := commits.Load(); got != 1 {
		t.Errorf("%d commits, want one that all share", got)
	}
	read(t, s, orgA, func(tx *Tx) error {
		for i, err := range errs {
			_, there := people.Find(tx, "email", fmt.Appendf(nil, "%d@x", i))
			if good := i%5 > 2; (err == nil) != good || there != good {
				t.Errorf("update %d: error %v, there %t", i, err, there)
			}
		}
		if got := people.Count(tx); got != 1+n*2/5 {
			t.Errorf("count %d", got)
		}
		return nil
	})
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
}

func TestACommitIsBounded(t *testing.T) {
	for _, c := range []struct {
		name           string
		updates, bytes int
		commits        int32
	}{
		{"by number", maxBatch + 1, 10, 2},
		{"by bytes", 4, maxBatchBytes/2 + 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt, commits := counting()
			s := open(t, t.TempDir(), opt)
			errs := together(t, s, c.updates, func(i int, tx *Tx) error {
				tx.put("x", fmt.Append(nil, i), make([]byte, c.bytes))
				return nil
			})
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			if got := commits.Load(); got != c.commits {
				t.Errorf("%d commits, want %d", got, c.commits)
			}
		})
	}
}

func TestNothingToWriteIsNoCommit(t *testing.T) {
	opt, commits := counting()
	s := open(t, t.TempDir(), opt)
	write(t, s, orgA, func(tx *Tx) error { return nil })
	if got := commits.Load(); got != 0 {
		t.Errorf("%d commits", got)
	}
}

func TestACancelledUpdateIsNotRun(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	release := hold(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		result <- s.Update(ctx, orgA, boss, func(tx *Tx) error {
			t.Error("it ran")
			return nil
		})
	}()
	waitQueued(s, 1)
	cancel()
	release()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCloseFinishesWhatWasBegun(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	release := hold(t, s)
	results := make(chan error, 2)
	for i := range 2 {
		go func() {
			results <- s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
				_, err := people.Insert(tx, tx.NewID(), person{Name: "p", Email: fmt.Sprint(i)})
				return err
			})
		}()
	}
	waitQueued(s, 2)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for closing := false; !closing; runtime.Gosched() {
		s.mu.Lock()
		closing = s.closed
		s.mu.Unlock()
	}
	wantCode(t, s.Update(context.Background(), orgA, boss, func(*Tx) error { return nil }), fault.Unavailable)
	wantCode(t, s.Writable(context.Background()), fault.Unavailable)
	release()
	if err := errors.Join(<-results, <-results, <-closed); err != nil {
		t.Error(err)
	}
	wantCode(t, s.Update(context.Background(), orgA, boss, func(*Tx) error { return nil }), fault.Unavailable)
	wantCode(t, s.View(orgA, func(*Tx) error { return nil }), fault.Unavailable)
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if got := names(t, open(t, dir, Options{}), orgA); got != "p p" {
		t.Errorf("there is %q", got)
	}
}

func TestEvents(t *testing.T) {
	var commits atomic.Int32
	s := open(t, t.TempDir(), Options{
		Events: func(tx *Tx, e Event) error {
			if e.Trigger == "refused" {
				return errRefused
			}
			if _, ok := people.Find(tx, "email", []byte("a@x")); !ok {
				return errors.New("the hook does not see what the transaction wrote")
			}
			_, err := tx.Enqueue(e.Trigger, tx.Now(), string(e.Data))
			return err
		},
		commit: func(btx *bolt.Tx) error { commits.Add(1); return btx.Commit() },
	})
	emit := func(email, trigger string) error {
		return s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
			if _, err := people.Insert(tx, tx.NewID(), person{Name: email, Email: email}); err != nil {
				return err
			}
			return tx.Emit(Event{Trigger: trigger, Data: []byte("data")})
		})
	}
	if err := emit("a@x", "created"); err != nil {
		t.Fatal(err)
	}
	if err := emit("b@x", "refused"); !errors.Is(err, errRefused) {
		t.Fatalf("got %v", err)
	}
	due, _, err := s.Due(s.Now(), 10, nil, nil)
	if err != nil || len(due) != 1 || due[0].Kind != "created" || string(due[0].Payload) != `"data"` {
		t.Errorf("jobs: %+v, %v", due, err)
	}
	if got := names(t, s, orgA); got != "a@x" || commits.Load() != 1 {
		t.Errorf("%q after %d commits", got, commits.Load())
	}
}

func TestAnEventThatNobodyWants(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	write(t, s, orgA, func(tx *Tx) error { return tx.Emit(Event{Trigger: "created"}) })
}

func TestTxTellsWhoAndWhen(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	write(t, s, orgA, func(tx *Tx) error {
		now := tx.Now()
		clock.move(time.Second)
		if tx.Org() != orgA || tx.Actor() != boss || !tx.Now().Equal(now) {
			return errors.New("it changes on the way")
		}
		return nil
	})
}
