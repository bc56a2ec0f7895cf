// Package store is the embedded document store. It owns one bbolt file, transactions on the data of one
// organization, typed tables with unique and secondary keys, change logs, durable jobs and backups. It
// does not know any kind of record, and nothing above it. The package repair reads and rebuilds files with damaged pages.
//
// The bucket tree of prospector.db:
//
//	meta                     format, epoch, the shapes of tables, the file, since when and why outbound traffic is held
//	orgs/<organization>/     the data of one organization; the sequence of "orgs" is the last id
//	    <table>.rec          id → value (see value.go); the sequence is the number of records
//	    <table>.log          change number → change (see change.go); the sequence is the last number
//	    <table>.gone         id → change number of its deletion, as long as the log has it
//	    <table>.uniq.<key>   key → id
//	    <table>.key.<key>    key ‖ 0 ‖ id → nothing
//	    <table>.tomb         field ‖ 0 ‖ prefix → tombstone (see tombstone.go); the sequence counts
//	                         corrections
//	    <name>.part          record ‖ number → part of a record (see parts.go)
//	    <name>.set           record ‖ bound → chunk of the set of a record (see set.go)
//	    <name>.owner         id ‖ record → nothing: the records whose sets contain the id
//	    <name>.counter       nothing; the sequence is the counter (see derived.go)
//	    jobs                 id → job (see job.go)
//	due                      due time ‖ organization ‖ id → nothing: the queue of all jobs
//	incomplete               organization ‖ table → records that may lack members (see completion.go)
//	global.<table>.<key>     key → organization ‖ id: unique keys of the installation, such as API keys
//	gone                     organization → when it was deleted
//	lost                     number → page that was lost when the file was rebuilt (see lost.go)
//	trash/<organization>/    its data, until EmptyTrash has removed it, or that of one that is arriving (see arrival.go)
//
// Tables of the installation are in the organization uuid.Nil.
//
// A record passes through these layers, from the type to the bytes:
//
//	table.go          Table knows the type of the records; AnyTable has what does not depend on it
//	table_untyped.go  table reads and writes records with their keys, their changes and the count
//	correction.go     what every read applies to stored records: tombstones, and members that were added since
//	value.go          the bytes of a record, with their checksum
//	tx.go             Tx buffers writes and reads buckets through them
//
// Reader reads records by id without decoding them. edit.go finds and changes values wherever they are stored.
package store

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"prospector/internal/fault"
	"prospector/internal/turn"
)

// FileName is the name of the store in its data directory.
const FileName = "prospector.db"

// historyKept is how long change-log entries are kept, and shortHistoryKept how long those of
// short-history tables are, which is long enough for an index to follow.
const (
	historyKept      = 90 * 24 * time.Hour
	shortHistoryKept = 24 * time.Hour
)

// A large mapping only costs address space. Without it, every growth of the file waits for all
// readers.
const mmapSize = 32 << 30

var (
	metaBucket = []byte("meta")
	orgsBucket = []byte("orgs")
	dueBucket  = []byte("due")
	formatKey  = []byte("format")
	epochKey   = []byte("epoch")
)

// ErrLocked is returned by Open while another process has the store open.
var ErrLocked = errors.New("the data directory is in use by another process")

var errClosed = fault.New(fault.Unavailable, "the service is shutting down")

