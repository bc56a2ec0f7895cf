package record_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// guest has the properties that batches depend on: two match fields, tags and a required name.
type guest struct {
	record.Head
	Name       string       `json:"name" rule:"required,maxlen=20"`
	Email      shape.Text   `json:"email"`
	ExternalID shape.Text   `json:"external_id"`
	Tags       shape.IDs    `json:"tags" rule:"ref=groups,maxlen=3,edits"`
	Custom     shape.Custom `json:",embed"`
}

// house is a store with two kinds.
type house struct {
	t       *testing.T
	st      *store.Store
	org     uuid.UUID
	set     *record.Set
	groups  *record.Kind[group]
	guests  *record.Kind[guest]
	customs *filter.CustomFields
}

var errBroken = errors.New("the hook failed")

// newHouse returns a house whose event hook enqueues a job for each event, and then refuses some
// events.
func newHouse(t *testing.T, committed func(changed map[string]uint64)) *house {
	t.Helper()
	h := &house{t: t, org: uuid.New(), set: &record.Set{}, customs: filter.NoCustomFields}
	opt := store.Options{Events: func(tx *store.Tx, e store.Event) error {
		if _, err := tx.Enqueue(e.Trigger, tx.Now(), string(e.Data)); err != nil {
			return err
		}
		if strings.Contains(string(e.Data), `"name":"refuse me"`) {
			return fault.New(fault.Unavailable, "not now")
		}
		if strings.Contains(string(e.Data), `"name":"break"`) {
			return errBroken
		}
		return nil
	}}
	if committed != nil {
		opt.Committed = func(_ context.Context, _ uuid.UUID, changed map[string]uint64) { committed(changed) }
	}
	var err error
	if h.st, err = store.Open(t.TempDir(), opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.st.Close(); err != nil {
			t.Error(err)
		}
	})
	customs := func(*store.Tx, string) (*filter.CustomFields, error) { return h.customs, nil }
	h.groups = record.Add(h.set, record.Rules[group]{Object: "group", Entity: "groups", Events: record.EventRules[group]{None: true}})
	h.guests = record.Add(h.set, record.Rules[guest]{Object: "guest", Entity: "guests", Customs: customs, Match: record.MatchRules{Fields: map[string]func(string) string{
		"email": func(s string) string { return strings.TrimPrefix(shape.Fold(s), "mailto:") },
	}}})
	return h
}

func (h *house) write(fn func(tx *store.Tx) error) {
	h.t.Helper()
	if err := h.st.Update(h.t.Context(), h.org, store.Actor{}, fn); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) read(fn func(tx *store.Tx) error) {
	h.t.Helper()
	if err := h.st.View(h.org, fn); err != nil {
		h.t.Fatal(err)
	}
}

// verify checks the tables against their keys and logs.
func (h *house) verify() {
	h.t.Helper()
	h.read(func(tx *store.Tx) error {
		return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { h.t.Errorf(format, args...) }, h.set.Portions()...)
	})
}

func (h *house) newGroup(name string) (id uuid.UUID) {
	h.t.Helper()
	h.write(func(tx *store.Tx) error {
		d, err := h.groups.Create(tx, record.NewDraft[group](object(h.t, fmt.Sprintf(`{"name": %q}`, name))))
		id = d.ID
		return err
	})
	return id
}

func (h *house) newGuest(body string) (d store.Doc[guest]) {
	h.t.Helper()
	h.write(func(tx *store.Tx) (err error) {
		d, err = h.guests.Create(tx, record.NewDraft[guest](object(h.t, body)))
		return err
	})
	return d
}

// batch runs a batch with the records of a body.
func (h *house) batch(match, body string) ([]record.Outcome, error) {
	h.t.Helper()
	var items []record.Item[guest]
	for _, v := range object(h.t, body).Get("records").Items {
		items = append(items, record.NewItem[guest](v, match))
	}
	var outcomes []record.Outcome
	err := h.st.Update(h.t.Context(), h.org, store.Actor{}, func(tx *store.Tx) (err error) {
		outcomes, err = h.guests.Batch(tx, items, match)
		return err
	})
	return outcomes, err
}

func (h *house) get(id uuid.UUID) (g guest) {
	h.t.Helper()
	h.read(func(tx *store.Tx) error {
		d, err := h.guests.Get(tx, id)
		g = d.Record
		return err
	})
	return g
}

