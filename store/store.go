// Package store is the embedded document store: one bbolt file, transactions that see one organization each, typed
// tables with unique and secondary keys, a change log, durable jobs and events. It knows no kind of record.
//
// The bucket tree of prospector.db:
//
//	meta                          format, epoch, shapes of tables, since when outbound traffic is held (see hold.go)
//	orgs/<organization>/          all that one organization has; the sequence of "orgs" is the last id given out
//	    <table>.rec               id → value (see value.go); the sequence is the number of records
//	    <table>.log               change number → entry (see change.go); the sequence is the last change number
//	    <table>.gone              id → change number of the deletion, for as long as the log has it
//	    <table>.uniq.<key>        key → id
//	    <table>.key.<key>         key ‖ 0 ‖ id → nothing
//	    <name>.part               record ‖ number → part of a record (see parts.go)
//	    <name>.set                record ‖ bound → chunk of the set of a record (see set.go)
//	    <name>.owner              id ‖ record → nothing: whose sets have the id
//	    <name>.counter            nothing; the sequence is the number (see derived.go)
//	    <table>.tomb              field ‖ 0 ‖ what is gone → tombstone (see tombstone.go)
//	    jobs                      id → job
//	incomplete                    organization ‖ table → which records may lack members (see completion.go)
//	due                           due time ‖ organization ‖ id → nothing: the jobs of all, in the order they are due
//	global.<table>.<key>          key → organization ‖ id: unique keys that find their organization, such as API keys
//	gone                          organization → when it was deleted
//	trash/<organization>/         what is left of it until all of it is deleted
//
// Installation-wide tables live in the organization uuid.Nil.
package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"prospector/internal/fault"
)

// FileName is the name of the store in its data directory.
const FileName = "prospector.db"

// historyKept is how long change-log entries stay, and shortHistoryKept how long those of brief tables do: long enough for an index to
// follow.
const (
	historyKept      = 90 * 24 * time.Hour
	shortHistoryKept = 24 * time.Hour
)

// A large mapping is only address space; without it every growth of the file waits for all readers.
const mmapSize = 32 << 30

var (
	metaBucket = []byte("meta")
	orgsBucket = []byte("orgs")
	dueBucket  = []byte("due")
	formatKey  = []byte("format")
	epochKey   = []byte("epoch")
)

// ErrLocked is answered by Open while another process has the store.
var ErrLocked = errors.New("the data directory is in use by another process")

var errClosed = fault.New(fault.Unavailable, "the service is shutting down")

// Options configure a Store. The zero value is what production uses, but for Fatal.
type Options struct {
	// Clock tells the time; time.Now when nil.
	Clock func() time.Time
	// Fatal is called when a commit has an outcome that cannot be known, such as a failed fsync. The process must
	// end: what is on the disk is found out by opening the file again. Nil panics.
	Fatal func(error)
	// LockTimeout is how long Open waits for another process; 0 is a second.
	LockTimeout time.Duration
	// MaxSize bounds the file, for tests of a full disk.
	MaxSize int
	// Events is called inside the transaction for each event that it emits. Whoever wants the event writes it down
	// through the transaction; an event that nobody wants is gone.
	Events func(*Tx, Event) error
	// Log is told how migrations go; slog.Default when nil.
	Log *slog.Logger

	// Committed is called after each Update that is on the disk, in the goroutine of its caller and before it returns,
	// with the last change number of each table that it changed.
	Committed func(ctx context.Context, org uuid.UUID, changed map[string]uint64)

	migrations []migration          // the package's own when nil
	commit     func(*bolt.Tx) error // for tests of failing disks
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	db    *bolt.DB
	path  string
	opt   Options
	epoch uuid.UUID
	ids   idSource
	wake  chan struct{}

	mu      sync.Mutex
	arrived *sync.Cond // queue grew, or closed turned true
	queue   []*pending
	closed  bool
	broken  error // why nothing can be written any more
	stuck   bool  // bbolt holds its writer lock for ever: closing it would wait for that
	full    error // why a commit could not be written; writing may work again
	// fullSize is how much a commit must write to show that there is room again.
	fullSize int

	shapes          map[string]ShapedTable // by table, see UseShapes
	mayBeIncomplete atomic.Bool            // some record may be incomplete; once set it stays

	stopped chan struct{}
	probing sync.Mutex
	counts  counts
}

