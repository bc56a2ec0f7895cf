package tam

import (
	"context"
	"slices"

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
		p.sets.put(tx, p.TAM.sets, p.id)
		rec.kept.Ready, rec.kept.Members, rec.kept.Pages = true, p.count, pagesFor(len(p.entries))
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
			if more, err = p.TAM.members.Delete(tx, p.id, uint32(p.count), WriteMost); err != nil || more {
				return err
			}
			more, err = p.directory.Delete(tx, p.id, uint32(pagesFor(len(p.entries))), WriteMost)
			return err
		})
		if err != nil {
			return err
		}
	}
	number := uint32(0)
	for pages := range slices.Chunk(dirPages(p.entries), WriteMost/4) {
		err := p.update(ctx, func(tx *store.Tx, _ store.Doc[Preview], _ Preview) error {
			for i, page := range pages {
				p.directory.Put(tx, p.id, number+uint32(i), page)
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
