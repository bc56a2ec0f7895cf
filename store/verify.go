package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Verify reads the whole table of the transaction's organization and reports every record that cannot be read, every
// key that is missing, wrong or left over, a count that is not true, and every record whose version the change log
// does not name. It reads everything; it is for checks, not for requests.
func (t *Table[T]) Verify(tx *Tx, problem func(format string, args ...any)) error {
	records, uniq, keys := 0, map[string]uuid.UUID{}, map[string]bool{}
	versions := map[uuid.UUID]uint64{}
	err := tx.scan(t.rec, nil, func(k, v []byte) (bool, error) {
		records++
		if len(k) != 16 {
			problem("%s: the key %x is no id", t.name, k)
			return true, nil
		}
		id := uuid.UUID(k)
		if !t.Has(tx, id) {
			problem("%s %s: it stands where it cannot be found", t.name, id)
		}
		d, err := t.decode(tx, id, v)
		if err != nil {
			problem("%v", err)
			return true, nil
		}
		versions[id] = d.Change
		for _, u := range t.unique {
			if key := u.key(&d.Record); len(key) > 0 {
				uniq[u.bucket(t.name)+"\x00"+string(key)] = id
				if got := tx.get(u.bucket(t.name), key); !bytes.Equal(got, u.value(tx.org, id)) {
					problem("%s %s: its unique key %s names another record or none", t.name, id, u.Name)
				}
			}
		}
		for _, key := range t.keys {
			values, err := key.of(tx, &d.Record)
			if err != nil {
				return false, err
			}
			for _, value := range values {
				e := keyEntry(value, id)
				keys[key.bucket(t.name)+"\x00"+string(e)] = true
				if tx.get(key.bucket(t.name), e) == nil {
					problem("%s %s: its key %s is missing", t.name, id, key.Name)
				}
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if n := t.Count(tx); n != records {
		problem("%s: the count says %d, there are %d records", t.name, n, records)
	}
	for _, u := range t.unique {
		if u.Global {
			continue // shared with other organizations; the loop above has seen this one's
		}
		err := tx.scan(u.bucket(t.name), nil, func(k, _ []byte) (bool, error) {
			if _, ok := uniq[u.bucket(t.name)+"\x00"+string(k)]; !ok {
				problem("%s: the unique key %s has %q, which no record has", t.name, u.Name, k)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	tombs, err := tx.Tombstones(t.name)
	if err != nil {
		return err
	}
	for _, key := range t.keys {
		err := tx.scan(key.bucket(t.name), nil, func(k, _ []byte) (bool, error) {
			swept := slices.ContainsFunc(tombs, func(tomb Tombstone) bool { return tomb.Key == key.Name && bytes.HasPrefix(k, tomb.Prefix) })
			if !keys[key.bucket(t.name)+"\x00"+string(k)] && !swept {
				problem("%s: the key %s has %x, which no record has", t.name, key.Name, k)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	if t.unlogged {
		return nil
	}
	return t.verifyLog(tx, versions, problem)
}

// verifyLog holds the records against the newest change of each that the log still has.
func (t *Table[T]) verifyLog(tx *Tx, versions map[uuid.UUID]uint64, problem func(string, ...any)) error {
	newest := map[uuid.UUID]Change{}
	first, last := uint64(0), uint64(0)
	log := t.name + ".log"
	err := tx.scan(log, nil, func(k, v []byte) (bool, error) {
		c, err := tx.decodeChange(log, k, v)
		if err != nil {
			problem("%s: %v", t.name, err)
			return true, nil
		}
		if first == 0 {
			first = c.Number
		} else if c.Number != last+1 {
			problem("%s: the change log has a gap after %d", t.name, last)
		}
		last = c.Number
		newest[c.ID] = c
		return true, nil
	})
	if err != nil {
		return err
	}
	if n := tx.sequence(log); n != last {
		problem("%s: the last change is %d, the counter says %d", t.name, last, n)
	}
	for id, version := range versions {
		c, ok := newest[id]
		if ok && (c.Op == Deleted || c.Number != version) || !ok && version >= first && first != 0 {
			problem("%s %s: it has version %d, the change log says %s", t.name, id, version, fmt.Sprintf("%d (%c)", c.Number, c.Op))
		}
	}
	for id, c := range newest {
		if _, ok := versions[id]; !ok && c.Op != Deleted {
			problem("%s %s: the change log has it, the records do not", t.name, id)
		}
	}
	return nil
}

// Dump writes down every key and value that an organization has, for comparing two moments of it.
func (s *Store) Dump(org uuid.UUID) (string, error) {
	var b strings.Builder
	err := s.View(org, func(tx *Tx) error {
		if tx.orgBkt == nil {
			return nil
		}
		return tx.orgBkt.ForEachBucket(func(name []byte) error {
			fmt.Fprintf(&b, "%s (%d)\n", name, tx.sequence(string(name)))
			return tx.scan(string(name), nil, func(k, v []byte) (bool, error) {
				fmt.Fprintf(&b, "  %x %q\n", k, v)
				return true, nil
			})
		})
	})
	return b.String(), err
}
