package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// note has what tombstones affect: a single reference, a list of references, and custom members.
type note struct {
	Text   string         `json:"text"`
	Owner  uuid.NullUUID  `json:"owner"`
	Tags   []uuid.UUID    `json:"tags"`
	Custom map[string]any `json:",embed"`
	Last   string         `json:"last"`
}

func encoded(n note) string {
	b, err := json.Marshal(&n, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// without returns the record without references to id.
func (n note) without(id uuid.UUID) note {
	if n.Owner.Valid && n.Owner.UUID == id {
		n.Owner = uuid.NullUUID{}
	}
	n.Tags = slices.DeleteFunc(slices.Clone(n.Tags), func(tag uuid.UUID) bool { return tag == id })
	return n
}

// withoutMember returns the record without the member.
func (n note) withoutMember(member string) note {
	custom := map[string]any{}
	for k, v := range n.Custom {
		if k != member {
			custom[k] = v
		}
	}
	n.Custom = custom
	return n
}

// memberIDs has the id of each existing member. One that is created again under its name has
// another id.
type memberIDs map[string]uuid.UUID

// notes is a table whose members are indexed by their current ids.
func notes(ids memberIDs) *Table[note] {
	return NewTable("notes", nil, []Key[note]{
		{Name: "owner", Of: func(_ *Tx, n *note) (keys [][]byte, _ error) {
			if n.Owner.Valid {
				keys = append(keys, n.Owner.UUID[:])
			}
			return keys, nil
		}},
		{Name: "tags", Of: func(_ *Tx, n *note) (keys [][]byte, _ error) {
			for _, tag := range n.Tags {
				keys = append(keys, bytes.Clone(tag[:]))
			}
			return keys, nil
		}},
		{Name: "custom", Of: func(_ *Tx, n *note) (keys [][]byte, _ error) {
			for member, id := range ids {
				switch v := n.Custom[member].(type) {
				case []any:
					for _, entry := range v {
						keys = append(keys, append(id[:], entry.(string)[0]))
					}
				case string:
					keys = append(keys, append(id[:], 0))
				}
			}
			slices.SortFunc(keys, bytes.Compare)
			return keys, nil
		}},
	})
}

func deadReference(field string, id uuid.UUID) Tombstone {
	return Tombstone{Field: field, Value: id.String(), Key: field, Prefix: id[:]}
}

func deadMember(member string, id uuid.UUID) Tombstone {
	return Tombstone{Field: member, Key: "custom", Prefix: id[:]}
}

// storedNote returns the stored form of a record, without corrections.
func storedNote(tx *Tx, id uuid.UUID) ([]byte, error) {
	_, _, public, err := decodeValue(tx.placeSum("notes.rec", id[:]), tx.get("notes.rec", id[:]))
	return public, err
}

// TestApplyTombstones compares what every way of reading returns under tombstones with the record
// written again without the deleted values. The texts contain everything that could be mistaken for
// them.
func TestApplyTombstones(t *testing.T) {
	x, y, z := numberedID(9, 1), numberedID(9, 2), numberedID(9, 3)
	owner := func(id uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: id, Valid: true} }
	quoted := `"` + x.String() + `"`
	records := []note{
		{},
		{Owner: owner(x)},
		{Owner: owner(y), Tags: []uuid.UUID{x}},
		{Tags: []uuid.UUID{y, x, z}},
		{Tags: []uuid.UUID{x, y, x}},
		{Tags: []uuid.UUID{x, x}},
		{Tags: []uuid.UUID{y, z}, Owner: owner(z)},
		{Text: x.String()},
		{Text: quoted, Last: `{"owner":` + quoted + `,"tags":[` + quoted + `],"custom_field_x":"v"}`},
		{Text: `\" "custom_field_x":1, \\`, Last: "<&>\u2028 日本 🙂 \x1f\"\\/\t", Tags: []uuid.UUID{x, z}},
		{Custom: map[string]any{"custom_field_x": "v"}},
		{Custom: map[string]any{"custom_field_x": []any{"a", quoted, `"custom_field_x"`}, "custom_field_xy": "stays"}},
		{Custom: map[string]any{"custom_field_a": x.String(), "custom_field_x": "🙂\n\"", "custom_field_y": []any{x.String(), "custom_field_x"}}},
		{Custom: map[string]any{"custom_field_y": `"custom_field_x":`}, Owner: owner(x), Tags: []uuid.UUID{x}},
		{Custom: map[string]any{"custom_field_y": "\\u0022custom_field_x\\u0022"}, Last: strings.Repeat(quoted+"é", 100)},
	}
	for _, c := range []struct {
		name string
		tomb Tombstone
		want func(note) note
	}{
		{"an entry of a list", deadReference("tags", x), func(n note) note {
			was := n.Owner
			n = n.without(x)
			n.Owner = was
			return n
		}},
		{"a single reference", deadReference("owner", x), func(n note) note {
			was := n.Tags
			n = n.without(x)
			n.Tags = was
			return n
		}},
		{"a member", deadMember("custom_field_x", z), func(n note) note { return n.withoutMember("custom_field_x") }},
	} {
		s := open(t, t.TempDir(), Options{})
		table := notes(memberIDs{"custom_field_x": z, "custom_field_y": y})
		w := &noteWorld{s: s, table: table, model: map[uuid.UUID]note{}, forms: map[string]string{}}
		var docs []Doc[note]
		for _, org := range []uuid.UUID{orgA, orgB} {
			write(t, s, org, func(tx *Tx) error {
				for i, n := range records {
					d, err := table.Insert(tx, numberedID(1, i), n)
					if err != nil {
						return err
					}
					if org == orgA {
						docs = append(docs, d)
						w.order, w.model[d.ID] = append(w.order, d.ID), c.want(n)
					}
				}
				return nil
			})
		}
		write(t, s, orgA, func(tx *Tx) error { _, err := table.AddTombstone(tx, c.tomb); return err })
		read(t, s, orgA, func(tx *Tx) error {
			for i, d := range docs {
				got, err := table.Get(tx, d.ID)
				if err != nil {
					return err
				}
				changed := !bytes.Equal(got.JSON, d.JSON)
				if (got.Version() != d.Version()) != changed || changed != (encoded(c.want(records[i])) != encoded(records[i])) {
					t.Errorf("%s: %s became %s, version %s %s", c.name, d.JSON, got.JSON, d.Version(), got.Version())
				}
				if stored, err := storedNote(tx, d.ID); err != nil || !bytes.Equal(stored, d.JSON) {
					t.Errorf("%s: stored as %s, %v", c.name, stored, err)
				}
			}
			return w.check(tx)
		})
		w.model = map[uuid.UUID]note{}
		for i, n := range records { // another organization has the same ids and no tombstones
			w.model[numberedID(1, i)] = n
		}
		w.forms = map[string]string{}
		read(t, s, orgB, w.check)
	}
}

// TestMemberCreatedTwice deletes a member, fills its successor of the same name, and deletes that
// too, before anything was swept. Each tombstone removes only its own values, in whatever order
// they are swept.
func TestMemberCreatedTwice(t *testing.T) {
	const member = "custom_field_x"
	for _, newFirst := range []bool{false, true} {
		old, young := numberedID(8, 1), numberedID(8, 2)
		if newFirst { // in the order of the bucket
			old, young = young, old
		}
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			ids := memberIDs{member: old}
			w := &noteWorld{s: open(t, t.TempDir(), Options{}), table: notes(ids), model: map[uuid.UUID]note{}, forms: map[string]string{}}
			put := func(i int, v any) {
				t.Helper()
				write(t, w.s, orgA, func(tx *Tx) error {
					id, n := numberedID(1, i), note{Text: fmt.Sprint(i), Custom: map[string]any{member: v}}
					w.model[id] = n
					d, err := w.table.Get(tx, id)
					if err != nil {
						w.order = append(w.order, id)
						_, err = w.table.Insert(tx, id, n)
						return err
					}
					_, err = w.table.Update(tx, d, n, []string{member})
					return err
				})
				read(t, w.s, orgA, w.check)
			}
			bury := func() {
				t.Helper()
				write(t, w.s, orgA, func(tx *Tx) error {
					tomb, err := w.table.AddTombstone(tx, deadMember(member, ids[member]))
					w.tombs = append(w.tombs, tomb)
					for id, n := range w.model {
						w.model[id] = n.withoutMember(member)
					}
					return err
				})
				read(t, w.s, orgA, w.check)
			}
			put(1, "old")
			put(2, []any{"a", "b"})
			put(3, "old, and never touched again")
			bury()
			ids[member] = young
			put(1, "new")
			put(2, []any{"b", "c"})
			put(4, "new alone")
			bury()
			delete(ids, member)
			for _, i := range order {
				for more := true; more; {
					write(t, w.s, orgA, func(tx *Tx) (err error) {
						more, err = w.table.Sweep(tx, w.tombs[i], 1)
						return err
					})
					read(t, w.s, orgA, w.check)
				}
			}
			read(t, w.s, orgA, func(tx *Tx) error {
				if tombs, err := tx.Tombstones("notes"); err != nil || len(tombs) > 0 {
					t.Errorf("left are %v, %v", tombs, err)
				}
				return nil
			})
		}
	}
}

