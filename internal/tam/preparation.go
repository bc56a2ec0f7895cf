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
	// membersMost is how many members a Preview may have.
	membersMost = 500_000
	// readMost is how many companies are read at once, and MembersPerWrite how many members are written at once: other writers
	// wait meanwhile.
	readMost        = 250
	MembersPerWrite = 500
	// askedAhead is how many times as many companies are asked about while some of the first have no answer yet.
	askedAhead = 3
	// progressStep is how much more must be done before that is written down.
	progressStep = 0.02
	// triesMost is how often what fails for reasons of ours is tried.
	triesMost = 3
)

// failure ends a preparation that cannot go on; it is the failure_reason of its Preview.
type failure string

func (f failure) Error() string { return string(f) }

// errOver says that a Preview is not being prepared any more: it was cancelled, or deleted.
var errOver = errors.New("the Preview is not being prepared any more")

// previewJob is what jobs about a Preview carry.
type previewJob struct {
	Preview uuid.UUID `json:"preview"`
}

// prepareJob prepares a Preview. One that was begun before, and cut off, is begun again.
func (t *TAM) prepareJob(ctx context.Context, job store.Job) error {
	p := &preparation{tam: t, org: job.Org, job: job, counts: newPreviewCounts(), websites: map[key]bool{}, reached: map[key]bool{},
		researched: researchCounts{failures: map[shape.Text]int{}}}
	err := p.open()
	if err == nil && job.Tries >= triesMost {
		err = failure(internalFault)
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
	if errors.Is(err, errOver) {
		err = t.store.Update(ctx, job.Org, p.actor(), func(tx *store.Tx) error { return tx.Done(job.ID) })
	}
	return err
}

// preparation is one that goes on.
type preparation struct {
	tam     *TAM
	org     uuid.UUID
	job     store.Job
	id      uuid.UUID // of the Preview
	request *PreviewRequest
	named   resolved
	filter  *personFilter

	count    int // of the members so far
	sets     newMemberSets
	entries  []dirEntry
	counts   *previewCounts
	websites map[key]bool // of the companies so far
	reached  map[key]bool // the emails and LinkedIn URLs of the people so far

	question            research.Question
	estimated           int          // companies to be asked about at most
	answered            atomic.Int64 // those that were
	researched          researchCounts
	dispatched, running func(context.Context) error // steps of research
	abort               context.CancelCauseFunc     // ends the selection
}

func (p *preparation) actor() store.Actor { return store.Actor{Operation: PrepareJob} }

// open reads the Preview.
func (p *preparation) open() error {
	var err error
	if p.id, err = previewOf(p.job); err != nil {
		return err
	}
	return p.tam.store.View(p.org, func(tx *store.Tx) error {
		doc, err := p.preparing(tx)
		if err == nil {
			p.request, p.named = doc.Record.Request, doc.Record.kept.Named
			p.filter = newPersonFilter(p.request)
			if p.named.Signal != nil {
				p.question = p.named.question()
				p.dispatched, p.running = p.once(researchDispatched), p.once(researchRunning)
			}
		}
		return err
	})
}

// preparing reads the Preview, which must be on its way still.
func (p *preparation) preparing(tx *store.Tx) (store.Doc[Preview], error) {
	doc, err := p.tam.Previews.Get(tx, p.id)
	if fault.CodeOf(err) == fault.NotFound || err == nil && doc.Record.Status != Preparing {
		err = errOver
	}
	return doc, err
}

// update changes what there is of the Preview in the store, as long as it is being prepared.
func (p *preparation) update(ctx context.Context, fn func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error) error {
	return p.tam.store.Update(ctx, p.org, p.actor(), func(tx *store.Tx) error {
		doc, err := p.preparing(tx)
		if err != nil {
			return err
		}
		return fn(tx, doc, doc.Record)
	})
}

// end moves the Preview on, and ends the job.
func (p *preparation) end(tx *store.Tx, doc store.Doc[Preview], rec Preview, status Status) error {
	if err := p.tam.move(tx, doc, rec, status); err != nil {
		return err
	}
	return tx.Done(p.job.ID)
}

// run does the whole selection. While members are written the next are selected.
func (p *preparation) run(ctx context.Context) error {
	if err := p.tam.store.View(p.org, func(tx *store.Tx) error { return p.checkNamed(tx) }); err != nil {
		return err
	}
	ids, err := p.tam.candidates(p.request, p.named)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		empty := false
		err := p.tam.store.View(catalog.Org, func(tx *store.Tx) error {
			empty = p.tam.catalog.Companies.Count(tx) == 0
			return nil
		})
		if err == nil && empty {
			err = failure(catalogueEmpty)
		}
		if err != nil {
			return err
		}
	}
	if err := p.estimate(ctx, ids); err != nil {
		return err
	}
	work, stop := context.WithCancelCause(ctx)
	p.abort = stop
	chosen, met, decided, asked := make(chan chunk, 1), make(chan chunk, 1), make(chan chunk, 1), make(chan chunk, askedAhead)
	batches := make(chan batch, 1)
	go p.chooseAll(work, ids, chosen)
	go stage(work, chosen, met, p.meet)
	go stage(work, met, decided, p.decide)
	if p.named.Signal != nil {
		go p.askAll(work, decided, asked)
	} else {
		asked = decided
	}
	go p.selectAll(work, asked, batches)
	defer drain(batches) // nothing is read any more when run has returned
	defer stop(nil)
	for b := range batches {
		if cause := context.Cause(work); cause != nil { // what it is given up for, and not what comes of that
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

// checkNamed fails when something that the request names is gone.
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

// estimate says what the research of the companies will cost, when they are to be researched.
func (p *preparation) estimate(ctx context.Context, ids []uuid.UUID) error {
	if p.named.Signal == nil {
		return nil
	}
	kept, err := p.tam.distinct(ids)
	if err != nil {
		return err
	}
	p.estimated = kept
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		research, cost := *rec.Research, p.tam.estimatedCost(kept, true)
		research.Cost = &cost
		rec.Research = &research
		_, err := p.tam.Previews.Update(tx, doc, rec, []string{"research"})
		return err
	})
}
