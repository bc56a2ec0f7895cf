package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"prospector/internal/fault"
)

// maxBatch limits how many Updates share a commit, maxBatchBytes how much they write, and maxBatchTime for how
// long they run, so that a large transaction does not delay many callers.
const (
	maxBatch      = 1024
	maxBatchBytes = 16 << 20
	maxBatchTime  = 20 * time.Millisecond
)

// share is how long an Update that can be continued by another one runs while others wait.
const share = 3 * time.Millisecond

// MustYield reports whether the Update should end, because it has run for its share while others wait for it. What is
// left belongs in another Update.
func (tx *Tx) MustYield() bool {
	if tx.runs == nil || tx.runs() < share {
		return false
	}
	tx.store.mu.Lock()
	defer tx.store.mu.Unlock()
	return tx.isShared || tx.store.queue.Len() > 0
}

// commitLoop is the only writer. Updates that arrive during a commit share the next one. A single
// writer never waits for others, and concurrent writers share the cost of an fsync. Organizations take
// turns.
func (s *Store) commitLoop() {
	defer close(s.stopped)
	for {
		s.mu.Lock()
		for s.queue.Len() == 0 && !s.closed {
			s.arrived.Wait()
		}
		waiting, broken := min(s.queue.Len(), maxBatch), s.broken
		s.mu.Unlock()
		switch {
		case waiting == 0:
			return
		case broken != nil:
			answer(s.take(waiting), broken)
		default:
			s.commitBatch(waiting, s.take)
		}
	}
}

// take removes the next n Updates from the queue, which has as many.
func (s *Store) take(n int) (batch []*pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		p, _ := s.queue.Next()
		batch = append(batch, p)
	}
	return batch
}

// run runs the function of an Update, and Options.Finish after it, and completes the journals of operations.
func (tx *Tx) run(fn func(*Tx) error) error {
	err := fn(tx)
	if finish := tx.store.opt.Finish; err == nil && finish != nil && len(tx.writes) > 0 && tx.arrival == nil {
		err = finish(tx)
	}
	if err == nil {
		err = tx.writeJournal()
	}
	return err
}

// answer releases the callers. A non-nil err is the result of all of them.
func answer(batch []*pending, err error) {
	for _, p := range batch {
		if err != nil {
			p.err = err
		}
		close(p.done)
	}
}

// commitBatch takes and runs up to waiting Updates, commits them together and releases their callers. Those
// that it does not take stay in the queue, where other organizations may have the next turn.
func (s *Store) commitBatch(waiting int, take func(n int) []*pending) {
	btx, err := s.begin()
	if err != nil {
		s.counts.failed.Add(1)
		answer(take(waiting), err)
		return
	}
	id, size := btx.ID(), btx.Size()
	b := batch{store: s, btx: btx, watch: s.Stopwatch()}
	err = guard(func() error {
		if err := b.run(waiting, take); err != nil {
			return err
		}
		return b.commit()
	})
	switch {
	case err != nil:
		err = s.commitFailed(btx, id, b.isCommitting, b.bytes, err)
		if errors.Is(err, ErrDamaged) && len(b.updates) > 1 { // one of them needs a damaged page, and the others do not
			s.commitEach(b.updates)
			return
		}
	case b.isCommitting:
		s.setFull(nil, b.bytes)
		err = s.stayedInPlace(size)
	}
	answer(b.updates, err)
	if err == nil && b.hasJobs {
		s.signal()
	}
}

// commitEach commits Updates that have failed together one by one.
func (s *Store) commitEach(updates []*pending) {
	for _, p := range updates {
		p.err, p.tx = nil, nil
		s.commitBatch(1, func(int) []*pending { return []*pending{p} })
	}
}

// batch is the Updates that share a commit.
type batch struct {
	store        *Store
	btx          *bolt.Tx
	watch        func() time.Duration
	updates      []*pending
	writers      int // how many of them wrote something
	bytes        int // how much they wrote
	hasJobs      bool
	isCommitting bool
}

// run takes and runs Updates until there are enough for a commit. An error is about all of them.
func (b *batch) run(waiting int, take func(n int) []*pending) error {
	for len(b.updates) < waiting && b.bytes <= maxBatchBytes {
		if len(b.updates) > 0 && b.watch()+b.store.nextTakes() > maxBatchTime {
			break
		}
		p := take(1)[0]
		b.updates = append(b.updates, p)
		if p.err = p.ctx.Err(); p.err != nil {
			continue
		}
		if err := b.runUpdate(p); err != nil {
			return err
		}
	}
	return nil
}

