package apptest

import (
	"sync"
	"testing"
	"time"
)

// Timeout bounds every wait in tests. It passes only if something is broken.
const Timeout = 2 * time.Minute

// Receive returns the next value of a channel, or its zero value if the channel is closed. It fails the
// test if nothing arrives in time. what describes the awaited value.
func Receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(Timeout)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatalf("waited %s for %s", Timeout, what)
		panic("unreachable")
	}
}

// State guards variables that several goroutines share, and lets a test wait until they satisfy a
// condition. The zero value is ready to use.
type State struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next change; nil if no test is waiting
}

// Read calls fn with the state locked.
func (s *State) Read(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// Change calls fn with the state locked, and wakes the waiting tests.
func (s *State) Change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Wait waits until the condition holds. It calls condition with the state locked, now and after every
// change. It fails the test if the state stops changing before the condition holds. what describes the
// condition.
func (s *State) Wait(t testing.TB, what string, condition func() bool) {
	t.Helper()
	timer := time.NewTimer(Timeout)
	defer timer.Stop()
	for {
		changed := s.unless(condition)
		if changed == nil {
			return
		}
		select {
		case <-changed:
			timer.Reset(Timeout)
		case <-timer.C:
			t.Fatalf("waited %s for %s", Timeout, what)
		}
	}
}

// unless returns a channel that the next change closes, or nil if the condition holds.
func (s *State) unless(condition func() bool) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if condition() {
		return nil
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}
