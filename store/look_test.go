package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// findings are the problems that a check reports. Repaired ones have a prefix.
type findings []string

const wasRepaired = "repaired: "

func (f *findings) report(repaired bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if repaired {
		text = wasRepaired + text
	}
	*f = append(*f, text)
}

// look checks the file and the people of both organizations, and returns the sorted problems.
func look(t testing.TB, s *Store, repair bool) (found findings) {
	t.Helper()
	if err := s.Verify(context.Background(), repair, found.report); err != nil {
		t.Fatal(err)
	}
	for _, org := range []uuid.UUID{orgA, orgB} {
		verify := func(tx *Tx) error { return people.Verify(tx, found.report) }
		if repair {
			write(t, s, org, verify)
		} else {
			read(t, s, org, verify)
		}
	}
	slices.Sort(found)
	return found
}

// everything returns the content of the file as text: every bucket with its sequence, every key and
// value.
func everything(t testing.TB, s *Store) string {
	t.Helper()
	var b strings.Builder
	var list func(path string, bkt *bolt.Bucket) error
	list = func(path string, bkt *bolt.Bucket) error {
		fmt.Fprintf(&b, "%s (%d)\n", path, bkt.Sequence())
		return bkt.ForEach(func(k, v []byte) error {
			if v == nil {
				return list(fmt.Sprintf("%s/%q", path, k), bkt.Bucket(k))
			}
			fmt.Fprintf(&b, "%s %q = %q\n", path, k, v)
			return nil
		})
	}
	err := s.db.View(func(btx *bolt.Tx) error {
		return btx.ForEach(func(name []byte, bkt *bolt.Bucket) error { return list(string(name), bkt) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// difference returns the lines that only one of two texts has.
func difference(a, b string) string {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	var list []string
	for _, l := range linesA {
		if !slices.Contains(linesB, l) {
			list = append(list, "- "+l)
		}
	}
	for _, l := range linesB {
		if !slices.Contains(linesA, l) {
			list = append(list, "+ "+l)
		}
	}
	return strings.Join(list, "\n")
}

// plantShared changes one value of a shared bucket. If change returns nil, the key is removed.
func plantShared(t *testing.T, s *Store, bucket string, key []byte, change func(v []byte) []byte) {
	t.Helper()
	err := s.db.Update(func(btx *bolt.Tx) error {
		b := btx.Bucket([]byte(bucket))
		if v := change(slices.Clone(b.Get(key))); v != nil {
			return b.Put(key, v)
		}
		return b.Delete(key)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func plantCount(t *testing.T, s *Store, org uuid.UUID, n uint64) {
	t.Helper()
	err := s.db.Update(func(btx *bolt.Tx) error {
		return btx.Bucket(orgsBucket).Bucket(org[:]).Bucket([]byte("people.rec")).SetSequence(n)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func nothing([]byte) []byte                  { return nil }
func exactly(v []byte) func([]byte) []byte   { return func([]byte) []byte { return v } }
func tagged(tag string, id uuid.UUID) []byte { return keyEntry([]byte(tag), id) }

var (
	ann, bob = numberedID(1, 1), numberedID(1, 2) // in organization A
	eve      = numberedID(1, 3)                   // in organization B
	nobody   = numberedID(9, 9)
)

// healthy returns a small store without problems: two organizations with people and jobs.
func healthy(t *testing.T) (s *Store, jobs []Job) {
	t.Helper()
	clock := newClock()
	s = open(t, t.TempDir(), clock.options())
	s.db.NoSync = true
	put := func(org, id uuid.UUID, p person, kind string, hours int) {
		write(t, s, org, func(tx *Tx) error {
			if _, err := people.Insert(tx, id, p); err != nil {
				return err
			}
			job, err := tx.Enqueue(kind, clock.after(hours), nil)
			if err != nil {
				return err
			}
			j, err := tx.Job(job)
			jobs = append(jobs, j)
			return err
		})
	}
	put(orgA, ann, person{Name: "ann", Email: "a@x", Tags: []string{"red", "blue", "red"}, hidden: hidden{Token: "t"}}, "mail", 0)
	put(orgA, bob, person{Name: "bob", Email: "b@x", Tags: []string{"red"}}, "sweep", 5)
	put(orgB, eve, person{Name: "eve", Email: "a@x", Tags: []string{"red"}, hidden: hidden{Token: "e"}}, "mail", 0)
	if found := look(t, s, false); found != nil {
		t.Fatalf("before: %q", found)
	}
	return s, jobs
}

func atOneOClock(j Job) *Job { j.Due = j.Due.Add(3600e9); return &j }

func inNoQueue(j Job) string {
	return fmt.Sprintf(wasRepaired+"organization %s: job %s is not in the queue", j.Org, j.ID)
}

func strayJob(id, org uuid.UUID) string {
	return fmt.Sprintf(wasRepaired+"jobs: the queue entry of job %s of organization %s does not match a job", id, org)
}
