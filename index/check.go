package index

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/google/uuid"

	"prospector/store"
)

// Reindex makes every index anew, and gives the number of records that it has read. Lists go on meanwhile. progress is
// told how many of how many records are done.
func (e *Engine) Reindex(ctx context.Context, progress func(done, total int)) (records int, err error) {
	return e.each(ctx, progress, func(s *shelf, progress func(done int)) error {
		return s.remakeNow(ctx, nil, progress)
	})
}

// Check holds every index against the store, and reports each record of which they disagree. With repair it makes those
// indexes anew that are wrong. It gives the number of records that it has looked at.
func (e *Engine) Check(ctx context.Context, repair bool, progress func(done, total int), problem func(what string, repaired bool)) (records int, err error) {
	return e.each(ctx, progress, func(s *shelf, progress func(done int)) error {
		problems, err := s.check()
		unread := errors.Is(err, store.ErrDamaged) // a record that cannot be read is no fault of the index
		if unread {
			problems = append(problems, fmt.Sprintf("it cannot be checked: %v", err))
		} else if err != nil {
			return err
		}
		fixed := repair && len(problems) > 0 && !unread
		if fixed {
			err := s.remakeNow(ctx, errors.New("it disagrees with the store"), progress)
			if err != nil && !errors.Is(err, store.ErrDamaged) {
				return err
			}
			fixed = err == nil
		}
		for _, what := range problems {
			problem(fmt.Sprintf("index of %s of organization %s: %s", s.kind.Entity, s.org, what), fixed)
		}
		return nil
	})
}

// each calls fn for every shelf that has records or an index, and counts the records.
func (e *Engine) each(ctx context.Context, progress func(done, total int), fn func(s *shelf, progress func(done int)) error) (records int, err error) {
	orgs, err := e.store.Organizations()
	if err != nil {
		return 0, err
	}
	type counted struct {
		*shelf
		count int
	}
	var shelves []counted
	total := 0
	for _, org := range append(orgs, uuid.Nil) {
		err := e.store.View(org, func(tx *store.Tx) error {
			for _, k := range e.kinds {
				s := counted{e.shelf(org, k), tx.RecordCount(k.table)}
				if s.count > 0 || diskExists(s.path) {
					shelves, total = append(shelves, s), total+s.count
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	for _, s := range shelves {
		if err := ctx.Err(); err != nil {
			return records, err
		}
		if err := fn(s.shelf, func(done int) { progress(records+done, total) }); err != nil {
			return records, err
		}
		records += s.count
		progress(records, total)
	}
	return records, nil
}

// remakeNow makes the index anew and waits until it is done.
func (s *shelf) remakeNow(ctx context.Context, why error, progress func(done int)) error {
	if err := s.remake(why); err != nil {
		return err
	}
	return s.fill(func() error {
		s.mu.Lock()
		v := s.view
		s.mu.Unlock()
		if v != nil {
			progress(v.count)
		}
		return ctx.Err() // the follower goes on with it
	})
}

// settle takes all changes into the index.
func (s *shelf) settle() error { return s.fill(func() error { return nil }) }

// fill follows until there is no more, and calls after behind each batch, which may end it.
func (s *shelf) fill(after func() error) error {
	for {
		if more, err := s.follow(); err != nil || !more {
			return err
		}
		if err := after(); err != nil {
			return err
		}
	}
}

// check opens the index as it is and compares it with the store at one moment.
func (s *shelf) check() (problems []string, err error) {
	s.writing.Lock()
	why, err := s.loadAsIs()
	s.writing.Unlock()
	if err != nil {
		return nil, err
	}
	if why != nil {
		s.engine.counts.damaged.Add(1)
		problems = append(problems, strings.ReplaceAll(why.Error(), "\n", "; "))
	}
	var found []string
	err = s.read(func(tx *store.Tx, m *moment) error {
		return s.compare(tx, m, func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) })
	})
	if errors.Is(err, errIndex) {
		return append(problems, err.Error()), nil
	}
	return append(problems, found...), err
}

// compare adds up, for each document, the terms that the index has for it, and holds the sum against that of the terms
// which its record makes.
func (s *shelf) compare(tx *store.Tx, m *moment, problem func(format string, args ...any)) error {
	if m.view == nil {
		return nil
	}
	cs, err := s.kind.Customs(tx)
	if err != nil {
		return err
	}
	tombs, err := tx.Tombstones(s.kind.table)
	if err != nil {
		return err
	}
	counts := counted{cs, goneOf(tombs)}
	shared := scratch{}
	seed, stored := maphash.MakeSeed(), tx.Reader(s.kind.table)
	seen := make(map[uuid.UUID]bool, m.view.count)
	err = guarded(func() error {
		for i, p := range m.view.parts {
			in, sums := m.live(i), make([]uint64, p.size)
			for _, field := range p.zap.Fields() {
				p.walk(field, "", "", func(term string, docs *postings) {
					if counts.term(field, term) {
						sum := termSum(seed, field, term)
						docs.each(func(doc uint32) { sums[doc] += sum })
					}
				})
			}
			for doc, id := range p.ids {
				if in != nil && !in.has(uint32(doc)) {
					continue
				}
				_, public, err := stored.Public(id)
				switch {
				case errors.Is(err, store.ErrDamaged):
					seen[id] = true
					continue
				case err != nil:
					return err
				case public == nil:
					problem("it has %s, which the store has not", id)
					continue
				case seen[id]:
					problem("it has %s twice", id)
				}
				seen[id] = true
				r, err := s.kind.row(cs, id, public)
				if err != nil {
					return err
				}
				if s.kind.document(r, shared).sum(seed, counts) != sums[doc] {
					problem("it has %s other than the store", id)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range m.changes {
		if c.row != nil {
			seen[c.id] = true
		}
	}
	return tx.RecordIDs(s.kind.table, func(id uuid.UUID) {
		if m.view.covers(id) && !seen[id] {
			problem("it has not %s, which the store has", id)
		}
	})
}

// counted decides which terms an index must have as the store does. Of what is gone it may still have some.
type counted struct {
	customs *Customs
	gone    gone
}

func (c counted) term(field, term string) bool {
	if field == hasField {
		return c.gone[term] == nil && !c.customs.forgot(term)
	}
	return !c.gone[field][term] && !c.customs.forgot(field)
}

// forgot tells whether a name of an index is that of a custom field which was deleted.
func (c *Customs) forgot(name string) bool {
	const size = len(customName) + 36 // the name of a field is that of its id, and may have more behind it
	return strings.HasPrefix(name, customName) && !c.has(name[:min(size, len(name))])
}

func termSum(seed maphash.Seed, field, term string) uint64 {
	return maphash.String(seed, field+"\x00"+term)
}

// sum adds up the terms of a document that count.
func (d *document) sum(seed maphash.Seed, counts counted) (sum uint64) {
	d.AddIDField()
	for _, f := range d.fields {
		for term := range f.AnalyzedTokenFrequencies() {
			if counts.term(f.Name(), term) {
				sum += termSum(seed, f.Name(), term)
			}
		}
	}
	return sum
}
