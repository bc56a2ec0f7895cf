package tam

import (
	"context"
	"slices"

	"prospector/internal/research"
	"prospector/internal/shape"
	"prospector/store"
)

// finish writes the directory and the sets of members, and sets the Preview READY.
func (p *preparation) finish(ctx context.Context) error {
	if err := p.deleteLeftovers(ctx); err != nil {
		return err
	}
	if err := p.writeDirectory(ctx); err != nil {
		return err
	}
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		if err := p.checkNamed(tx); err != nil {
			return err
		}
		p.sets.put(tx, p.tam.memberSets, p.id)
		rec.private.Ready, rec.private.Members = true, p.members
		rec.private.Pages = pageCount(len(p.directory))
		rec.Progress = shape.NumberOf(1)
		p.counts.writeTo(&rec)
		rec.AvailableTotal, rec.Truncated = shape.NumberOf(float64(p.available)), p.truncated
		rec.Result.Available, rec.Result.Truncated, rec.Result.Rules = p.available, p.truncated, p.rules
		if p.named.Signal != nil {
			p.finishResearch(tx, &rec)
		}
		return p.end(tx, doc, rec, Ready)
	})
}

// deleteLeftovers deletes members and directory pages that an interrupted preparation wrote beyond
// the end of this one.
func (p *preparation) deleteLeftovers(ctx context.Context) error {
	members, pages := uint32(p.members), uint32(pageCount(len(p.directory)))
	for more := true; more; {
		err := p.update(ctx, func(tx *store.Tx, _ store.Doc[Preview], _ Preview) (err error) {
			if more, err = p.tam.members.Delete(tx, p.id, members, MembersPerWrite); err != nil || more {
				return err
			}
			more, err = p.tam.directory.Delete(tx, p.id, pages, MembersPerWrite)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *preparation) writeDirectory(ctx context.Context) error {
	number := uint32(0)
	for pages := range slices.Chunk(directoryPages(p.directory), MembersPerWrite/4) {
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

// finishResearch sets the result and the actual cost of research.
func (p *preparation) finishResearch(tx *store.Tx, rec *Preview) {
	n, result := p.outcomes, *rec.Research
	result.Status = researchCompleted
	rec.Result.Qualifier = &QualifierAvailability{Available: true, Signal: *p.named.Signal}
	if p.tam.Researcher == nil {
		n.reason = research.ProviderNotConfigured
	}
	answers := n.passed + n.notMatched
	if n.reason != "" && answers+n.failed == 0 { // no question reached a provider
		result.Status, result.Reason = researchFailed, n.reason
		rec.Result.Qualifier.Available, rec.Result.Qualifier.Reason = false, n.reason
	}
	if answers == 0 && result.Status == researchCompleted { // the provider may have a problem
		result.Reason = n.mostFrequentFailure()
	}
	result.Passed, result.NotMatched = shape.NumberOf(float64(n.passed)), shape.NumberOf(float64(n.notMatched))
	result.Failed = shape.NumberOf(float64(n.failed + n.unasked))
	result.FinishedAt = shape.At(tx.Now())
	cost := p.tam.cost(answers+n.failed, answers)
	cost.Estimated = result.Cost.Estimated
	cost.Actual = p.tam.credits(answers)
	result.Cost = &cost
	rec.Research = &result
}
