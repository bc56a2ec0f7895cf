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

// researchCounts are the companies that were to be asked about.
type researchCounts struct {
	passed, notMatched, failed int
	unasked                    int                // those for which nobody could be asked
	reason                     shape.Text         // why not
	failures                   map[shape.Text]int // how many of the failed by why
}

// mostly is why most of those failed that did; empty when there are none.
func (n *researchCounts) mostly() (reason shape.Text) {
	for _, why := range slices.Sorted(maps.Keys(n.failures)) {
		if n.failures[why] > n.failures[reason] {
			reason = why
		}
	}
	return reason
}

// askAll has the companies asked about that are kept. Of a costly researcher several are asked about at the same time, also of
// chunks that come one after the other: a chunk is handed on before its answers are in, and answered says when they are.
func (p *preparation) askAll(ctx context.Context, in <-chan chunk, out chan<- chunk) {
	defer close(out)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer drain(in)
	for c := range in {
		if c.err == nil {
			c.err = fault.CatchPanic(func() error { return p.askAbout(ctx, &c, &asking) })
		}
		if !give(ctx, out, c) || c.err != nil {
			return
		}
	}
}

func (p *preparation) askAbout(ctx context.Context, c *chunk, asking *sync.WaitGroup) error {
	var kept []*selected
	for i := range c.companies {
		if c.companies[i].kept() {
			kept = append(kept, &c.companies[i])
		}
	}
	switch {
	case p.tam.Researcher == nil:
		for _, s := range kept {
			s.found = &research.Qualification{Status: research.StatusFailed, Reason: research.ProviderNotConfigured}
		}
		return nil
	case !p.tam.Researcher.Costly():
		for _, s := range kept {
			if err := p.ask(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.recall(kept); err != nil {
		return err
	}
	for _, s := range kept {
		if s.found != nil {
			continue
		}
		c.answered.Add(1)
		asking.Go(func() {
			defer c.answered.Done()
			if s.err = fault.CatchPanic(func() error { return p.askInTurn(ctx, s) }); s.err != nil {
				p.abort(s.err)
			}
		})
	}
	return nil
}

// askInTurn asks about a company when it may, and keeps the answer before the next is asked about: whatever is killed, no more
// companies are asked about twice than may be at the same time.
func (p *preparation) askInTurn(ctx context.Context, s *selected) error {
	select {
	case p.tam.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.tam.slots }()
	// Nobody is asked for a Preview that was cancelled, or is bound to fail.
	err := p.tam.store.View(p.org, func(tx *store.Tx) error {
		if _, err := p.preparing(tx); err != nil {
			return err
		}
		return p.checkNamed(tx)
	})
	if err == nil {
		err = p.ask(ctx, s)
	}
	if err != nil {
		return err
	}
	done := float64(p.answered.Add(1)) / float64(p.estimated+1)
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		if s.found.Status != research.StatusFailed {
			if _, err := p.tam.answers.Insert(tx, answerID(p.id, s.row.source), storedAnswer{p.id, *s.found}); err != nil {
				return err
			}
		}
		return p.advance(tx, doc, rec, done)
	})
}

// ask asks about a company.
func (p *preparation) ask(ctx context.Context, s *selected) error {
	var c catalog.Company
	if err := json.Unmarshal([]byte(s.row.data), &c); err != nil {
		return err
	}
	if err := p.dispatched(ctx); err != nil {
		return err
	}
	found, err := p.tam.Researcher.Research(ctx, p.question, &c)
	if err != nil {
		return err
	}
	found = p.question.Check(found)
	s.found = &found
	if found.Status == research.StatusFailed {
		return nil
	}
	return p.running(ctx)
}

// once makes a step of research that is told when it is first taken. Whoever takes it waits until it is told.
func (p *preparation) once(status ResearchStatus) func(context.Context) error {
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
			if rank[research.Status] >= rank[status] { // it was begun before, and cut off
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

// rank is the order of the statuses that research goes through.
var rank = map[ResearchStatus]int{researchNotStarted: 0, researchDispatched: 1, researchRunning: 2}

// storedAnswer is one that was given in a preparation. It is kept until that is over: one that is begun again does not ask again.
type storedAnswer struct {
	Preview       uuid.UUID              `json:"preview"`
	Qualification research.Qualification `json:"qualification"`
}

const byPreview = "preview"

func newAnswers() *store.Table[storedAnswer] {
	return store.NewTable("previews.answers", nil, []store.Key[storedAnswer]{{
		Name: byPreview, Of: func(_ *store.Tx, a *storedAnswer) ([][]byte, error) { return [][]byte{a.Preview[:]}, nil },
	}}).Unlogged()
}

// answerID is where the answer about a company is kept.
func answerID(preview uuid.UUID, company string) uuid.UUID {
	return uuid.NewSHA1(preview, []byte(company))
}

// recall takes up the answers that were given before the preparation was cut off.
func (p *preparation) recall(companies []*selected) error {
	return p.tam.store.View(p.org, func(tx *store.Tx) error {
		for _, s := range companies {
			doc, err := p.tam.answers.Get(tx, answerID(p.id, s.row.source))
			switch {
			case err == nil:
				s.found = &doc.Record.Qualification
				p.answered.Add(1)
			case fault.CodeOf(err) != fault.NotFound:
				return err
			}
		}
		return nil
	})
}

// forget deletes answers of a preparation that is over, at most so many, and tells whether there are more.
func (t *TAM) forget(tx *store.Tx, preview uuid.UUID, most int) (more bool, err error) {
	ids, err := t.answers.IDs(tx, byPreview, preview[:], most)
	for _, id := range ids {
		doc, err := t.answers.Get(tx, id)
		if err == nil {
			err = t.answers.Delete(tx, doc)
		}
		if err != nil {
			return false, err
		}
	}
	return len(ids) == most, err
}
