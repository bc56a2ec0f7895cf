package index

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"
)

// flushPolicy is how far the index of a kind may be behind the store. Changes accumulate before
// they are flushed: until none were made for quietTime, flushAfter of them wait, or the oldest has
// waited for maxRounds. A commit that leaves the index more than maxBehind changes behind waits for
// the index.
type flushPolicy struct {
	maxRounds             int
	flushAfter, maxBehind uint64
}

var (
	usualPolicy = flushPolicy{maxRounds: 2, flushAfter: 12_000, maxBehind: 25_000}
	// busyPolicy is for tables whose records change all the time: most changes would be overwritten
	// soon after they were flushed.
	busyPolicy = flushPolicy{maxRounds: 4, flushAfter: 50_000, maxBehind: 75_000}
)

const (
	quietTime = 100 * time.Millisecond
	// roundTime is the length of a round while changes are made continuously.
	roundTime = 2 * time.Second
)

// Committed records the last change numbers of the tables that a transaction has changed. It blocks
// while an index is more than maxBehind changes behind, because lists keep all changes that are not
// in the index in memory.
func (e *Engine) Committed(ctx context.Context, org uuid.UUID, changed map[string]uint64) {
	for table, number := range changed {
		k := e.byTable[table]
		if k == nil {
			continue
		}
		e.commits.Add(1)
		s := e.tableIndex(org, k)
		s.noteChange(number)
		e.markDirty(s)
		e.waitForIndex(ctx, s)
	}
}

// noteChange records that the change with this number was committed.
func (s *tableIndex) noteChange(number uint64) {
	s.indexed.CompareAndSwap(0, max(number, 1)-1)
	for last := s.lastChange.Load(); last < number; last = s.lastChange.Load() {
		if s.lastChange.CompareAndSwap(last, number) {
			return
		}
	}
}

// markDirty schedules a flush of the table index.
func (e *Engine) markDirty(s *tableIndex) {
	e.mu.Lock()
	_, known := e.dirty[s]
	if !known {
		e.dirty[s] = e.round
	}
	e.mu.Unlock()
	if !known {
		signal(e.wake)
	}
	if s.lag() >= s.kind.flush.flushAfter {
		signal(e.flushNow)
	}
}

func (e *Engine) isDirty(s *tableIndex) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, dirty := e.dirty[s]
	return dirty
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lag returns the number of changes that the index is behind. It is 0 for an index that cannot be
// written. For one that was never loaded it counts from the first change that was noted.
func (s *tableIndex) lag() uint64 {
	_, lag := s.behind()
	return lag
}

// behind returns the change that the index is at, and the number of changes after it.
func (s *tableIndex) behind() (indexed, lag uint64) {
	last, indexed := s.lastChange.Load(), s.indexed.Load()
	if indexed == 0 || last < indexed || s.failed.Load() {
		return indexed, 0
	}
	return indexed, last - indexed
}

// waitForIndex blocks while the index is more than maxBehind changes behind.
func (e *Engine) waitForIndex(ctx context.Context, s *tableIndex) {
	for s.lag() > s.kind.flush.maxBehind {
		e.mu.Lock()
		progress, closed := e.progress, e.closed
		e.mu.Unlock()
		if closed || s.lag() <= s.kind.flush.maxBehind {
			return
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return
		case <-e.stop:
			return
		}
	}
}

// signalProgress wakes the callers of waitForIndex.
func (e *Engine) signalProgress() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.progress)
	e.progress = make(chan struct{})
}

// run flushes and maintains the indexes until the engine is closed.
func (e *Engine) run() {
	defer close(e.stopped)
	e.reconcile()
	maintenance := time.NewTicker(maintainEvery)
	defer maintenance.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-maintenance.C:
			e.maintain()
			continue
		case <-e.limitsDue:
			e.enforceLimits()
			continue
		case <-e.wake:
		}
		quiet := e.awaitQuiet()
		e.mu.Lock()
		e.round++
		e.mu.Unlock()
		e.flushDirty(e.stop, quiet)
	}
}

// awaitQuiet waits for the end of a round, so that changes accumulate. It reports whether the round
// ended because no more changes were made.
func (e *Engine) awaitQuiet() (quiet bool) {
	deadline := time.NewTimer(roundTime)
	defer deadline.Stop()
	for !quiet {
		before := e.commits.Load()
		select {
		case <-e.stop:
			return false
		case <-e.flushNow:
			return false
		case <-deadline.C:
			return false
		case <-time.After(quietTime):
			quiet = e.commits.Load() == before
		}
	}
	return true
}

// takeDirty removes the table indexes that must be flushed now from the dirty ones and returns
// them: all of them, or those that their flushPolicy does not let wait any longer.
func (e *Engine) takeDirty(all bool) map[*tableIndex]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := map[*tableIndex]int{}
	for s, since := range e.dirty {
		if all || e.round-since > s.kind.flush.maxRounds || s.lag() >= s.kind.flush.flushAfter {
			taken[s] = since
			delete(e.dirty, s)
		}
	}
	if len(e.dirty) > 0 {
		signal(e.wake)
	}
	return taken
}

// flushDirty flushes the table indexes that takeDirty returns, one batch of each in turn, until
// nothing is left to write.
func (e *Engine) flushDirty(stop <-chan struct{}, all bool) {
	dirty := e.takeDirty(all)
	for len(dirty) > 0 {
		for s := range dirty {
			select {
			case <-stop:
				e.mu.Lock()
				maps.Copy(e.dirty, dirty)
				e.mu.Unlock()
				return
			case <-e.limitsDue:
				e.enforceLimits()
			default:
			}
			more, err := s.flush()
			if err != nil && !errors.Is(err, errShort) { // a paused index was reported
				s.reportFailure(err)
			}
			if !more || err != nil {
				delete(dirty, s)
			}
		}
		if len(dirty) > 0 { // this may take long, so indexes that become due take part
			maps.Copy(dirty, e.takeDirty(false))
		}
	}
}
