package tam

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/fault"
	"prospector/internal/research"
	"prospector/internal/shape"
	"prospector/store"
)

// researchCounts count companies by the outcome of research.
type researchCounts struct {
	passed, notMatched, failed int
	unasked                    int                // questions that did not reach a provider
	reason                     shape.Text         // why they did not
	failures                   map[shape.Text]int // failed companies by reason
}

// mostFrequentFailure returns the most frequent reason of failures, or "" if there are no failures.
func (n *researchCounts) mostFrequentFailure() (reason shape.Text) {
	for _, candidate := range slices.Sorted(maps.Keys(n.failures)) {
		if n.failures[candidate] > n.failures[reason] {
			reason = candidate
		}
	}
	return reason
}

// askAll asks about the companies that are kept. A costly researcher is asked about several
// companies at the same time, also of different chunks. A chunk is passed on before its answers
// arrive, and its WaitGroup is done when they have arrived.
func (p *preparation) askAll(ctx context.Context, in <-chan chunk, out chan<- chunk) {
	defer close(out)
	var questions sync.WaitGroup
	defer questions.Wait()
	defer drain(in)
	for c := range in {
		if c.err == nil {
			c.err = fault.CatchPanic(func() error { return p.askAboutChunk(ctx, &c, &questions) })
		}
		if !send(ctx, out, c) || c.err != nil {
			return
		}
	}
}

func (p *preparation) askAboutChunk(ctx context.Context, c *chunk, questions *sync.WaitGroup) error {
	var kept []*candidate
	for i := range c.candidates {
		if c.candidates[i].isKept() {
			kept = append(kept, &c.candidates[i])
		}
	}
	switch {
	case p.tam.Researcher == nil:
		for _, candidate := range kept {
			candidate.found = &research.Qualification{
				Status: research.StatusFailed, Reason: research.ProviderNotConfigured,
			}
		}
		return nil
	case !p.tam.Researcher.Costly():
		for _, candidate := range kept {
			if err := p.ask(ctx, candidate); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.loadAnswers(kept); err != nil {
		return err
	}
	for _, candidate := range kept {
		if candidate.found != nil {
			continue
		}
		c.answered.Add(1)
		questions.Go(func() {
			defer c.answered.Done()
			candidate.err = fault.CatchPanic(func() error { return p.askWithSlot(ctx, candidate) })
			if candidate.err != nil {
				p.abort(candidate.err)
			}
		})
	}
	return nil
}

// askWithSlot waits for a free slot, asks about a company and stores the answer before it releases
// the slot. If the process is killed, at most as many questions are repeated as there are slots.
func (p *preparation) askWithSlot(ctx context.Context, c *candidate) error {
	select {
	case p.tam.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.tam.slots }()
	// Questions for a Preview that was cancelled or must fail would be wasted.
	err := p.tam.store.View(p.org, func(tx *store.Tx) error {
		if _, err := p.current(tx); err != nil {
			return err
		}
		return p.checkNamed(tx)
	})
	if err == nil {
		err = p.ask(ctx, c)
	}
	if err != nil {
		return err
	}
	progress := float64(p.answered.Add(1)) / float64(p.maxQuestions+1)
	// The answer is paid for, so it is stored even if another question has just failed.
	return p.update(context.WithoutCancel(ctx), func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		if c.found.Status != research.StatusFailed {
			answer := storedAnswer{p.id, *c.found}
			if _, err := p.tam.answers.Insert(tx, answerID(p.id, c.row.source), answer); err != nil {
				return err
			}
		}
		return p.setProgress(tx, doc, rec, progress)
	})
}

// ask asks about a company.
func (p *preparation) ask(ctx context.Context, c *candidate) error {
	var company catalog.Company
	if err := json.Unmarshal([]byte(c.row.data), &company); err != nil {
		return err
	}
	if err := p.setDispatched(ctx); err != nil {
		return err
	}
	found, err := p.tam.Researcher.Research(ctx, p.question, &company)
	if err != nil {
		return err
	}
	found = p.question.Check(found)
	c.found = &found
	if found.Status == research.StatusFailed {
		return nil
	}
	return p.setRunning(context.WithoutCancel(ctx))
}

// statusChange returns a function that stores a status of research the first time it is called.
// Concurrent callers wait until the status is stored.
func (p *preparation) statusChange(status ResearchStatus) func(context.Context) error {
	var mu sync.Mutex
	done := false
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return nil
		}
		err := p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
			research := *rec.Research
			if statusOrder[research.Status] >= statusOrder[status] { // stored by a preparation that was interrupted
				return nil
			}
			research.Status = status
			if !research.StartedAt.Valid() {
				research.StartedAt = shape.At(tx.Now())
			}
			rec.Research = &research
			_, err := p.tam.Previews.Update(tx, doc, rec, []string{"research"})
			return err
		})
		done = err == nil
		return err
	}
}

// statusOrder is the order of the statuses of research.
var statusOrder = map[ResearchStatus]int{researchNotStarted: 0, researchDispatched: 1, researchRunning: 2}

// storedAnswer is an answer of a costly researcher. It is stored until the preparation ends, so
// that a preparation that starts over does not ask again.
type storedAnswer struct {
	Preview       uuid.UUID              `json:"preview"`
	Qualification research.Qualification `json:"qualification"`
}

const byPreview = "preview"

func newAnswers() *store.Table[storedAnswer] {
	return store.NewTable("previews.answers", nil, []store.Key[storedAnswer]{{
		Name: byPreview,
		Of:   func(_ *store.Tx, a *storedAnswer) ([][]byte, error) { return [][]byte{a.Preview[:]}, nil },
	}}).Unlogged()
}

// answerID returns the id under which the answer about a company is stored.
func answerID(preview uuid.UUID, company string) uuid.UUID {
	return uuid.NewSHA1(preview, []byte(company))
}

// loadAnswers sets the answers that an interrupted preparation has stored.
func (p *preparation) loadAnswers(candidates []*candidate) error {
	return p.tam.store.View(p.org, func(tx *store.Tx) error {
		for _, c := range candidates {
			doc, err := p.tam.answers.Get(tx, answerID(p.id, c.row.source))
			switch {
			case err == nil:
				c.found = &doc.Record.Qualification
				p.answered.Add(1)
			case fault.CodeOf(err) != fault.NotFound:
				return err
			}
		}
		return nil
	})
}

// deleteAnswers deletes at most limit stored answers of a Preview, and reports whether there are
// more.
func (t *TAM) deleteAnswers(tx *store.Tx, preview uuid.UUID, limit int) (more bool, err error) {
	ids, err := t.answers.IDs(tx, byPreview, preview[:], limit)
	for _, id := range ids {
		doc, err := t.answers.Get(tx, id)
		if err == nil {
			err = t.answers.Delete(tx, doc)
		}
		if err != nil {
			return false, err
		}
	}
	return len(ids) == limit, err
}
