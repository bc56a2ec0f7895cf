package fault

import (
	"fmt"
	"runtime/debug"
)

// CatchPanic runs fn and returns its error. If fn panics, the error has the panic value and the
// stack.
func CatchPanic(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}
