package worker

import (
	"context"
	"time"

	"prospector/store"
)

// Outcome is the result of running a job.
type Outcome string

const (
	Done   Outcome = "done"
	Failed Outcome = "failed" // it will be retried
	Cut    Outcome = "cut"    // interrupted because the service stops; the next process runs it again
)

// Run identifies a counter of job runs.
type Run struct {
	Kind    string // Unknown for a kind without a handler
	Outcome Outcome
}

// Unknown stands for every kind of job without a handler.
const Unknown = "unknown"

// Stats are the counters of a worker since it was created.
type Stats struct {
	Running int
	Runs    map[Run]store.Durations
}

// Stats returns the current statistics.
func (w *Worker) Stats() Stats {
	st := Stats{Runs: make(map[Run]store.Durations, len(w.runs))}
	for run, times := range w.runs {
		st.Runs[run] = times.Read()
	}
	st.Running = w.countRunning()
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