// runUpdate runs an Update, whose own failure it leaves in p.err, and moves its writes to the shared transaction.
func (b *batch) runUpdate(p *pending) error {
	s, began := b.store, b.watch()
	tx := newTx(s, b.btx, p.org)
	tx.actor, tx.writable, tx.isShared = p.actor, true, len(b.updates) > 1
	tx.runs = func() time.Duration { return b.watch() - began }
	p.tx = tx
	if p.arrival != nil {
		tx.arrive(p.arrival)
	} else if tx.orgBkt == nil {
		p.err = isGone(b.btx, p.org)
	}
	if p.err == nil {
		p.err = guard(func() error { return tx.run(p.fn) })
	}
	if p.err != nil {
		return nil
	}
	if err := tx.apply(); err != nil {
		return err
	}
	s.took(p.org, b.watch()-began)
	if tx.bytes > 0 {
		b.writers++
	}
	b.bytes += tx.bytes
	b.hasJobs = b.hasJobs || tx.enqueued
	return nil
}

// commit commits what the Updates wrote, or ends the transaction if they wrote nothing.
func (b *batch) commit() error {
	if b.bytes == 0 {
		return b.btx.Rollback()
	}
	s := b.store
	if err := b.btx.Bucket(orgsBucket).SetSequence(s.ids.last); err != nil {
		return err
	}
	b.isCommitting = true
	watch := s.Stopwatch()
	err := s.opt.commit(b.btx)
	if err == nil {
		s.counts.commits.Add(watch())
		s.counts.updates.Add(uint64(b.writers))
	}
	return err
}

// begin begins a transaction that writes, if the file is in its place.
func (s *Store) begin() (btx *bolt.Tx, err error) {
	if err := s.hasSize(s.file.Size()); err != nil { // bbolt would never release its locks without the meta pages
		return nil, err
	}
	err = guard(func() error {
		btx, err = s.db.Begin(true)
		return err
	})
	if err == nil && btx.Size() > s.file.Size() {
		if err = s.hasSize(btx.Size()); err != nil {
			err = errors.Join(err, guard(btx.Rollback))
		}
	}
	return btx, err
}

// nextTakes estimates how long the next Update takes by those of its organization before it, so that a short Update
// does not share a commit with a long one.
func (s *Store) nextTakes() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	org, _ := s.queue.Turn()
	return s.slow[org]
}

// took notes how long an Update of an organization took. What it noted of earlier ones counts half each time.
func (s *Store) took(org uuid.UUID, d time.Duration) {
	if d = max(d, s.slow[org]/2); d >= time.Millisecond {
		s.slow[org] = d
	} else {
		delete(s.slow, org)
	}
}

// commitFailed decides what a failed commit means. A failure before the commit itself wrote
// nothing. A full disk is recoverable: nothing was committed, reads continue, and writes work again
// once there is space. So is a panic about a damaged page, if nothing became visible and bbolt
// could roll back. After any other failure the state on disk is unknown and the process must exit.
func (s *Store) commitFailed(btx *bolt.Tx, id int, committing bool, written int, err error) error {
	s.counts.failed.Add(1)
	undone := guard(btx.Rollback)
	clean := undone == nil || errors.Is(undone, berrors.ErrTxClosed)
	if clean && s.lastCommitted() != id {
		switch {
		case !committing || errors.Is(err, ErrDamaged):
			return err
		case isFull(err):
			s.setFull(err, written)
			return fault.New(fault.Unavailable, "the disk is full; nothing was changed")
		}
	}
	err = fmt.Errorf("a commit to %s failed and the state on disk is unknown: %w", s.path, err)
	refusal := fault.New(fault.Unavailable, "the store failed and accepts no more writes")
	s.mu.Lock()
	s.broken, s.stuck = refusal, !clean
	s.mu.Unlock()
	s.opt.Fatal(err)
	return refusal
}

func (s *Store) lastCommitted() (id int) {
	_ = s.read(func(btx *bolt.Tx) error {
		id = btx.ID()
		return nil
	})
	return id
}

// setFull records whether the disk accepts writes, and logs when that changes. The success of a
// small commit does not prove that there is space for one as large as the commit that failed.
func (s *Store) setFull(err error, written int) {
	s.mu.Lock()
	was := s.full
	if err != nil {
		s.full, s.fullSize = err, min(written, probeSize)
	} else if written >= s.fullSize {
		s.full, s.fullSize = nil, 0
	}
	err = s.full
	s.mu.Unlock()
	switch {
	case was == nil && err != nil:
		s.opt.Log.Error("disk is full, writes fail until there is space", "error", err)
	case was != nil && err == nil:
		s.opt.Log.Info("disk accepts writes again")
	}
}

// isFull reports whether an error means that the disk, a quota or a file size limit is exhausted.
// bbolt reports a failed growth of the file only as text. Errors of fsync arrive unwrapped, errors
// of write as a PathError.
func isFull(err error) bool {
	if errors.Is(err, berrors.ErrMaxSizeReached) || strings.HasPrefix(err.Error(), "file resize error") {
		return true
	}
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write" &&
		(errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG))
}
