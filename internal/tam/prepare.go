package tam

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	// membersMost is how many members a Preview may have.
	membersMost = 500_000
	// readMost is how many companies are read at once, and WriteMost how many members are written at once: other writers
	// wait meanwhile.
	readMost  = 250
	WriteMost = 1000
	// triesMost is how often a preparation is tried that fails for reasons of ours.
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
	p := &preparation{TAM: t, org: job.Org, job: job, tally: newTally(), websites: map[string]bool{}, reached: map[contactKey]bool{}}
	err := p.open()
	if err == nil && job.Tries >= triesMost {
		err = failure(internalFault)
	}
	if err == nil {
		err = p.run(ctx)
	}
	var failed failure
	switch {
	case errors.As(err, &failed):
		return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
			rec.FailureReason = shape.Text(failed)
			return p.end(tx, doc, rec, Failed)
		})
	case errors.Is(err, errOver):
		return t.store.Update(ctx, job.Org, p.actor(), func(tx *store.Tx) error { return tx.Done(job.ID) })
	}
	return err
}

// preparation is one that goes on.
type preparation struct {
	*TAM
	org     uuid.UUID
	job     store.Job
	id      uuid.UUID // of the Preview
	request *PreviewRequest
	named   resolved
	filter  *personFilter

	members  int // how many there are so far
	sets     newSets
	entries  []dirEntry
	tally    *tally
	websites map[string]bool     // of the companies so far
	reached  map[contactKey]bool // the emails and LinkedIn URLs of the people so far
	unasked  int                 // companies that were to be researched
}

func (p *preparation) actor() store.Actor { return store.Actor{Operation: prepareKind} }

// open reads the Preview.
func (p *preparation) open() error {
	var err error
	if p.id, err = previewOf(p.job); err != nil {
		return err
	}
	return p.store.View(p.org, func(tx *store.Tx) error {
		doc, err := p.preparing(tx)
		if err == nil {
			p.request, p.named = doc.Record.Request, doc.Record.kept.Named
			p.filter = newPersonFilter(p.request)
		}
		return err
	})
}

// preparing reads the Preview, which must be on its way still.
func (p *preparation) preparing(tx *store.Tx) (store.Doc[Preview], error) {
	doc, err := p.Previews.Get(tx, p.id)
	if fault.CodeOf(err) == fault.NotFound || err == nil && doc.Record.Status != Preparing {
		err = errOver
	}
	return doc, err
}

// update changes what there is of the Preview in the store, as long as it is being prepared.
func (p *preparation) update(ctx context.Context, fn func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error) error {
	return p.store.Update(ctx, p.org, p.actor(), func(tx *store.Tx) error {
		doc, err := p.preparing(tx)
		if err != nil {
			return err
		}
		return fn(tx, doc, doc.Record)
	})
}

// end moves the Preview on, and ends the job.
func (p *preparation) end(tx *store.Tx, doc store.Doc[Preview], rec Preview, status Status) error {
	if err := p.move(tx, doc, rec, status); err != nil {
		return err
	}
	return tx.Done(p.job.ID)
}

// run does the whole selection. While members are written the next are selected.
func (p *preparation) run(ctx context.Context) error {
	if err := p.store.View(p.org, func(tx *store.Tx) error { return p.checkNamed(tx) }); err != nil {
		return err
	}
	ids, err := p.candidates(p.request, p.named)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		empty := false
		err := p.store.View(CatalogOrg, func(tx *store.Tx) error {
			empty = p.Companies.Count(tx) == 0
			return nil
		})
		if err != nil || empty {
			return errors.Join(err, failure(catalogueEmpty))
		}
	}
	if err := p.estimate(ctx, ids); err != nil {
		return err
	}
	selecting, stop := context.WithCancel(ctx)
	batches := make(chan batch, 1)
	go p.selectAll(selecting, ids, batches)
	defer func() { // it reads no more when run has returned
		stop()
		for range batches {
		}
	}()
	for b := range batches {
		if b.err != nil {
			return b.err
		}
		if err := p.write(ctx, b); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.finish(ctx)
}

// checkNamed fails when something that the request names is gone.
func (p *preparation) checkNamed(tx *store.Tx) error {
	for _, view := range p.named.Views {
		if !p.crm.Views.Table.Has(tx, view.ID) {
			return failure(viewDeleted)
		}
	}
	if s := p.named.Signal; s != nil && !p.crm.Fields.Table.Has(tx, s.ID) {
		return failure(signalDeleted)
	}
	for _, tag := range slices.Concat(p.request.TagIDs, p.request.ContactTagIDs) {
		if !p.crm.Tags.Table.Has(tx, tag) {
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
	kept, err := p.distinct(ids)
	if err != nil {
		return err
	}
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		research, cost := *rec.Research, p.estimatedCost(kept, true)
		research.Cost = &cost
		rec.Research = &research
		_, err := p.Previews.Update(tx, doc, rec, []string{"research"})
		return err
	})
}

// batch is members that can be written.
type batch struct {
	from     int // the ordinal of the first
	members  [][]byte
	progress float64
	err      error // why there is no more
}

