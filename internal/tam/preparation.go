package tam

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/fault"
	"prospector/internal/research"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	// maxMembers is the largest number of members of a Preview.
	maxMembers = 500_000
	// companiesPerRead is how many companies one read transaction loads.
	companiesPerRead = 250
	// MembersPerWrite is how many members one transaction writes. Other writers wait while it runs.
	MembersPerWrite = 500
	// chunksAhead is how many chunks of companies are asked about while earlier ones wait for
	// answers.
	chunksAhead = 3
	// progressStep is the smallest increase of the progress that is stored.
	progressStep = 0.02
	// maxTries is how often a job that fails with an internal error is tried.
	maxTries = 3
)

// failure ends a preparation that cannot be completed. It is the failure_reason of the Preview.
type failure string

func (f failure) Error() string { return string(f) }

// errNotPreparing means that the Preview was cancelled or deleted.
var errNotPreparing = errors.New("the Preview is no longer being prepared")

// previewJob is the payload of jobs for one Preview.
type previewJob struct {
	Preview uuid.UUID `json:"preview"`
}

// prepareJob prepares a Preview. A preparation that was interrupted starts over.
func (t *TAM) prepareJob(ctx context.Context, job store.Job) error {
	p := newPreparation(t, job)
	err := p.open()
	if err == nil && job.Tries >= maxTries {
		err = failure(internalError)
	}
	if err == nil {
		err = p.run(ctx)
	}
	if failed := failure(""); errors.As(err, &failed) {
		err = p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
			rec.FailureReason = shape.Text(failed)
			return p.end(tx, doc, rec, Failed)
		})
	}
	if errors.Is(err, errNotPreparing) {
		err = t.store.Update(ctx, job.Org, p.actor(), func(tx *store.Tx) error { return tx.Done(job.ID) })
	}
	return err
}

// preparation is the state of one run of the job that prepares a Preview. The goroutines of run
// pass chunks of companies from one to the next, and each field is used by one of them only, unless
// it says otherwise.
type preparation struct {
	tam     *TAM
	org     uuid.UUID
	job     store.Job
	id      uuid.UUID // of the Preview
	erased  uint64    // the number of erasures when it began
	request *PreviewRequest
	named   resolved
	filter  *personFilter

	available int         // the companies that the request describes
	truncated bool        // there are more of them than max_candidates
	rules     []RuleCount // if there are none

	members      int // that were added
	sets         newMemberSets
	directory    []directoryEntry
	counts       *previewCounts
	seenWebsites map[fingerprint]bool // of the companies that were checked
	seenPeople   map[fingerprint]bool // emails and LinkedIn URLs of the people that were checked

	question      research.Question
	maxQuestions  int          // an upper bound of the companies to ask about
	answered      atomic.Int64 // companies with an answer
	outcomes      researchCounts
	setDispatched func(context.Context) error // changes the status of research once
	setRunning    func(context.Context) error // changes the status of research once
	abort         context.CancelCauseFunc     // stops all goroutines of run; safe for concurrent use
}

func newPreparation(t *TAM, job store.Job) *preparation {
	return &preparation{
		tam: t, org: job.Org, job: job, counts: newPreviewCounts(),
		seenWebsites: map[fingerprint]bool{}, seenPeople: map[fingerprint]bool{},
		outcomes: researchCounts{failures: map[shape.Text]int{}},
	}
}

func (p *preparation) actor() store.Actor { return store.Actor{Operation: PrepareJob} }

// open reads the Preview.
func (p *preparation) open() error {
	var err error
	if p.id, err = previewOf(p.job); err != nil {
		return err
	}
	return p.tam.store.View(p.org, func(tx *store.Tx) error {
		doc, err := p.current(tx)
		if err != nil {
			return err
		}
		p.erased = p.tam.crm.Erased.Count(tx)
		p.request, p.named = doc.Record.Request, doc.Record.private.Named
		p.filter = newPersonFilter(p.request)
		if p.named.Signal != nil {
			p.question = p.named.question()
			p.setDispatched, p.setRunning = p.statusChange(researchDispatched), p.statusChange(researchRunning)
		}
		return nil
	})
}

// current reads the Preview. It returns errNotPreparing if the Preview is not PREPARING or does not
// exist.
func (p *preparation) current(tx *store.Tx) (store.Doc[Preview], error) {
	doc, err := p.tam.Previews.Get(tx, p.id)
	if fault.CodeOf(err) == fault.NotFound || err == nil && doc.Record.Status != Preparing {
		err = errNotPreparing
	}
	return doc, err
}

