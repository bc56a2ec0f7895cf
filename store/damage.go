package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

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

// recovered returns the error for a recovered panic.
func recovered(r any) error {
	switch r := r.(type) {
	case interface {
		runtime.Error
		Addr() uintptr
	}:
		return fmt.Errorf("%w: a page cannot be read (restore a backup)", ErrDamaged)
	default:
		return &panicked{value: r, stack: debug.Stack()}
	}
}
