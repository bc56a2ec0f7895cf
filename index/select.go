package index

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// Selection is a query that is put together from several places, each with a path of its own.
type Selection struct {
	Filters []FilterAt // a record must match all of them
	Words   []string   // texts; every word of each must begin some word of the searched fields
	Sort    []SortAt   // the default sort when empty
}

// FilterAt is a filter that stands at a path.
type FilterAt struct {
	Path   string
	Filter shape.Value
}

// SortAt is one key of a sort, which stands at a path.
type SortAt struct {
	Path  string
	Field string
	Desc  bool
}

// CompileSelection checks a selection against the fields of a kind and notes every problem by its path, as invalid_filter
// or invalid_sort.
func CompileSelection(k *Kind, cs *Customs, s Selection, p *fault.Problems) *Plan {
	c := &compiler{kind: k, customs: cs, p: p}
	plan := &Plan{kind: k, customs: cs, selects: true}
	for _, text := range s.Words {
		plan.search = append(plan.search, shape.Words(text)...)
	}
	plan.search = distinct(plan.search)
	for _, f := range s.Filters {
		c.rules = 0
		if sub := c.filter(f.Filter, f.Path); !sub.isEmpty() {
			plan.filter.subs = append(plan.filter.subs, sub)
		}
	}
	plan.sortBy(c.sortAt(s.Sort))
	return plan
}

func (c *compiler) sortAt(keys []SortAt) (out []sortKey) {
	if len(keys) == 0 {
		return c.kind.defaultSort()
	}
	for i, key := range keys {
		f := c.field(key.Field)
		switch {
		case i >= maxSortKeys:
			c.p.Add(fault.InvalidSort, key.Path, "is one field too many: a sort has at most %d", maxSortKeys)
			return out
		case f == nil || !f.Sortable:
			c.unsortable(key.Path, key.Field)
		default:
			out = append(out, sortKey{field: f, desc: key.Desc})
		}
	}
	return out
}

// Select gives the ids of the first most records that a selection matches, in its order, and how many match in all. It sees
// every write that was answered before it began, and all of it is of one moment.
func (e *Engine) Select(org uuid.UUID, k *Kind, compile Compiled, most int) (ids []uuid.UUID, total int, err error) {
	err = e.list(org, k, compile, func(tx *store.Tx, s *shelf, m *moment, plan *Plan) (err error) {
		plan.Page, plan.PageSize = 1, max(1, min(most, tx.RecordCount(k.table)))
		ids, total, err = s.decide(tx, m, plan)
		return err
	})
	return ids[:min(len(ids), most)], total, err
}
