package webhook

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// Attempt is one HTTP request to the endpoint of a subscription.
type Attempt struct {
	ID             uuid.UUID     `json:"id"`
	SubscriptionID uuid.UUID     `json:"subscription_id"`
	SourceEventID  string        `json:"source_event_id" doc:"The id of the envelope that was sent; retries share it."`
	TriggerKey     string        `json:"trigger_key"`
	Attempt        int           `json:"attempt" rule:"min=1" doc:"Which attempt for the envelope it was, from 1."`
	Status         AttemptStatus `json:"status" rule:"enum=succeeded|failed"`
	DurationMS     int           `json:"duration_ms"`
	CreatedAt      shape.Time    `json:"created_at" doc:"When it was over and written down."`
	ResponseCode   shape.Number  `json:"response_code" rule:"integer" doc:"The HTTP status that the endpoint answered; null when it did not."`
	Error          shape.Text    `json:"error" doc:"Why it failed: dns, connect, tls, timeout, blocked_address, redirect or http_ and the status, and the same in words."`
}

// AttemptStatus is what became of an attempt.
type AttemptStatus string

const (
	Succeeded AttemptStatus = "succeeded"
	Failed    AttemptStatus = "failed"
)

// tally is what is counted for a subscription.
type tally struct {
	All       span `json:"all"`
	Succeeded span `json:"succeeded"`
	Failed    span `json:"failed"`
	// DeletedAt is when the subscription was deleted, whose attempts stay on record.
	DeletedAt shape.Time `json:"deleted_at"`
	Expiring  bool       `json:"expiring"` // a job removes what is past its time
}

// span are the numbers of attempts that are on record: they are added at one end and removed at the other.
type span struct {
	First uint32 `json:"first"`
	Next  uint32 `json:"next"`
}

func (s span) count() int { return int(s.Next - s.First) }

func (t *tally) of(status AttemptStatus) *span {
	if status == Succeeded {
		return &t.Succeeded
	}
	return &t.Failed
}

func newTallies() *store.Table[tally] {
	return store.NewTable[tally]("webhook_tallies", nil, nil).Unlogged()
}

// attempts are all attempts by subscription and number, and for each status and each event the numbers of theirs. So any page of
// them is found without counting.
type attempts struct {
	all       *store.Parts
	succeeded *store.Parts
	failed    *store.Parts
	ofEvent   *store.Parts // by delivery and attempt
}

func newAttempts() attempts {
	return attempts{
		all: store.NewParts("webhook_attempts"), succeeded: store.NewParts("webhook_attempts.succeeded"),
		failed: store.NewParts("webhook_attempts.failed"), ofEvent: store.NewParts("webhook_attempts.event"),
	}
}

func (a *attempts) of(status AttemptStatus) *store.Parts {
	if status == Succeeded {
		return a.succeeded
	}
	return a.failed
}

// add writes an attempt down. object is what its event told of, for redelivering it.
func (a *attempts) add(tx *store.Tx, t *tally, rec Attempt, object, delivery uuid.UUID) error {
	public, err := json.Marshal(&rec)
	if err != nil {
		return err
	}
	number := binary.BigEndian.AppendUint32(nil, t.All.Next)
	a.all.Put(tx, rec.SubscriptionID, t.All.Next, append(object[:], public...))
	t.All.Next++
	same := t.of(rec.Status)
	a.of(rec.Status).Put(tx, rec.SubscriptionID, same.Next, number)
	same.Next++
	a.ofEvent.Put(tx, delivery, uint32(rec.Attempt), number)
	return nil
}

// get reads an attempt: what its event told of, and itself as it is answered.
func (a *attempts) get(tx *store.Tx, subscription uuid.UUID, number uint32) (object uuid.UUID, public []byte, err error) {
	v, err := a.all.Get(tx, subscription, number)
	if err == nil && len(v) < 16 {
		err = fmt.Errorf("attempt %d of subscription %s: %w: it is not there", number, subscription, store.ErrDamaged)
	}
	if err != nil {
		return uuid.Nil, nil, err
	}
	return uuid.UUID(v[:16]), v[16:], nil
}

func (a *attempts) decode(tx *store.Tx, subscription uuid.UUID, number uint32) (object uuid.UUID, rec Attempt, err error) {
	object, public, err := a.get(tx, subscription, number)
	if err == nil {
		err = json.Unmarshal(public, &rec)
	}
	return object, rec, err
}

