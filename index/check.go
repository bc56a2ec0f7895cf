package index

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

// Reindex rebuilds every index and returns the number of records that it read. Lists continue to
// work. It calls progress with the number of records that are done and of all.
func (e *Engine) Reindex(ctx context.Context, progress func(done, total int)) (records int, err error) {
	return e.eachTable(ctx, progress, func(s *tableIndex, progress func(done int)) error {
		return s.rebuildAndWait(ctx, nil, progress)
	})
}

// ReindexOrganization rebuilds the indexes of an organization, so that nothing of deleted records is left in them.
func (e *Engine) ReindexOrganization(ctx context.Context, org uuid.UUID) error {
	for _, k := range e.kinds {
		s := e.tableIndex(org, k)
		if !diskIndexExists(s.path) {
			continue
		}
		if err := s.rebuildAndWait(ctx, nil, func(int) {}); err != nil {
			return err
		}
	}
	return nil
}

// RebuildCustomized starts to rebuild the indexes of an organization's kinds that have custom fields. What was
// indexed while a field was damaged lacks its values.
func (e *Engine) RebuildCustomized(org uuid.UUID) error {
	for _, k := range e.kinds {
		if k.customs == nil {
			continue
		}
		if err := e.tableIndex(org, k).rebuildBecause(nil); err != nil {
			return err
		}
	}
	return nil
}

// Check compares every index with the store and reports each record in which they differ. With
// repair it rebuilds the indexes that are wrong. An index that is merely old is no problem, because what it lacks is
// written to it or it is rebuilt anyway, and is noted. Check returns the number of records that it checked.
func (e *Engine) Check(
	ctx context.Context, repair bool, progress func(done, total int),
	problem func(what string, repaired bool), note func(what string),
) (records int, err error) {
	return e.eachTable(ctx, progress, func(s *tableIndex, progress func(done int)) error {
		about := fmt.Sprintf("index of %s of organization %s: ", s.kind.Entity, s.org)
		problems, err := s.check(func(what string) { note(about + what) })
		unreadable := errors.Is(err, store.ErrDamaged) // a damaged record, for which the index is not at fault
		if unreadable {
			problems = append(problems, fmt.Sprintf("cannot be checked: %v", err))
		} else if err != nil {
			return err
		}
		repaired := repair && len(problems) > 0 && !unreadable
		if repaired {
			err := s.rebuildAndWait(ctx, errors.New("it differs from the store"), progress)
			if err != nil && !errors.Is(err, store.ErrDamaged) {
				return err
			}
			repaired = err == nil
		}
		for _, what := range problems {
			problem(about+what, repaired)
		}
		return nil
	})
}

