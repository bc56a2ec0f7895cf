package index

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/store"
)

// Options configure an Engine.
type Options struct {
	// Dir is where the indexes are. All that is in it can be made again from the store.
	Dir string
	// CacheBytes bounds the memory for what is derived from indexes, and for the rows of what has none.
	CacheBytes int
	Log        *slog.Logger

	small int // smallMost when 0
	batch int // batchMost when 0
}

// pace is how far the index of a kind may be behind. Changes come together before they are written to it: until there were none
// for quietTime, or plenty of them wait, or the first has waited for some rounds. When it is more than most behind, writers wait for it.
type pace struct {
	rounds       int // that it is passed over
	plenty, most uint64
}

var (
	usualPace = pace{plenty: 12_000, most: 25_000}
	// What changes all the time will soon change again, and would be written each time.
	restlessPace = pace{rounds: 4, plenty: 50_000, most: 75_000}
)

const (
	quietTime = 100 * time.Millisecond
	// roundTime is how long a round is while there is something to write all the time.
	roundTime = 2 * time.Second
	// lookEvery is how often shelves are looked at, and idleLooks after how many without use one is closed.
	lookEvery = time.Minute
	idleLooks = 10
	// openMost is how many indexes are open at once: each has some files open.
	openMost = 64
)

// Engine answers the lists of a store, and keeps its indexes.
type Engine struct {
	store   *store.Store
	dir     string
	log     *slog.Logger
	kinds   []*Kind
	byTable map[string]*Kind
	cache   *cache
	limit   int
	small   int
	batch   int
	queue   *bleve.AnalysisQueue
	scans   chan struct{} // one for each list that may read the store because an index is not there yet

	clock   atomic.Uint64 // counts uses
	changes atomic.Uint64 // counts what Committed is told
	counts  counts

	mu      sync.Mutex
	shelves map[shelfKey]*shelf
	dirty   map[*shelf]int // since which round
	round   int
	moved   chan struct{} // closed when an index has advanced
	closed  bool

	wake    chan struct{}
	plenty  chan struct{}
	tidy    chan struct{} // more is open, or in memory, than before
	stop    chan struct{}
	stopped chan struct{}
}

type shelfKey struct {
	org   uuid.UUID
	table string
}

// Open makes the engine over a store that has the kinds, and begins to follow its changes: Committed must be told of
// them.
func Open(s *store.Store, kinds []*Kind, opt Options) (*Engine, error) {
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, err
	}
	e := &Engine{
		store: s, dir: opt.Dir, log: opt.Log, kinds: kinds, byTable: map[string]*Kind{},
		cache: newCache(opt.CacheBytes), limit: opt.CacheBytes,
		small: cmp.Or(opt.small, smallMost), batch: cmp.Or(opt.batch, batchMost),
		queue: bleve.NewAnalysisQueue(runtime.GOMAXPROCS(0)), scans: make(chan struct{}, 2),
		shelves: map[shelfKey]*shelf{}, dirty: map[*shelf]int{}, moved: make(chan struct{}),
		wake: make(chan struct{}, 1), plenty: make(chan struct{}, 1), tidy: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	for _, k := range kinds {
		e.byTable[k.table] = k
	}
	go e.run()
	return e, nil
}

// Close writes down what the indexes have not yet, and closes them. One that is being built is left where it is, and goes
// on from there when it is opened again. Nothing may be listed or changed any more.
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
	for s := range e.dirty {
		for more := true; more && !s.building(); {
			var err error
			if more, err = s.follow(); err != nil {
				s.fail(err)
				break
			}
		}
	}
	for _, s := range e.all() {
		s.writing.Lock()
		s.drop()
		s.writing.Unlock()
	}
	e.queue.Close()
}

// Compiled is a query that is compiled against the custom fields which its kind has at the moment of the list.
type Compiled func(*Customs) (*Plan, error)

// List gives one page of the organization's records to use, which is called once. The page sees every write that was
// answered before List began, and all that it shows is of one moment.
func (e *Engine) List(org uuid.UUID, k *Kind, compile Compiled, use func(Page) error) error {
	return e.list(org, k, compile, func(tx *store.Tx, s *shelf, m *moment, plan *Plan) error {
		page, err := s.page(tx, m, plan)
		if err != nil {
			return err
		}
		return use(page)
	})
}

// list calls fn with a moment of the organization's records and the plan for it.
func (e *Engine) list(org uuid.UUID, k *Kind, compile Compiled, fn func(*store.Tx, *shelf, *moment, *Plan) error) error {
	s := e.shelf(org, k)
	for {
		err := e.inTurn(s, func() error {
			return s.read(func(tx *store.Tx, m *moment) error {
				cs, err := k.Customs(tx)
				if err != nil {
					return err
				}
				plan, err := compile(cs)
				if err == nil {
					plan, err = plan.at(tx)
				}
				if err != nil {
					return err
				}
				return fn(tx, s, m, plan)
			})
		})
		if !errors.Is(err, errIndex) {
			return err
		}
		if err := s.remake(err); err != nil {
			return err
		}
	}
}

// inTurn runs a list. While the index is being built it reads many records, which takes a while: few do so at once, and
// the others wait before they hold a transaction.
func (e *Engine) inTurn(s *shelf, list func() error) error {
	if err := s.load(); err != nil {
		return err
	}
	if s.building() {
		e.scans <- struct{}{}
		defer func() { <-e.scans }()
	}
	return list()
}

