package index

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/google/uuid"

	"prospector/internal/filter"
)

// view is the state of an index on disk at one point in time. Its files remain open while lists use
// it.
type view struct {
	segments []*segmentView
	byID     map[uint64]*segment // by bleve's segment id
	number   uint64              // the index contains the records as they were at this change
	cursor   uuid.UUID           // records above this id, up to top, are not in the index yet
	top      uuid.UUID
	floor    uint64 // the view must not be used with a transaction older than this change
	count    int

	bleveSnapshot *scorch.IndexSnapshot // nil if there is no index on disk
	refs          atomic.Int32
}

// view opens a view of the index as it is now. It takes over data that was derived from the
// segments of the view before it, and derives the same data from new segments, so that no list
// waits for it.
func (d *diskIndex) view(k *Kind, c *cache, before *view) (*view, error) {
	v := &view{byID: map[uint64]*segment{}, number: d.state.Number, floor: d.state.Seen, cursor: d.state.Cursor, top: d.state.Top}
	if err := recoverDamage(func() error { v.bleveSnapshot = d.bleveSnapshot(); return nil }); err != nil {
		return nil, err
	}
	v.refs.Store(1)
	segments := v.bleveSnapshot.Segments()
	v.segments = make([]*segmentView, len(segments))
	wanted := before.cached(k, c)
	err := parallel(len(segments), func(i int) error {
		var known *segment
		if before != nil {
			known = before.byID[segments[i].Id()]
		}
		v.segments[i] = newSegmentView(k, c, segments[i], known)
		if known == nil {
			for _, what := range wanted {
				v.segments[i].prepare(what)
			}
		}
		return nil
	})
	if err != nil {
		v.endUse()
		return nil, err
	}
	for i, s := range segments {
		v.byID[s.Id()] = v.segments[i].segment
		v.count += v.segments[i].count
	}
	return v, nil
}

// hasMerged reports whether bleve has replaced segments since the view was opened.
func (d *diskIndex) hasMerged(v *view) bool {
	now := d.bleveSnapshot()
	defer now.Close()
	segments := now.Segments()
	for _, s := range segments {
		if v.byID[s.Id()] == nil {
			return true
		}
	}
	return len(segments) != len(v.byID)
}

// emptyView returns the view of an index that does not exist yet: all records are outside of it.
func emptyView(number uint64) *view {
	v := &view{number: number, floor: number, top: end}
	v.refs.Store(1)
	return v
}

// cached lists what the cache has of the view. If there is no view yet, that is the order of the
// default sort.
func (v *view) cached(k *Kind, c *cache) []derived {
	if v == nil {
		keys, _ := k.ParseSort(k.DefaultSort)
		return []derived{{derivedOrder, filter.SortName(keys)}}
	}
	var all []derived
	for _, p := range v.segments {
		all = append(all, c.contents(p.segment)...)
	}
	slices.SortFunc(all, func(a, b derived) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	return slices.Compact(all)
}

func (v *view) retain() { v.refs.Add(1) }

// endUse ends one use of the view. After the last one bleve may delete its files.
func (v *view) endUse() {
	if v.refs.Add(-1) == 0 && v.bleveSnapshot != nil {
		_ = v.bleveSnapshot.Close()
	}
}

// bytes estimates the memory that the ids of its segments use.
func (v *view) bytes() (n int) {
	for _, seg := range v.byID {
		n += 20 * seg.size
	}
	return n
}

// sum adds up idSum of all live documents, for comparison with indexState.Sum.
func (v *view) sum() (sum uint64) {
	for _, p := range v.segments {
		for doc, id := range p.ids {
			if p.live == nil || p.live.has(uint32(doc)) {
				sum += idSum(id)
			}
		}
	}
	return sum
}

// position is the position of a record in a view.
type position struct {
	segment int
	doc     uint32
}

// nowhere is the position of a record that the view does not have.
var nowhere = position{segment: -1}

// find returns the position of a record. A nil view has no records.
func (v *view) find(id uuid.UUID) position {
	if v != nil {
		for i, p := range v.segments {
			if doc, ok := p.find(id); ok {
				return position{i, doc}
			}
		}
	}
	return nowhere
}

// covers reports whether the index contains the record if it exists. While the index is being
// built, it does not cover the records from the cursor to the top.
func (v *view) covers(id uuid.UUID) bool {
	return bytes.Compare(id[:], v.cursor[:]) <= 0 || bytes.Compare(id[:], v.top[:]) > 0
}

// isBuilding reports whether the index does not contain all records yet. A nil view contains none.
func (v *view) isBuilding() bool { return v != nil && v.cursor != end }
