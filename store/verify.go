package store

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// Report receives each problem that a check finds, and whether it was repaired.
type Report func(repaired bool, format string, args ...any)

// Verify reads the whole table of the transaction's organization. It reports unreadable and
// incomplete records, keys that are missing, wrong or left over, a wrong count, and records whose
// change number the change log contradicts. In an Update it repairs what follows from the records
// alone: keys, incomplete records, and a count that is too low. A higher one shows that records are gone.
func (t *AnyTable) Verify(tx *Tx, report Report) error { return t.VerifyExcept(tx, report, "") }

// VerifyExcept is Verify without the secondary key of the given name.
func (t *AnyTable) VerifyExcept(tx *Tx, report Report, except string) error {
	tx.verifying = true
	checked := t.core
	checked.keys = slices.DeleteFunc(slices.Clone(checked.keys), func(k secondaryKey) bool { return k.name == except })
	v, err := newVerifier(&checked, tx, report)
	if err != nil {
		return err
	}
	records := 0
	for k, value := range tx.scanWhileWriting(v.rec, nil) {
		if len(k) == 16 {
			records++
		}
		if err := v.checkRecord(k, value); err != nil {
			return err
		}
	}
	switch n := t.Count(tx); {
	case n > records: // the count shows that records are gone
		report(false, "%s: the count is %d, but there are %d records", v.name, n, records)
	case n < records:
		report(v.tx.repair(func() { tx.setSequence(v.rec, uint64(records)) }),
			"%s: the count is %d, but there are %d records", v.name, n, records)
	}
	if err := v.leftOvers(); err != nil {
		return err
	}
	if v.unlogged {
		return nil
	}
	v.log()
	return nil
}

// verifier compares one table with what is derived from it.
type verifier struct {
	*table
	tx       *Tx
	report   Report
	seed     maphash.Seed
	sums     map[string]uint64 // by bucket: of the records' entries that exist
	versions map[uuid.UUID]uint64
	tombs    []Tombstone
}

func newVerifier(t *table, tx *Tx, report Report) (*verifier, error) {
	tombs, err := tx.Tombstones(t.name)
	return &verifier{
		table: t, tx: tx, report: report, tombs: tombs,
		seed: maphash.MakeSeed(), sums: map[string]uint64{}, versions: map[uuid.UUID]uint64{},
	}, err
}

func (v *verifier) checkRecord(k, value []byte) error {
	if len(k) != 16 {
		v.report(false, "%s: the key %x is not an id", v.name, k)
		return nil
	}
	id := uuid.UUID(k)
	if !v.has(v.tx, id) {
		v.report(false, "%s %s: it is stored where a lookup does not find it", v.name, id)
	}
	rec := v.newRecord()
	d, err := v.decode(v.tx, id, value, rec)
	if err != nil {
		v.report(false, "%v", err)
		return nil
	}
	if err := v.checkComplete(&d, rec); err != nil {
		return err
	}
	v.versions[id] = d.Change
	stored, err := v.storedForm(v.tx, d)
	if err != nil {
		return err
	}
	for i := range v.unique {
		u := &v.unique[i]
		for _, key := range u.keys(rec) {
			if stored == nil {
				v.uniqueKey(u, id, key)
			} else if bytes.Equal(v.tx.get(u.bucket(v.name), key), u.value(v.tx.org, id)) {
				v.add(u.bucket(v.name), key)
			}
		}
	}
	return v.checkKeys(id, rec, stored, d.completed)
}

// checkKeys reports the secondary keys of a record that are missing. stored is the record as it is stored if it was
// corrected when it was read, and nil otherwise. Each key may be one of the corrected record or of the stored one, because
// it was written before the correction. A record that was completed may lack keys that were added with the new fields.
func (v *verifier) checkKeys(id uuid.UUID, rec, stored any, isCompleted bool) error {
	for i := range v.keys {
		key := &v.keys[i]
		values, both, err := v.keyValues(key, rec, stored)
		if err != nil {
			return err
		}
		bucket := key.bucket(v.name)
		for _, value := range values {
			entry := keyEntry(value, id)
			isMissing := v.tx.get(bucket, entry) == nil
			if isMissing && !isCompleted && both(value) {
				repaired := v.tx.repair(func() { v.tx.put(bucket, entry, nil) })
				v.report(repaired, "%s %s: its key %s is missing", v.name, id, key.name)
				isMissing = false
			}
			if !isMissing && !v.isBuried(key.name, entry) {
				v.add(bucket, entry)
			}
		}
	}
	return nil
}

