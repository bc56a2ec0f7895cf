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

// ticket refers to groups by a reference, a list and a required reference.
type ticket struct {
	record.Head
	Holder uuid.NullUUID `json:"holder" rule:"ref=groups"`
	Shared shape.IDs     `json:"shared" rule:"ref=groups"`
	Issuer uuid.NullUUID `json:"issuer" rule:"ref=groups,required"`
}

// atOnce is the number of records that one transaction rewrites.
const atOnce = 250

var deleter = store.Actor{Key: uuid.UUID{1}, User: uuid.UUID{2}, Operation: "delete_group", RequestID: "req-7"}

// many creates n guests in one transaction. %d in body is replaced by their number.
func (h *house) many(n int, body string) (ids []uuid.UUID) {
	h.t.Helper()
	h.write(func(tx *store.Tx) error {
		for i := range n {
			d, err := h.guests.Create(tx, record.NewDraft[guest](object(h.t, strings.ReplaceAll(body, "%d", fmt.Sprint(i)))))
			if err != nil {
				return err
			}
			ids = append(ids, d.ID)
		}
		return nil
	})
	return ids
}

func (h *house) deleteGroup(id uuid.UUID) error {
	return h.st.Update(h.t.Context(), h.org, deleter, func(tx *store.Tx) error { return h.groups.Delete(tx, id, nil) })
}

// sweeps returns the pending sweep jobs.
func (h *house) sweeps() (jobs []store.Job) {
	h.t.Helper()
	due, _, err := h.st.Due(h.st.Now(), 100_000, nil, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.DeleteFunc(due, func(j store.Job) bool { return j.Kind != record.SweepJob })
}

// withTag counts the guests that are read with a tag, and the guests to which a tombstone was
// applied on read, which are still to be rewritten.
func (h *house) withTag(id uuid.UUID) (read, tombstoned int) {
	h.t.Helper()
	h.read(func(tx *store.Tx) error {
		return h.guests.Table.Scan(tx, func(d store.Doc[guest]) (bool, error) {
			if strings.Contains(string(d.JSON), id.String()) || slices.Contains(d.Record.Tags, id) {
				read++
			}
			if strings.Contains(d.Version(), "-") {
				tombstoned++
			}
			return true, nil
		})
	})
	return read, tombstoned
}

func (h *house) wantBearers(id uuid.UUID, tombstoned int) {
	h.t.Helper()
	if r, m := h.withTag(id); r != 0 || m != tombstoned {
		h.t.Errorf("%d are read with what is gone, %d are to be rewritten; want 0 and %d", r, m, tombstoned)
	}
	h.verify()
}

// TestSweepOfMany deletes a record that many others refer to. The references disappear at once, and
// the records are rewritten in batches on behalf of the user who deleted it.
func TestSweepOfMany(t *testing.T) {
	var commits []uint64
	h := newHouse(t, func(changed map[string]uint64) {
		if n, is := changed["guests"]; is {
			commits = append(commits, n)
		}
	})
	gone, stays := h.newGroup("gone"), h.newGroup("stays")
	const n = 2*atOnce + atOnce/2
	ids := h.many(n, fmt.Sprintf(`{"name": "g%%d", "email": "e%%d@x", "tags": [%q, %q]}`, gone, stays))
	was := h.get(ids[n-1])
	if err := h.deleteGroup(gone); err != nil {
		t.Fatal(err)
	}
	h.wantBearers(gone, n-atOnce)
	jobs := h.sweeps()
	if len(jobs) != 1 {
		t.Fatalf("%d jobs wait", len(jobs))
	}
	// A concurrent change by a caller rewrites the record, and the log has both changes. A record
	// that is deleted concurrently stays deleted.
	h.write(func(tx *store.Tx) error {
		_, err := h.guests.Update(tx, ids[n-2], nil, object(t, `{"name": "mine"}`))
		return errors.Join(err, h.guests.Delete(tx, ids[n-3], nil))
	})
	h.wantBearers(gone, n-atOnce-2)
	events := h.kept()
	if err := h.set.Sweep(t.Context(), h.st, jobs[0]); err != nil {
		t.Fatal(err)
	}
	h.wantBearers(gone, 0)
	if left := h.sweeps(); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	if want := []uint64{n, n + atOnce, n + atOnce + 4, n + 2*atOnce + 4, 2*n + 2}; !slices.Equal(commits, want) {
		t.Errorf("the commits ended with the changes %v, want %v", commits, want)
	}
	events = slices.DeleteFunc(events, func(e string) bool { return strings.HasPrefix(e, record.SweepJob) })
	if !slices.Equal(h.kept(), events) {
		t.Error("a clean-up emitted events")
	}
	if g := h.get(ids[n-1]); g.UpdatedAt != was.UpdatedAt || g.Name != was.Name || !slices.Equal(g.Tags, shape.IDs{stays}) {
		t.Errorf("it is %+v, and was %+v", g, was)
	}
	rewritten := map[uuid.UUID]int{}
	h.read(func(tx *store.Tx) error {
		if tombs, err := tx.Tombstones("guests"); err != nil || len(tombs) != 0 {
			t.Errorf("left are %v, %v", tombs, err)
		}
		return tx.Changes("guests", n, func(c store.Change) (bool, error) {
			if c.Actor == deleter && c.Op == store.Updated && slices.Equal(c.Fields, []string{"tags"}) {
				rewritten[c.ID]++
			} else if c.ID != ids[n-2] && c.ID != ids[n-3] {
				t.Errorf("change %+v", c)
			}
			return true, nil
		})
	})
	for i, id := range ids {
		if rewritten[id] != 1 {
			t.Errorf("guest %d lost its tag %d times", i, rewritten[id])
		}
	}
	if err := h.set.Sweep(t.Context(), h.st, jobs[0]); err != nil { // as after a crash before anyone heard that it was done
		t.Errorf("again: %v", err)
	}
	h.wantBearers(gone, 0)
}

// TestWhenSweepNeedsJob checks that one batch of records needs no job, and that one record more
// does.
func TestWhenSweepNeedsJob(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, atOnce: 0, atOnce + 1: 1} {
		h := newHouse(t, nil)
		gone := h.newGroup("gone")
		h.many(n, fmt.Sprintf(`{"name": "g", "tags": [%q]}`, gone))
		if err := h.deleteGroup(gone); err != nil {
			t.Fatal(err)
		}
		if got := len(h.sweeps()); got != want {
			t.Errorf("%d jobs for %d records", got, n)
		}
		h.wantBearers(gone, max(0, n-atOnce))
	}
}