// update runs fn in a write transaction, if the Preview is still being prepared.
func (p *preparation) update(
	ctx context.Context, fn func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error,
) error {
	return p.tam.store.Update(ctx, p.org, p.actor(), func(tx *store.Tx) error {
		doc, err := p.current(tx)
		if err != nil {
			return err
		}
		return fn(tx, doc, doc.Record)
	})
}

// end sets the final status of the Preview and completes the job.
func (p *preparation) end(tx *store.Tx, doc store.Doc[Preview], rec Preview, status Status) error {
	if err := p.tam.changeStatus(tx, doc, rec, status); err != nil {
		return err
	}
	return tx.Done(p.job.ID)
}

// run selects and writes the members. It reads and decides on the next members while it writes the
// previous ones.
func (p *preparation) run(ctx context.Context) error {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p.abort = stop
	defer p.tam.running.add(p.id, stop)()
	err := p.tam.store.View(p.org, func(tx *store.Tx) error {
		if _, err := p.current(tx); err != nil { // it may have been cancelled before it was running
			return err
		}
		return p.checkNamed(tx)
	})
	if err != nil {
		return err
	}
	ids, total, err := p.tam.candidateIDs(work, p.request, p.named)
	if err != nil {
		return err
	}
	p.available, p.truncated, p.rules = total, total > len(ids), []RuleCount{}
	if len(ids) == 0 {
		if err := p.checkCatalogNotEmpty(); err != nil {
			return err
		}
		if p.rules, err = p.tam.ruleCounts(work, p.request, p.named); err != nil {
			return err
		}
	}
	if err := p.estimate(ctx, work, ids); err != nil {
		return err
	}
	checked, loaded, decided := make(chan chunk, 1), make(chan chunk, 1), make(chan chunk, 1)
	asked, batches := make(chan chunk, chunksAhead), make(chan batch, 1)
	go p.checkAllCompanies(work, ids, checked)
	go runStage(work, checked, loaded, p.loadPeople)
	go runStage(work, loaded, decided, p.checkPeople)
	if p.named.Signal != nil {
		go p.askAll(work, decided, asked)
	} else {
		asked = decided
	}
	go p.encodeAll(work, asked, batches)
	defer drain(batches) // run returns after all goroutines have stopped
	defer stop(nil)
	for b := range batches {
		if cause := context.Cause(work); cause != nil { // the first error, not one that follows from it
			return cause
		}
		if b.err != nil {
			return b.err
		}
		if err := p.write(ctx, b); err != nil {
			return err
		}
	}
	if cause := context.Cause(work); cause != nil {
		return cause
	}
	return p.finish(ctx)
}

func (p *preparation) checkCatalogNotEmpty() error {
	return p.tam.store.View(catalog.Org, func(tx *store.Tx) error {
		if p.tam.catalog.Companies.Count(tx) == 0 {
			return failure(catalogEmpty)
		}
		return nil
	})
}

// checkNamed fails if something that the request refers to was deleted.
func (p *preparation) checkNamed(tx *store.Tx) error {
	for _, view := range p.named.Views {
		if !p.tam.crm.Views.Table.Has(tx, view.ID) {
			return failure(viewDeleted)
		}
	}
	if s := p.named.Signal; s != nil {
		field, err := p.tam.crm.Fields.Get(tx, s.ID)
		switch {
		case fault.CodeOf(err) == fault.NotFound || err == nil && field.Record.AI == nil:
			return failure(signalDeleted)
		case err != nil:
			return err
		}
	}
	for _, tag := range slices.Concat(p.request.TagIDs, p.request.ContactTagIDs) {
		if !p.tam.crm.Tags.Table.Has(tx, tag) {
			return failure(tagDeleted)
		}
	}
	return nil
}

// estimate stores the estimated cost of research, if the request has a Qualifier. Counting stops when work
// ends.
func (p *preparation) estimate(ctx, work context.Context, ids []uuid.UUID) error {
	if p.named.Signal == nil {
		return nil
	}
	companies, err := p.tam.countDistinct(work, ids)
	if err != nil {
		return err
	}
	p.maxQuestions = companies
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		research, cost := *rec.Research, p.tam.estimatedCost(companies, true)
		research.Cost = &cost
		rec.Research = &research
		_, err := p.tam.Previews.Update(tx, doc, rec, []string{"research"})
		return err
	})
}
