package tam

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// chunk is some of the candidates on their way through the selection. While one is chosen, the people of the one before are
// read, those of the one before that are decided on, and its members written.
type chunk struct {
	companies []selected
	progress  float64
	answered  *sync.WaitGroup // waits until those that are asked about have an answer
	err       error           // why there is no more
}

func (p *preparation) chooseAll(ctx context.Context, ids []uuid.UUID, out chan<- chunk) {
	defer close(out)
	done := 0
	for some := range slices.Chunk(ids, readMost) {
		done += len(some)
		companies, err := p.choose(some)
		if !give(ctx, out, chunk{companies, float64(done) / float64(len(ids)+1), &sync.WaitGroup{}, err}) || err != nil {
			return
		}
	}
}

// stage hands chunks on after something was done to each.
func stage(ctx context.Context, in <-chan chunk, out chan<- chunk, do func([]selected) error) {
	defer close(out)
	defer drain(in)
	for c := range in {
		if c.err == nil {
			c.err = fault.CatchPanic(func() error { return do(c.companies) })
		}
		if !give(ctx, out, c) || c.err != nil {
			return
		}
	}
}

// drain waits until nothing comes any more.
func drain[T any](in <-chan T) {
	for range in {
	}
}

// batch is members that can be written.
type batch struct {
	from     int // the ordinal of the first
	members  [][]byte
	progress float64
	err      error // why there is no more
}

// selectAll makes members.
func (p *preparation) selectAll(ctx context.Context, in <-chan chunk, out chan<- batch) {
	defer close(out)
	defer drain(in)
	next := batch{}
	for c := range in {
		var members [][]byte
		err := fault.CatchPanic(func() (err error) {
			members, err = p.members(c)
			return err
		})
		if err != nil {
			give(ctx, out, batch{err: err})
			return
		}
		next.progress = c.progress
		for _, member := range members {
			if next.members = append(next.members, member); len(next.members) < MembersPerWrite {
				continue
			}
			if !give(ctx, out, next) {
				return
			}
			next = batch{from: next.from + len(next.members), progress: c.progress}
		}
	}
	if len(next.members) > 0 {
		give(ctx, out, next)
	}
}

// members gives the members that a chunk comes to, in order and as they are stored, when all is known about it.
func (p *preparation) members(c chunk) ([][]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.answered.Wait()
	var rows []row
	for i := range c.companies {
		if err := p.qualify(&c.companies[i]); err != nil {
			return nil, err
		}
		rows = append(append(rows, c.companies[i].row), c.companies[i].rows...)
	}
	if p.count+len(rows) > membersMost {
		return nil, failure(tooManyMembers)
	}
	members := make([][]byte, len(rows))
	for i := range rows {
		p.take(&rows[i])
		members[i] = rows[i].encode(p.id)
	}
	return members, nil
}

// give hands something on, unless nobody wants it any more.
func give[T any](ctx context.Context, out chan<- T, v T) bool {
	select {
	case out <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// take gives a row its place among the members, and counts it.
func (p *preparation) take(r *row) {
	r.ordinal = p.count
	p.count++
	p.counts.add(r)
	kind := byte(companyName)
	if r.person {
		kind = personName
		p.sets.add(people, r.ordinal)
	} else if r.website != "" {
		p.entries = append(p.entries, dirEntry{nameOf(websiteName, r.website), uint32(r.ordinal)})
	}
	p.entries = append(p.entries, dirEntry{nameOf(kind, r.source), uint32(r.ordinal)})
	if r.existing {
		p.sets.add(existingMembers, r.ordinal)
	}
	if r.importable() {
		p.sets.add(importableMembers, r.ordinal)
	}
	if r.verdict == nil || r.verdict.qualified == nil {
		return
	}
	if *r.verdict.qualified {
		p.sets.add(qualifiedMembers, r.ordinal)
	} else {
		p.sets.add(unqualifiedMembers, r.ordinal)
	}
}

func (p *preparation) write(ctx context.Context, b batch) error {
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		for i, member := range b.members {
			p.tam.members.PutOwned(tx, p.id, uint32(b.from+i), member)
		}
		return p.advance(tx, doc, rec, b.progress)
	})
}

// advance says how far the preparation is, when that is farther than before by more than a little.
func (p *preparation) advance(tx *store.Tx, doc store.Doc[Preview], rec Preview, progress float64) error {
	if progress-rec.Progress.Float < progressStep {
		return nil
	}
	rec.Progress = shape.NumberOf(float64(int(progress*100)) / 100)
	_, err := p.tam.Previews.Update(tx, doc, rec, []string{"progress"})
	return err
}
