package index

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/google/uuid"
)

// view is one moment of an index, held open while lists use it.
type view struct {
	parts    []*part
	segments map[uint64]*segment // by bleve's id of it
	number   uint64              // it holds the records as they were at this change
	cursor   uuid.UUID           // of which those above this id are still missing
	floor    uint64              // the store must be at this change or a later one for both to agree
	count    int

	snapshot *scorch.IndexSnapshot
	refs     atomic.Int32
}

// view opens the present moment of the index. What was derived from segments that the view before it had is taken over,
// and what that had of segments which are gone is prepared for the new ones, so that no list waits for it.
func (d *disk) view(k *Kind, c *cache, before *view) (*view, error) {
	v := &view{segments: map[uint64]*segment{}, number: d.state.Number, cursor: d.state.Cursor, floor: d.state.Seen}
	if err := guarded(func() error { v.snapshot = d.snapshot(); return nil }); err != nil {
		return nil, err
	}
	v.refs.Store(1)
	prepared := []string{orderName + sortName(k.defaultSort())}
	if before != nil {
		prepared = before.inUse(c)
	}
	segments := v.snapshot.Segments()
	v.parts = make([]*part, len(segments))
	err := eachAtOnce(len(segments), func(i int) error {
		var known *segment
		if before != nil {
			known = before.segments[segments[i].Id()]
		}
		v.parts[i] = newPart(k, c, segments[i], known)
		if known == nil {
			for _, name := range prepared {
				v.parts[i].prepare(name)
			}
		}
		return nil
	})
	if err != nil {
		v.release()
		return nil, err
	}
	for i, s := range segments {
		v.segments[s.Id()] = v.parts[i].segment
		v.count += v.parts[i].count
	}
	return v, nil
}

// merged tells whether the index has other segments than the view.
func (d *disk) merged(v *view) bool {
	snapshot := d.snapshot()
	defer snapshot.Close()
	segments := snapshot.Segments()
	for _, s := range segments {
		if v.segments[s.Id()] == nil {
			return true
		}
	}
	return len(segments) != len(v.segments)
}

// bareView is the view of an index that holds nothing yet, of a store that is at the change: all records stand outside.
func bareView(number uint64) *view {
	v := &view{number: number, floor: number}
	v.refs.Store(1)
	return v
}

// inUse names what the cache has of the view.
func (v *view) inUse(c *cache) []string {
	var names []string
	for _, p := range v.parts {
		names = append(names, c.names(p.segment)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (v *view) hold() { v.refs.Add(1) }

// release lets go of the view; with the last one its files may go.
func (v *view) release() {
	if v.refs.Add(-1) == 0 && v.snapshot != nil {
		_ = v.snapshot.Close()
	}
}

// bytes is what the ids of its segments take in memory.
func (v *view) bytes() (n int) {
	for _, seg := range v.segments {
		n += 20 * seg.size
	}
	return n
}

// sum adds up the ids of all live documents, as the state of the index counts them.
func (v *view) sum() (sum uint64) {
	for _, p := range v.parts {
		for doc, id := range p.ids {
			if p.live == nil || p.live.has(uint32(doc)) {
				sum += idSum(id)
			}
		}
	}
	return sum
}

// place is where a view has a record.
type place struct {
	part int // -1: nowhere
	doc  uint32
}

func (v *view) find(id uuid.UUID) place {
	if v != nil {
		for i, p := range v.parts {
			if doc, ok := p.find(id); ok {
				return place{i, doc}
			}
		}
	}
	return nowhere
}

// covers tells whether the index is to hold the record: while it is being built, those above the cursor are not its.
func (v *view) covers(id uuid.UUID) bool { return bytes.Compare(id[:], v.cursor[:]) <= 0 }
