package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// damageCase is planted damage and the expected reports. Those with the prefix wasRepaired are
// repaired.
type damageCase struct {
	name  string
	plant func(t *testing.T, s *Store, jobs []Job)
	want  func(jobs []Job) []string
}

func says(want ...string) func([]Job) []string { return func([]Job) []string { return want } }

const (
	tags   = "people.key.tag"
	emails = "people.uniq.email"
	tokens = "global.people.token"
)

var (
	noTag   = wasRepaired + "people " + ann.String() + ": its key tag is missing"
	noEmail = wasRepaired + "people " + ann.String() + ": its unique key email leads to another record or to none"
	noToken = wasRepaired + "people " + ann.String() + ": its unique key token leads to another record or to none"
)

func strayTag(k []byte) string {
	return fmt.Sprintf(wasRepaired+"people: the key tag has %q, which belongs to no record", k)
}

func strayUnique(name, key string) string {
	return fmt.Sprintf(wasRepaired+"people: the unique key %s has %q, which belongs to no record", name, key)
}

// TestRepair plants damage to data that follows from the records alone. It is reported, left
// unchanged by a check, and restored to the same bytes by a repair.
func TestRepair(t *testing.T) {
	of := func(bucket string, key []byte, change func([]byte) []byte) func(*testing.T, *Store, []Job) {
		return func(t *testing.T, s *Store, _ []Job) { plant(t, s, orgA, bucket, key, change) }
	}
	beside := func(bucket, key string, value []byte) func(*testing.T, *Store, []Job) {
		return func(t *testing.T, s *Store, _ []Job) { plantShared(t, s, bucket, []byte(key), exactly(value)) }
	}
	const global, local = true, false
	value := func(global bool, org, id uuid.UUID) []byte { return (&uniqueKey{global: global}).value(org, id) }
	for _, c := range []damageCase{
		{"a key gone", of(tags, tagged("blue", ann), nothing), says(noTag)},
		{"a key that a record has twice gone", of(tags, tagged("red", ann), nothing), says(noTag, noTag)},
		{"a key left over", of(tags, tagged("green", ann), exactly([]byte{})), says(strayTag(tagged("green", ann)))},
		{"a key of nobody", of(tags, tagged("red", nobody), exactly([]byte{})), says(strayTag(tagged("red", nobody)))},
		{"a key of another organization's record", of(tags, tagged("red", eve), exactly([]byte{})), says(strayTag(tagged("red", eve)))},
		{"a key too short", of(tags, []byte("short"), exactly([]byte{})), says(strayTag([]byte("short")))},
		{"a key with a changed letter", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, tags, tagged("blue", ann), nothing)
			plant(t, s, orgA, tags, tagged("glue", ann), exactly([]byte{}))
		}, says(strayTag(tagged("glue", ann)), noTag)},
		{"a key under another's id", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, tags, tagged("blue", ann), nothing)
			plant(t, s, orgA, tags, tagged("blue", bob), exactly([]byte{}))
		}, says(strayTag(tagged("blue", bob)), noTag)},

		{"a unique key gone", of(emails, []byte("a@x"), nothing), says(noEmail)},
		{"a unique key of another", of(emails, []byte("a@x"), exactly(value(local, orgA, bob))), says(noEmail)},
		{"a unique key of nobody", of(emails, []byte("a@x"), exactly(value(local, orgA, nobody))), says(noEmail)},
		{"a unique key too short", of(emails, []byte("a@x"), exactly([]byte("short"))), says(noEmail)},
		{"a unique key too long", of(emails, []byte("a@x"), exactly(append([]byte("long"), ann[:]...))), says(noEmail)},
		{"two unique keys exchanged", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, emails, []byte("a@x"), exactly(value(local, orgA, bob)))
			plant(t, s, orgA, emails, []byte("b@x"), exactly(value(local, orgA, ann)))
		}, says(noEmail, strings.Replace(noEmail, ann.String(), bob.String(), 1))},
		{"a unique key left over", of(emails, []byte("z@x"), exactly(value(local, orgA, ann))), says(strayUnique("email", "z@x"))},
		{"a unique key left over of nobody", of(emails, []byte("z@x"), exactly(value(local, orgA, nobody))), says(strayUnique("email", "z@x"))},
		{"a unique key left over, too short", of(emails, []byte("z@x"), exactly([]byte("x"))), says(strayUnique("email", "z@x"))},

		{"a global key gone", beside(tokens, "t", nil), says(noToken)},
		{"a global key of another", beside(tokens, "t", value(global, orgA, bob)), says(noToken)},
		{"a global key of nobody", beside(tokens, "t", value(global, orgA, nobody)), says(noToken)},
		{"a global key left over", beside(tokens, "z", value(global, orgA, ann)), says(strayUnique("token", "z"))},
		{"a global key left over of the other organization", beside(tokens, "z", value(global, orgB, eve)), says(strayUnique("token", "z"))},
		{"a global key of no organization", beside(tokens, "z", value(global, nobody, ann)),
			says(fmt.Sprintf(wasRepaired+"%s: the key %x belongs to an organization that does not exist", tokens, "z"))},
		{"a global key too short", beside(tokens, "z", ann[:]),
			says(fmt.Sprintf(wasRepaired+"%s: the key %x belongs to an organization that does not exist", tokens, "z"))},

		{"a count too low", func(t *testing.T, s *Store, _ []Job) { plantCount(t, s, orgA, 0) },
			says(wasRepaired + "people: the count is 0, but there are 2 records")},

		{"a job in no queue", func(t *testing.T, s *Store, jobs []Job) {
			plantShared(t, s, "due", jobs[1].dueKey(), nothing)
		}, func(jobs []Job) []string { return []string{inNoQueue(jobs[1])} }},
		{"a job queued at another time", func(t *testing.T, s *Store, jobs []Job) {
			plantShared(t, s, "due", jobs[2].dueKey(), nothing)
			plantShared(t, s, "due", atOneOClock(jobs[2]).dueKey(), exactly([]byte{}))
		}, func(jobs []Job) []string { return []string{strayJob(jobs[2].ID, orgB), inNoQueue(jobs[2])} }},
		{"a job queued at two times", func(t *testing.T, s *Store, jobs []Job) {
			plantShared(t, s, "due", atOneOClock(jobs[0]).dueKey(), exactly([]byte{}))
		}, func(jobs []Job) []string { return []string{strayJob(jobs[0].ID, orgA)} }},
		{"a queue entry of no job", func(t *testing.T, s *Store, jobs []Job) {
			plantShared(t, s, "due", (&Job{ID: nobody, Org: orgA, Due: s.Now()}).dueKey(), exactly([]byte{}))
		}, says(strayJob(nobody, orgA))},
		{"a queue entry of another organization", func(t *testing.T, s *Store, jobs []Job) {
			plantShared(t, s, "due", (&Job{ID: jobs[0].ID, Org: orgB, Due: jobs[0].Due}).dueKey(), exactly([]byte{}))
		}, func(jobs []Job) []string { return []string{strayJob(jobs[0].ID, orgB)} }},
		{"a queue entry of no organization", func(t *testing.T, s *Store, jobs []Job) {
			plantShared(t, s, "due", (&Job{ID: jobs[0].ID, Org: nobody, Due: jobs[0].Due}).dueKey(), exactly([]byte{}))
		}, func(jobs []Job) []string { return []string{strayJob(jobs[0].ID, nobody)} }},
		{"a queue entry that is none", func(t *testing.T, s *Store, _ []Job) {
			plantShared(t, s, "due", []byte("short"), exactly([]byte{}))
		}, says(fmt.Sprintf(wasRepaired+"jobs: the queue entry %x does not belong to a job", "short"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, jobs := healthy(t)
			before := everything(t, s)
			c.plant(t, s, jobs)
			planted := everything(t, s)
			want := c.want(jobs)
			slices.Sort(want)

			seen := look(t, s, false)
			for i := range seen {
				seen[i] = wasRepaired + seen[i]
			}
			if !slices.Equal(seen, want) {
				t.Errorf("a look finds\n%q, want\n%q", seen, want)
			}
			if got := everything(t, s); got != planted {
				t.Errorf("a look changed\n%s", difference(planted, got))
			}

			for i := range want { // a key that a record has twice is missing only until the first is put back
				if i > 0 && want[i] == want[i-1] {
					want = slices.Delete(want, i, i+1)
					break
				}
			}
			if found := look(t, s, true); !slices.Equal(found, want) {
				t.Errorf("a repair finds\n%q, want\n%q", found, want)
			}
			if got := everything(t, s); got != before {
				t.Errorf("it is not what it was:\n%s", difference(before, got))
			}
			if found := look(t, s, true); found != nil {
				t.Errorf("after the repair: %q", found)
			}
		})
	}
}

// TestCountTooHigh checks that a repair leaves a count that shows that records are gone, and that
// CorrectCounts says how many.
func TestCountTooHigh(t *testing.T) {
	s, _ := healthy(t)
	plantCount(t, s, orgA, 7)
	want := []string{"people: the count is 7, but there are 2 records"}
	if found := look(t, s, true); !slices.Equal(found, want) {
		t.Errorf("a repair finds %q", found)
	}
	write(t, s, orgA, func(tx *Tx) error {
		tx.CorrectCounts(func(table string, missing int) {
			if table != "people" || missing != 5 {
				t.Errorf("%s lacks %d records", table, missing)
			}
		})
		return nil
	})
	if found := look(t, s, true); found != nil {
		t.Errorf("afterwards it finds %q", found)
	}
}
