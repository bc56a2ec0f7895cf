package index

import (
	"bytes"
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
func (d *disk) view(k *Kind, c *cache, before *view) (v *view, err error) {
	err = guarded(func() error {
		v = &view{segments: map[uint64]*segment{}, number: d.state.Number, cursor: d.state.Cursor, floor: d.state.Seen, snapshot: d.snapshot()}
		v.refs.Store(1)
		var fresh []*part
		for _, s := range v.snapshot.Segments() {
			var known *segment
			if before != nil {
				known = before.segments[s.Id()]
			}
			p := newPart(k, c, s, known)
			v.segments[s.Id()] = p.segment
			v.count += p.count
			v.parts = append(v.parts, p)
			if known == nil {
				fresh = append(fresh, p)
			}
		}
		for _, name := range v.inUse(c, before) {
			for _, p := range fresh {
				p.prepare(name)
			}
		}
		return nil
	})
	if err != nil && v != nil {
		v.release()
		v = nil
	}
	return v, err
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

// inUse names what the view before had in the cache.
func (v *view) inUse(c *cache, before *view) []string {
	if before == nil {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for _, p := range before.parts {
		for _, name := range c.names(p.segment) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
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
