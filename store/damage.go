package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
)

// What is damaged is found and repaired in several places:
//
//	damage.go          turns panics of bbolt and faults of memory into errors
//	bucket.go          which buckets have checksums, and how an entry is compared with its checksum
//	damaged_record.go  records that cannot be read: the error, which are known, and their deletion
//	damaged_entry.go   parts, jobs, tombstones and chunks of sets
//	damaged_log.go     entries of change logs
//	lost.go            what a rebuild of the file could not save
//	scrub.go           reads everything once a day
//	pages.go, rebuild.go  tell package repair about buckets, and put the rebuilt file in place
//
// Each structure has one function that reads all of it and passes what cannot be read, with the reason: Tx.walkLog,
// Parts.walk, Sets.walk and Tx.walkJobs. Checks, repairs, exports and ordinary scans are made of it. In tables, the
// functions that read records leave damaged ones out, except the verifier. Whatever finds damage calls Tx.unreadable,
// which counts and logs it.

// ErrDamaged is wrapped by every error about a file that does not contain what was written to it.
var ErrDamaged = errors.New("the store is damaged")

func damaged(path string, err error) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %w: %v (restore a backup)", path, ErrDamaged, err)
}

// panicked is a recovered panic. Its message is one line; Stack is for the log.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("%v, or the program is wrong: %v (restore a backup)", ErrDamaged, p.value)
}

func (p *panicked) Unwrap() error { return ErrDamaged }

// Stack returns the stack of the panic.
func (p *panicked) Stack() string { return string(p.stack) }

// guard turns panics into errors. bbolt has no page checksums: it panics on a damaged file, and
// reading past the end of a truncated file faults. Neither may end the process or stop the commit
// loop.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = recovered(r)
		}
	}()
	return fn()
}

// pageError is the error of reading a page that bbolt cannot make sense of. It wraps ErrDamaged.
type pageError struct{ message string }

func (e *pageError) Error() string {
	return fmt.Sprintf("%v: a page cannot be read: %s (restart the server to rebuild the file)", ErrDamaged, e.message)
}

func (*pageError) Unwrap() error { return ErrDamaged }

// foundDamagedPage counts an error about a page, and logs it when it is found the first time.
func (s *Store) foundDamagedPage(org uuid.UUID, err error) {
	var page *pageError
	if errors.As(err, &page) && !IsDamagedRecord(err) && s.damaged.add(entryKey{bucket: "pages", key: page.message}, true) {
		s.opt.Log.Error("store file has a damaged page; restart the server to rebuild the file", "organization", org, "problem", page.message)
	}
}

// isInBbolt reports whether the panic that a deferred function is recovering from happened in bbolt.
func isInBbolt() bool {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicking := false; ; {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicking = true
		case panicking:
			return strings.HasPrefix(f.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}

// recovered returns the error for a recovered panic. Only a deferred function may call it.
func recovered(r any) error {
	switch r := r.(type) {
	case interface {
		runtime.Error
		Addr() uintptr
	}:
		return &pageError{"its memory cannot be accessed"}
	default:
		if isInBbolt() {
			return &pageError{fmt.Sprint(r)}
		}
		return &panicked{value: r, stack: debug.Stack()}
	}
}
