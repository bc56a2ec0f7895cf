package index

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/turn"
	"prospector/store"
)

// Options configure an Engine.
type Options struct {
	// Dir holds the indexes. They can all be rebuilt from the store.
	Dir string
	// CacheBytes limits the memory for data derived from indexes and for rows outside of indexes.
	CacheBytes int
	// MaxOpen limits the number of indexes that are open at the same time, because each has several files
	// open. 0 means 64.
	MaxOpen int
	Log     *slog.Logger

	maxSmall     int // maxSmall if 0
	maxBatchDocs int // maxBatchDocs if 0
	maxUnindexed int // maxUnindexed if 0
}

// Engine answers the lists of a store and maintains its indexes.
type Engine struct {
	store        *store.Store
	dir          string
	log          *slog.Logger
	kinds        []*Kind
	byTable      map[string]*Kind
	cache        *cache
	cacheBytes   int
	maxOpen      int
	maxSmall     int
	maxBatchDocs int
	maxUnindexed int
	queue        *bleve.AnalysisQueue
	scans        chan struct{} // a slot for each list that may scan the store because its index cannot be written

	useClock atomic.Uint64 // counts uses of table indexes, to find the least recently used
	commits  atomic.Uint64 // counts calls of Committed
	counts   counts

	mu       sync.Mutex
	tables   map[tableKey]*tableIndex
	dirty    map[*tableIndex]int // the round in which the table index became dirty
	round    int
	progress chan struct{} // closed and replaced when an index has advanced
	closed   bool

	// Each of these channels holds at most one signal for run.
	wake      chan struct{} // a table index became dirty
	flushNow  chan struct{} // a table index has reached its flushAfter
	limitsDue chan struct{} // an index was opened or rows were read, so a limit may be exceeded

	stop    chan struct{}
	stopped chan struct{}
}

type tableKey struct {
	org   uuid.UUID
	table string
}

// Open starts an engine over a store that has the tables of the kinds. The store must call
// Committed after every commit.
func Open(s *store.Store, kinds []*Kind, opt Options) (*Engine, error) {
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, err
	}
	e := &Engine{
		store: s, dir: opt.Dir, log: opt.Log, kinds: kinds, byTable: map[string]*Kind{},
		cache: newCache(opt.CacheBytes), cacheBytes: opt.CacheBytes,
		maxOpen: cmp.Or(opt.MaxOpen, 64), maxSmall: cmp.Or(opt.maxSmall, maxSmall),
		maxBatchDocs: cmp.Or(opt.maxBatchDocs, maxBatchDocs), maxUnindexed: cmp.Or(opt.maxUnindexed, maxUnindexed),
		queue: bleve.NewAnalysisQueue(turn.Processors()), scans: make(chan struct{}, 2),
		tables: map[tableKey]*tableIndex{}, dirty: map[*tableIndex]int{}, progress: make(chan struct{}),
		wake: make(chan struct{}, 1), flushNow: make(chan struct{}, 1), limitsDue: make(chan struct{}, 1),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	for _, k := range kinds {
		e.byTable[k.table] = k
	}
	go e.run()
	return e, nil
}

// Close flushes all changes to the indexes and closes them. An index that is still being built is
// left as it is; building continues when it is opened again. No list or commit may run during or
// after Close.
func (e *Engine) Close() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.closed = true
	e.mu.Unlock()
	close(e.stop)
	<-e.stopped
	for s := range e.takeDirty(true) {
		for more := true; more && !s.building(); {
			var err error
			if more, err = s.flush(); err != nil {
				if !errors.Is(err, errShort) {
					s.reportFailure(err)
				}
				break
			}
		}
	}
	for _, s := range e.tableIndexes() {
		s.writing.Lock()
		s.unload()
		s.writing.Unlock()
	}
	e.queue.Close()
}

// List passes one page of the organization's records to use, which is called once. The page is
// consistent and includes every write that was committed before List was called. If ctx ends before
// use is called, List stops and returns the cause. If the list needs an index that is being built and
// lacks many records, it returns a BuildingError.
func (e *Engine) List(ctx context.Context, org uuid.UUID, k *Kind, query Query, use func(Page) error) error {
	r := &listRun{tableIndex: e.tableIndex(org, k), patience: listPatience}
	return r.run(ctx, query, func(tx *store.Tx, plan *filter.Plan) error {
		page, ok, err := r.newest(tx, plan)
		if err == nil && !ok {
			page, err = r.page(ctx, tx, plan)
		}
		if err != nil {
			return err
		}
		return use(page)
	})
}

// Select returns the ids of the first limit records that a query matches, in its order, and the
// number of all records that it matches. It sees what List sees and stops like List, but waits as long
// as building an index takes. The page of the plan is ignored.
func (e *Engine) Select(
	ctx context.Context, org uuid.UUID, k *Kind, query Query, limit int,
) (ids []uuid.UUID, total int, err error) {
	r := &listRun{tableIndex: e.tableIndex(org, k)}
	err = r.run(ctx, query, func(tx *store.Tx, plan *filter.Plan) (err error) {
		plan.Page, plan.PageSize = 1, max(1, min(limit, tx.RecordCount(k.table)))
		found, err := r.find(ctx, tx, plan)
		ids, total = found.ids, found.total
		return err
	})
	return ids[:min(len(ids), limit)], total, err
}

// tableIndex returns the index of a kind in an organization and marks it as used.
func (e *Engine) tableIndex(org uuid.UUID, k *Kind) *tableIndex {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := tableKey{org, k.table}
	s := e.tables[key]
	if s == nil {
		s = &tableIndex{engine: e, org: org, kind: k, path: filepath.Join(e.dir, org.String(), k.Entity)}
		e.tables[key] = s
	}
	s.used.Store(e.useClock.Add(1))
	return s
}

func (e *Engine) tableIndexes() []*tableIndex {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.tables))
}

// Flush writes all committed changes to the indexes that are open and returns when they are
// written.
func (e *Engine) Flush() error {
	for _, s := range e.tableIndexes() {
		if err := s.flushAll(); err != nil {
			return err
		}
	}
	return nil
}
