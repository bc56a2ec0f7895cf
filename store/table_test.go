package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

func TestTableBasics(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ann := insert(t, s, orgA, person{Name: "ann"})
	bob := insert(t, s, orgA, person{Name: "bob"})
	insert(t, s, orgA, person{Name: "cid"})

	err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
		_, err := people.Insert(tx, ann.ID, person{Name: "again"})
		return err
	})
	if err == nil {
		t.Error("an id was inserted twice")
	}
	var updated Doc[person]
	write(t, s, orgA, func(tx *Tx) (err error) {
		if updated, err = people.Update(tx, ann, person{Name: "anna"}, []string{"name"}); err != nil {
			return err
		}
		if d, err := people.Get(tx, ann.ID); err != nil || d.Record.Name != "anna" || d.Change != updated.Change {
			return fmt.Errorf("the transaction reads %+v, %v", d, err)
		}
		if err := people.Delete(tx, bob); err != nil {
			return err
		}
		if people.Has(tx, bob.ID) || people.Count(tx) != 2 {
			return errors.New("the transaction does not see its deletion")
		}
		return nil
	})
	read(t, s, orgA, func(tx *Tx) error {
		d, err := people.Get(tx, ann.ID)
		if err != nil || d.ID != ann.ID || d.Record.Name != "anna" || d.Change != updated.Change || string(d.JSON) != `{"name":"anna"}` {
			t.Errorf("got %+v, %v", d, err)
		}
		if public, change := d.Public(); string(public) != `{"name":"anna"}` || change != "4" {
			t.Errorf("public: %s, %s", public, change)
		}
		_, err = people.Get(tx, bob.ID)
		wantCode(t, err, fault.NotFound)
		if people.Has(tx, bob.ID) || !people.Has(tx, ann.ID) || people.Count(tx) != 2 {
			t.Error("has and count disagree with what was done")
		}
		var public []string
		err = tx.Records("people", uuid.Nil, func(id uuid.UUID, change uint64, b []byte) (bool, error) {
			public = append(public, fmt.Sprintf("%d %s", change, b))
			return true, nil
		})
		if want := []string{`4 {"name":"anna"}`, `3 {"name":"cid"}`}; err != nil || !slices.Equal(public, want) {
			t.Errorf("records: %q, %v", public, err)
		}
		return nil
	})
	if got := names(t, s, orgA); got != "anna cid" {
		t.Errorf("scan: %s", got)
	}
}

func TestAnOrganizationWithoutData(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	read(t, s, orgA, func(tx *Tx) error {
		_, err := people.Get(tx, numberedID(1, 1))
		wantCode(t, err, fault.NotFound)
		_, found := people.Find(tx, "email", []byte("x"))
		ids, err := people.IDs(tx, "tag", []byte("x"), 0)
		if found || len(ids) != 0 || err != nil || people.Count(tx) != 0 {
			t.Errorf("found %t, ids %v, %v, count %d", found, ids, err, people.Count(tx))
		}
		return nil
	})
	if got := names(t, s, orgA); got != "" {
		t.Errorf("it has %s", got)
	}
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
}

func TestUniqueKeys(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ann := insert(t, s, orgA, person{Name: "ann", Email: "a@x"})
	bob := insert(t, s, orgA, person{Name: "bob"})
	put := func(old Doc[person], email string) func(*Tx) error {
		return func(tx *Tx) error {
			d, err := people.Get(tx, old.ID)
			if err == nil {
				_, err = people.Update(tx, d, person{Name: old.Record.Name, Email: email}, []string{"email"})
			}
			return err
		}
	}
	owner := func(email string) (id uuid.UUID) {
		read(t, s, orgA, func(tx *Tx) error { id, _ = people.Find(tx, "email", []byte(email)); return nil })
		return id
	}

	err := s.Update(context.Background(), orgA, boss, put(bob, "a@x"))
	var taken *fault.Error
	if !errors.As(err, &taken) || taken.Code != fault.TagNameTaken || taken.Details[0].ID != ann.ID.String() {
		t.Fatalf("taken: %v", err)
	}
	write(t, s, orgA, put(ann, "a@x")) // its own key does not conflict

	write(t, s, orgA, put(ann, "a2@x"))
	write(t, s, orgA, put(bob, "a@x")) // freed by a change
	if owner("a@x") != bob.ID || owner("a2@x") != ann.ID {
		t.Error("the keys name the wrong records")
	}
	write(t, s, orgA, func(tx *Tx) error { // freed and taken in one transaction
		d, err := people.Get(tx, bob.ID)
		if err == nil {
			err = people.Delete(tx, d)
		}
		if err == nil {
			err = put(ann, "a@x")(tx)
		}
		return err
	})
	if owner("a@x") != ann.ID || owner("a2@x") != uuid.Nil {
		t.Error("the key was not handed over")
	}
	cid := insert(t, s, orgA, person{Name: "cid", Email: "a2@x"})
	if owner("a2@x") != cid.ID {
		t.Error("a freed key cannot be taken again")
	}
	insert(t, s, orgA, person{Name: "no key"})
	insert(t, s, orgA, person{Name: "no key"})
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
}

