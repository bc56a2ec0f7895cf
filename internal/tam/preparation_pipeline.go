package tam

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/internal/turn"
	"prospector/store"
)

// chunk is a number of candidates that pass through the stages of a preparation together. While the
// companies of one chunk are checked, the people of the chunk before it are read, and so on.
type chunk struct {
	candidates []candidate
	progress   float64
	answered   *sync.WaitGroup // done when every question about the chunk has an answer
	err        error           // why there are no more chunks
}

// checkAllCompanies is the first stage.
func (p *preparation) checkAllCompanies(ctx context.Context, ids []uuid.UUID, out chan<- chunk) {
	defer close(out)
	done := 0
	for part := range slices.Chunk(ids, companiesPerRead) {
		done += len(part)
		candidates, err := p.checkCompanies(part)
		c := chunk{candidates, float64(done) / float64(len(ids)+1), &sync.WaitGroup{}, err}
		if !send(ctx, out, c) || err != nil {
			return
		}
	}
}

// runStage calls do for each chunk and passes the chunk on.
func runStage(ctx context.Context, in <-chan chunk, out chan<- chunk, do func([]candidate) error) {
	defer close(out)
	defer drain(in)
	for c := range in {
		if c.err == nil {
			c.err = fault.CatchPanic(func() error { return do(c.candidates) })
		}
		if !send(ctx, out, c) || c.err != nil {
			return
		}
	}
}

// drain receives until the channel is closed.
func drain[T any](in <-chan T) {
	for range in {
	}
}

// send sends v, and reports whether it did so before ctx ended. The stages pause here for other work.
func send[T any](ctx context.Context, out chan<- T, v T) bool {
	turn.Pause(ctx)
	select {
	case out <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// batch is a number of encoded members that one transaction writes.
type batch struct {
	from     int // the ordinal of the first
	members  [][]byte
	progress float64
	err      error // why there are no more batches
}

// encodeAll is the last stage before writing. It turns chunks into batches of members.
func (p *preparation) encodeAll(ctx context.Context, in <-chan chunk, out chan<- batch) {
	defer close(out)
	defer drain(in)
	next := batch{}
	for c := range in {
		var members [][]byte
		err := fault.CatchPanic(func() (err error) {
			members, err = p.encodeMembers(c)
			return err
		})
		if err != nil {
			send(ctx, out, batch{err: err})
			return
		}
		next.progress = c.progress
		for _, member := range members {
			if next.members = append(next.members, member); len(next.members) < MembersPerWrite {
				continue
			}
			if !send(ctx, out, next) {
				return
			}
			next = batch{from: next.from + len(next.members), progress: c.progress}
		}
	}
	if len(next.members) > 0 {
		send(ctx, out, next)
	}
}

// encodeMembers waits for the answers about a chunk and returns its members in order, as they are
// stored.
func (p *preparation) encodeMembers(c chunk) ([][]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.answered.Wait()
	var rows []row
	for i := range c.candidates {
		if err := p.qualify(&c.candidates[i]); err != nil {
			return nil, err
		}
		rows = append(append(rows, c.candidates[i].row), c.candidates[i].personRows...)
	}
	if p.members+len(rows) > maxMembers {
		return nil, failure(tooManyMembers)
	}
	members := make([][]byte, len(rows))
	for i := range rows {
		p.addMember(&rows[i])
		members[i] = rows[i].encode(p.id)
	}
	return members, nil
}

// addMember assigns the next ordinal to a row, counts it, and adds it to the sets and the
// directory.
func (p *preparation) addMember(r *row) {
	r.ordinal = p.members
	p.members++
	p.counts.add(r)
	kind := byte(companyName)
	if r.person {
		kind = personName
		p.sets.add(people, r.ordinal)
	} else if r.website != "" {
		p.directory = append(p.directory, directoryEntry{hashName(websiteName, address.Website(r.website)), uint32(r.ordinal)})
	}
	p.directory = append(p.directory, directoryEntry{hashName(kind, r.source), uint32(r.ordinal)})
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

// errErased makes a preparation start over, because what it has read may contain a person who was erased since.
var errErased = errors.New("a person was erased meanwhile")

func (p *preparation) write(ctx context.Context, b batch) error {
	return p.update(ctx, func(tx *store.Tx, doc store.Doc[Preview], rec Preview) error {
		if p.tam.crm.Erased.Count(tx) != p.erased {
			return errErased
		}
		for i, member := range b.members {
			p.tam.members.PutOwned(tx, p.id, uint32(b.from+i), member)
		}
		return p.setProgress(tx, doc, rec, b.progress)
	})
}

// setProgress stores the progress, if it increased by at least progressStep.
func (p *preparation) setProgress(tx *store.Tx, doc store.Doc[Preview], rec Preview, progress float64) error {
	if progress-rec.Progress.Float < progressStep {
		return nil
	}
	rec.Progress = shape.NumberOf(float64(int(progress*100)) / 100)
	_, err := p.tam.Previews.Update(tx, doc, rec, []string{"progress"})
	return err
}