// checkComplete reports a record that lacks members in a table that is not marked as incomplete. In
// a repair it rewrites the record.
func (v *verifier) checkComplete(d *doc, rec any) error {
	corrections, err := v.tx.corrections(v.name)
	if err != nil || corrections.incomplete != nil || v.tx.store.shapes[v.name] == nil {
		return err
	}
	complete, err := v.canonical(d.JSON)
	if err != nil || bytes.Equal(complete, d.JSON) {
		return err
	}
	lacks := correction{actor: v.tx.actor, before: bytes.Clone(d.JSON), after: complete}
	fields, err := lacks.fields()
	if err != nil {
		return err
	}
	if v.tx.writable {
		whole := *d
		whole.JSON, whole.applied, whole.completed = complete, append(whole.applied, lacks), true
		if err := json.Unmarshal(complete, rec); err != nil {
			return err
		}
		if *d, err = v.write(v.tx, whole, rec, rec, swept, nil); err != nil {
			return err
		}
	}
	v.report(v.tx.writable, "%s %s: it was written before %s existed and was not completed",
		v.name, d.ID, strings.Join(fields, ", "))
	return nil
}

// keyValues returns the values of a key that a record has as it is read or as it is stored, and whether it has a
// value both ways. stored is nil if that is the same.
func (v *verifier) keyValues(k *secondaryKey, rec, stored any) (values [][]byte, both func([]byte) bool, err error) {
	read, err := k.values(v.tx, rec)
	if err != nil || stored == nil {
		return read, func([]byte) bool { return true }, err
	}
	written, err := k.values(v.tx, stored)
	values = slices.Concat(read, written)
	slices.SortFunc(values, bytes.Compare)
	both = func(value []byte) bool {
		is := func(other []byte) bool { return bytes.Equal(other, value) }
		return slices.ContainsFunc(read, is) && slices.ContainsFunc(written, is)
	}
	return slices.CompactFunc(values, bytes.Equal), both, err
}

// isBuried reports whether a tombstone removes the entry of a key.
func (v *verifier) isBuried(key string, entry []byte) bool {
	return slices.ContainsFunc(v.tombs, func(t Tombstone) bool { return t.Key == key && bytes.HasPrefix(entry, t.Prefix) })
}

func (v *verifier) uniqueKey(u *uniqueKey, id uuid.UUID, key []byte) {
	bucket, want := u.bucket(v.name), u.value(v.tx.org, id)
	switch have := v.tx.get(bucket, key); {
	case bytes.Equal(have, want):
	case have != nil && v.claims(u, have, key):
		v.report(false, "%s %s: its unique key %s also belongs to %x", v.name, id, u.name, have)
		return
	default:
		v.report(v.tx.repair(func() { v.tx.put(bucket, key, want) }),
			"%s %s: its unique key %s leads to another record or to none", v.name, id, u.name)
	}
	v.add(bucket, key)
}

// claims reports whether the record that a unique key names has that key, or is unreadable and may
// have it.
func (v *verifier) claims(u *uniqueKey, names, key []byte) bool {
	if len(names) != len(u.value(v.tx.org, uuid.Nil)) {
		return false
	}
	if u.global && !bytes.HasPrefix(names, v.tx.org[:]) {
		return true // of another organization, which cannot be checked here
	}
	id := uuid.UUID(names[len(names)-16:])
	value := v.tx.get(v.rec, id[:])
	if value == nil {
		return false
	}
	rec := v.newRecord()
	_, err := v.decode(v.tx, id, value, rec)
	return err != nil || has(u.keys(rec), key)
}

func (v *verifier) add(bucket string, entry []byte) {
	v.sums[bucket] += maphash.Bytes(v.seed, entry)
}