// removeOldest removes the oldest attempt of a subscription.
func (a *attempts) removeOldest(tx *store.Tx, t *tally, rec Attempt) error {
	event, err := uuid.Parse(rec.SourceEventID)
	if err != nil {
		return err
	}
	same := t.of(rec.Status)
	for _, part := range []struct {
		of     *store.Parts
		owner  uuid.UUID
		number uint32
	}{
		{a.all, rec.SubscriptionID, t.All.First},
		{a.of(rec.Status), rec.SubscriptionID, same.First},
		{a.ofEvent, deliveryID(event, rec.SubscriptionID), uint32(rec.Attempt)},
	} {
		if _, err := part.of.Delete(tx, part.owner, part.number, 1); err != nil {
			return err
		}
	}
	t.All.First++
	same.First++
	return nil
}

// AttemptQuery is which attempts are asked for.
type AttemptQuery struct {
	Page          int           `json:"page" rule:"min=1,default=1" doc:"Which page, from 1."`
	PageSize      int           `json:"page_size" rule:"min=1,max=100,default=50" doc:"How many attempts a page has."`
	Status        AttemptStatus `json:"status" rule:"enum=succeeded|failed" doc:"Only the attempts that ended so."`
	SourceEventID shape.Text    `json:"source_event_id" doc:"The id of an envelope: only the attempts to deliver it."`
}

// Attempts gives a page of the attempts of a subscription, the newest first, as they are answered, and how many there are. That
// the subscription is deleted changes nothing as long as there is a record of it.
func (w *Webhooks) Attempts(tx *store.Tx, subscription uuid.UUID, q AttemptQuery) (page [][]byte, total int, err error) {
	doc, err := w.tallies.Get(tx, subscription)
	if err != nil {
		return nil, 0, err
	}
	var numbers []uint32 // of the page
	switch t := doc.Record; {
	case q.SourceEventID != "":
		if numbers, err = w.attemptsOf(tx, subscription, string(q.SourceEventID), q.Status); err != nil {
			return nil, 0, err
		}
		total = len(numbers)
		from := min(pageStart(q), total)
		numbers = numbers[from:min(from+q.PageSize, total)]
	case q.Status != "":
		total = t.of(q.Status).count()
		for _, n := range t.of(q.Status).page(q) {
			v, err := w.attempts.of(q.Status).Get(tx, subscription, n)
			if err != nil || len(v) != 4 {
				return nil, 0, fmt.Errorf("%s attempt %d of subscription %s: %w", q.Status, n, subscription, cmp.Or(err, store.ErrDamaged))
			}
			numbers = append(numbers, binary.BigEndian.Uint32(v))
		}
	default:
		total, numbers = t.All.count(), t.All.page(q)
	}
	for _, n := range numbers {
		_, public, err := w.attempts.get(tx, subscription, n)
		if err != nil {
			return nil, 0, err
		}
		page = append(page, public)
	}
	return page, total, nil
}

// pageStart is how many come before the page; beyond any count when that would be too large.
func pageStart(q AttemptQuery) int {
	const beyond = 1 << 40
	if q.Page > beyond/q.PageSize {
		return beyond
	}
	return (q.Page - 1) * q.PageSize
}

// page gives the numbers of a page, the newest first.
func (s span) page(q AttemptQuery) (numbers []uint32) {
	from := min(pageStart(q), s.count())
	for i := from; i < min(from+q.PageSize, s.count()); i++ {
		numbers = append(numbers, s.Next-1-uint32(i))
	}
	return numbers
}

// attemptsOf gives the numbers of the attempts to deliver an event, the newest first.
func (w *Webhooks) attemptsOf(tx *store.Tx, subscription uuid.UUID, event string, status AttemptStatus) (numbers []uint32, err error) {
	id, err := shape.ParseID(event)
	if err != nil { // there is no such event
		return nil, nil
	}
	err = w.attempts.ofEvent.Scan(tx, deliveryID(id, subscription), func(_ uint32, v []byte) error {
		number := binary.BigEndian.Uint32(v)
		_, rec, err := w.attempts.decode(tx, subscription, number)
		if status == "" || rec.Status == status {
			numbers = append(numbers, number)
		}
		return err
	})
	slices.Reverse(numbers)
	return numbers, err
}

// find finds an attempt by its id: ids grow with the numbers.
func (w *Webhooks) find(tx *store.Tx, subscription, id uuid.UUID) (object uuid.UUID, rec Attempt, err error) {
	doc, err := w.tallies.Get(tx, subscription)
	if err != nil {
		return uuid.Nil, Attempt{}, err
	}
	all := doc.Record.All
	for low, high := all.First, all.Next; low < high; {
		middle := low + (high-low)/2
		if object, rec, err = w.attempts.decode(tx, subscription, middle); err != nil {
			return uuid.Nil, Attempt{}, err
		}
		switch bytes.Compare(rec.ID[:], id[:]) {
		case 0:
			return object, rec, nil
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return uuid.Nil, Attempt{}, fault.ErrNotFound
}
