package webhook

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// AttemptQuery selects a page of attempts.
type AttemptQuery struct {
	Page          int           `json:"page" rule:"min=1,default=1" doc:"The page number, from 1."`
	PageSize      int           `json:"page_size" rule:"min=1,max=100,default=50" doc:"The number of attempts per page."`
	Status        AttemptStatus `json:"status" rule:"enum=succeeded|failed" doc:"Only attempts with this status."`
	SourceEventID shape.Text    `json:"source_event_id" doc:"Only attempts to deliver the envelope with this id."`
	TriggerKey    shape.Text    `json:"trigger_key" doc:"Only attempts to deliver events of this kind."`
	From          shape.Time    `json:"from" doc:"Only attempts whose created_at is not earlier."`
	Before        shape.Time    `json:"before" doc:"Only attempts whose created_at is earlier."`
}

// AttemptPage is a page of attempts.
type AttemptPage struct {
	Records [][]byte // JSON, newest first
	Total   int      // on all pages
	Damaged int      // attempts of the subscription that are left out because they cannot be read
}

// Attempts returns a page of the attempts of a subscription. It also works for a deleted subscription as long as some
// of its attempts are stored.
func (w *Webhooks) Attempts(ctx context.Context, tx *store.Tx, subscription uuid.UUID, q AttemptQuery) (AttemptPage, error) {
	doc, err := w.counters.Get(tx, subscription)
	if err == nil && w.attempts.hasDamaged(tx, subscription) {
		err = store.ErrDamaged
	}
	var found attemptNumbers
	switch {
	case err != nil:
	case q.SourceEventID != "":
		found, err = w.attemptsOfEvent(tx, subscription, string(q.SourceEventID), q.Status)
	default:
		found = w.attemptsWithStatus(tx, subscription, doc.Record, q.Status)
	}
	if err == nil {
		found, err = w.within(ctx, tx, subscription, found, q)
	}
	var page AttemptPage
	if err == nil {
		page, err = w.page(tx, subscription, found, q)
	}
	if !errors.Is(err, store.ErrDamaged) {
		return page, err
	}
	// The numbers cannot be trusted, so that all attempts have to be read.
	found, damaged, err := w.readableAttempts(ctx, tx, subscription, doc.Record, q)
	if err == nil {
		page, err = w.page(tx, subscription, found, q)
	}
	page.Damaged = damaged
	return page, err
}

// page reads the page of a query.
func (w *Webhooks) page(tx *store.Tx, subscription uuid.UUID, found attemptNumbers, q AttemptQuery) (AttemptPage, error) {
	page := AttemptPage{Total: found.count}
	from := min(pageStart(q), found.count)
	for i := from; i < min(from+q.PageSize, found.count); i++ {
		number, err := found.number(i)
		if err != nil {
			return page, err
		}
		_, public, _, err := w.attempts.get(tx, subscription, number)
		if err != nil {
			return page, err
		}
		page.Records = append(page.Records, public)
	}
	return page, nil
}

// readableAttempts returns the attempts of a query, and how many attempts of the subscription are damaged or missing. It
// reads all attempts and nothing else.
func (w *Webhooks) readableAttempts(
	ctx context.Context, tx *store.Tx, subscription uuid.UUID, t attemptCounters, q AttemptQuery,
) (found attemptNumbers, damaged int, err error) {
	event := ""
	if id, err := shape.ParseID(string(q.SourceEventID)); err == nil {
		event = id.String()
	}
	var numbers []uint32
	read := 0
	damaged, err = w.attempts.all.ScanReadable(tx, subscription, func(number uint32, v []byte) error {
		var rec Attempt
		_, public, _ := openAttempt(v)
		if err := json.Unmarshal(public, &rec); err != nil {
			return err
		}
		at := rec.CreatedAt.Std()
		if (q.Status == "" || rec.Status == q.Status) && (q.SourceEventID == "" || rec.SourceEventID == event) &&
			(q.TriggerKey == "" || rec.TriggerKey == string(q.TriggerKey)) &&
			(!q.From.Valid() || !at.Before(q.From.Std())) && (!q.Before.Valid() || at.Before(q.Before.Std())) {
			numbers = append(numbers, number)
		}
		if read++; read%1000 == 0 {
			return context.Cause(ctx)
		}
		return nil
	})
	slices.Reverse(numbers)
	return listed(numbers), max(damaged, t.All.count()-read), err
}

