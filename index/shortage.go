package index

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"prospector/store"
)

// errShort wraps every error of an index that is intact but cannot be opened or written at the moment,
// because something is short: space on the disk, file handles or memory.
var errShort = errors.New("a resource is short")

var shortages = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
}

// isShortage reports whether an error says that something is short, not that the index is damaged. bleve
// and bbolt report some errors only as text. A root file that another process has locked is not damaged
// either.
func isShortage(err error) bool {
	if errors.Is(err, errShort) || errors.Is(err, berrors.ErrTimeout) {
		return true
	}
	text := err.Error()
	return slices.ContainsFunc(shortages, func(e syscall.Errno) bool {
		return errors.Is(err, e) || strings.Contains(text, e.Error())
	})
}

// failureOf wraps an error of bleve in errShort or errIndex.
func failureOf(err error) error {
	switch {
	case errors.Is(err, errShort), errors.Is(err, errIndex):
		return err
	case isShortage(err):
		return fmt.Errorf("%w: %w", errShort, err)
	}
	return fmt.Errorf("%w: %w", errIndex, err)
}

// checkHandles returns an error if the process cannot open the file n times. bleve does not report that it
// cannot open a segment: it goes on without its newest snapshot.
func checkHandles(file string, n int) (err error) {
	for range n {
		f, openErr := os.Open(file)
		if openErr != nil {
			return openErr
		}
		defer f.Close()
	}
	return nil
}

// pause closes the index on disk and leaves its files as they are. The engine tries to open it again
// every minute. Until then lists use the view that they have, or scan the store if there is none, and
// commits do not wait for the index. The caller holds writing.
func (s *tableIndex) pause(why error) error {
	err := failureOf(why)
	s.paused.Store(&err)
	s.reportFailure(err)
	s.next = nil
	s.closeDisk()
	if s.loaded.Load() {
		return err
	}
	return errors.Join(err, s.scanInstead())
}

// scanInstead makes lists scan the store.
func (s *tableIndex) scanInstead() error {
	number := uint64(0)
	err := s.engine.store.View(s.org, func(tx *store.Tx) error {
		number = tx.LastChange(s.kind.table)
		s.noteChange(number)
		s.unindexed.Store(int64(tx.RecordCount(s.kind.table)))
		return nil
	})
	if err == nil {
		s.publish(emptyView(number))
	}
	return err
}

// resume opens the index again, if it is paused.
func (s *tableIndex) resume() {
	if !s.writing.TryLock() {
		return
	}
	defer s.writing.Unlock()
	if s.paused.Load() == nil || s.disk != nil {
		return
	}
	err := s.open()
	if err == nil {
		return // flushing it shows whether it can be written
	}
	if !isShortage(err) {
		s.reportDamage(err)
		err = s.rebuild()
	}
	if err != nil {
		s.reportFailure(err)
	}
}
