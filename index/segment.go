package index

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	zap "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/google/uuid"
)

// segment is what is derived from one segment of bleve. Segments never change, so neither does it: views share it for
// as long as bleve has the segment. Columns and orders are made when they are needed, and kept by the cache.
type segment struct {
	size int
	ids  []uuid.UUID // by document
	byID []uint32    // the documents in the order of their ids
	gone bool        // no view has it any more; the cache's
}

// part is a segment as a view has it, with the deletions of that moment.
type part struct {
	*segment
	kind  *Kind
	cache *cache
	zap   zap.Segment // in use only while its view is held
	live  set         // nil: all
	gone  gone
	count int
}

func newPart(k *Kind, c *cache, sn *scorch.SegmentSnapshot, seg *segment) *part {
	p := &part{segment: seg, kind: k, cache: c, zap: sn.Segment(), count: int(sn.Segment().Count())}
	if seg == nil {
		p.segment = &segment{size: p.count, ids: make([]uuid.UUID, p.count), byID: make([]uint32, 0, p.count)}
		p.walk(idField, "", "", func(term string, docs *postings) {
			docs.each(func(doc uint32) {
				p.ids[doc] = uuid.UUID([]byte(term))
				p.byID = append(p.byID, doc)
			})
		})
		if len(p.byID) != p.size {
			panic(fmt.Sprintf("%d documents have %d ids", p.size, len(p.byID)))
		}
	}
	if gone := sn.Deleted(); gone != nil && !gone.IsEmpty() {
		p.live = newSet(p.size)
		p.live.addBitmap(gone)
		p.live.invert(p.size)
		p.count = p.live.count()
	}
	return p
}

// find gives the live document that has the id.
func (p *part) find(id uuid.UUID) (doc uint32, ok bool) {
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

func (d *postings) addTo(s set) {
	if d.isOne {
		s.add(d.one)
	} else if d.bitmap != nil {
		s.addBitmap(d.bitmap)
	}
}

// reader reads the terms of one field of a segment. It is for one goroutine.
type reader struct {
	dict zap.TermDictionary
	list zap.PostingsList
	iter zap.PostingsIterator
}

func (p *part) reader(field string) *reader {
	dict, err := p.zap.Dictionary(field)
	must(err)
	return &reader{dict: dict}
}

// postings gives the documents of a term. They are read-only, and those of the term before are gone.
func (r *reader) postings(term string) postings {
	var err error
	r.list, err = r.dict.PostingsList([]byte(term), nil, r.list)
	must(err)
	r.iter = r.list.Iterator(false, false, false, r.iter)
	fast, ok := r.iter.(zap.OptimizablePostingsIterator)
	if !ok {
		panic(fmt.Sprintf("the postings of bleve are %T", r.iter))
	}
	if doc, is := fast.DocNum1Hit(); is {
		return postings{one: uint32(doc), isOne: true}
	}
	return postings{bitmap: fast.ActualBitmap()}
}

// walk calls fn for the terms of a field from one on up to another, in order; empty ones are the ends.
func (p *part) walk(field, from, to string, fn func(term string, docs *postings)) {
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

func (r *reader) terms(from, to string) zap.DictionaryIterator {
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

// must turns an error of bleve into a panic: reading a sound index has none, and whoever reads one is ready to find it
// damaged.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// column gives a field of all documents.
func (p *part) column(f *Field) *column {
	c, ok := p.cache.get(p.segment, f.column)
	if !ok {
		c = p.cache.make(p.segment, f.column, func() (any, int) {
			c := buildColumn(p, f)
			return c, c.bytes()
		})
	}
	if texts := p.gone[f.name]; texts != nil {
		return c.(*column).without(texts)
	}
	return c.(*column)
}

// order gives all documents in the order of a sort, which has a name.
func (p *part) order(name string, keys []sortKey) []uint32 {
	if slices.ContainsFunc(keys, func(key sortKey) bool { return p.gone[key.field.name] != nil }) {
		return p.sorted(keys) // it is not for long
	}
	if docs, ok := p.cache.get(p.segment, name); ok {
		return docs.([]uint32)
	}
	return p.cache.make(p.segment, name, func() (any, int) {
		docs := p.sorted(keys)
		return docs, 4 * len(docs)
	}).([]uint32)
}

func (p *part) sorted(keys []sortKey) []uint32 {
	docs := p.byID
	if keys[len(keys)-1].desc { // ties go by id, in the direction of the last key
		docs = slices.Clone(docs)
		slices.Reverse(docs)
	}
	for _, key := range slices.Backward(keys) {
		docs = p.column(key.field).sorted(docs, key.desc)
	}
	return docs
}

// The names of what the cache keeps say how to make it.
const (
	columnName = "column "
	orderName  = "order "
)

// prepare makes what the cache has under the name for another segment. What is of a custom field waits until it is asked
// for: the field may be gone.
func (p *part) prepare(name string) {
	if key, is := strings.CutPrefix(name, columnName); is {
		if f := p.kind.field(key); f != nil {
			p.column(f)
		}
	} else if sort, is := strings.CutPrefix(name, orderName); is {
		if keys, unknown := sortKeys(sort, p.kind.field); unknown == nil {
			p.order(name, keys)
		}
	}
}

// field gives the field of its own that has the key, nil when there is none.
func (k *Kind) field(key string) *Field {
	if i, known := k.byKey[key]; known {
		return &k.Fields[i]
	}
	return nil
}