// pending is one Update on its way through a shared commit.
type pending struct {
	ctx   context.Context
	org   uuid.UUID
	actor Actor
	fn    func(*Tx) error
	tx    *Tx // once fn has run
	err   error
	done  chan struct{}
}

// Close finishes what was begun and closes the file. Updates that come later are refused as unavailable.
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

// Epoch names this life of the data. Restoring a backup begins another, so that whatever was derived from the data
// knows that it must be made anew.
func (s *Store) Epoch() uuid.UUID { return s.epoch }

// Now is the store's time, cut to milliseconds.
func (s *Store) Now() time.Time { return s.opt.Clock().UTC().Truncate(time.Millisecond) }

// View runs fn over one moment of the organization's data. It must be short: a reader that stays keeps the file
// growing.
func (s *Store) View(org uuid.UUID, fn func(*Tx) error) error {
	err := guard(func() error {
		return s.db.View(func(btx *bolt.Tx) error {
			return fn(newTx(s, btx, org))
		})
	})
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return errClosed
	}
	return err
}

// RetryAfter is an error with which the function of an Update asks for other work to be done first. Update rolls the
// function back, calls Do, and runs the function again.
type RetryAfter struct {
	// Do may run transactions of its own.
	Do func(ctx context.Context) error
}

func (*RetryAfter) Error() string { return "the transaction must be retried after other work" }

// Update runs fn in a transaction of the organization and returns once it is on the disk. Either all that fn wrote is
// there or, when Update returns an error, nothing of it. fn runs alone, never beside another Update, so it must not
// wait for anything. When it returns a RetryAfter, it is rolled back, the named work is done, and it runs again.
func (s *Store) Update(ctx context.Context, org uuid.UUID, actor Actor, fn func(*Tx) error) error {
	for {
		err := s.update(ctx, org, actor, fn)
		var retry *RetryAfter
		if !errors.As(err, &retry) {
			return err
		}
		if err := retry.Do(ctx); err != nil {
			return err
		}
	}
}

func (s *Store) update(ctx context.Context, org uuid.UUID, actor Actor, fn func(*Tx) error) error {
	p := &pending{ctx: ctx, org: org, actor: actor, fn: fn, done: make(chan struct{})}
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.queue = append(s.queue, p)
	s.arrived.Signal()
	s.mu.Unlock()
	<-p.done
	if p.err != nil {
		return p.err
	}
	if s.opt.Committed != nil {
		if changed := p.tx.changed(); changed != nil {
			s.opt.Committed(ctx, org, changed)
		}
	}
	for _, fn := range p.tx.after {
		fn()
	}
	return nil
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

// probeSize is what must fit on a disk that was full before it counts as writable again: more than most requests write.
const probeSize = 1 << 20

// Writable tells why the store cannot be written, after trying again when the last commit failed for want of room.
func (s *Store) Writable(ctx context.Context) error {
	s.mu.Lock()
	err, full := s.refusal(), s.full
	s.mu.Unlock()
	if err != nil || full == nil {
		return err
	}
	if !s.probing.TryLock() { // whoever asks meanwhile is told what is known
		return fault.New(fault.Unavailable, "the disk refuses writes")
	}
	defer s.probing.Unlock()
	probe := func(fn func(*Tx)) error {
		return s.Update(ctx, uuid.Nil, Actor{}, func(tx *Tx) error { fn(tx); return nil })
	}
	if err := probe(func(tx *Tx) { tx.put("probe", []byte("probe"), make([]byte, probeSize)) }); err != nil {
		return err
	}
	return probe(func(tx *Tx) { tx.delete("probe", []byte("probe")) })
}
