package worker

import (
	"context"
	"time"

	"prospector/store"
)

// Outcome is how a run of a job ended.
type Outcome string

const (
	Done   Outcome = "done"
	Failed Outcome = "failed" // it will be tried again
	Cut    Outcome = "cut"    // short, because the service stops; it is begun again with the next
)

// Run is what runs of jobs are counted by.
type Run struct {
	Kind    string // Unknown for a kind that has no handler
	Outcome Outcome
}

// Unknown stands for every kind of job that there is no handler for.
const Unknown = "unknown"

// Stats is what the jobs have come to since the worker was made.
type Stats struct {
	Running int
	Runs    map[Run]store.Durations
}

// Stats tells how the worker stands.
func (w *Worker) Stats() Stats {
	st := Stats{Runs: make(map[Run]store.Durations, len(w.runs))}
	for run, times := range w.runs {
		st.Runs[run] = times.Read()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	st.Running = len(w.held)
	return st
}

func newRuns(handlers map[string]Handler) map[Run]*store.Timings {
	runs := map[Run]*store.Timings{}
	for _, outcome := range []Outcome{Done, Failed, Cut} {
		runs[Run{Unknown, outcome}] = &store.Timings{}
		for kind := range handlers {
			runs[Run{kind, outcome}] = &store.Timings{}
		}
	}
	return runs
}

func (w *Worker) count(kind string, outcome Outcome, took time.Duration) {
	if w.handlers[kind] == nil {
		kind = Unknown
	}
	w.runs[Run{kind, outcome}].Add(took)
}

func outcomeOf(ctx context.Context, err error) Outcome {
	switch {
	case err == nil:
		return Done
	case ctx.Err() != nil:
		return Cut
	}
	return Failed
}
