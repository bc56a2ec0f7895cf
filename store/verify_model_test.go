package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// vandal damages data that follows from the records, never the same place twice, and knows what
// must be reported.
type vandal struct {
	t     *testing.T
	r     *rand.Rand
	btx   *bolt.Tx
	docs  map[uuid.UUID][]Doc[person] // the readable ones, by organization
	jobs  []Job
	spent map[string]bool
	want  []string
}

func (v *vandal) bucket(org uuid.UUID, name string) *bolt.Bucket {
	if shared, is := strings.CutPrefix(name, sharedPrefix); is {
		return v.btx.Bucket([]byte(shared))
	}
	return v.btx.Bucket(orgsBucket).Bucket(org[:]).Bucket([]byte(name))
}

// set writes value, or removes the key if it is nil, unless the place was used before.
func (v *vandal) set(org uuid.UUID, bucket string, key, value []byte, format string, args ...any) {
	place := fmt.Sprintf("%s %s %s", org, bucket, key)
	if strings.HasPrefix(bucket, sharedPrefix) {
		place = fmt.Sprintf("%s %s", bucket, key)
	}
	if v.spent[place] {
		return
	}
	v.spent[place] = true
	b := v.bucket(org, bucket)
	err := b.Delete(key)
	if value != nil {
		err = b.Put(key, value)
	}
	if err != nil {
		v.t.Fatal(err)
	}
	v.want = append(v.want, fmt.Sprintf(wasRepaired+format, args...))
}

// someone returns a record other than d, or an unknown id.
func (v *vandal) someone(org uuid.UUID, d uuid.UUID) uuid.UUID {
	if id := v.docs[org][v.r.IntN(len(v.docs[org]))].ID; id != d && v.r.IntN(3) > 0 {
		return id
	}
	return numberedID(9, v.r.IntN(1000))
}

func (v *vandal) strike() {
	org := []uuid.UUID{orgA, orgB}[v.r.IntN(2)]
	d := v.docs[org][v.r.IntN(len(v.docs[org]))]
	email, token := &people.core.unique[0], &people.core.unique[1]
	unique := []*uniqueKey{email, token}[v.r.IntN(2)]
	bucket := unique.bucket("people")
	stray := fmt.Appendf(nil, "stray%d", v.r.IntN(1000))
	switch v.r.IntN(8) {
	case 0:
		if d.Record.Tags != nil {
			v.set(org, tags, tagged(d.Record.Tags[0], d.ID), nil, "people %s: its key tag is missing", d.ID)
		}
	case 1:
		k := keyEntry(stray, v.someone(org, uuid.Nil))
		v.set(org, tags, k, []byte{}, "people: the key tag has %q, which belongs to no record", k)
	case 2:
		for _, key := range unique.keys(&d.Record) {
			v.set(org, bucket, key, nil, "people %s: its unique key %s leads to another record or to none", d.ID, unique.name)
		}
	case 3:
		for _, key := range unique.keys(&d.Record) {
			v.set(org, bucket, key, unique.value(org, v.someone(org, d.ID)), "people %s: its unique key %s leads to another record or to none", d.ID, unique.name)
		}
	case 4:
		v.set(org, bucket, stray, unique.value(org, v.someone(org, uuid.Nil)), "people: the unique key %s has %q, which belongs to no record", unique.name, stray)
	case 5:
		j := v.jobs[v.r.IntN(len(v.jobs))]
		v.set(j.Org, dueShared, j.dueKey(), nil, "organization %s: job %s is not in the queue", j.Org, j.ID)
	case 6:
		j := v.jobs[v.r.IntN(len(v.jobs))]
		j.Due = j.Due.Add(1e9)
		v.set(j.Org, dueShared, j.dueKey(), []byte{}, "jobs: the queue entry of job %s of organization %s does not match a job", j.ID, j.Org)
	case 7:
		v.set(org, sharedPrefix+tokens, stray, (&uniqueKey{global: true}).value(numberedID(8, 8), d.ID),
			"%s: the key %x belongs to an organization that does not exist", tokens, stray)
	}
}

// world returns a store of both organizations with a history and jobs.
func world(t *testing.T) (*Store, *vandal) {
	t.Helper()
	s := open(t, t.TempDir(), newClock().options())
	s.db.NoSync = true
	v := &vandal{t: t, r: rand.New(rand.NewPCG(21, 22)), docs: map[uuid.UUID][]Doc[person]{}}
	for o, org := range []uuid.UUID{orgA, orgB} {
		for i := range 60 {
			p := person{Name: "p"}
			if i%3 > 0 {
				p.Email = fmt.Sprint(i, "@x")
			}
			if i%4 > 0 {
				p.hidden.Token = fmt.Sprint(o, "token", i)
			}
			for range v.r.IntN(4) {
				p.Tags = append(p.Tags, fmt.Sprint(v.r.IntN(9)))
			}
			write(t, s, org, func(tx *Tx) error {
				d, err := people.Insert(tx, numberedID(byte(o), i+1), p)
				if err != nil {
					return err
				}
				switch i % 6 {
				case 1:
					p.Tags = append(p.Tags, "new")
					d, err = people.Update(tx, d, p, []string{"tags"})
				case 2:
					return people.Delete(tx, d)
				case 3:
					id, err := tx.Enqueue("mail", tx.Now().Add(1e9), nil)
					if err != nil {
						return err
					}
					j, err := tx.Job(id)
					v.jobs = append(v.jobs, j)
					if err != nil {
						return err
					}
				}
				v.docs[org] = append(v.docs[org], d)
				return err
			})
		}
	}
	return s, v
}

