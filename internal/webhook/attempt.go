package webhook

import (
	"bytes"
	"encoding/binary"
	"errors"
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
	SourceEventID  string        `json:"source_event_id" doc:"The id of the envelope. Retries have the same id."`
	TriggerKey     string        `json:"trigger_key"`
	Attempt        int           `json:"attempt" rule:"min=1" doc:"The number of the attempt to deliver the envelope, from 1."`
	Status         AttemptStatus `json:"status" rule:"enum=succeeded|failed"`
	DurationMS     int           `json:"duration_ms"`
	CreatedAt      shape.Time    `json:"created_at" doc:"When the attempt ended and was stored."`
	ResponseCode   shape.Number  `json:"response_code" rule:"integer" doc:"The HTTP status of the answer. Null without an answer."`
	Error          shape.Text    `json:"error" doc:"Why the attempt failed: dns, connect, tls, timeout, redirect or http_ with the status, followed by a description."`
}

// AttemptStatus is the result of an attempt.
type AttemptStatus string

const (
	Succeeded AttemptStatus = "succeeded"
	Failed    AttemptStatus = "failed"
)

// attemptCounters counts the stored attempts of a subscription.
type attemptCounters struct {
	All       numberRange `json:"all"`
	Succeeded numberRange `json:"succeeded"`
	Failed    numberRange `json:"failed"`
	// DeletedAt is when the subscription was deleted. Its attempts are kept for the retention time.
	DeletedAt shape.Time `json:"deleted_at"`
	Expiring  bool       `json:"expiring"` // an expire job is scheduled
}

// numberRange is the range of numbers of the stored attempts. Attempts are added at its end and
// deleted at its start.
type numberRange struct {
	First uint32 `json:"first"`
	Next  uint32 `json:"next"`
}

func (s numberRange) count() int { return int(s.Next - s.First) }

func (t *attemptCounters) of(status AttemptStatus) *numberRange {
	if status == Succeeded {
		return &t.Succeeded
	}
	return &t.Failed
}

func newAttemptCounters() *store.Table[attemptCounters] {
	return store.NewTable[attemptCounters]("webhook_tallies", nil, nil).Unlogged()
}

// subject is what the event of an attempt is about.
type subject struct {
	object uuid.UUID
	eventDetail
}

// detailMark separates the JSON of a stored attempt from that of the detail of its event, if it has
// one. JSON as it is written here contains no line breaks.
const detailMark = '\n'

// attemptLog stores attempts by subscription and number. For each status and each event it also
// stores their numbers, so that any page is found without scanning.
type attemptLog struct {
	all       *store.Parts
	succeeded *store.Parts
	failed    *store.Parts
	byEvent   *store.Parts // by delivery id and attempt
}

func newAttemptLog() attemptLog {
	return attemptLog{
		all: store.NewParts("webhook_attempts"), succeeded: store.NewParts("webhook_attempts.succeeded"),
		failed: store.NewParts("webhook_attempts.failed"), byEvent: store.NewParts("webhook_attempts.event"),
	}
}

func (a *attemptLog) of(status AttemptStatus) *store.Parts {
	if status == Succeeded {
		return a.succeeded
	}
	return a.failed
}

// add stores an attempt and its subject, which redelivery needs.
func (a *attemptLog) add(tx *store.Tx, t *attemptCounters, rec Attempt, about subject, delivery uuid.UUID) error {
	public, err := json.Marshal(&rec)
	if err != nil {
		return err
	}
	value := append(about.object[:], public...)
	if about.User != uuid.Nil || about.Changed != nil || about.Extra != nil {
		detail, err := json.Marshal(&about.eventDetail)
		if err != nil {
			return err
		}
		value = append(append(value, detailMark), detail...)
	}
	number := binary.BigEndian.AppendUint32(nil, t.All.Next)
	a.all.Put(tx, rec.SubscriptionID, t.All.Next, value)
	t.All.Next++
	same := t.of(rec.Status)
	a.of(rec.Status).Put(tx, rec.SubscriptionID, same.Next, number)
	same.Next++
	a.byEvent.Put(tx, delivery, uint32(rec.Attempt), number)
	return nil
}

// get reads an attempt: its JSON and that of the detail of its event, and the object.
func (a *attemptLog) get(
	tx *store.Tx, subscription uuid.UUID, number uint32,
) (object uuid.UUID, public, detail []byte, err error) {
	v, err := a.all.Get(tx, subscription, number)
	if err == nil && len(v) < 16 {
		err = fmt.Errorf("attempt %d of subscription %s: %w: missing", number, subscription, store.ErrDamaged)
	}
	if err != nil {
		return uuid.Nil, nil, nil, err
	}
	object, public, detail = openAttempt(v)
	return object, public, detail, nil
}

