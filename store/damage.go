package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrDamaged is in every error that comes from a file which does not hold what was written to it.
var ErrDamaged = errors.New("the store is damaged")

func damaged(path string, err error) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %w: %v (restore a backup)", path, ErrDamaged, err)
}

// guard turns panics into errors. bbolt has no page checksums: a damaged file makes it panic, and reading past the end
// of a truncated one faults. Neither may end the process, nor the committer that all writers depend on.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = fmt.Errorf("%w: a page cannot be read (restore a backup)", ErrDamaged)
		default:
			err = fmt.Errorf("%w, or the program is wrong: panic: %v\n%s", ErrDamaged, r, debug.Stack())
		}
	}()
	return fn()
}
