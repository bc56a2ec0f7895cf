package store

import (
	"bytes"
	"cmp"
	"context"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// Verify reads the whole file. It reports damaged pages, and jobs, global keys and marks that
// contradict the organizations' data. With repair it corrects what follows from that data.
func (s *Store) Verify(ctx context.Context, repair bool, report Report) error {
	problems, err := s.pageProblems()
	if err != nil {
		return err
	}
	for i := range problems {
		report(false, "%v", &problems[i])
	}
	if !repair {
		return s.View(uuid.Nil, func(tx *Tx) error { return tx.verifyShared(report) })
	}
	return s.Update(ctx, uuid.Nil, Actor{Operation: "check"}, func(tx *Tx) error { return tx.verifyShared(report) })
}

// verifyShared compares the shared buckets with the organizations' data.
func (tx *Tx) verifyShared(report Report) error {
	lost, err := tx.LostPages()
	if err != nil {
		return err
	}
	for i := range lost {
		l := &lost[i]
		report(false, "page %d, which had entries of %s of organization %s, is lost: %s",
			l.Page, cmp.Or(l.Bucket, "all tables"), l.Organization, l.Cause)
	}
	tx.verifyQueue(report)
	tx.verifyMarks(report)
	orgs := tx.btx.Bucket(orgsBucket)
	err = orgs.ForEachBucket(func(org []byte) error {
		if len(org) != 16 {
			report(false, "organizations: the key %x is not an id", org)
			return nil
		}
		tx.verifyJobs(newTx(tx.store, tx.btx, uuid.UUID(org)), report)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range globalBuckets(tx.btx) {
		bucket := sharedPrefix + name
		for k, v := range tx.scanWhileWriting(bucket, nil) {
			if len(v) != 32 || orgs.Bucket(v[:16]) == nil {
				report(tx.forget(bucket, k), "%s: the key %x belongs to an organization that does not exist", name, k)
			}
		}
	}
	return nil
}

// verifyMarks reports marks of incomplete records that belong to no organization.
func (tx *Tx) verifyMarks(report Report) {
	orgs := tx.btx.Bucket(orgsBucket)
	for k := range tx.scanWhileWriting(incompleteShared, nil) {
		if len(k) <= 16 || orgs.Bucket(k[:16]) == nil {
			report(tx.forget(incompleteShared, k), "incomplete records: the key %x names no organization", k)
		}
	}
}

// verifyQueue reports the queue entries that belong to no job. Entries of unreadable jobs are kept
// because they may be right.
func (tx *Tx) verifyQueue(report Report) {
	for k := range tx.scanWhileWriting(dueShared, nil) {
		if len(k) != dueKeySize {
			report(tx.forget(dueShared, k), "jobs: the queue entry %x does not belong to a job", k)
			continue
		}
		_, org, id := readDueKey(k)
		j, err := newTx(tx.store, tx.btx, org).Job(id)
		if fault.CodeOf(err) == fault.NotFound || err == nil && !bytes.Equal(j.dueKey(), k) {
			report(tx.forget(dueShared, k), "jobs: the queue entry of job %s of organization %s does not match a job", id, org)
		}
	}
}

// verifyJobs reports the jobs of an organization that are missing in the queue.
func (tx *Tx) verifyJobs(of *Tx, report Report) {
	for j, err := range of.walkJobs() {
		switch {
		case err != nil:
			report(false, "organization %s: %v", of.org, err)
		case tx.get(dueShared, j.dueKey()) == nil:
			repaired := tx.repair(func() {
				tx.put(dueShared, j.dueKey(), nil)
				tx.enqueued = true
			})
			report(repaired, "organization %s: job %s is not in the queue", of.org, j.ID)
		}
	}
}

// repair runs fix if the transaction is writable, and reports whether it did.
func (tx *Tx) repair(fix func()) bool {
	if tx.writable {
		fix()
	}
	return tx.writable
}

// forget deletes a key if the transaction is writable, and reports whether it did.
func (tx *Tx) forget(bucket string, k []byte) bool { return tx.repair(func() { tx.delete(bucket, k) }) }
