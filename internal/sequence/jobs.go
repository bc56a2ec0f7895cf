package sequence

import (
	"context"
	"encoding/json"
	"time"

	"prospector/internal/worker"
	"prospector/store"
)

// The kinds of jobs of the engine. The names are those of stored data, and some are older than the Go names.
//
// The jobs that change many sequences, or give many contacts theirs, work in the batches of bulk.go.
const (
	// advanceJob does everything that is due in an organization, see advance.go. Whatever makes a step due adds it.
	// An organization has one, due when its first step is.
	advanceJob = "sequences.advance"
	// startJob starts the sequences of contacts who have come into a campaign, see start.go. Campaigns that become
	// active or get an audience add it, and contacts who are named or can be written to again.
	startJob = "sequences.begin"
	// startAllJob adds a startJob for every running campaign. The end of a suppression adds it. An organization has one.
	startAllJob = "sequences.begin_all"
	// judgeJob decides whether the newcomers of a change start or await confirmation, see newcomers.go. Contacts who
	// join an audience without being named add it.
	judgeJob = "sequences.judge"
	// admitJob starts the sequences that await confirmation, see admit.go. A request adds it.
	admitJob = "sequences.admit"
	// stopJob stops the sequences that must stop, see stop_jobs.go. A change that stops more of them than fit into its
	// transaction adds it.
	stopJob = "sequences.clean_up"
	// restartJob continues stopped sequences, see restart_many.go. A request adds it.
	restartJob = "sequences.restart"
	// retryJob sends messages again that have failed or are unknown, see retry.go. A request adds it.
	retryJob = "sequences.retry"
	// releaseJob applies the release of a held campaign to its sequences, see release.go. A request adds it.
	releaseJob = "sequences.release"
	// reopenJob continues the sequences that the end of a campaign has stopped, see reopen.go. Reopening it adds it.
	reopenJob = "sequences.reopen"
)

// jobKind is a kind of job.
type jobKind struct {
	name    string
	run     worker.Handler
	payload func() any // returns an empty payload; nil if the job has none
}

func (e *Engine) jobKinds() []jobKind {
	return []jobKind{
		{advanceJob, e.advance, nil}, {startAllJob, e.runStartAllJob, nil},
		jobWith(startJob, e.runStartJob), jobWith(judgeJob, e.runJudgeJob), jobWith(admitJob, e.runInParts((*engineTx).admit)),
		jobWith(stopJob, e.runStopJob), jobWith(restartJob, e.runInParts((*engineTx).resumeIfPossible)),
		jobWith(retryJob, e.runRetryJob), jobWith(releaseJob, e.runReleaseJob), jobWith(reopenJob, e.runReopenJob),
	}
}

// jobWith returns a kind of job with a payload.
func jobWith[P any](name string, run func(context.Context, store.Job, P) error) jobKind {
	return jobKind{name, withPayload(run), func() any { return new(P) }}
}

// withPayload returns the handler of a job with a payload.
func withPayload[P any](run func(context.Context, store.Job, P) error) worker.Handler {
	return func(ctx context.Context, job store.Job) error {
		var payload P
		if err := json.Unmarshal(job.Payload, &payload); err != nil {
			return err
		}
		return run(ctx, job, payload)
	}
}

// Jobs returns the handlers of the package's jobs.
func (e *Engine) Jobs() map[string]worker.Handler {
	handlers := map[string]worker.Handler{}
	for _, kind := range e.jobKinds() {
		handlers[kind.name] = kind.run
	}
	return handlers
}

// Payloads returns the types of the payloads of jobs, by kind.
func (e *Engine) Payloads() map[string]func() any {
	payloads := map[string]func() any{}
	for _, kind := range e.jobKinds() {
		payloads[kind.name] = kind.payload
	}
	return payloads
}

// The parts that the engine stores for each organization. The installation's own parts stand under
// uuid.Nil.
const (
	clockPart       uint32 = iota // of the installation: see clock_persist.go
	advanceJobPart                // the id of the advanceJob
	startAllJobPart               // the id of the startAllJob
	stopJobsPart                  // the ids of the stop jobs that are not done, see stop_jobs.go
	secretPart                    // of the installation: signs unsubscribe links
	editionPart                   // set once the data of the first edition was converted, see migrate.go
	linkKeyPart                   // of an organization that was imported: signs its unsubscribe links
)

// scheduleJob makes the organization's only job of a kind due at a time of the sequence clock,
// unless it is due earlier already.
func (e *Engine) scheduleJob(tx *store.Tx, part uint32, kind string, at time.Time) error {
	return tx.EnqueueOnce(e.parts, part, kind, e.clock.wallAt(tx, at))
}

// forgetJob forgets the organization's only job of a kind because it starts or ends now. The next
// scheduleJob enqueues another one.
func (e *Engine) forgetJob(tx *store.Tx, part uint32) { e.parts.Put(tx, tx.Org(), part, nil) }

// scheduleAdvance schedules the advance job.
func (e *Engine) scheduleAdvance(tx *store.Tx, at time.Time) error {
	return e.scheduleJob(tx, advanceJobPart, advanceJob, at)
}

// advanceNow schedules the advance job to run as soon as possible.
func (e *Engine) advanceNow(tx *store.Tx) error { return e.scheduleAdvance(tx, e.clock.now(tx)) }