// Options configure a Store. Production uses the zero value, except for Fatal.
type Options struct {
	// Clock returns the time. Nil means time.Now.
	Clock func() time.Time
	// Fatal is called when the outcome of a commit is unknown, such as after a failed fsync. The
	// process must exit: only opening the file again shows what is on disk. Nil panics.
	Fatal func(error)
	// LockTimeout is how long Open waits for another process. 0 means one second.
	LockTimeout time.Duration
	// MustExist makes Open fail if there is no store, instead of creating one.
	MustExist bool
	// Rebuild makes Open rebuild a file with damaged pages from what can be read of it. The damaged file
	// is kept aside. Without it, Open refuses such a file.
	Rebuild bool
	// MaxSize limits the size of the file, for tests of a full disk.
	MaxSize int
	// NoSync leaves commits to the operating system, for tests that do not need to survive a crash of the machine.
	NoSync bool
	// Events is called inside the transaction for each event that it emits. It stores the event
	// through the transaction, or ignores it.
	Events func(*Tx, Event) error
	// Finish is called at the end of each Update, inside its transaction. It may write what follows from the
	// records that the transaction has written. An error undoes the transaction.
	Finish func(*Tx) error
	// Log receives messages about new stores, migrations and a full disk. Nil means slog.Default.
	Log *slog.Logger

	// Committed is called after each committed Update with the last change number of each table
	// that it changed. It runs in the goroutine of the caller, before Update returns.
	Committed func(ctx context.Context, org uuid.UUID, changed map[string]uint64)

	migrations []migration          // those of the package if nil
	commit     func(*bolt.Tx) error // for tests of failing disks
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	db        *bolt.DB
	path      string
	file      os.FileInfo // identifies the open file
	handle    *os.File    // the open file, which bbolt closes
	fileState fileState
	opt       Options
	epoch     uuid.UUID
	ids       idSource
	wake      chan struct{}

	mu      sync.Mutex
	arrived *sync.Cond // signals that queue grew or that closed was set
	queue   turn.Queue[*pending]
	slow    map[uuid.UUID]time.Duration // how long the last Update of an organization took; only commitLoop uses it
	closed  bool
	broken  error // why nothing can be written any more
	stuck   bool  // bbolt keeps its writer lock forever, so closing it would block
	full    error // why the last commit failed; writing may work again
	// fullSize is the size of a commit that proves that there is space again.
	fullSize int

	arrivals        atomic.Uint64     // counts Arrive
	shapes          map[string]*table // by table, see UseShapes
	mayBeIncomplete atomic.Bool       // some record may be incomplete; never reset

	stopped chan struct{}
	probing sync.Mutex
	counts  counts
	damaged damagedEntries

	rebuilt   bool         // the file was rebuilt (see Rebuilt)
	lostPages atomic.Int64 // pages that were lost when the file was rebuilt
}

// pending is an Update that waits for a shared commit.
type pending struct {
	ctx     context.Context
	arrival *Arrival // that the organization belongs to, or nil
	org     uuid.UUID
	actor   Actor
	fn      func(*Tx) error
	tx      *Tx // set once fn has run
	err     error
	done    chan struct{}
}

// Close waits for the queued Updates and closes the file. Later Updates fail with unavailable.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.arrived.Broadcast()
	s.mu.Unlock()
	<-s.stopped
	if s.stuck {
		return nil
	}
	return s.db.Close()
}

// Epoch identifies this history of the data. Restoring a backup starts a new epoch, so that
// everything derived from the data is rebuilt.
func (s *Store) Epoch() uuid.UUID { return s.epoch }

// Now returns the store's time, truncated to milliseconds.
func (s *Store) Now() time.Time { return s.opt.Clock().UTC().Truncate(time.Millisecond) }

