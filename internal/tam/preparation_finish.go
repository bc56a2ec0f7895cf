package tam

import (
	"context"
	"slices"

	"prospector/internal/research"
	"prospector/internal/shape"
	"prospector/store"
)

// finish writes down what finds members, and the Preview as it is READY.
func (p *preparation) finish(ctx context.Context) error {
	if err := p.writeDirectory(ctx); err != nil {
		return err
	}
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		if err := p.checkNamed(tx); err != nil {
			return err
		}
		p.sets.put(tx, p.tam.memberSets, p.id)
		rec.kept.Ready, rec.kept.Members, rec.kept.Pages = true, p.count, pagesFor(len(p.entries))
		rec.Progress = shape.NumberOf(1)
		p.counts.put(&rec)
		if p.named.Signal != nil {
			p.conclude(tx, &rec)
		}
		return p.end(tx, doc, rec, Ready)
	})
}

// writeDirectory writes the directory, and deletes what a preparation before this one may have left behind the members.
func (p *preparation) writeDirectory(ctx context.Context) error {
	for more := true; more; {
		err := p.update(ctx, func(tx *store.Tx, _ store.Doc[Preview], _ Preview) (err error) {
			if more, err = p.tam.members.Delete(tx, p.id, uint32(p.count), MembersPerWrite); err != nil || more {
				return err
			}
			more, err = p.tam.directory.Delete(tx, p.id, uint32(pagesFor(len(p.entries))), MembersPerWrite)
			return err
		})
		if err != nil {
			return err
		}
	}
	number := uint32(0)
	for pages := range slices.Chunk(dirPages(p.entries), MembersPerWrite/4) {
		err := p.update(ctx, func(tx *store.Tx, _ store.Doc[Preview], _ Preview) error {
			for i, page := range pages {
				p.tam.directory.Put(tx, p.id, number+uint32(i), page)
			}
			return nil
		})
		number += uint32(len(pages))
		if err != nil {
			return err
		}
	}
	return nil
}

// conclude says what research came to.
func (p *preparation) conclude(tx *store.Tx, rec *Preview) {
	n, progress := p.researched, *rec.Research
	progress.Status = researchCompleted
	rec.Result.Qualifier = &QualifierAvailability{Available: true, Signal: *p.named.Signal}
	if p.tam.Researcher == nil {
		n.reason = research.ProviderNotConfigured
	}
	answers := n.passed + n.notMatched
	if n.reason != "" && answers+n.failed == 0 { // not one could be asked about
		progress.Status, progress.Reason = researchFailed, n.reason
		rec.Result.Qualifier.Available, rec.Result.Qualifier.Reason = false, n.reason
	}
	if answers == 0 && progress.Status == researchCompleted { // something may be wrong with the one who is asked
		progress.Reason = n.mostly()
	}
	progress.Passed, progress.NotMatched = shape.NumberOf(float64(n.passed)), shape.NumberOf(float64(n.notMatched))
	progress.Failed = shape.NumberOf(float64(n.failed + n.unasked))
	progress.FinishedAt = shape.At(tx.Now())
	cost := p.tam.cost(answers+n.failed, answers)
	cost.Estimated = progress.Cost.Estimated
	cost.Actual = p.tam.credits(answers)
	progress.Cost = &cost
	rec.Research = &progress
}
