package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
)

// maxMissingChanges limits how many lost entries of a change log are replaced. A larger gap means that
// the counter of the log is damaged.
const maxMissingChanges = 1 << 20

// DamagedChanges calls fn for each unreadable entry in the change logs of the organization.
func (tx *Tx) DamagedChanges(fn func(table string, key, value []byte)) {
	for _, table := range bucketNames(tx.orgBkt, logSuffix) {
		for e := range tx.walkLog(table, nil) {
			if e.err != nil {
				fn(table, e.key, e.value)
			}
		}
	}
}

// DropDamagedChanges takes unreadable entries out of the change logs of the organization. Each of them,
// and each entry that is missing, is replaced by one that has nothing but the record whose latest change
// it was, because the numbers of a log have no gaps.
func (tx *Tx) DropDamagedChanges() error {
	for _, table := range bucketNames(tx.orgBkt, logSuffix) {
		missing, err := tx.dropUnreadable(table)
		if errors.Is(err, errCounter) {
			tx.correctLog(table)
			missing, err = tx.dropUnreadable(table)
		}
		if err != nil {
			return err
		}
		tx.replaceChanges(table, missing)
	}
	return nil
}

// errCounter is the error of a change log whose counter or keys are damaged.
var errCounter = fmt.Errorf("%w: the counter of a change log is wrong", ErrDamaged)

// correctLog removes the unreadable entries of the change log of a table and sets its counter to the last change that
// an entry or a readable record has.
func (tx *Tx) correctLog(table string) {
	log, last := table+logSuffix, uint64(0)
	for e := range tx.walkLog(table, nil) {
		if last = max(last, e.Number); e.err != nil {
			tx.delete(log, e.key)
		}
	}
	for _, number := range tx.lastWrites(table) {
		last = max(last, number)
	}
	tx.setSequence(log, last)
}

// lastWrites returns the readable records of a table with the number of the change that wrote each.
func (tx *Tx) lastWrites(table string) iter.Seq2[uuid.UUID, uint64] {
	return func(yield func(uuid.UUID, uint64) bool) {
		rec := table + recSuffix
		for key, value := range tx.scan(rec, nil) {
			if len(key) == 16 && tx.checkEntry(rec, key, value) == nil && !yield(uuid.UUID(key), changeOf(value)) {
				return
			}
		}
	}
}

// dropUnreadable deletes the unreadable entries of the change log of a table. It returns the numbers for which the log
// has no readable entry, each with the time of the entry before it.
func (tx *Tx) dropUnreadable(table string) (missing map[uint64]time.Time, err error) {
	missing = map[uint64]time.Time{}
	end, last, at := tx.LastChange(table), uint64(0), time.Time{}
	miss := func(to uint64) error {
		if to-last > maxMissingChanges {
			return fmt.Errorf("%s.log: %w: %d entries are missing", table, errCounter, to-last)
		}
		for n := last + 1; n <= to; n++ {
			missing[n] = at
		}
		return nil
	}
	for e := range tx.walkLog(table, nil) {
		if e.err == nil {
			if last > 0 && e.Number > last {
				err = miss(e.Number - 1)
			}
			last, at = e.Number, e.At
		} else if tx.delete(table+logSuffix, e.key); len(e.key) == 8 {
			n := binary.BigEndian.Uint64(e.key)
			if n <= last || n > end {
				continue // the key itself is damaged
			}
			if last == 0 {
				last = n - 1
			}
			err = miss(n)
			last = n
		}
		if err != nil {
			return missing, err
		}
	}
	switch {
	case last == 0 && end > 0:
		missing[end] = at // the others may have been trimmed
	case last < end:
		err = miss(end)
	}
	return missing, err
}

// replaceChanges writes entries for the missing numbers of a log.
func (tx *Tx) replaceChanges(table string, missing map[uint64]time.Time) {
	if len(missing) == 0 {
		return
	}
	changes := map[uint64]Change{}
	for id, number := range tx.lastWrites(table) {
		changes[number] = Change{Op: Updated, ID: id}
	}
	for key, value := range tx.scan(goneBucket(table), nil) {
		if len(key) == 16 && len(value) == 8 {
			changes[binary.BigEndian.Uint64(value)] = Change{Op: Deleted, ID: uuid.UUID(key)}
		}
	}
	for number, at := range missing {
		c, known := changes[number]
		if !known {
			c.Op = Updated // of a record that is not known
		}
		c.Number, c.At, c.Actor = number, at, tx.actor
		if at.IsZero() {
			c.At = tx.now
		}
		tx.putChange(table+logSuffix, c)
	}
}