// View runs fn on a snapshot of the organization's data. fn must be short: a long read transaction
// makes the file grow.
func (s *Store) View(org uuid.UUID, fn func(*Tx) error) error {
	err := s.read(func(btx *bolt.Tx) error { return fn(newTx(s, btx, org)) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return errClosed
	}
	s.foundDamagedPage(org, err)
	return err
}

// Read returns the result of fn in a View.
func Read[V any](s *Store, org uuid.UUID, fn func(*Tx) (V, error)) (value V, err error) {
	err = s.View(org, func(tx *Tx) error {
		value, err = fn(tx)
		return err
	})
	return value, err
}

// RetryAfter is an error with which the function of an Update asks for other work to be done first. Update rolls the
// function back, calls Do, and runs the function again.
type RetryAfter struct {
	// Do may run transactions of its own.
	Do func(ctx context.Context) error
}

func (*RetryAfter) Error() string { return "the transaction must be retried after other work" }

// Update runs fn in a transaction of the organization and returns once it is on disk. If it returns
// an error, nothing of what fn wrote is kept. Updates run one at a time, so fn must not wait for
// anything. When fn returns a RetryAfter, it is rolled back, the named work is done, and fn runs
// again.
func (s *Store) Update(ctx context.Context, org uuid.UUID, actor Actor, fn func(*Tx) error) error {
	return s.updateAs(ctx, nil, org, actor, fn)
}

func (s *Store) updateAs(ctx context.Context, a *Arrival, org uuid.UUID, actor Actor, fn func(*Tx) error) error {
	for {
		err := s.update(&pending{ctx: ctx, arrival: a, org: org, actor: actor, fn: fn, done: make(chan struct{})})
		var retry *RetryAfter
		if !errors.As(err, &retry) {
			return err
		}
		if err := retry.Do(ctx); err != nil {
			return err
		}
	}
}

func (s *Store) update(p *pending) error {
	ctx, org := p.ctx, p.org
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.queue.Add(org, p)
	s.arrived.Signal()
	s.mu.Unlock()
	turn.Of(ctx).Block()
	<-p.done
	if p.err != nil {
		s.foundDamagedPage(org, p.err)
		return p.err
	}
	if s.opt.Committed != nil && p.arrival == nil {
		if changed := p.tx.changed(); changed != nil {
			s.opt.Committed(ctx, org, changed)
		}
	}
	for _, fn := range p.tx.after {
		fn()
	}
	return nil
}

const metaShared = sharedPrefix + "meta"

// meta returns a value of the bucket meta, or nil.
func (s *Store) meta(key []byte) (value []byte, err error) {
	return Read(s, uuid.Nil, func(tx *Tx) ([]byte, error) { return bytes.Clone(tx.get(metaShared, key)), nil })
}

// setMeta writes a value of the bucket meta that follows from a newer version of the program.
func (s *Store) setMeta(ctx context.Context, key, value []byte) error {
	return s.Update(ctx, uuid.Nil, upgradeActor, func(tx *Tx) error {
		tx.put(metaShared, key, value)
		return nil
	})
}

// updateRaw runs fn on the file in place of the writes of a transaction. Jobs that it queues wake the worker.
func (s *Store) updateRaw(ctx context.Context, fn func(*bolt.Tx) error) error {
	return s.Update(ctx, uuid.Nil, Actor{}, func(tx *Tx) error {
		tx.bytes++
		tx.enqueued = true
		tx.raw = fn
		return nil
	})
}

func (s *Store) refusal() error {
	if s.broken != nil {
		return s.broken
	}
	if s.closed {
		return errClosed
	}
	return nil
}

// probeSize is how much must fit on a disk that was full before it counts as writable again. It is
// more than most requests write.
const probeSize = 1 << 20

const probeBucket = "probe"

// Writable returns why the store cannot be written, or nil. If the last commit failed because the
// disk was full, it tries to write again.
func (s *Store) Writable(ctx context.Context) error {
	s.mu.Lock()
	err, full := s.refusal(), s.full
	s.mu.Unlock()
	if err != nil || full == nil {
		return err
	}
	if !s.probing.TryLock() { // another call is trying already
		return fault.New(fault.Unavailable, "the disk is full")
	}
	defer s.probing.Unlock()
	probe := func(fn func(*Tx)) error {
		return s.Update(ctx, uuid.Nil, Actor{}, func(tx *Tx) error { fn(tx); return nil })
	}
	if err := probe(func(tx *Tx) { tx.put(probeBucket, []byte("probe"), make([]byte, probeSize)) }); err != nil {
		return err
	}
	return probe(func(tx *Tx) { tx.delete(probeBucket, []byte("probe")) })
}