// TestSweepIsResumed interrupts a sweep after its first transaction and resumes it.
func TestSweepIsResumed(t *testing.T) {
	var stop context.CancelFunc
	h := newHouse(t, func(map[string]uint64) {
		if stop != nil {
			stop()
		}
	})
	gone := h.newGroup("gone")
	h.many(2*atOnce+1, fmt.Sprintf(`{"name": "g", "tags": [%q]}`, gone))
	if err := h.deleteGroup(gone); err != nil {
		t.Fatal(err)
	}
	job := h.sweeps()[0]
	ctx, cancel := context.WithCancel(t.Context())
	stop = cancel
	if err := h.set.Sweep(ctx, h.st, job); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	stop = nil
	h.wantBearers(gone, 1)
	if len(h.sweeps()) != 1 {
		t.Error("the job is gone")
	}
	if err := h.set.Sweep(t.Context(), h.st, job); err != nil {
		t.Fatal(err)
	}
	h.wantBearers(gone, 0)
}

func TestSweepOfUnknownEntity(t *testing.T) {
	h := newHouse(t, nil)
	for _, payload := range []string{`{"Entity": "unicorns"}`, `[]`} {
		job := store.Job{ID: uuid.New(), Org: h.org, Kind: record.SweepJob, Payload: []byte(payload)}
		if err := h.set.Sweep(t.Context(), h.st, job); err == nil {
			t.Errorf("%s was done", payload)
		}
	}
}

