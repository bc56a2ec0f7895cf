package webhook

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

// An overloaded endpoint answers 429 or 503 with a Retry-After header. The sender then backs off: it
// makes no attempt to that endpoint until the requested time, or until a user asks for a delivery or
// changes the subscription. The back-off is stored, so that it survives a restart.

// backOffUntil is when the endpoint wants to be called again; zero if it did not ask for a back-off.
func (o *outcome) backOffUntil() time.Time {
	if o.code == http.StatusTooManyRequests || o.code == http.StatusServiceUnavailable {
		return o.retryAfter
	}
	return time.Time{}
}

// backOffOf reads the stored back-off of a subscription; zero if there is none.
func (w *Webhooks) backOffOf(tx *store.Tx, subscription uuid.UUID) (time.Time, error) {
	v, err := w.backOffs.Get(tx, subscription, 0)
	if err != nil || v == nil {
		return time.Time{}, err
	}
	if len(v) != 8 {
		return time.Time{}, fmt.Errorf("back-off of webhook subscription %s: %w", subscription, store.ErrDamaged)
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(v))), nil
}

// storeBackOff stores the latest back-off that the outcomes ask for and deletes one that has passed.
// It ignores outcomes of other URLs than url, the current one of the subscription.
func (w *Webhooks) storeBackOff(tx *store.Tx, subscription uuid.UUID, url string, outcomes []outcome) error {
	stored, err := w.backOffOf(tx, subscription)
	if err != nil {
		return err
	}
	latest := stored
	for i := range outcomes {
		if until := outcomes[i].backOffUntil(); outcomes[i].url == url && until.After(latest) {
			latest = until
		}
	}
	switch {
	case latest.After(stored):
		w.backOffs.Put(tx, subscription, 0, binary.BigEndian.AppendUint64(nil, uint64(latest.UnixMilli())))
	case !stored.IsZero() && !stored.After(tx.Now()):
		_, err = w.backOffs.Delete(tx, subscription, 0, 1)
	}
	return err
}

// endBackOff deletes the back-off of a subscription and makes the sender look at it after the commit.
func (w *Webhooks) endBackOff(tx *store.Tx, subscription uuid.UUID) error {
	org := tx.Org()
	tx.AfterCommit(func() { w.Sender.subscriptionChanged(org, subscription) })
	_, err := w.backOffs.Delete(tx, subscription, 0, 1)
	return err
}