// leftOvers reports keys that no record has. The sums show first whether there can be any.
func (v *verifier) leftOvers() error {
	for i := range v.unique {
		u := &v.unique[i]
		own := func(_, value []byte) bool {
			return !u.global || len(value) == 32 && bytes.Equal(value[:16], v.tx.org[:]) // the others cannot be checked here
		}
		err := v.leftOver(u.bucket(v.name), "unique key "+u.name, own, func(key, value []byte) (bool, error) {
			return v.claims(u, value, key), nil
		})
		if err != nil {
			return err
		}
	}
	for i := range v.keys {
		key := &v.keys[i]
		alive := func(k, _ []byte) bool { return !v.isBuried(key.name, k) }
		err := v.leftOver(key.bucket(v.name), "key "+key.name, alive, func(k, _ []byte) (bool, error) {
			if len(k) < 16 {
				return false, nil
			}
			id := uuid.UUID(k[len(k)-16:])
			value := v.tx.get(v.rec, id[:])
			if value == nil {
				return false, nil
			}
			rec := v.newRecord()
			d, err := v.decode(v.tx, id, value, rec)
			if err != nil {
				return true, nil // it may have the key
			}
			stored, err := v.storedForm(v.tx, d)
			if err != nil {
				return false, err
			}
			values, _, err := v.keyValues(key, rec, stored)
			return slices.ContainsFunc(values, func(value []byte) bool { return bytes.Equal(keyEntry(value, id), k) }), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leftOver reports the keys of a bucket that count and that no record has.
func (v *verifier) leftOver(
	bucket, name string, counts func(k, value []byte) bool, isUsed func(k, value []byte) (bool, error),
) error {
	return v.tx.ifSumDiffers(bucket, v.seed, v.sums[bucket], counts, func(k, value []byte) error {
		has, err := isUsed(k, value)
		if err == nil && !has {
			v.report(v.tx.forget(bucket, k), "%s: the %s has %q, which belongs to no record", v.name, name, k)
		}
		return err
	})
}

// ifSumDiffers calls fn for the counted keys of a bucket if the sum of their hashes is not that of the keys that should
// be there. It shows that there can be others.
func (tx *Tx) ifSumDiffers(
	bucket string, seed maphash.Seed, want uint64, counts func(k, value []byte) bool, fn func(k, value []byte) error,
) error {
	sum := uint64(0)
	for k, value := range tx.scan(bucket, nil) {
		if counts(k, value) {
			sum += maphash.Bytes(seed, k)
		}
	}
	if sum == want {
		return nil
	}
	for k, value := range tx.scanWhileWriting(bucket, nil) {
		if counts(k, value) {
			if err := fn(k, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// log compares the records with the newest change of each that the log still has.
func (v *verifier) log() {
	type newest struct {
		number uint64
		op     Op
	}
	last := map[uuid.UUID]newest{}
	first, number := uint64(0), uint64(0)
	for e := range v.tx.walkLog(v.name, nil) {
		if e.err != nil {
			v.report(false, "%s: %v", v.name, e.err)
			continue
		}
		if first == 0 {
			first = e.Number
		} else if e.Number != number+1 {
			v.report(false, "%s: the change log has a gap after %d", v.name, number)
		}
		number = e.Number
		last[e.ID] = newest{e.Number, e.Op}
	}
	if n := v.tx.LastChange(v.name); n != number {
		v.report(false, "%s: the last change is %d, but the counter says %d", v.name, number, n)
	}
	for id, version := range v.versions {
		switch c, ok := last[id]; {
		case ok && (c.op == Deleted || c.number != version):
			v.report(false, "%s %s: it has version %d, but the change log says %d (%c)", v.name, id, version, c.number, c.op)
		case !ok && version >= first && first != 0:
			v.report(false, "%s %s: it has version %d, but the change log has no entry for it", v.name, id, version)
		}
	}
	for id, c := range last {
		if id == uuid.Nil {
			continue // it replaces a damaged entry of a record that is not known
		}
		if _, ok := v.versions[id]; !ok && c.op != Deleted && !v.has(v.tx, id) {
			v.report(false, "%s %s: the change log has it, but it does not exist", v.name, id)
		}
	}
}

// Dump returns every key and value of an organization as text, for comparisons.
func (s *Store) Dump(org uuid.UUID) (string, error) {
	var b strings.Builder
	err := s.View(org, func(tx *Tx) error {
		for _, name := range bucketNames(tx.orgBkt, "") {
			fmt.Fprintf(&b, "%s (%d)\n", name, tx.sequence(name))
			for k, v := range tx.scan(name, nil) {
				fmt.Fprintf(&b, "  %x %q\n", k, v)
			}
		}
		return nil
	})
	return b.String(), err
}
