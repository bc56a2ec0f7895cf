package index

import (
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/google/uuid"

	"prospector/store"
)

// Reindex makes every index anew, and gives the number of records that it has read. Lists go on meanwhile.
func (e *Engine) Reindex() (records int, err error) {
	err = e.each(func(s *shelf) error {
		if err := s.remakeNow(errors.New("asked for")); err != nil {
			return err
		}
		return e.store.View(s.org, func(tx *store.Tx) error {
			records += tx.RecordCount(s.kind.table)
			return nil
		})
	})
	return records, err
}

// remakeNow makes the index anew and waits until it is done.
func (s *shelf) remakeNow(why error) error {
	if err := s.remake(why); err != nil {
		return err
	}
	return s.settle()
}

// settle takes all changes into the index.
func (s *shelf) settle() error {
	for {
		more, err := s.follow()
		if err != nil || !more {
			return err
		}
	}
}

// each calls fn for every shelf that has records, and for every one that has an index.
func (e *Engine) each(fn func(*shelf) error) error {
	orgs, err := e.store.Organizations()
	if err != nil {
		return err
	}
	for _, org := range append(orgs, uuid.Nil) {
		for _, k := range e.kinds {
			count := 0
			err := e.store.View(org, func(tx *store.Tx) error {
				count = tx.RecordCount(k.table)
				return nil
			})
			if err != nil {
				return err
			}
			if s := e.shelf(org, k); count > 0 || diskExists(s.path) {
				if err := fn(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Check holds every index against the store, and reports each record of which they disagree. With repair it makes those
// indexes anew that are wrong. It gives the number of records that it has looked at.
func (e *Engine) Check(repair bool, problem func(what string, repaired bool)) (records int, err error) {
	err = e.each(func(s *shelf) error {
		n, problems, err := s.check()
		if err != nil {
			return err
		}
		records += n
		fix := repair && len(problems) > 0
		if fix {
			if err := s.remakeNow(errors.New("it disagrees with the store")); err != nil {
				return err
			}
		}
		for _, what := range problems {
			problem(fmt.Sprintf("index of %s of organization %s: %s", s.kind.Entity, s.org, what), fix)
		}
		return nil
	})
	return records, err
}

// check opens the index as it is and compares it with the store at one moment.
func (s *shelf) check() (records int, problems []string, err error) {
	why, err := s.loadAsIs()
	if err != nil {
		return 0, nil, err
	}
	if why != nil {
		problems = append(problems, why.Error())
	}
	for {
		var found []string
		err := s.engine.store.View(s.org, func(tx *store.Tx) error {
			m, err := s.at(tx)
			if err != nil {
				return err
			}
			defer m.release()
			found = nil
			records, err = s.compare(tx, m, func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) })
			return err
		})
		switch {
		case errors.Is(err, errBehind) || errors.Is(err, errUnloaded):
			if err := s.load(); err != nil {
				return 0, nil, err
			}
		case errors.Is(err, errIndex):
			return records, append(problems, err.Error()), nil
		default:
			return records, append(problems, found...), err
		}
	}
}

// compare adds up, for each document, the terms that the index has for it, and holds the sum against that of the terms
// which its record makes.
func (s *shelf) compare(tx *store.Tx, m *moment, problem func(format string, args ...any)) (records int, err error) {
	records = tx.RecordCount(s.kind.table)
	if m.view == nil {
		return records, nil
	}
	seed, stored := maphash.MakeSeed(), tx.Reader(s.kind.table)
	seen := make(map[uuid.UUID]bool, m.view.count)
	err = guarded(func() error {
		for i, p := range m.view.parts {
			in := p.live
			if m.masks[i] != nil {
				in = m.masks[i]
			}
			sums := make([]uint64, p.size)
			for _, field := range p.zap.Fields() {
				p.walk(field, "", "", func(term string, docs *postings) {
					sum := termSum(seed, field, term)
					docs.each(func(doc uint32) { sums[doc] += sum })
				})
			}
			for doc, id := range p.ids {
				if in != nil && !in.has(uint32(doc)) {
					continue
				}
				number, public, err := stored.Public(id)
				switch {
				case err != nil:
					return err
				case public == nil:
					problem("it has %s, which the store has not", id)
					continue
				case seen[id]:
					problem("it has %s twice", id)
				}
				seen[id] = true
				r, err := s.kind.row(id, number, public)
				if err != nil {
					return err
				}
				if s.kind.document(r).sum(seed) != sums[doc] {
					problem("it has %s other than the store", id)
				}
			}
		}
		return nil
	})
	if err != nil {
		return records, err
	}
	for _, r := range m.rows {
		seen[r.id] = true
	}
	return records, tx.Records(s.kind.table, uuid.Nil, func(id uuid.UUID, _ uint64, _ []byte) (bool, error) {
		if m.view.covers(id) && !seen[id] {
			problem("it has not %s, which the store has", id)
		}
		return true, nil
	})
}

func termSum(seed maphash.Seed, field, term string) uint64 {
	return maphash.String(seed, field+"\x00"+term)
}

// sum adds up the terms of a document.
func (d *document) sum(seed maphash.Seed) (sum uint64) {
	d.AddIDField()
	for _, f := range d.fields {
		for term := range f.AnalyzedTokenFrequencies() {
			sum += termSum(seed, f.Name(), term)
		}
	}
	return sum
}