// selectAll selects members until there are no more candidates.
func (p *preparation) selectAll(ctx context.Context, ids []uuid.UUID, out chan<- batch) {
	defer close(out)
	next, done := batch{}, 0
	give := func() bool {
		next.progress = float64(done) / float64(len(ids)+1)
		select {
		case out <- next:
			next = batch{from: p.members}
			return true
		case <-ctx.Done():
			return false
		}
	}
	for chunk := range slices.Chunk(ids, readMost) {
		rows, err := p.selectRows(chunk)
		done += len(chunk)
		if err == nil && p.members+len(rows) > membersMost {
			err = failure(tooManyMembers)
		}
		if err != nil {
			next.err = err
			give()
			return
		}
		for i := range rows {
			p.take(&rows[i])
			if next.members = append(next.members, rows[i].encode(p.id)); len(next.members) >= WriteMost && !give() {
				return
			}
		}
	}
	if len(next.members) > 0 {
		give()
	}
}

// take gives a row its place among the members, and counts it.
func (p *preparation) take(r *row) {
	r.ordinal = p.members
	p.members++
	p.tally.add(r)
	kind := byte(companyName)
	if r.person {
		kind = personName
		p.sets.add(people, r.ordinal)
	} else if r.website != "" {
		p.entries = append(p.entries, dirEntry{nameOf(websiteName, r.website), uint32(r.ordinal)})
	}
	p.entries = append(p.entries, dirEntry{nameOf(kind, r.source), uint32(r.ordinal)})
	if r.existing {
		p.sets.add(existingRows, r.ordinal)
	}
	if r.importable() {
		p.sets.add(importableRows, r.ordinal)
	}
}

func (p *preparation) write(ctx context.Context, b batch) error {
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		for i, member := range b.members {
			p.TAM.members.Put(tx, p.id, uint32(b.from+i), member)
		}
		rec.Progress = shape.NumberOf(float64(int(b.progress*100)) / 100)
		_, err := p.Previews.Update(tx, doc, rec, []string{"progress"})
		return err
	})
}

// finish writes down what finds members, and the Preview as it is READY.
func (p *preparation) finish(ctx context.Context) error {
	if err := p.writeDirectory(ctx); err != nil {
		return err
	}
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		if err := p.checkNamed(tx); err != nil {
			return err
		}
		p.sets.put(tx, p.TAM.sets, p.id)
		rec.kept.Ready, rec.kept.Members, rec.kept.Pages = true, p.members, pagesFor(len(p.entries))
		rec.Progress = shape.NumberOf(1)
		p.tally.put(&rec)
		if p.named.Signal != nil {
			p.unresearched(tx, &rec)
		}
		return p.end(tx, doc, rec, Ready)
	})
}

// writeDirectory writes the directory, and deletes what a preparation before this one may have left behind the members.
func (p *preparation) writeDirectory(ctx context.Context) error {
	for more := true; more; {
		err := p.update(ctx, func(tx *store.Tx, _ store.Doc[Preview], _ Preview) (err error) {
			if more, err = p.TAM.members.Delete(tx, p.id, uint32(p.members), WriteMost); err != nil || more {
				return err
			}
			more, err = p.directory.Delete(tx, p.id, uint32(pagesFor(len(p.entries))), WriteMost)
			return err
		})
		if err != nil {
			return err
		}
	}
	type page struct {
		number uint32
		value  []byte
	}
	var pages []page
	if err := dirPages(p.entries, func(number uint32, value []byte) error {
		pages = append(pages, page{number, value})
		return nil
	}); err != nil {
		return err
	}
	for chunk := range slices.Chunk(pages, WriteMost/4) {
		err := p.update(ctx, func(tx *store.Tx, _ store.Doc[Preview], _ Preview) error {
			for _, pg := range chunk {
				p.directory.Put(tx, p.id, pg.number, pg.value)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unresearched says that the companies could not be asked about: there is nobody to ask.
func (p *preparation) unresearched(tx *store.Tx, rec *Preview) {
	research := *rec.Research
	research.Status, research.Reason = researchFailed, providerNotConfigured
	research.Passed, research.NotMatched, research.Failed = shape.NumberOf(0), shape.NumberOf(0), shape.NumberOf(float64(p.unasked))
	research.FinishedAt = shape.At(tx.Now())
	cost := p.cost(0, 0)
	if research.Cost != nil {
		cost.Estimated = research.Cost.Estimated
	}
	cost.Actual = shape.NumberOf(0)
	research.Cost = &cost
	rec.Research = &research
	rec.Result.Qualifier = &QualifierAvailability{Signal: *p.named.Signal, Reason: providerNotConfigured}
}

// isAccount tells whether a company is an Account already.
func isAccount(tx *store.Tx, c *crm.CRM, company *sourceCompany) (bool, error) {
	if company.website == "" {
		return false, nil
	}
	_, found, err := c.Accounts.Find(tx, "website", company.website)
	return found, err
}

// isContact tells whether a person is a Contact already.
func isContact(tx *store.Tx, c *crm.CRM, person *sourcePerson) (bool, error) {
	if person.email != "" {
		if _, found, err := c.Contacts.Find(tx, "email", person.email); found || err != nil {
			return found, err
		}
	}
	if person.linkedIn == "" {
		return false, nil
	}
	_, found, err := c.Contacts.Find(tx, "linkedin_url", person.linkedIn)
	return found, err
}
