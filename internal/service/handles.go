package service

import (
	"errors"
	"log/slog"
	"math"
	"syscall"
	"time"
)

// maxReserve is how many file handles the service keeps for itself, if it may have enough: for the store,
// the indexes and backups, and for its own connections to mail servers and webhook endpoints.
const maxReserve = 1024

// handleBudget says what the service uses its file handles for.
type handleBudget struct {
	connections int // of clients
	indexes     int // that are open at the same time, with about ten files each
}

// newHandleBudget divides the file handles that the process may have.
func newHandleBudget() handleBudget {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		limit.Cur = math.MaxInt32
	}
	return budgetOf(int(min(limit.Cur, math.MaxInt32)))
}

func budgetOf(all int) handleBudget {
	reserve := min(all/2, maxReserve)
	return handleBudget{connections: all - reserve, indexes: max(1, reserve/16)}
}

func lacksHandles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// sparseLog logs an error at most once a minute.
type sparseLog struct {
	log  *slog.Logger
	now  func() time.Time
	last time.Time // when it was logged
}

const sparseLogInterval = time.Minute

// error is called by one goroutine at a time.
func (l *sparseLog) error(message string, args ...any) {
	if now := l.now(); l.last.IsZero() || now.Sub(l.last) >= sparseLogInterval {
		l.last = now
		l.log.Error(message, args...)
	}
}
