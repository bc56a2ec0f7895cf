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

// panicked is a panic that was caught. Its words are one line; Stack is for the log.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("%v, or the program is wrong: %v (restore a backup)", ErrDamaged, p.value)
}

func (p *panicked) Unwrap() error { return ErrDamaged }

// Stack is where it happened.
func (p *panicked) Stack() string { return string(p.stack) }

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
			err = &panicked{value: r, stack: debug.Stack()}
		}
	}()
	return fn()
}
