package worker

import (
	"context"
	"testing"
	"time"

	"prospector/store"
)

// TestStats has a run of each outcome, and reads the statistics while a job runs.
func TestStats(t *testing.T) {
	b := newBench(t)
	begun := make(chan struct{})
	fail := true
	w := b.worker(map[string]Handler{
		"mail": func(ctx context.Context, job store.Job) error {
			b.move(3 * time.Second)
			if fail {
				return errFailed
			}
			return b.done(ctx, job)
		},
		"hold": func(ctx context.Context, _ store.Job) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	id := b.enqueue(orgA, "mail", b.now(), nil)
	w.Once(t.Context())
	fail = false
	b.move(firstDelay)
	w.Once(t.Context())
	if b.job(orgA, id) != nil {
		t.Fatal("it is not done")
	}
	b.enqueue(orgA, "unheard of", b.now(), nil)
	w.Once(t.Context())

	b.enqueue(orgB, "hold", b.now(), nil)
	r := b.run(w)
	receive(b, begun, "the job")
	if got := w.Stats().Running; got != 1 {
		t.Errorf("%d run", got)
	}
	r.stop()
	receive(b, r.ended, "the end")

	got := w.Stats()
	if got.Running != 0 || len(got.Runs) != 9 {
		t.Errorf("%+v", got)
	}
	for run, want := range map[Run]uint64{
		{"mail", Done}: 1, {"mail", Failed}: 1, {"mail", Cut}: 0, {"hold", Done}: 0, {"hold", Cut}: 1, {Unknown, Failed}: 1,
	} {
		if got.Runs[run].Count != want {
			t.Errorf("%v: %d, not %d", run, got.Runs[run].Count, want)
		}
	}
	if sum := got.Runs[Run{"mail", Done}].Sum; sum != 3*time.Second {
		t.Errorf("the mail took %v", sum)
	}
}