// remake makes the index anew, and logs why when it was found wrong.
func (s *shelf) remake(why error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if why != nil {
		s.warn(why)
	}
	return s.restart()
}

func (e *Engine) shelf(org uuid.UUID, k *Kind) *shelf {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := shelfKey{org, k.table}
	s := e.shelves[key]
	if s == nil {
		s = &shelf{engine: e, org: org, kind: k, path: filepath.Join(e.dir, org.String(), k.Entity)}
		e.shelves[key] = s
	}
	s.used.Store(e.clock.Add(1))
	return s
}

func (e *Engine) all() []*shelf {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*shelf, 0, len(e.shelves))
	for _, s := range e.shelves {
		all = append(all, s)
	}
	return all
}

// Committed tells of the last change numbers of the tables that a transaction has changed. When an index is far behind,
// it waits for it: else the changes that lists must read past it would grow without bound.
func (e *Engine) Committed(ctx context.Context, org uuid.UUID, changed map[string]uint64) {
	for table, number := range changed {
		k := e.byTable[table]
		if k == nil {
			continue
		}
		e.changes.Add(1)
		s := e.shelf(org, k)
		s.tell(number)
		e.stir(s)
		e.hold(ctx, s)
	}
}

// tell notes that there is a change of this number.
func (s *shelf) tell(number uint64) {
	for told := s.told.Load(); told < number && !s.told.CompareAndSwap(told, number); told = s.told.Load() {
	}
}

// stir says that a shelf has something to write to its index.
func (e *Engine) stir(s *shelf) {
	e.mu.Lock()
	_, known := e.dirty[s]
	if !known {
		e.dirty[s] = e.round
	}
	e.mu.Unlock()
	if !known {
		signal(e.wake)
	}
	if s.lag() >= s.kind.pace.plenty {
		signal(e.plenty)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lag is how many changes the index is behind. That of a shelf that was not opened is not known.
func (s *shelf) lag() uint64 {
	_, lag := s.behind()
	return lag
}

// behind is the change that the index holds, and how many came after it.
func (s *shelf) behind() (indexed, lag uint64) {
	told, indexed := s.told.Load(), s.indexed.Load()
	if indexed == 0 || told < indexed {
		return indexed, 0
	}
	return indexed, told - indexed
}

func (e *Engine) hold(ctx context.Context, s *shelf) {
	for s.lag() > s.kind.pace.most {
		e.mu.Lock()
		moved, closed := e.moved, e.closed
		e.mu.Unlock()
		if closed || s.lag() <= s.kind.pace.most {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		case <-e.stop:
			return
		}
	}
}

// advanced lets those go on who wait for an index.
func (e *Engine) advanced() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.moved)
	e.moved = make(chan struct{})
}

// run follows the changes of the store until the engine is closed.
func (e *Engine) run() {
	defer close(e.stopped)
	e.findMissing()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-look.C:
			e.look()
			continue
		case <-e.tidy:
			e.fit()
			continue
		case <-e.wake:
		}
		quiet := e.await()
		e.mu.Lock()
		e.round++
		e.mu.Unlock()
		e.followDirty(e.stop, quiet)
	}
}

// await lets changes come together, and tells whether there are none any more.
func (e *Engine) await() (quiet bool) {
	most := time.NewTimer(roundTime)
	defer most.Stop()
	for !quiet {
		before := e.changes.Load()
		select {
		case <-e.stop:
			return false
		case <-e.plenty:
			return false
		case <-most.C:
			return false
		case <-time.After(quietTime):
			quiet = e.changes.Load() == before
		}
	}
	return true
}

// takeDirty gives the shelves whose changes are to be written to their indexes now: all, or those that have waited for long enough
// or have plenty. The others are looked at again.
func (e *Engine) takeDirty(all bool) map[*shelf]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := map[*shelf]int{}
	for s, since := range e.dirty {
		if all || e.round-since > s.kind.pace.rounds || s.lag() >= s.kind.pace.plenty {
			taken[s] = since
			delete(e.dirty, s)
		}
	}
	if len(e.dirty) > 0 {
		signal(e.wake)
	}
	return taken
}

// followDirty takes the changes of shelves into their indexes, a batch of each in turn, until there are none: of all shelves, or of
// those whose time has come.
func (e *Engine) followDirty(stop <-chan struct{}, all bool) {
	dirty := e.takeDirty(all)
	for len(dirty) > 0 {
		for s := range dirty {
			select {
			case <-stop:
				e.mu.Lock()
				maps.Copy(e.dirty, dirty)
				e.mu.Unlock()
				return
			case <-e.tidy:
				e.fit()
			default:
			}
			more, err := s.follow()
			if err != nil {
				s.fail(err)
			}
			if !more || err != nil {
				delete(dirty, s)
			}
		}
		if len(dirty) > 0 { // it may take long: others get their turn meanwhile
			maps.Copy(dirty, e.takeDirty(false))
		}
	}
}

// Settle waits until every index that is open holds all that was changed before.
func (e *Engine) Settle() error {
	for _, s := range e.all() {
		if err := s.settle(); err != nil {
			return err
		}
	}
	return nil
}
