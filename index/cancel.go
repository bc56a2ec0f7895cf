package index

import (
	"context"

	"prospector/internal/turn"
)

// stopped is the panic of a list whose caller no longer waits for it. recoverDamage turns it into the
// error.
type stopped struct{ error }

// ended returns why a context has ended, or nil. Work that takes long pauses here for that of others. It is cheap
// enough to be called for every record.
func ended(ctx context.Context) error {
	turn.Pause(ctx)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

// check ends the evaluation if the caller no longer waits for it, and pauses one that takes long. It is cheap enough
// to be called for every term.
func (e *evaluator) check() {
	e.work.Pause(e.ctx)
	select {
	case <-e.ctx.Done():
		panic(stopped{context.Cause(e.ctx)})
	default:
	}
}