// eachTable calls fn for every table that has records or an index, and returns the number of
// records.
func (e *Engine) eachTable(
	ctx context.Context, progress func(done, total int), fn func(s *tableIndex, progress func(done int)) error,
) (records int, err error) {
	orgs, err := e.store.Organizations()
	if err != nil {
		return 0, err
	}
	type sizedTable struct {
		*tableIndex
		count int
	}
	var tables []sizedTable
	total := 0
	for _, org := range append(orgs, uuid.Nil) {
		err := e.store.View(org, func(tx *store.Tx) error {
			for _, k := range e.kinds {
				t := sizedTable{e.tableIndex(org, k), tx.RecordCount(k.table)}
				if t.count > 0 || diskIndexExists(t.path) {
					tables, total = append(tables, t), total+t.count
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	for _, t := range tables {
		if err := ctx.Err(); err != nil {
			return records, err
		}
		if err := fn(t.tableIndex, func(done int) { progress(records+done, total) }); err != nil {
			return records, err
		}
		records += t.count
		progress(records, total)
	}
	return records, nil
}

// rebuildAndWait rebuilds the index and returns when it contains all records. If ctx ends, the
// engine completes the index in the background.
func (s *tableIndex) rebuildAndWait(ctx context.Context, why error, progress func(done int)) error {
	if err := s.rebuildBecause(why); err != nil {
		return err
	}
	return s.flushEach(func() error {
		s.mu.Lock()
		v := s.view
		s.mu.Unlock()
		if v != nil {
			progress(v.count)
		}
		return ctx.Err()
	})
}

// check opens the index without repairing it and compares it with the store. It notes an index that is old.
func (s *tableIndex) check(note func(what string)) (problems []string, err error) {
	wasLoaded := s.loaded.Load()
	s.writing.Lock()
	damage, err := s.tryLoad()
	s.writing.Unlock()
	if paused := s.paused.Load(); err == nil && paused != nil {
		err = *paused
	}
	if err != nil {
		return nil, err
	}
	lag := s.lag()
	switch {
	case errors.Is(damage, errOutdated):
		note(damage.Error())
	case damage == nil && !wasLoaded && lag > 0 && !s.building():
		note(fmt.Sprintf("it is old but not damaged: %d changes are missing, which the server adds", lag))
	case damage != nil:
		s.engine.counts.damaged.Add(1)
		problems = append(problems, strings.ReplaceAll(damage.Error(), "\n", "; "))
	}
	var found []string
	err = s.read(func(tx *store.Tx, at *snapshot) error {
		return s.compare(tx, at, func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) })
	})
	if errors.Is(err, errIndex) {
		return append(problems, err.Error()), nil
	}
	return append(problems, found...), err
}

// compare compares the index with the store. For each document it adds up the hashes of its terms
// in the index, and compares the sum with that of the terms of its record.
func (s *tableIndex) compare(tx *store.Tx, at *snapshot, problem func(format string, args ...any)) error {
	if at.view == nil {
		return nil
	}
	cs, err := s.kind.Customs(tx)
	if err != nil {
		return err
	}
	stored, err := tx.Tombstones(s.kind.table)
	if err != nil {
		return err
	}
	c := &comparison{
		table: s, at: at, records: tx.Reader(s.kind.table), custom: cs, problem: problem,
		terms: termFilter{cs, tombstonesOf(stored)}, seed: maphash.MakeSeed(),
		seen: make(map[uuid.UUID]bool, at.view.count),
	}
	err = recoverDamage(func() error {
		for i := range at.view.segments {
			if err := c.segment(i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, change := range at.changes {
		if change.row != nil {
			c.seen[change.id] = true
		}
	}
	for id := range tx.RecordIDs(s.kind.table) {
		if !at.view.covers(id) || c.seen[id] {
			continue
		}
		if _, _, err := c.records.Public(id); !errors.Is(err, store.ErrDamaged) { // unreadable records are left out
			problem("lacks %s, which is in the store", id)
		}
	}
	return nil
}

// comparison is one comparison of an index with the store.
type comparison struct {
	table   *tableIndex
	at      *snapshot
	records *store.Reader
	custom  *filter.CustomFields
	terms   termFilter
	seed    maphash.Seed
	seen    map[uuid.UUID]bool // the records that the index contains
	problem func(format string, args ...any)
}

// segment compares the documents of the i-th segment with their records.
func (c *comparison) segment(i int) error {
	p, live := c.at.view.segments[i], c.at.live(i)
	sums := make([]uint64, p.size)
	for _, field := range p.zap.Fields() {
		p.walkTerms(field, "", "", func(term string, docs *postings) {
			if c.terms.mustAgree(field, term) {
				sum := termSum(c.seed, field, term)
				docs.each(func(doc uint32) { sums[doc] += sum })
			}
		})
	}
	shared := scratch{}
	for doc, id := range p.ids {
		if live != nil && !live.has(uint32(doc)) {
			continue
		}
		_, public, err := c.records.Public(id)
		switch {
		case errors.Is(err, store.ErrDamaged):
			c.seen[id] = true
			continue
		case err != nil:
			return err
		case public == nil:
			c.problem("contains %s, which is not in the store", id)
			continue
		case c.seen[id]:
			c.problem("contains %s twice", id)
		}
		c.seen[id] = true
		r, err := c.table.kind.Row(c.custom, id, public)
		if err != nil {
			return err
		}
		if newDocument(c.table.kind, r, shared).sum(c.seed, c.terms) != sums[doc] {
			c.problem("%s differs from the record in the store", id)
		}
	}
	return nil
}

// termFilter decides which terms the index and the store must agree on. An index may still have
// terms of deleted values and deleted custom fields.
type termFilter struct {
	custom     *filter.CustomFields
	tombstones tombstones
}

func (t termFilter) mustAgree(field, term string) bool {
	if field == hasField {
		return t.tombstones[term] == nil && !t.isDeletedField(term)
	}
	replaces := slices.Contains(slices.Collect(maps.Values(t.tombstones[field])), term)
	return !replaces && !t.tombstones.has(field, term) && !t.isDeletedField(field)
}

// isDeletedField reports whether a name in an index belongs to a custom field that was deleted.
func (t termFilter) isDeletedField(name string) bool {
	const size = len(filter.CustomNamePrefix) + 36 // the name of the field, which a suffix may follow
	return strings.HasPrefix(name, filter.CustomNamePrefix) && !t.custom.HasName(name[:min(size, len(name))])
}

func termSum(seed maphash.Seed, field, term string) uint64 {
	return maphash.String(seed, field+"\x00"+term)
}

// sum adds up the hashes of the document's terms that the index must agree on.
func (d *document) sum(seed maphash.Seed, terms termFilter) (sum uint64) {
	d.AddIDField()
	for _, f := range d.fields {
		for term := range f.AnalyzedTokenFrequencies() {
			if terms.mustAgree(f.Name(), term) {
				sum += termSum(seed, f.Name(), term)
			}
		}
	}
	return sum
}
