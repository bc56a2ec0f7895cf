package index

import "context"

// stopped is the panic of a list whose caller no longer waits for it. recoverDamage turns it into the
// error.
type stopped struct{ error }

// ended returns why a context has ended, or nil. It is cheap enough to be called for every term or
// record.
func ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

// check ends the evaluation if the caller no longer waits for it.
func (e *evaluator) check() {
	if err := ended(e.ctx); err != nil {
		panic(stopped{err})
	}
}