// While a tombstone is unreadable, no record of the table may be shown.
func TestADamagedTombstone(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	s.db.NoSync = true
	table, x := notes(nil), numberedID(9, 1)
	tomb := deadReference("tags", x)
	var id uuid.UUID
	write(t, s, orgA, func(tx *Tx) error {
		d, err := table.Insert(tx, tx.NewID(), note{Tags: []uuid.UUID{x}})
		id = d.ID
		_, second := table.AddTombstone(tx, tomb)
		return errors.Join(err, second)
	})
	var good []byte
	plant(t, s, orgA, tombBucket("notes"), tomb.key(), func(v []byte) []byte { good = v; return v })
	damages := [][]byte{{}, good[:3], good[:len(good)-1], append(bytes.Clone(good), ' ')}
	for bit := range len(good) * 8 {
		if bit%5 == 0 {
			damages = append(damages, flipped(good, bit))
		}
	}
	reads := map[string]func(*Tx) error{
		"get":  func(tx *Tx) error { _, err := table.Get(tx, id); return err },
		"scan": func(tx *Tx) error { return table.Scan(tx, func(Doc[note]) (bool, error) { return true, nil }) },
		"reader": func(tx *Tx) error {
			_, public, err := tx.Reader("notes").Public(id)
			if public != nil {
				return fmt.Errorf("it shows %s", public)
			}
			return err
		},
		"records": func(tx *Tx) error {
			return tx.Records("notes", uuid.Nil, func(uuid.UUID, uint64, []byte) (bool, error) { return true, nil })
		},
		"verify": func(tx *Tx) error {
			var found []error
			err := table.Verify(tx, func(_ bool, format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) })
			return errors.Join(append(found, err)...)
		},
	}
	damaged := func(what string) {
		t.Helper()
		for name, fn := range reads {
			err := s.View(orgA, fn)
			if !errors.Is(err, ErrDamaged) && (name != "verify" || err == nil) {
				t.Errorf("%s: %s: %v", what, name, err)
			}
		}
	}
	for i, v := range damages {
		plant(t, s, orgA, tombBucket("notes"), tomb.key(), func([]byte) []byte { return v })
		damaged(fmt.Sprintf("damage %d", i))
	}
	other := deadReference("tags", numberedID(9, 2))
	plant(t, s, orgA, tombBucket("notes"), tomb.key(), func([]byte) []byte { return nil })
	plant(t, s, orgA, tombBucket("notes"), other.key(), func([]byte) []byte { return good })
	damaged("under another's key")
}

// Two tombstones without a change of the table between them make two forms of a record, and two
// versions.
func TestTwoBurialsAreTwoVersions(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	table, x, y := notes(nil), numberedID(9, 1), numberedID(9, 2)
	forms := map[string]string{}
	var id uuid.UUID
	write(t, s, orgA, func(tx *Tx) error {
		d, err := table.Insert(tx, tx.NewID(), note{Tags: []uuid.UUID{x, y}})
		id = d.ID
		return err
	})
	for _, gone := range []uuid.UUID{x, y} {
		write(t, s, orgA, func(tx *Tx) error { _, err := table.AddTombstone(tx, deadReference("tags", gone)); return err })
		read(t, s, orgA, func(tx *Tx) error {
			d, err := table.Get(tx, id)
			if was, known := forms[d.Version()]; known && was != string(d.JSON) {
				t.Errorf("version %s was %s and is %s", d.Version(), was, d.JSON)
			}
			forms[d.Version()] = string(d.JSON)
			return err
		})
	}
}
