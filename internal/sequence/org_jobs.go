package sequence

import (
	"time"

	"prospector/store"
)

// The parts that the engine stores for each organization. The installation's own parts stand under
// uuid.Nil.
const (
	clockPart       uint32 = iota // of the installation: see clock_persist.go
	advanceJobPart                // the id of the job that advances sequences
	startAllJobPart               // the id of the job that starts sequences in all campaigns
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