// kept lists the stored events as trigger and name.
func (h *house) kept() (list []string) {
	h.t.Helper()
	jobs, _, err := h.st.Due(h.st.Now(), 10_000, nil, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, j := range jobs {
		name := ""
		if _, rest, found := strings.Cut(string(j.Payload), `\"name\":\"`); found {
			name, _, _ = strings.Cut(rest, `\"`)
		}
		list = append(list, j.Kind+" "+name)
	}
	return list
}

func TestBatch(t *testing.T) {
	h := newHouse(t, nil)
	first := h.newGuest(`{"name": "first", "email": "A@x", "external_id": "EXT-1"}`)
	second := h.newGuest(`{"name": "second", "email": "a@X"}`)
	body := fmt.Sprintf(`{"records": [
		{"email": "mailto:a@x", "name": "first 2"},
		{"email": "new@x", "name": "new"},
		{"email": "NEW@X", "name": "new 2"},
		{"email": "bad@x", "name": 5, "nope": 1},
		{"email": "bad@x", "name": "good"},
		{"email": "t@x", "name": "taken", "external_id": "ext-1"},
		{"email": "t@x", "name": "free"},
		{"email": "new@x", "id": %q, "name": "second 2"},
		{"email": "a@x", "id": %q, "name": "nobody"},
		{"email": "a@x", "id": "nonsense"},
		{"email": "a@x", "id": 7},
		"no object",
		{"name": "no email"},
		{"name": "no email", "email": null},
		{"name": "no email", "email": ""},
		{"name": "null id", "id": null},
		{"email": "hook@x", "name": "refuse me"},
		{"email": "hook@x", "name": "kept"},
		{"email": "a@x", "name": null, "external_id": "else"},
		{"email": 7, "name": "seven"},
		{"email": "a@x"},
		{"email": "a@x", "external_id": "else"},
		{"email": "a@x", "name": "first 2"}
	]}`, second.ID, uuid.New())
	before := len(h.kept())
	outcomes, err := h.batch("email", body)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range outcomes {
		switch {
		case o.Err != nil:
			got = append(got, o.Err.Error())
		case o.Created:
			got = append(got, "new "+h.get(o.ID).Name)
		case o.ID == first.ID:
			got = append(got, "first")
		case o.ID == second.ID:
			got = append(got, "second")
		case o.ID == outcomes[1].ID:
			got = append(got, "the same")
		}
	}
	want := []string{
		"first", // the oldest of two
		"new new 2",
		"the same",
		"validation_failed: name: must be a string",
		"new good",
		`external_id_taken: external_id: "ext-1" is used by another record`,
		"new free",
		"second",
		"not_found: Resource not found",
		"not_found: Resource not found",
		"not_found: Resource not found",
		"validation_failed: the record must be an object",
		"new no email", "new no email", "new no email", "new null id",
		"unavailable: not now",
		"new kept",
		"validation_failed: name: required",
		"validation_failed: email: must be a string",
		"first",
		"first",
		"first", // and nothing changed
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if e := outcomes[5].Err; len(e.Details) != 1 || e.Details[0].ID != first.ID.String() {
		t.Errorf("taken by %v", e.Details)
	}
	if e := outcomes[3].Err; len(e.Details) != 2 {
		t.Errorf("not all problems are reported: %v", e.Details)
	}
	if g := h.get(first.ID); g.Name != "first 2" || g.Email != "a@x" || g.ExternalID != "else" {
		t.Errorf("the first is %+v", g)
	}
	if g := h.get(second.ID); g.Name != "second 2" || g.Email != "new@x" {
		t.Errorf("the second is %+v", g)
	}
	wantEvents := []string{"guest.updated first 2", "guest.created new", "guest.updated new 2", "guest.created good", "guest.created free", "guest.updated second 2",
		"guest.created no email", "guest.created no email", "guest.created no email", "guest.created null id", "guest.created kept",
		"guest.updated first 2", "guest.updated first 2"}
	if kept := h.kept()[before:]; !slices.Equal(kept, wantEvents) {
		t.Errorf("events %q\nwant   %q", kept, wantEvents)
	}
	h.read(func(tx *store.Tx) error {
		if n := h.guests.Table.Count(tx); n != 2+8 {
			t.Errorf("there are %d", n)
		}
		if n := tx.LastChange("guests"); n != 2+uint64(len(wantEvents)) {
			t.Errorf("%d changes are logged", n)
		}
		return nil
	})
	h.verify()
}

// TestBatchByExternalID checks that external ids match regardless of case.
func TestBatchByExternalID(t *testing.T) {
	h := newHouse(t, nil)
	if fields := h.guests.MatchFields(); !slices.Equal(fields, []string{"email", "external_id"}) {
		t.Errorf("a batch can match on %v", fields)
	}
	old := h.newGuest(`{"name": "old", "external_id": "Ä-1", "email": "o@x"}`)
	outcomes, err := h.batch("external_id", `{"records": [
		{"external_id": "ä-1", "name": "old 2", "email": "other@x"},
		{"external_id": "b", "name": "b"},
		{"external_id": "B", "name": "b 2", "email": "o@x"},
		{"name": "none", "email": "other@x"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if outcomes[0] != (record.Outcome{ID: old.ID}) || !outcomes[1].Created || outcomes[2] != (record.Outcome{ID: outcomes[1].ID}) || !outcomes[3].Created {
		t.Errorf("got %+v", outcomes)
	}
	if g := h.get(old.ID); g.Name != "old 2" || g.ExternalID != "ä-1" {
		t.Errorf("the old one is %+v", g)
	}
	outcomes, err = h.batch("", `{"records": [{"external_id": "c", "name": "c"}, {"external_id": "C", "name": "c 2"}]}`)
	if err != nil || !outcomes[0].Created || outcomes[1].Err == nil || outcomes[1].Err.Code != fault.ExternalIDTaken {
		t.Errorf("without a match: %+v, %v", outcomes, err)
	}
	h.verify()
}

// TestBatchTags edits the tags of existing records, and creates records from the same bodies.
func TestBatchTags(t *testing.T) {
	h := newHouse(t, nil)
	a, b, c := h.newGroup("a"), h.newGroup("b"), h.newGroup("c")
	names := map[uuid.UUID]string{a: "a", b: "b", c: "c"}
	h.newGuest(fmt.Sprintf(`{"name": "old", "email": "old@x", "tags": [%q]}`, a))
	for _, try := range []struct{ match, record, want string }{
		{"email", `{"email": "old@x", "add_tags": ["b"]}`, "ab"},
		{"email", `{"email": "old@x", "remove_tags": ["a"], "tags": ["a", "c"]}`, "c"},
		{"email", `{"email": "1@x", "name": "n", "add_tags": ["b", "a"]}`, "ba"},
		{"email", `{"email": "2@x", "name": "n", "add_tags": ["b"], "tags": ["c"], "remove_tags": ["a"]}`, "cb"},
		{"email", `{"email": "3@x", "name": "n", "remove_tags": ["a"]}`, ""},
		{"email", `{"email": "4@x", "name": "n", "tags": null, "add_tags": ["a"]}`, "a"},
		{"email", `{"email": "5@x", "name": "n", "tags": ["a"], "add_tags": null}`, "a"},
		{"email", `{"email": "6@x", "name": "n", "add_tags": 7}`, "tags: must be a list"},
		{"", `{"email": "7@x", "name": "n", "add_tags": ["a"]}`, "add_tags: unknown field"},
	} {
		record := try.record
		for id, name := range names {
			record = strings.ReplaceAll(record, `"`+name+`"`, `"`+id.String()+`"`)
		}
		outcomes, err := h.batch(try.match, `{"records": [`+record+`]}`)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e := outcomes[0].Err; e != nil {
			got = e.Message
		} else {
			for _, id := range h.get(outcomes[0].ID).Tags {
				got += names[id]
			}
		}
		if got != try.want {
			t.Errorf("%s: %s, want %s", try.record, got, try.want)
		}
	}
	h.verify()
}

// TestBatchFails checks that an internal error fails the whole batch, which then changes nothing.
func TestBatchFails(t *testing.T) {
	h := newHouse(t, nil)
	h.newGuest(`{"name": "old"}`)
	before, err := h.st.Dump(h.org)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.batch("", `{"records": [{"name": "fine"}, {"name": "break"}, {"name": "fine too"}]}`); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if after, err := h.st.Dump(h.org); err != nil || after != before {
		t.Errorf("left is %s, %v", after, err)
	}
}

// TestUndoNeedsTrash checks that a kind cannot be declared that has nowhere to keep what an undo brings back.
func TestUndoNeedsTrash(t *testing.T) {
	for name, rules := range map[string]record.Rules[group]{
		"undone": {Object: "group", Entity: "groups", Undo: &record.UndoRules[group]{}},
		"merged": {Object: "group", Entity: "groups", Merge: &record.MergeRules[group]{}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the kind was declared")
				}
			}()
			record.Add(&record.Set{}, rules)
		})
	}
}