// openAttempt returns the parts of a stored attempt, see get.
func openAttempt(v []byte) (object uuid.UUID, public, detail []byte) {
	public, detail, _ = bytes.Cut(v[16:], []byte{detailMark})
	return uuid.UUID(v[:16]), withCurrentError(public), detail
}

// hasDamaged reports whether damage was found in what is stored of the attempts of a subscription.
func (a *attemptLog) hasDamaged(tx *store.Tx, subscription uuid.UUID) bool {
	return slices.ContainsFunc([]*store.Parts{a.all, a.succeeded, a.failed}, func(p *store.Parts) bool {
		return p.HasDamaged(tx, subscription)
	})
}

func (a *attemptLog) decode(tx *store.Tx, subscription uuid.UUID, number uint32) (about subject, rec Attempt, err error) {
	object, public, detail, err := a.get(tx, subscription, number)
	if err != nil {
		return about, rec, err
	}
	return decodeAttempt(object, public, detail)
}

func decodeAttempt(object uuid.UUID, public, detail []byte) (about subject, rec Attempt, err error) {
	err = json.Unmarshal(public, &rec)
	about.object = object
	if err == nil && len(detail) > 0 {
		err = json.Unmarshal(detail, &about.eventDetail)
	}
	return about, rec, err
}

// removeOldest deletes the oldest attempt of a subscription.
func (a *attemptLog) removeOldest(tx *store.Tx, t *attemptCounters, rec Attempt) error {
	event, err := uuid.Parse(rec.SourceEventID)
	if err != nil {
		return err
	}
	if _, err := a.byEvent.Delete(tx, deliveryID(event, rec.SubscriptionID), uint32(rec.Attempt), 1); err != nil {
		return err
	}
	return a.removeFirst(tx, t, rec.SubscriptionID, rec.Status)
}

// removeFirst deletes the first attempt of a subscription, but not its number by event. If its status is empty, the
// attempt is not among those of a status.
func (a *attemptLog) removeFirst(tx *store.Tx, t *attemptCounters, subscription uuid.UUID, status AttemptStatus) error {
	_, err := a.all.Delete(tx, subscription, t.All.First, 1)
	t.All.First++
	if err == nil && status != "" {
		same := t.of(status)
		_, err = a.of(status).Delete(tx, subscription, same.First, 1)
		same.First++
	}
	return err
}

// statusOfFirst returns the status of the first attempt of a subscription, which is damaged. It is empty if it is not
// known.
func (a *attemptLog) statusOfFirst(tx *store.Tx, subscription uuid.UUID, t *attemptCounters) AttemptStatus {
	first := binary.BigEndian.AppendUint32(nil, t.All.First)
	for _, status := range []AttemptStatus{Succeeded, Failed} {
		if bytes.Equal(a.of(status).Readable(tx, subscription, t.of(status).First), first) {
			return status
		}
	}
	return ""
}

// find returns the attempt with an id by binary search, because ids increase with the numbers. If an attempt on the way
// is damaged, it reads all of them.
func (w *Webhooks) find(tx *store.Tx, subscription, id uuid.UUID) (about subject, rec Attempt, err error) {
	doc, err := w.counters.Get(tx, subscription)
	if err != nil {
		return subject{}, Attempt{}, err
	}
	all := doc.Record.All
	for low, high := all.First, all.Next; low < high; {
		middle := low + (high-low)/2
		about, rec, err = w.attempts.decode(tx, subscription, middle)
		if errors.Is(err, store.ErrDamaged) {
			return w.search(tx, subscription, id)
		}
		if err != nil {
			return subject{}, Attempt{}, err
		}
		switch bytes.Compare(rec.ID[:], id[:]) {
		case 0:
			return about, rec, nil
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return subject{}, Attempt{}, fault.ErrNotFound
}

// search is find among attempts of which some are damaged.
func (w *Webhooks) search(tx *store.Tx, subscription, id uuid.UUID) (about subject, rec Attempt, err error) {
	found := false
	_, err = w.attempts.all.ScanReadable(tx, subscription, func(_ uint32, v []byte) (err error) {
		if !found {
			about, rec, err = decodeAttempt(openAttempt(v))
			found = rec.ID == id
		}
		return err
	})
	if err == nil && !found {
		return subject{}, Attempt{}, fault.ErrNotFound
	}
	return about, rec, err
}