// TestRepairAgainstModel damages a store at random and repairs it. Exactly the damage is reported,
// and the repaired file has the same bytes as before, except for the keys of unreadable records,
// which stay.
func TestRepairAgainstModel(t *testing.T) {
	s, v := world(t)
	for _, d := range v.docs[orgA][:3] {
		plant(t, s, orgA, "people.rec", d.ID[:], func(value []byte) []byte { return flipped(value, len(value)*8-9) })
		plant(t, s, orgA, tags, tagged("ghost", d.ID), exactly([]byte{}))
		plant(t, s, orgA, emails, []byte("ghost"+d.ID.String()), exactly(d.ID[:]))
	}
	v.docs[orgA] = v.docs[orgA][3:]
	before, known := everything(t, s), look(t, s, false)
	if len(known) != 3 {
		t.Fatalf("before: %q", known)
	}
	rounds := 300
	if raceDetector {
		rounds = 50
	}
	for round := range rounds {
		v.spent, v.want = map[string]bool{}, slices.Clone(known)
		err := s.db.Update(func(btx *bolt.Tx) error {
			v.btx = btx
			for range 1 + v.r.IntN(12) {
				v.strike()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(v.want)
		if found := look(t, s, true); !slices.Equal(found, findings(v.want)) {
			t.Fatalf("round %d: it found\n%s", round, difference(strings.Join(v.want, "\n"), strings.Join(found, "\n")))
		}
		if after := everything(t, s); after != before {
			t.Fatalf("round %d: it is not what it was after %q:\n%s", round, v.want, difference(before, after))
		}
	}
	if found := look(t, s, true); !slices.Equal(found, known) {
		t.Errorf("at the end: %q", found)
	}
}

// TestSumsHideNothing replaces one of many keys by another, thousands of times. Both must be found
// each time, also if unreadable records or repeated keys make the sums differ anyway.
func TestSumsHideNothing(t *testing.T) {
	s, v := world(t)
	times := 300
	if raceDetector { // ten times as slow, and each run sees the same
		times = 20
	}
	for _, unreadable := range []bool{false, true} {
		if unreadable {
			id := v.docs[orgA][0].ID
			plant(t, s, orgA, "people.rec", id[:], func(value []byte) []byte { return flipped(value, len(value)*8-9) })
		}
		for _, bucket := range []string{tags, emails, sharedPrefix + tokens} {
			err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
				var entries []entry
				for k, value := range tx.scan(bucket, nil) {
					entries = append(entries, entry{bucket, bytes.Clone(k), bytes.Clone(value)})
				}
				for range times {
					if err := v.exchange(tx, entries); !errors.Is(err, errRefused) {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", bucket, err)
			}
		}
	}
}

// exchange replaces a key by one that no record has, checks, and reverts with errRefused.
func (v *vandal) exchange(tx *Tx, entries []entry) error {
	e := entries[v.r.IntN(len(entries))]
	stray := bytes.Clone(e.key)
	stray[0] ^= byte(1 + v.r.IntN(127)) // the key alone: its record is the same
	for slices.ContainsFunc(entries, func(e entry) bool { return bytes.Equal(e.key, stray) }) {
		stray[0]++
	}
	return tx.Try(func() error {
		tx.delete(e.bucket, e.key)
		tx.put(e.bucket, stray, e.value)
		tx.writable = false
		defer func() { tx.writable = true }()
		var found findings
		if err := people.Verify(tx, found.report); err != nil {
			return err
		}
		own := func(e entry) bool {
			return !strings.HasPrefix(e.bucket, sharedPrefix) || bytes.HasPrefix(e.value, orgA[:])
		}
		unread := func(e entry) bool {
			id := v.docs[orgA][0].ID
			return bytes.HasSuffix(e.key, id[:]) || bytes.HasSuffix(e.value, id[:])
		}
		named := func(text string) bool {
			return slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, text) })
		}
		if own(e) && !unread(e) && (!named("is missing") && !named("leads to another record or to none") || !named(fmt.Sprintf("has %q, which belongs to no record", stray))) {
			return fmt.Errorf("%q in the place of %q is not found: %q", stray, e.key, found)
		}
		return errRefused
	})
}

// TestVerifyHoldsNoKeys checks many more keys than it may keep in memory.
func TestVerifyHoldsNoKeys(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	const records, each, size = 200, 100, 200 // 4 MB of keys
	write(t, s, orgA, func(tx *Tx) error {
		for i := range records {
			p := person{Name: "p", Email: fmt.Sprint(i)}
			for j := range each {
				p.Tags = append(p.Tags, fmt.Sprint(j, strings.Repeat("x", size)))
			}
			if _, err := people.Insert(tx, numberedID(1, i), p); err != nil {
				return err
			}
		}
		return nil
	})
	plant(t, s, orgA, "people.log", numberKey(2), nothing) // reported last
	if err := s.Close(); err != nil {                      // and with it what it caches
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	var before, then runtime.MemStats
	for range 3 { // pools are emptied by the second
		runtime.GC()
	}
	runtime.ReadMemStats(&before)
	looked := 0
	read(t, s, orgA, func(tx *Tx) error {
		return people.Verify(tx, func(bool, string, ...any) {
			if looked++; looked == 1 {
				runtime.GC()
				runtime.ReadMemStats(&then)
			}
		})
	})
	if grown := int64(then.HeapAlloc) - int64(before.HeapAlloc); looked == 0 || grown > 1<<20 {
		t.Errorf("after %d findings %d bytes are held for %d of keys", looked, grown, records*each*size)
	}
}