// TestRelease deletes records that several kinds refer to. A record that another requires cannot be
// deleted, and the refusal changes nothing.
func TestRelease(t *testing.T) {
	h := newHouse(t, nil)
	tickets := record.Add(h.set, record.Rules[ticket]{Object: "ticket", Entity: "tickets"})
	gone, issuer := h.newGroup("gone"), h.newGroup("issuer")
	h.many(atOnce+200, fmt.Sprintf(`{"name": "g", "tags": [%q, %q]}`, gone, issuer))
	var ids []uuid.UUID
	h.write(func(tx *store.Tx) error {
		for i := range atOnce + 100 {
			body := fmt.Sprintf(`{"holder": %q, "shared": [%q, %q], "issuer": %q}`, []uuid.UUID{gone, issuer}[i%2], issuer, gone, issuer)
			d, err := tickets.Create(tx, record.NewDraft[ticket](object(t, body)))
			if err != nil {
				return err
			}
			ids = append(ids, d.ID)
		}
		return nil
	})
	before, err := h.st.Dump(h.org)
	if err != nil {
		t.Fatal(err)
	}
	var e *fault.Error
	if err := h.deleteGroup(issuer); !errors.As(err, &e) || e.Code != fault.InUse || e.Message != "issuer: a ticket refers to this record" || e.Details[0].ID != ids[0].String() {
		t.Fatalf("got %v", err)
	}
	if after, err := h.st.Dump(h.org); err != nil || after != before {
		t.Error("the refusal changed something", err)
	}

	if err := h.deleteGroup(gone); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		h.read(func(tx *store.Tx) error {
			for i, id := range ids {
				d, err := tickets.Get(tx, id)
				if err != nil {
					return err
				}
				if rec := d.Record; rec.Holder.Valid != (i%2 == 1) || !slices.Equal(rec.Shared, shape.IDs{issuer}) || rec.Issuer.UUID != issuer {
					t.Fatalf("ticket %d is %s", i, d.JSON)
				}
			}
			return nil
		})
	}
	check()
	h.wantBearers(gone, 200)
	jobs := h.sweeps()
	if len(jobs) != 2 { // one for the tags of guests, one for what tickets share: fewer have it as their holder
		t.Fatalf("%d jobs wait", len(jobs))
	}
	for _, job := range jobs {
		if err := h.set.Sweep(t.Context(), h.st, job); err != nil {
			t.Fatal(err)
		}
		check()
		h.verify()
	}
	h.wantBearers(gone, 0)
	h.read(func(tx *store.Tx) error {
		for _, table := range []string{"guests", "tickets"} {
			if tombs, err := tx.Tombstones(table); err != nil || len(tombs) != 0 {
				t.Errorf("%s: left are %v, %v", table, tombs, err)
			}
		}
		return nil
	})
	// After the ticket is deleted, its issuer can be deleted.
	h.write(func(tx *store.Tx) error {
		for _, id := range ids {
			if err := tickets.Delete(tx, id, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err := h.deleteGroup(issuer); err != nil {
		t.Errorf("with nothing left that needs it: %v", err)
	}
}

// TestRemoveCustomField removes a custom field from more records than one batch, reuses its key for
// another field, and removes that as well before the first sweep is complete.
func TestRemoveCustomField(t *testing.T) {
	h := newHouse(t, nil)
	field := func(n byte, typ shape.Type, allowed ...string) shape.CustomField {
		return shape.NewCustomField(uuid.UUID{n}, "x", "X", typ, allowed)
	}
	use := func(fields ...shape.CustomField) { h.customs = filter.NewCustomFields(fields) }
	forget := func(f shape.CustomField) {
		t.Helper()
		h.write(func(tx *store.Tx) error { return h.set.RemoveCustomField(tx, "guests", &f) })
		use()
	}
	holds := func(f shape.CustomField, value string) (held bool) {
		h.read(func(tx *store.Tx) (err error) {
			_, held, err = h.set.FindCustomValue(tx, "guests", f.ID, value)
			return err
		})
		return held
	}
	shown := func(id uuid.UUID) any { return h.get(id).Custom["custom_field_x"] }

	first := field(7, shape.TypeMulti, "a", "b", "c")
	use(first)
	ids := h.many(atOnce+500, `{"name": "g%d", "custom_field_x": ["a", "b"]}`)
	if !holds(first, "a") || !holds(first, "b") || holds(first, "c") {
		t.Error("it is unknown which values are held")
	}
	forget(first)
	if len(h.sweeps()) != 1 || shown(ids[0]) != nil || shown(ids[len(ids)-1]) != nil {
		t.Errorf("%d jobs; shown are %v and %v", len(h.sweeps()), shown(ids[0]), shown(ids[len(ids)-1]))
	}
	second := field(3, shape.TypeEnum, "a")
	use(second)
	h.verify()
	if holds(second, "a") {
		t.Error("the new field has values of the old one")
	}
	h.write(func(tx *store.Tx) error {
		for _, id := range ids[100:] {
			if _, err := h.guests.Update(tx, id, nil, object(t, `{"custom_field_x": "a"}`)); err != nil {
				return err
			}
		}
		return nil
	})
	if !holds(second, "a") || shown(ids[100]) != "a" || shown(ids[99]) != nil || shown(ids[len(ids)-1]) != "a" {
		t.Errorf("shown are %v, %v, %v", shown(ids[99]), shown(ids[100]), shown(ids[len(ids)-1]))
	}
	h.verify()
	forget(second)
	h.verify()
	for _, job := range h.sweeps() {
		if err := h.set.Sweep(t.Context(), h.st, job); err != nil {
			t.Fatal(err)
		}
		h.verify()
	}
	h.read(func(tx *store.Tx) error {
		if tombs, err := tx.Tombstones("guests"); err != nil || len(tombs) != 0 {
			t.Errorf("left are %v, %v", tombs, err)
		}
		return tx.Records("guests", uuid.Nil, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
			if strings.Contains(string(public), "custom_field") {
				t.Errorf("%s is %s", id, public)
			}
			return true, nil
		})
	})
}
