package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// Job is durable background work. It stays in the store until a transaction calls Done, so that it
// runs again if the process is killed while it runs.
type Job struct {
	ID      uuid.UUID       `json:"-"`
	Org     uuid.UUID       `json:"-"`
	Kind    string          `json:"kind"`
	Due     time.Time       `json:"due"`
	Tries   int             `json:"tries"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

const dueShared = sharedPrefix + "due"

// Enqueue adds a job of this organization that is due at the given time, and returns its id.
func (tx *Tx) Enqueue(kind string, due time.Time, payload any) (uuid.UUID, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return uuid.Nil, fmt.Errorf("enqueue %s: %w", kind, err)
	}
	j := Job{ID: tx.NewID(), Kind: kind, Due: due, Payload: body}
	return j.ID, tx.putJob(j)
}

// EnqueueOnce makes a job due at the given time or before, of which the organization has one. Part n of parts has its id.
func (tx *Tx) EnqueueOnce(parts *Parts, n uint32, kind string, due time.Time) error {
	if id := parts.Readable(tx, tx.org, n); len(id) == 16 { // a second job does no harm
		if j, err := tx.Job(uuid.UUID(id)); err == nil {
			if j.Due.After(due) {
				return tx.Reschedule(j.ID, due, 0)
			}
			return nil
		}
	}
	id, err := tx.Enqueue(kind, due, nil)
	if err == nil {
		parts.Put(tx, tx.org, n, id[:])
	}
	return err
}

// Job reads a job of this organization.
func (tx *Tx) Job(id uuid.UUID) (Job, error) {
	v := tx.get(jobsBucket, id[:])
	if v == nil {
		return Job{}, fault.ErrNotFound
	}
	j := Job{ID: id, Org: tx.org}
	if err := tx.readJSON(jobsBucket, id[:], v, &j); err != nil {
		_ = tx.unreadable(jobsBucket, id[:], err)
		return Job{}, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

// walkJobs returns the jobs of the organization, readable or not, each with the error of reading it.
func (tx *Tx) walkJobs() iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for key := range tx.scan(jobsBucket, nil) {
			j, err := Job{}, fmt.Errorf("the key %x is not the id of a job", key)
			if len(key) == 16 {
				j, err = tx.Job(uuid.UUID(key))
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// EachJob calls fn for the jobs of the organization. It leaves out damaged ones.
func (tx *Tx) EachJob(fn func(Job) error) error {
	for j, unreadable := range tx.walkJobs() {
		if unreadable == nil {
			if err := fn(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reschedule changes the due time of a job and the number of its tries.
func (tx *Tx) Reschedule(id uuid.UUID, due time.Time, tries int) error {
	j, err := tx.Job(id)
	if err != nil {
		return err
	}
	tx.delete(dueShared, j.dueKey())
	j.Due, j.Tries = due, tries
	return tx.putJob(j)
}

// Done removes a job. It does nothing if the job does not exist.
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
	// Keys hold unsigned milliseconds, so times before 1970 are clamped. JSON has no times after
	// the year 9999.
	j.Due = time.UnixMilli(min(max(0, j.Due.UnixMilli()), endOfTime)).UTC()
	j.Org = tx.org
	tx.put(dueShared, j.dueKey(), nil)
	tx.enqueued = true
	return tx.putJSON(jobsBucket, j.ID[:], j)
}

const dueKeySize = 8 + 16 + 16

func (j *Job) dueKey() []byte {
	k := binary.BigEndian.AppendUint64(make([]byte, 0, dueKeySize), uint64(j.Due.UnixMilli()))
	return append(append(k, j.Org[:]...), j.ID[:]...)
}

func readDueKey(k []byte) (due time.Time, org, id uuid.UUID) {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(k))).UTC(), uuid.UUID(k[8:24]), uuid.UUID(k[24:dueKeySize])
}

// Due returns up to limit due jobs. Organizations take turns, in the given order: first one job of each, the
// longest due, then another of each. Without an order, the organization whose first job is due the longest
// begins. Jobs for which skip returns true are left out. If there are fewer than limit, next is the due time of
// the first job that is not due yet, or zero. Unreadable jobs are reported in err and do not prevent the others
// from being returned.
func (s *Store) Due(
	now time.Time, limit int, skip func(Job) bool, order func(a, b uuid.UUID) int,
) (due []Job, next time.Time, err error) {
	var unreadable []error
	err = s.read(func(btx *bolt.Tx) error {
		var waiting jobQueue
		waiting, next, unreadable = readDue(btx, now)
		if order != nil {
			slices.SortStableFunc(waiting.orgs, order)
		}
		for len(due) < limit && len(waiting.orgs) > 0 {
			org := waiting.orgs[0]
			waiting.orgs = waiting.orgs[1:]
			tx := newTx(s, btx, org)
			for ids := waiting.jobs[org]; len(ids) > 0; ids = ids[1:] {
				j, err := tx.Job(ids[0])
				if err != nil {
					unreadable = append(unreadable, fmt.Errorf("organization %s: %w", org, err))
				} else if skip == nil || !skip(j) {
					due, waiting.jobs[org] = append(due, j), ids[1:]
					waiting.orgs = append(waiting.orgs, org) // its next turn is after the others
					break
				}
			}
		}
		return nil
	})
	if len(due) == limit {
		next = time.Time{}
	}
	return due, next, errors.Join(append(unreadable, err)...)
}

// jobQueue are the due jobs of each organization, the longest due first, and the organizations in the order of
// their first jobs.
type jobQueue struct {
	orgs []uuid.UUID
	jobs map[uuid.UUID][]uuid.UUID
}

// readDue reads the queue of jobs, and when the first job is due that is not due now.
func readDue(btx *bolt.Tx, now time.Time) (all jobQueue, next time.Time, unreadable []error) {
	all.jobs = map[uuid.UUID][]uuid.UUID{}
	c := btx.Bucket(dueBucket).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) != dueKeySize {
			unreadable = append(unreadable, fmt.Errorf("queue entry %x does not belong to a job", k))
			continue
		}
		at, org, id := readDueKey(k)
		if at.After(now) {
			return all, at, unreadable
		}
		if all.jobs[org] == nil {
			all.orgs = append(all.orgs, org)
		}
		all.jobs[org] = append(all.jobs[org], id)
	}
	return all, time.Time{}, unreadable
}

// Wake receives after a commit that enqueued or rescheduled jobs.
func (s *Store) Wake() <-chan struct{} { return s.wake }

func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // the receiver has not handled the last signal yet
	}
}