// pageStart is the number of attempts before the page. It is larger than any count if the product
// would overflow.
func pageStart(q AttemptQuery) int {
	const beyond = 1 << 40
	if q.Page > beyond/q.PageSize {
		return beyond
	}
	return (q.Page - 1) * q.PageSize
}

// attemptNumbers are the numbers of some attempts of a subscription, newest first.
type attemptNumbers struct {
	count  int
	number func(i int) (uint32, error)
}

// slice returns the numbers from i to before j.
func (a attemptNumbers) slice(i, j int) attemptNumbers {
	return attemptNumbers{max(0, j-i), func(n int) (uint32, error) { return a.number(i + n) }}
}

func listed(numbers []uint32) attemptNumbers {
	return attemptNumbers{len(numbers), func(i int) (uint32, error) { return numbers[i], nil }}
}

// attemptsWithStatus returns the attempts with a status, or all if it is empty.
func (w *Webhooks) attemptsWithStatus(tx *store.Tx, subscription uuid.UUID, t attemptCounters, status AttemptStatus) attemptNumbers {
	if status == "" {
		return attemptNumbers{t.All.count(), func(i int) (uint32, error) { return t.All.Next - 1 - uint32(i), nil }}
	}
	same := t.of(status)
	return attemptNumbers{same.count(), func(i int) (uint32, error) {
		n := same.Next - 1 - uint32(i)
		v, err := w.attempts.of(status).Get(tx, subscription, n)
		if err != nil || len(v) != 4 {
			return 0, fmt.Errorf("%s attempt %d of subscription %s: %w", status, n, subscription, cmp.Or(err, store.ErrDamaged))
		}
		return binary.BigEndian.Uint32(v), nil
	}}
}

// attemptsOfEvent returns the attempts to deliver an event.
func (w *Webhooks) attemptsOfEvent(
	tx *store.Tx, subscription uuid.UUID, event string, status AttemptStatus,
) (attemptNumbers, error) {
	id, err := shape.ParseID(event)
	if err != nil { // not an id, so there is no such event
		return attemptNumbers{}, nil
	}
	var numbers []uint32
	err = w.attempts.byEvent.Scan(tx, deliveryID(id, subscription), func(_ uint32, v []byte) error {
		number := binary.BigEndian.Uint32(v)
		_, rec, err := w.attempts.decode(tx, subscription, number)
		if status == "" || rec.Status == status {
			numbers = append(numbers, number)
		}
		return err
	})
	slices.Reverse(numbers)
	return listed(numbers), err
}

// within returns those of the attempts that have the time and the trigger of the query. It finds the time by
// binary search, because attempts are numbered as they end, and the trigger by reading all attempts in that time.
func (w *Webhooks) within(ctx context.Context, tx *store.Tx, subscription uuid.UUID, all attemptNumbers, q AttemptQuery) (attemptNumbers, error) {
	var failed error
	read := func(i int) (number uint32, rec Attempt) {
		number, err := all.number(i)
		if err == nil {
			_, rec, err = w.attempts.decode(tx, subscription, number)
		}
		failed = cmp.Or(failed, err)
		return number, rec
	}
	endedBefore := func(at shape.Time) int {
		return sort.Search(all.count, func(i int) bool {
			_, rec := read(i)
			return rec.CreatedAt.Std().Before(at.Std())
		})
	}
	first, end := 0, all.count
	if q.Before.Valid() {
		first = endedBefore(q.Before)
	}
	if q.From.Valid() {
		end = endedBefore(q.From)
	}
	if q.TriggerKey == "" || failed != nil {
		return all.slice(first, end), failed
	}
	var numbers []uint32
	for i := first; i < end && failed == nil; i++ {
		if number, rec := read(i); rec.TriggerKey == string(q.TriggerKey) {
			numbers = append(numbers, number)
		}
		if i%1000 == 999 {
			failed = cmp.Or(failed, context.Cause(ctx))
		}
	}
	return listed(numbers), failed
}
