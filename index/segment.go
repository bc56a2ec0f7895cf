package index

import (
	"bytes"
	"fmt"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	zap "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/google/uuid"

	"prospector/internal/filter"
)

// segment is data derived from one segment of bleve. Segments are immutable, so views share it as
// long as bleve has the segment. Columns and orders are derived on demand and kept in the cache.
type segment struct {
	size    int
	ids     []uuid.UUID // by document number
	byID    []uint32    // document numbers in the order of their ids
	dropped bool        // no view has the segment any more; guarded by the cache's mutex
}

// segmentView is a segment in a view, with the documents that are deleted at that point in time.
type segmentView struct {
	*segment
	kind       *Kind
	cache      *cache
	zap        zap.Segment // may be used only while the view is retained
	live       docSet      // nil: all
	tombstones tombstones
	count      int // of live documents
}

// newSegmentView returns the view of a bleve segment. seg is what was derived from it before, if
// anything.
func newSegmentView(k *Kind, c *cache, sn *scorch.SegmentSnapshot, seg *segment) *segmentView {
	p := &segmentView{segment: seg, kind: k, cache: c, zap: sn.Segment(), count: int(sn.Segment().Count())}
	if seg == nil {
		p.segment = &segment{size: p.count, ids: make([]uuid.UUID, p.count), byID: make([]uint32, 0, p.count)}
		p.walkTerms(idField, "", "", func(term string, docs *postings) {
			docs.each(func(doc uint32) {
				p.ids[doc] = uuid.UUID([]byte(term))
				p.byID = append(p.byID, doc)
			})
		})
		if len(p.byID) != p.size {
			panic(fmt.Sprintf("%d documents have %d ids", p.size, len(p.byID)))
		}
	}
	if deleted := sn.Deleted(); deleted != nil && !deleted.IsEmpty() {
		p.live = newSet(p.size)
		p.live.addBitmap(deleted)
		p.live.invert(p.size)
		p.count = p.live.count()
	}
	return p
}

// find returns the live document with the id.
func (p *segmentView) find(id uuid.UUID) (doc uint32, ok bool) {
	i := sort.Search(len(p.byID), func(i int) bool { return bytes.Compare(p.ids[p.byID[i]][:], id[:]) >= 0 })
	for ; i < len(p.byID) && p.ids[p.byID[i]] == id; i++ {
		if doc := p.byID[i]; p.live == nil || p.live.has(doc) {
			return doc, true
		}
	}
	return 0, false
}

// postings are the documents that have a term.
type postings struct {
	one    uint32
	isOne  bool
	bitmap *roaring.Bitmap
}

func (d *postings) each(fn func(doc uint32)) {
	if d.isOne {
		fn(d.one)
	} else if d.bitmap != nil {
		for it := d.bitmap.Iterator(); it.HasNext(); {
			fn(it.Next())
		}
	}
}

func (d *postings) count() int {
	if d.isOne {
		return 1
	}
	if d.bitmap == nil {
		return 0
	}
	return int(d.bitmap.GetCardinality())
}

func (d *postings) addTo(s docSet) {
	if d.isOne {
		s.add(d.one)
	} else if d.bitmap != nil {
		s.addBitmap(d.bitmap)
	}
}

// termReader reads the terms of one field of a segment. It must not be used concurrently.
type termReader struct {
	dict zap.TermDictionary
	list zap.PostingsList
	iter zap.PostingsIterator
}

func (p *segmentView) reader(field string) *termReader {
	dict, err := p.zap.Dictionary(field)
	must(err)
	return &termReader{dict: dict}
}

// postings returns the documents of a term. They are read-only and valid until the next call.
func (r *termReader) postings(term string) postings {
	var err error
	r.list, err = r.dict.PostingsList([]byte(term), nil, r.list)
	must(err)
	r.iter = r.list.Iterator(false, false, false, r.iter)
	fast, ok := r.iter.(zap.OptimizablePostingsIterator)
	if !ok {
		panic(fmt.Sprintf("unexpected type of postings: %T", r.iter))
	}
	if doc, is := fast.DocNum1Hit(); is {
		return postings{one: uint32(doc), isOne: true}
	}
	return postings{bitmap: fast.ActualBitmap()}
}

// term adds the documents that have a term to out.
func (p *segmentView) term(field, term string, out docSet) {
	docs := p.reader(field).postings(term)
	docs.addTo(out)
}

// walkTerms calls fn for the terms of a field in order, from from (inclusive) to to (exclusive). An
// empty from or to means no bound.
func (p *segmentView) walkTerms(field, from, to string, fn func(term string, docs *postings)) {
	r := p.reader(field)
	for it := r.terms(from, to); ; {
		entry, err := it.Next()
		must(err)
		if entry == nil {
			return
		}
		docs := r.postings(entry.Term)
		fn(entry.Term, &docs)
	}
}

func (r *termReader) terms(from, to string) zap.DictionaryIterator {
	var start, end []byte
	if from != "" {
		start = []byte(from)
	}
	if to != "" {
		end = []byte(to)
	}
	// Counting the documents of each term would cost as much as reading them.
	if fast, ok := r.dict.(interface {
		AutomatonIteratorOmitCount(zap.Automaton, []byte, []byte) zap.DictionaryIterator
	}); ok {
		return fast.AutomatonIteratorOmitCount(nil, start, end)
	}
	return r.dict.AutomatonIterator(nil, start, end)
}

// must turns an error of bleve into a panic. Reading an intact index does not fail, and every
// reader runs inside recoverDamage.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// column returns the values of a field in all documents.
func (p *segmentView) column(f *filter.Field) *column {
	what := derived{derivedColumn, f.Name}
	c, ok := p.cache.get(p.segment, what)
	if !ok {
		c = p.cache.make(p.segment, what, func() (any, int) {
			c := buildColumn(p, f)
			return c, c.bytes()
		})
	}
	if texts := p.tombstones[f.Name]; texts != nil {
		return c.(*column).replacing(texts)
	}
	return c.(*column)
}

// order returns all documents in the order of a sort.
func (p *segmentView) order(keys []filter.SortKey) []uint32 {
	isAffected := func(key filter.SortKey) bool { return p.tombstones[key.Field.Name] != nil }
	if slices.ContainsFunc(keys, isAffected) {
		return p.sorted(keys) // not worth caching: the tombstones will be swept
	}
	what := derived{derivedOrder, filter.SortName(keys)}
	if docs, ok := p.cache.get(p.segment, what); ok {
		return docs.([]uint32)
	}
	return p.cache.make(p.segment, what, func() (any, int) {
		docs := p.sorted(keys)
		return docs, 4 * len(docs)
	}).([]uint32)
}

func (p *segmentView) sorted(keys []filter.SortKey) []uint32 {
	docs := p.byID
	if keys[len(keys)-1].Desc { // ties are ordered by id, in the direction of the last key
		docs = slices.Clone(docs)
		slices.Reverse(docs)
	}
	for _, key := range slices.Backward(keys) {
		docs = p.column(key.Field).sorted(docs, key.Desc)
	}
	return docs
}

// prepare derives from this segment what the cache has of another one. It skips columns and orders
// of custom fields, which may have been deleted. They are derived when a list needs them.
func (p *segmentView) prepare(what derived) {
	switch what.kind {
	case derivedColumn:
		if f := p.kind.Field(what.name); f != nil {
			p.column(f)
		}
	case derivedFacets:
		if f := p.kind.Field(what.name); f != nil {
			p.facetColumn(f)
		}
	case derivedOrder:
		if keys, ok := p.kind.ParseSort(what.name); ok {
			p.order(keys)
		}
	}
}
