package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// rewrite changes a record of organization A as the store would, without its keys and its log.
func rewrite(t *testing.T, s *Store, id uuid.UUID, version uint64, public string) {
	t.Helper()
	plant(t, s, orgA, "people.rec", id[:], exactly(personValue(id[:], version, []byte(`{"token":"t"}`), []byte(public))))
}

type entry struct {
	bucket     string
	key, value []byte
}

// TestRepairLeaves plants problems that cannot be repaired, most of them beside one that can. They
// are reported, and everything that does not follow from the records stays unchanged.
func TestRepairLeaves(t *testing.T) {
	flip := func(v []byte) []byte { return flipped(v, len(v)*8-20) }
	damagedRecord := fmt.Sprintf("people %s: the store is damaged: a value does not match its checksum", ann)
	for _, c := range []struct {
		damageCase
		repaired []entry // what a repair removes
	}{
		{damageCase{"an unreadable record", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, "people.rec", ann[:], flip)
		}, says(damagedRecord)}, nil},
		{damageCase{"keys of an unreadable record", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, "people.rec", ann[:], flip)
			plant(t, s, orgA, tags, tagged("green", ann), exactly([]byte{}))
			plant(t, s, orgA, emails, []byte("z@x"), exactly(ann[:]))
			plantShared(t, s, tokens, []byte("z"), exactly(append(orgA[:], ann[:]...)))
		}, says(damagedRecord)}, nil},
		{damageCase{"a key of an unreadable record that another has", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, "people.rec", ann[:], flip)
			plant(t, s, orgA, emails, []byte("b@x"), exactly(ann[:]))
		}, says(damagedRecord, fmt.Sprintf("people %s: its unique key email also belongs to %x", bob, ann[:]))}, nil},
		{damageCase{"keys left over beside an unreadable record", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, "people.rec", ann[:], flip)
			plant(t, s, orgA, tags, tagged("green", bob), exactly([]byte{}))
			plant(t, s, orgA, emails, []byte("z@x"), exactly(bob[:]))
		}, says(damagedRecord, strayTag(tagged("green", bob)), strayUnique("email", "z@x"))}, []entry{
			{tags, tagged("green", bob), []byte{}}, {emails, []byte("z@x"), bob[:]},
		}},
		{damageCase{"two records with one unique key", func(t *testing.T, s *Store, _ []Job) {
			rewrite(t, s, bob, 2, `{"name":"bob","email":"a@x","tags":["red"]}`)
			plantShared(t, s, tokens, []byte("t"), exactly(append(orgA[:], bob[:]...)))
			plant(t, s, orgA, emails, []byte("b@x"), nothing)
		}, says(
			fmt.Sprintf("people %s: its unique key email also belongs to %x", bob, ann[:]),
			fmt.Sprintf("people %s: its unique key token also belongs to %x", ann, append(orgA[:], bob[:]...)),
		)}, nil},
		{damageCase{"a record that is gone", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, "people.rec", bob[:], nothing)
			plantCount(t, s, orgA, 1)
		}, says(
			fmt.Sprintf("people %s: the change log has it, but it does not exist", bob),
			strayTag(tagged("red", bob)), strayUnique("email", "b@x"),
		)}, []entry{{tags, tagged("red", bob), []byte{}}, {emails, []byte("b@x"), bob[:]}}},
		{damageCase{"a key that is no id", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, "people.rec", []byte("short"), exactly(personValue([]byte("short"), 1, nil, []byte("{}"))))
		}, says(fmt.Sprintf("people: the key %x is not an id", "short"))}, nil},
		{damageCase{"a gap in the log", func(t *testing.T, s *Store, _ []Job) {
			write(t, s, orgA, func(tx *Tx) error {
				d, err := people.Get(tx, bob)
				if err == nil {
					_, err = people.Update(tx, d, d.Record, nil)
				}
				return err
			})
			plant(t, s, orgA, "people.log", numberKey(2), nothing)
		}, says("people: the change log has a gap after 1")}, nil},
		{damageCase{"a log without its end", func(t *testing.T, s *Store, _ []Job) {
			write(t, s, orgA, func(tx *Tx) error {
				d, err := people.Insert(tx, nobody, person{Name: "short-lived"})
				if err == nil {
					err = people.Delete(tx, d)
				}
				return err
			})
			plant(t, s, orgA, "people.log", numberKey(4), nothing)
		}, says(
			"people: the last change is 3, but the counter says 4",
			fmt.Sprintf("people %s: the change log has it, but it does not exist", nobody),
		)}, nil},
		{damageCase{"an unreadable change", func(t *testing.T, s *Store, _ []Job) {
			plant(t, s, orgA, "people.log", numberKey(1), flip)
			rewrite(t, s, ann, 0, `{"name":"ann","email":"a@x","tags":["red","blue","red"]}`)
		}, says("people: change 0000000000000001: the store is damaged: an entry does not match its checksum")}, nil},
		{damageCase{"a record newer than the log", func(t *testing.T, s *Store, _ []Job) {
			rewrite(t, s, ann, 9, `{"name":"ann","email":"a@x","tags":["red","blue","red"]}`)
		}, says(fmt.Sprintf("people %s: it has version 9, but the change log says 1 (c)", ann))}, nil},
		{damageCase{"a record that was deleted", func(t *testing.T, s *Store, _ []Job) {
			write(t, s, orgA, func(tx *Tx) error {
				d, err := people.Get(tx, bob)
				if err == nil {
					err = people.Delete(tx, d)
				}
				return err
			})
			plant(t, s, orgA, "people.rec", bob[:], exactly(personValue(bob[:], 3, []byte("{}"), []byte(`{"name":"bob","email":"b@x","tags":["red"]}`))))
			plant(t, s, orgA, tags, tagged("red", bob), exactly([]byte{}))
			plant(t, s, orgA, emails, []byte("b@x"), exactly(bob[:]))
			plantCount(t, s, orgA, 2)
		}, says(fmt.Sprintf("people %s: it has version 3, but the change log says 3 (d)", bob))}, nil},
		{damageCase{"an unreadable job", func(t *testing.T, s *Store, jobs []Job) {
			plant(t, s, orgA, jobsBucket, jobs[0].ID[:], flip)
		}, func(jobs []Job) []string {
			return []string{fmt.Sprintf("organization %s: job %s: the store is damaged: an entry does not match its checksum", orgA, jobs[0].ID)}
		}}, nil},
		{damageCase{"a job that is no id", func(t *testing.T, s *Store, jobs []Job) {
			plant(t, s, orgA, jobsBucket, []byte("short"), exactly([]byte("x")))
		}, says(fmt.Sprintf("organization %s: the key %x is not the id of a job", orgA, "short"))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, jobs := healthy(t)
			c.plant(t, s, jobs)
			planted := everything(t, s)
			want := c.want(jobs)
			slices.Sort(want)

			unrepaired := make([]string, len(want))
			for i := range want {
				unrepaired[i] = strings.TrimPrefix(want[i], wasRepaired)
			}
			slices.Sort(unrepaired)
			if found := look(t, s, false); !slices.Equal(found, unrepaired) {
				t.Errorf("a look finds\n%q, want\n%q", found, unrepaired)
			}
			if got := everything(t, s); got != planted {
				t.Errorf("a look changed\n%s", difference(planted, got))
			}

			if found := look(t, s, true); !slices.Equal(found, want) {
				t.Errorf("a repair finds\n%q, want\n%q", found, want)
			}
			left := slices.DeleteFunc(slices.Clone(want), func(f string) bool { return strings.HasPrefix(f, wasRepaired) })
			if found := look(t, s, true); !slices.Equal(found, left) {
				t.Errorf("after the repair:\n%q, want\n%q", found, left)
			}
			for _, m := range c.repaired { // put back, the file must be as it was
				plant(t, s, orgA, m.bucket, m.key, func(v []byte) []byte {
					if v != nil {
						t.Errorf("%s still has %q", m.bucket, m.key)
					}
					return m.value
				})
			}
			if got := everything(t, s); got != planted {
				t.Errorf("a repair changed\n%s", difference(planted, got))
			}
		})
	}
}