// TestTakenKeyWritesNothing is about callers that continue after the refusal, such as an import.
func TestTakenKeyWritesNothing(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	insert(t, s, orgA, person{Name: "ann", Email: "a@x", hidden: hidden{Token: "t"}})
	write(t, s, orgA, func(tx *Tx) error {
		for _, p := range []person{
			{Name: "bob", Email: "a@x", Tags: []string{"x"}, hidden: hidden{Token: "t2"}},
			{Name: "cid", Email: "c@x", Tags: []string{"x"}, hidden: hidden{Token: "t"}},
			{Name: "dan", Email: "d@x"},
		} {
			if _, err := people.Insert(tx, tx.NewID(), p); (err == nil) != (p.Name == "dan") {
				return fmt.Errorf("%s: %v", p.Name, err)
			}
		}
		return nil
	})
	if got := names(t, s, orgA); got != "ann dan" {
		t.Errorf("there is %s", got)
	}
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
}

func TestGlobalKeys(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ann := insert(t, s, orgA, person{Name: "ann", hidden: hidden{Token: "secret"}})
	type place struct {
		org, id uuid.UUID
		found   bool
	}
	find := func(token string) (p place) {
		var err error
		if p.org, p.id, p.found, err = s.Lookup("people", "token", []byte(token)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := find("secret"); got != (place{orgA, ann.ID, true}) {
		t.Errorf("lookup: %v", got)
	}
	if got := find("other"); got != (place{}) {
		t.Errorf("lookup of an unknown key: %v", got)
	}
	err := s.Update(context.Background(), orgB, boss, func(tx *Tx) error {
		_, err := people.Insert(tx, tx.NewID(), person{Name: "bob", hidden: hidden{Token: "secret"}})
		return err
	})
	if err == nil {
		t.Error("two organizations have the same global key")
	}
	write(t, s, orgA, func(tx *Tx) error { return people.Delete(tx, ann) })
	if got := find("secret"); got != (place{}) {
		t.Errorf("lookup after the deletion: %v", got)
	}
	bob := insert(t, s, orgB, person{Name: "bob", hidden: hidden{Token: "secret"}})
	if got := find("secret"); got != (place{orgB, bob.ID, true}) {
		t.Errorf("lookup after it was taken again: %v", got)
	}
}

func TestSecondaryKeys(t *testing.T) {
	long := strings.Repeat("long", 500)
	s := open(t, t.TempDir(), Options{})
	a := insert(t, s, orgA, person{Name: "a", Tags: []string{"red", "blue", "red"}})
	b := insert(t, s, orgA, person{Name: "b", Tags: []string{"red", long + "1"}})
	c := insert(t, s, orgA, person{Name: "c", Tags: []string{"redder", long + "2", ""}})
	check := func(step, tag string, want ...uuid.UUID) {
		t.Helper()
		read(t, s, orgA, func(tx *Tx) error {
			if got, err := people.IDs(tx, "tag", []byte(tag), 0); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %.20q: got %v, want %v, %v", step, tag, got, want, err)
			}
			return nil
		})
	}
	check("inserted", "red", a.ID, b.ID)
	check("inserted", "blue", a.ID)
	check("inserted", "redder", c.ID)
	check("inserted", "re")
	check("inserted", "", c.ID)
	check("inserted", long+"1", b.ID)
	check("inserted", long+"2", c.ID)
	check("inserted", long)

	write(t, s, orgA, func(tx *Tx) error {
		if _, err := people.Update(tx, a, person{Name: "a", Tags: []string{"blue", long + "1"}}, []string{"tags"}); err != nil {
			return err
		}
		if err := people.Delete(tx, c); err != nil {
			return err
		}
		ids, err := people.IDs(tx, "tag", []byte("red"), 0)
		if err == nil && !slices.Equal(ids, []uuid.UUID{b.ID}) {
			err = fmt.Errorf("the transaction sees %v", ids)
		}
		return err
	})
	check("changed", "red", b.ID)
	check("changed", "blue", a.ID)
	check("changed", "redder")
	check("changed", long+"1", a.ID, b.ID)
	check("changed", long+"2")
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
}

func TestLongUniqueKeys(t *testing.T) {
	long := strings.Repeat("x", 5000)
	s := open(t, t.TempDir(), Options{})
	a := insert(t, s, orgA, person{Name: "a", Email: long + "1"})
	b := insert(t, s, orgA, person{Name: "b", Email: long + "2"})
	read(t, s, orgA, func(tx *Tx) error {
		for email, want := range map[string]uuid.UUID{long + "1": a.ID, long + "2": b.ID, long: uuid.Nil} {
			if got, _ := people.Find(tx, "email", []byte(email)); got != want {
				t.Errorf("…%s: got %s, want %s", email[4990:], got, want)
			}
		}
		return nil
	})
}

func TestThePrivatePartIsKeptAndNotAnswered(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	d := insert(t, s, orgA, person{Name: "ann", hidden: hidden{Source: "imported", Token: "t"}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	read(t, s, orgA, func(tx *Tx) error {
		got, err := people.Get(tx, d.ID)
		if err != nil || got.Record.hidden != d.Record.hidden || string(got.JSON) != `{"name":"ann"}` {
			t.Errorf("got %+v with %s, %v", got.Record, got.JSON, err)
		}
		return nil
	})
}

// TestRecordWithoutPrivatePart reads a record that was written before its kind had private data.
func TestRecordWithoutPrivatePart(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	type earlier struct {
		Name string `json:"name"`
	}
	id := uuid.New()
	write(t, s, orgA, func(tx *Tx) error {
		_, err := NewTable[earlier](people.Name(), nil, nil).Insert(tx, id, earlier{"ann"})
		return err
	})
	write(t, s, orgA, func(tx *Tx) error {
		got, err := people.Get(tx, id)
		if err != nil || got.Record.Name != "ann" || got.Record.hidden != (hidden{}) {
			t.Errorf("got %+v, %v", got.Record, err)
		}
		rec := got.Record
		rec.hidden.Source = "imported"
		_, err = people.Update(tx, got, rec, nil)
		return err
	})
	read(t, s, orgA, func(tx *Tx) error {
		if got, err := people.Get(tx, id); err != nil || got.Record.hidden.Source != "imported" {
			t.Errorf("got %+v, %v", got.Record, err)
		}
		return nil
	})
}

func TestTextIsKeptAsGiven(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, name := range []string{"<b>&amp;</b> 'x'", "line\u2028and\u2029paragraph", "quote\"\\\n\t", "naïve 日本 🙂", "\x00\x1f"} {
		d := insert(t, s, orgA, person{Name: name})
		read(t, s, orgA, func(tx *Tx) error {
			got, err := people.Get(tx, d.ID)
			if err != nil || got.Record.Name != name {
				t.Errorf("%q came back as %q, %v", name, got.Record.Name, err)
			}
			return nil
		})
		if strings.Contains(name, "<") && !strings.Contains(string(d.JSON), name) {
			t.Errorf("%q is escaped: %s", name, d.JSON)
		}
	}
}

func TestUnlogged(t *testing.T) {
	answers := NewTable("answers", []Unique[person]{{Name: "email", Of: func(p *person) []byte { return text(p.Email) }}}, nil).Unlogged()
	s := open(t, t.TempDir(), Options{})
	var d Doc[person]
	write(t, s, orgA, func(tx *Tx) (err error) {
		if d, err = answers.Insert(tx, tx.NewID(), person{Name: "a", Email: "a"}); err == nil {
			_, err = answers.Insert(tx, tx.NewID(), person{Name: "b", Email: "b"})
		}
		return err
	})
	write(t, s, orgA, func(tx *Tx) error {
		d, err := answers.Update(tx, d, person{Name: "a2", Email: "a2"}, nil)
		if err == nil {
			err = answers.Delete(tx, d)
		}
		return err
	})
	read(t, s, orgA, func(tx *Tx) error {
		if d.Change != 0 || answers.Count(tx) != 1 || tx.bucket("answers.log") != nil {
			t.Errorf("change %d, count %d", d.Change, answers.Count(tx))
		}
		return answers.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) })
	})
}

func TestFindingByAKeyThatIsNotDeclared(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	err := s.View(orgA, func(tx *Tx) error { people.Find(tx, "nope", nil); return nil })
	if err == nil || !strings.Contains(err.Error(), "no unique key nope") {
		t.Errorf("got %v", err)
	}
}
