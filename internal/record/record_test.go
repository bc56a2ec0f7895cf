package record_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

type group struct {
	record.Head
	Name string `json:"name" rule:"required"`
}

type member struct {
	record.Head
	Name   string        `json:"name" rule:"required"`
	Group  uuid.NullUUID `json:"group" rule:"ref=groups"`
	Others shape.IDs     `json:"others" rule:"ref=members"`
}

func object(t *testing.T, body string) shape.Value {
	t.Helper()
	v, err := shape.ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEvents checks that each change by a caller emits one event with the record as the API returns
// it, that removing a reference and a change without effect emit none, and that the change log has
// the names of the changed fields.
func TestEvents(t *testing.T) {
	var events []string
	st, err := store.Open(t.TempDir(), store.Options{Events: func(_ *store.Tx, e store.Event) error {
		events = append(events, e.Trigger+" "+string(e.Data))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	set := &record.Set{}
	groups := record.Add(set, record.Rules[group]{Object: "group", Entity: "groups"})
	members := record.Add(set, record.Rules[member]{Object: "member", Entity: "members"})
	org := uuid.New()
	do := func(fn func(tx *store.Tx) error) {
		t.Helper()
		events = nil
		if err := st.Update(t.Context(), org, store.Actor{}, fn); err != nil {
			t.Fatal(err)
		}
	}
	wantEvents := func(want ...string) {
		t.Helper()
		for i := range events {
			if i >= len(want) || !strings.HasPrefix(events[i], want[i]) {
				t.Fatalf("events %q, want %q", events, want)
			}
		}
		if len(events) != len(want) {
			t.Fatalf("events %q, want %q", events, want)
		}
	}
	var g store.Doc[group]
	var m, self store.Doc[member]
	do(func(tx *store.Tx) (err error) {
		g, err = groups.Create(tx, record.NewDraft[group](object(t, `{"name": "G"}`)))
		return err
	})
	wantEvents("group.created " + string(g.JSON))
	do(func(tx *store.Tx) (err error) {
		m, err = members.Create(tx, record.NewDraft[member](object(t, fmt.Sprintf(`{"name": "M", "group": %q}`, g.ID))))
		return err
	})
	do(func(tx *store.Tx) (err error) {
		m, err = members.Update(tx, m.ID, nil, object(t, fmt.Sprintf(`{"name": "N", "others": [%q]}`, m.ID)))
		return err
	})
	wantEvents("member.updated " + string(m.JSON))
	do(func(tx *store.Tx) (err error) {
		self, err = members.Update(tx, m.ID, nil, object(t, `{"name": "N"}`))
		return err
	})
	wantEvents()
	if self.Change != m.Change {
		t.Error("an update without a change created a new version")
	}
	do(func(tx *store.Tx) error { return groups.Delete(tx, g.ID, nil) })
	wantEvents(fmt.Sprintf(`group.deleted {"id":"%s"}`, g.ID))
	do(func(tx *store.Tx) error {
		doc, err := members.Get(tx, m.ID)
		if err != nil || doc.Record.Group.Valid || doc.Record.UpdatedAt != m.Record.UpdatedAt {
			t.Errorf("%+v, %v", doc.Record, err)
		}
		return err
	})
	do(func(tx *store.Tx) error { return members.Delete(tx, m.ID, nil) }) // which refers to itself
	wantEvents(fmt.Sprintf(`member.deleted {"id":"%s"}`, m.ID))

	var log []string
	err = st.View(org, func(tx *store.Tx) error {
		if err := store.VerifyPortions(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) }, set.Portions()...); err != nil {
			return err
		}
		return tx.Changes("members", 0, func(c store.Change) (bool, error) {
			log = append(log, fmt.Sprintf("%c%v", c.Op, c.Fields))
			return true, nil
		})
	})
	want := []string{"c[]", "u[name others]", "u[group]", "u[others]", "d[]"}
	if err != nil || !slices.Equal(log, want) {
		t.Errorf("change log %q, want %q; error %v", log, want, err)
	}
}

// TestReferencesThatDoNotExist checks that each invalid reference is reported with its path in the
// body, including the nil UUID.
func TestReferencesThatDoNotExist(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	set := &record.Set{}
	record.Add(set, record.Rules[group]{Object: "group", Entity: "groups"})
	members := record.Add(set, record.Rules[member]{Object: "member", Entity: "members"})
	err = st.Update(t.Context(), uuid.New(), store.Actor{}, func(tx *store.Tx) error {
		m, err := members.Create(tx, record.NewDraft[member](object(t, `{"name": "M"}`)))
		if err != nil {
			return err
		}
		_, err = members.Create(tx, record.NewDraft[member](object(t, fmt.Sprintf(`{"name": "N", "group": %q, "others": ["x", %q, %q, %q, %q]}`, uuid.Nil, m.ID, m.ID, uuid.Nil, uuid.Nil))))
		return err
	})
	want := []fault.Detail{
		{Path: "others[0]", Message: `"x" is not a UUID`},
		{Path: "group", Message: "does not exist"},
		{Path: "others[3]", Message: "does not exist"},
	}
	var refused *fault.Error
	if !errors.As(err, &refused) || !slices.Equal(refused.Details, want) {
		t.Errorf("got %v, want the details %v", err, want)
	}
}
