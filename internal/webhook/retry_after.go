package webhook

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

// An endpoint that is overloaded says until when it wants to be left alone, with all that waits for it. That is kept in the store, so
// that a restart does not end it: until then, or until somebody asks.

// rest is until when the endpoint wants to be left alone; zero when it did not say so.
func (o *outcome) rest() time.Time {
	if o.code == http.StatusTooManyRequests || o.code == http.StatusServiceUnavailable {
		return o.retryAfter
	}
	return time.Time{}
}

// restOf is until when the endpoint of a subscription wants to be left alone, as far as is written down.
func (w *Webhooks) restOf(tx *store.Tx, subscription uuid.UUID) (time.Time, error) {
	v, err := w.rests.Get(tx, subscription, 0)
	if err != nil || v == nil {
		return time.Time{}, err
	}
	if len(v) != 8 {
		return time.Time{}, fmt.Errorf("the rest of webhook subscription %s: %w", subscription, store.ErrDamaged)
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(v))), nil
}

// keepRest writes down until when an endpoint wants to be left alone, and forgets what is over. url is the one that the subscription
// has now: what another said, which it had before, is nothing to go by.
func (w *Webhooks) keepRest(tx *store.Tx, subscription uuid.UUID, url string, outcomes []outcome) error {
	kept, err := w.restOf(tx, subscription)
	if err != nil {
		return err
	}
	until := kept
	for i := range outcomes {
		if rest := outcomes[i].rest(); outcomes[i].url == url && rest.After(until) {
			until = rest
		}
	}
	switch {
	case until.After(kept):
		w.rests.Put(tx, subscription, 0, binary.BigEndian.AppendUint64(nil, uint64(until.UnixMilli())))
	case !kept.IsZero() && !kept.After(tx.Now()):
		_, err = w.rests.Delete(tx, subscription, 0, 1)
	}
	return err
}

// atOnce has the sender look at a subscription however long its endpoint wanted to be left alone.
func (w *Webhooks) atOnce(tx *store.Tx, subscription uuid.UUID) error {
	org := tx.Org()
	tx.AfterCommit(func() { w.Sender.changed(org, subscription) })
	_, err := w.rests.Delete(tx, subscription, 0, 1)
	return err
}
