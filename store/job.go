package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// Job is work that a transaction promised. It stays until a transaction says that it is done, so that whatever is
// killed in between, it is begun again: reading a job does not remove it.
type Job struct {
	ID      uuid.UUID       `json:"-"`
	Org     uuid.UUID       `json:"-"`
	Kind    string          `json:"kind"`
	Due     time.Time       `json:"due"`
	Tries   int             `json:"tries"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

const (
	jobsBucket = "jobs"
	dueShared  = sharedPrefix + "due"
)

// Enqueue promises a job of this organization, due at the given time, and gives its id.
func (tx *Tx) Enqueue(kind string, due time.Time, payload any) (uuid.UUID, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return uuid.Nil, fmt.Errorf("enqueue %s: %w", kind, err)
	}
	j := Job{ID: tx.NewID(), Kind: kind, Due: due, Payload: body}
	return j.ID, tx.putJob(j)
}

// Job reads a job of this organization.
func (tx *Tx) Job(id uuid.UUID) (Job, error) {
	v := tx.get(jobsBucket, id[:])
	if v == nil {
		return Job{}, fault.ErrNotFound
	}
	j := Job{ID: id, Org: tx.org}
	body, err := unseal(tx.place(jobsBucket, id[:]), v)
	if err == nil {
		err = json.Unmarshal(body, &j)
	}
	if err != nil {
		return Job{}, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

// Reschedule puts a job off to another time, with the number of tries that it has had.
func (tx *Tx) Reschedule(id uuid.UUID, due time.Time, tries int) error {
	j, err := tx.Job(id)
	if err != nil {
		return err
	}
	tx.delete(dueShared, j.dueKey())
	j.Due, j.Tries = due, tries
	return tx.putJob(j)
}

// Done removes a job. One that is not there any more is done already.
func (tx *Tx) Done(id uuid.UUID) error {
	j, err := tx.Job(id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	tx.delete(dueShared, j.dueKey())
	tx.delete(jobsBucket, id[:])
	return nil
}

// endOfTime is the last millisecond of the year 9999.
const endOfTime = 253402300799999

func (tx *Tx) putJob(j Job) error {
	// Keys hold unsigned milliseconds; whatever was due before 1970 is due now all the same. JSON has no times after the year 9999.
	j.Due = time.UnixMilli(min(max(0, j.Due.UnixMilli()), endOfTime)).UTC()
	j.Org = tx.org
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	tx.put(jobsBucket, j.ID[:], seal(tx.place(jobsBucket, j.ID[:]), body))
	tx.put(dueShared, j.dueKey(), nil)
	tx.enqueued = true
	return nil
}

const dueKeySize = 8 + 16 + 16

func (j *Job) dueKey() []byte {
	k := binary.BigEndian.AppendUint64(make([]byte, 0, dueKeySize), uint64(j.Due.UnixMilli()))
	return append(append(k, j.Org[:]...), j.ID[:]...)
}

func readDueKey(k []byte) (due time.Time, org, id uuid.UUID) {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(k))).UTC(), uuid.UUID(k[8:24]), uuid.UUID(k[24:dueKeySize])
}

// Due gives up to limit jobs of all organizations that are due at now, the longest due first, without those that skip
// names (the caller has them in hand, or cannot begin them now). When there are fewer than limit, next is when the first of the others is due,
// zero when there is none. A job that cannot be read is in the error and keeps no other from being done.
func (s *Store) Due(now time.Time, limit int, skip func(Job) bool) (due []Job, next time.Time, err error) {
	var unreadable []error
	err = guard(func() error {
		return s.db.View(func(btx *bolt.Tx) error {
			c := btx.Bucket(dueBucket).Cursor()
			for k, _ := c.First(); k != nil && len(due) < limit; k, _ = c.Next() {
				at, org, id := readDueKey(k)
				if at.After(now) {
					next = at
					return nil
				}
				j, err := newTx(s, btx, org).Job(id)
				if err != nil {
					unreadable = append(unreadable, fmt.Errorf("organization %s: %w", org, err))
					continue
				}
				if skip == nil || !skip(j) {
					due = append(due, j)
				}
			}
			return nil
		})
	})
	return due, next, errors.Join(append(unreadable, err)...)
}

// Wake receives after a commit that enqueued or rescheduled jobs: whoever waits for the next due time looks again.
func (s *Store) Wake() <-chan struct{} { return s.wake }

func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // the one waiting has not looked yet and will see this too
	}
}
