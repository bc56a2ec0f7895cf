package tam

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/worker"
	"prospector/store"
)

// office is an organization that Previews are put into as they would have been prepared.
type office struct {
	*TAM
	t      *testing.T
	worker *worker.Worker
	now    time.Time
	org    uuid.UUID
	events []string // the triggers, with what is in the events of Imports
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	st, err := store.Open(t.TempDir(), store.Options{
		Clock: func() time.Time { return o.now },
		Events: func(_ *store.Tx, e store.Event) error {
			if strings.HasPrefix(e.Trigger, "tam_import") {
				e.Trigger += " " + string(e.Data)
			}
			o.events = append(o.events, e.Trigger)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := &record.Set{}
	users := identity.New(st, kinds, identity.Hooks{})
	o.TAM = New(st, nil, NewTables(), catalog.New(), users, crm.New(kinds, crm.Hooks{}), Options{UnitRate: 2})
	o.worker = worker.New(st, slog.New(slog.DiscardHandler), o.Jobs())
	t.Cleanup(func() {
		o.view(func(tx *store.Tx) error {
			return o.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) })
		})
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	doc, err := users.CreateOrganization(t.Context(), store.Actor{}, bodyOf(t, `{"name": "Acme"}`))
	if err != nil {
		t.Fatal(err)
	}
	o.org = doc.ID
	return o
}

func bodyOf(t *testing.T, text string) shape.Value {
	t.Helper()
	v, err := shape.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (o *office) update(fn func(tx *store.Tx) error) {
	o.t.Helper()
	if err := o.store.Update(context.Background(), o.org, store.Actor{}, fn); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) view(fn func(tx *store.Tx) error) {
	o.t.Helper()
	if err := o.store.View(o.org, fn); err != nil {
		o.t.Fatal(err)
	}
}

// field makes an AI-filled field.
func (o *office) field(body string) (id uuid.UUID) {
	o.t.Helper()
	o.update(func(tx *store.Tx) error {
		doc, err := o.crm.Fields.Create(tx, record.NewDraft[crm.Field](bodyOf(o.t, body)))
		id = doc.ID
		return err
	})
	return id
}

// researched is a company with the answer that research gave about it.
type researched struct{ id, answer string }

// preview puts a Preview that is READY: of each company a member, and of its one person.
func (o *office) preview(signal *Signal, companies ...researched) (id uuid.UUID) {
	o.t.Helper()
	o.update(func(tx *store.Tx) error {
		id = tx.NewID()
		var s newMemberSets
		y := newPreviewCounts()
		for i, c := range companies {
			rows := []row{
				{ordinal: 2 * i, source: c.id, company: c.id, data: fmt.Sprintf(`{"id":%q,"name":%q,"website":"%s.example"}`, c.id, c.id, c.id)},
				{ordinal: 2*i + 1, person: true, source: "p" + c.id, company: c.id, data: fmt.Sprintf(`{"id":"p%s","email":"%s@mail.example"}`, c.id, c.id)},
			}
			for j := range rows {
				y.add(&rows[j])
				s.add(importableMembers, rows[j].ordinal)
				stored := rows[j].encode(id)
				if c.answer != "" {
					stored = []byte(strings.Replace(string(stored), `"qualification":null`, `"qualification":{"answer":`+c.answer+`,"confidence":1}`, 1))
				}
				o.members.PutOwned(tx, id, uint32(rows[j].ordinal), stored)
			}
			s.add(people, rows[1].ordinal)
		}
		s.put(tx, o.memberSets, id)
		p := Preview{PreviewID: id, RequestID: id, Status: Ready, Request: &PreviewRequest{}, Research: &Research{Status: researchSkipped},
			kept: kept{Named: resolved{Signal: signal}, Ready: true, Members: 2 * len(companies)}}
		if signal != nil {
			cost := o.cost(len(companies), len(companies))
			p.Research = &Research{Status: "completed", Cost: &cost}
		}
		y.put(&p)
		_, err := o.Previews.Insert(tx, id, p)
		return err
	})
	return id
}

// accept accepts the Import of a Preview.
func (o *office) accept(preview uuid.UUID) (id uuid.UUID) {
	o.t.Helper()
	o.update(func(tx *store.Tx) error {
		doc, created, err := o.Accept(tx, preview)
		id = doc.ID
		if err == nil && !created {
			o.t.Error("it was accepted before")
		}
		return err
	})
	return id
}

// work does the jobs that are due.
func (o *office) work() { o.worker.Once(o.t.Context()) }

func (o *office) imported(id uuid.UUID) (rec Import) {
	o.t.Helper()
	o.view(func(tx *store.Tx) error {
		doc, err := o.Imports.Get(tx, id)
		rec = doc.Record
		return err
	})
	return rec
}

// answers are the values of the accounts' custom fields, by the names of the accounts.
func (o *office) answers() string {
	o.t.Helper()
	var got []string
	o.view(func(tx *store.Tx) error {
		return o.crm.Accounts.Table.Scan(tx, func(d store.Doc[crm.Account]) (bool, error) {
			got = append(got, fmt.Sprint(d.Record.Name, d.Record.Custom))
			return true, nil
		})
	})
	slices.Sort(got)
	return strings.ReplaceAll(strings.Join(got, ", "), shape.CustomPrefix, "")
}

// TestImportAnswers writes the answers of research into their field, of created and reused Accounts, as far as it takes them, and
// charges them.
func TestImportAnswers(t *testing.T) {
	o := newOffice(t)
	id := o.field(`{"entity": "accounts", "key": "fit", "data_type": "enum", "allowed_values": ["good", "bad", "fair"], "ai": {"question": "Does it fit?"}}`)
	signal := &Signal{ID: id}
	account := func(body string) {
		t.Helper()
		o.update(func(tx *store.Tx) error {
			_, err := o.crm.Accounts.Create(tx, record.NewDraft[crm.Account](bodyOf(t, body)))
			return err
		})
	}
	for _, c := range []string{"c1", "c2", "c8", "c9"} {
		account(`{"name": "` + c + `", "website": "` + c + `.example", "custom_field_fit": "bad"}`)
	}
	preview := o.preview(signal, researched{"c1", `"good"`}, researched{"c2", ``}, researched{"c3", `"good"`}, researched{"c4", `"great"`}, researched{"c5", `null`}, researched{"c6", `["good"]`},
		researched{"c8", `"great"`}, researched{"c9", `""`})
	id1 := o.accept(preview)
	o.work()
	const want = "c1map[fit:good], c2map[fit:bad], c3map[fit:good], c4map[], c5map[], c6map[], c8map[fit:bad], c9map[fit:bad]"
	if got := o.answers(); got != want {
		t.Errorf("the answers are %s", got)
	}
	charged := o.imported(id1).Charged
	if charged == nil || !charged.Charged || charged.ChargedOperationID.UUID != id1 || charged.Units.Float != 8 {
		t.Errorf("charged is %+v", charged)
	}
	o.view(func(tx *store.Tx) error {
		doc, err := o.Previews.Get(tx, preview)
		if cost := doc.Record.Research.Cost; *cost != *charged {
			t.Errorf("the Preview has %+v", cost)
		}
		return err
	})

	// A field that is gone, or one of the same key, takes no answers.
	again := o.accept(o.preview(signal, researched{"c1", `"fair"`}, researched{"c7", `"fair"`}))
	o.update(func(tx *store.Tx) error { return o.crm.Fields.Delete(tx, id, nil) })
	other := o.field(`{"entity": "accounts", "key": "fit", "data_type": "enum", "allowed_values": ["good", "bad", "fair"], "ai": {"question": "Does it?"}}`)
	o.work()
	if got := o.imported(again); got.Accounts != (ImportCounts{Created: 1, Reused: 1}) {
		t.Errorf("%+v", got)
	}
	if got := o.answers(); got != "c1map[], c2map[], c3map[], c4map[], c5map[], c6map[], c7map[], c8map[], c9map[]" {
		t.Errorf("the answers are %s", got)
	}
	last := o.accept(o.preview(&Signal{ID: other}, researched{"c7", `"bad"`}))
	o.work()
	if got := o.answers(); !strings.Contains(got, "c7map[fit:bad]") || o.imported(last).Accounts.Reused != 1 {
		t.Errorf("the answers are %s", got)
	}
}

// TestImportEvents: an Import emits what it is at its beginning and its end, and of each record what became of it.
func TestImportEvents(t *testing.T) {
	o := newOffice(t)
	first := o.accept(o.preview(nil, researched{"c1", ""}))
	o.now = o.now.Add(time.Second)
	o.work()
	const head = `{"operation_id":"%s","preview_id":"%s","status":"%s","progress":%d,"accounts":{"created":%d,"reused":%d,"skipped":0},"contacts":{"created":%d,"reused":%d,"skipped":0},"charged":null,`
	event := func(id uuid.UUID, status string, progress, created, reused int, created_at, finished string) string {
		return "tam_import." + status + " " + fmt.Sprintf(head, id, o.imported(id).PreviewID, status, progress, created, reused, created, reused) +
			`"created_at":"` + created_at + `","finished_at":` + finished + `,"failure_reason":null}`
	}
	const at0, at1 = "2026-03-02T09:00:00.000Z", "2026-03-02T09:00:01.000Z"
	want := []string{event(first, "accepted", 0, 0, 0, at0, "null"), "account.created", "contact.created", event(first, "completed", 1, 1, 0, at0, `"`+at1+`"`)}
	if !slices.Equal(o.events, want) {
		t.Errorf("the events are\n%s", strings.Join(o.events, "\n"))
	}
	// What is there already, and is left as it is, emits nothing.
	o.events = nil
	second := o.accept(o.preview(nil, researched{"c1", ""}))
	o.work()
	want = []string{event(second, "accepted", 0, 0, 0, at1, "null"), event(second, "completed", 1, 0, 1, at1, `"`+at1+`"`)}
	if !slices.Equal(o.events, want) {
		t.Errorf("the events are\n%s", strings.Join(o.events, "\n"))
	}
}

// TestImportFails has an Import fail in its second chunk: what it has made stays, what it had reserved beyond that is given back.
func TestImportFails(t *testing.T) {
	o := newOffice(t)
	var companies []researched
	for i := range importMost/2 + 3 {
		companies = append(companies, researched{id: fmt.Sprintf("c%03d", i)})
	}
	preview := o.preview(nil, companies...)
	id := o.accept(preview)
	o.update(func(tx *store.Tx) error {
		o.members.Put(tx, preview, importMost+1, []byte{flagImportable, '['})
		return nil
	})
	for range triesMost + 1 {
		if got := o.imported(id); got.isOver() {
			t.Fatalf("it is %s before it was tried as often as that", got.Status)
		}
		o.work()
		o.now = o.now.Add(time.Hour)
	}
	got := o.imported(id)
	n := importMost / 2
	if got.Status != importFailed || got.FailureReason != internalFault || !got.FinishedAt.Valid() || got.Accounts.Created != n || got.Contacts.Created != n || got.kept.Reserved != (amount{}) {
		t.Errorf("%+v", got)
	}
	if last := o.events[len(o.events)-1]; !strings.HasPrefix(last, "tam_import.failed ") || !strings.Contains(last, `"failure_reason":"internal"`) {
		t.Error(last)
	}
	o.view(func(tx *store.Tx) error {
		b, err := o.Balance(tx, uuid.NullUUID{UUID: preview, Valid: true})
		if b.Accounts.Used != n || b.Contacts.Used != n || o.crm.Accounts.Table.Count(tx) != n {
			t.Errorf("%+v", b)
		}
		if due, _, err := o.store.Due(o.now.Add(time.Hour), 10, nil); err != nil || len(due) != 0 {
			t.Errorf("%v, %v", due, err)
		}
		return err
	})
	o.update(func(tx *store.Tx) error { return o.Delete(tx, preview, nil) })
}

// TestImportAccountGone deletes an Account between its company and its people: they are imported without it.
func TestImportAccountGone(t *testing.T) {
	o := newOffice(t)
	var companies []researched
	for i := range importMost/2 + 1 {
		companies = append(companies, researched{id: fmt.Sprintf("c%03d", i)})
	}
	preview := o.preview(nil, companies...)
	o.update(func(tx *store.Tx) error { // the first person is none, so that a chunk ends with a company
		s := o.memberSetsOf(tx, preview, 2*len(companies))
		s.remove(1)
		s.save()
		doc, err := o.Previews.Get(tx, preview)
		rec := doc.Record
		y := countsOf(&rec)
		y.remove(true, false, false)
		y.put(&rec)
		if err == nil {
			_, err = o.Previews.Update(tx, doc, rec, nil)
		}
		return err
	})
	id := o.accept(preview)
	ctx, stop := context.WithCancel(t.Context())
	o.worker.Once(newStopAt(ctx, 3, stop)) // the worker asks once, and so does each chunk
	if got := o.imported(id); got.Status != importRunning || got.Accounts.Created != importMost/2+1 || got.Contacts.Created != importMost/2-1 {
		t.Fatalf("%+v", got)
	}
	o.update(func(tx *store.Tx) error {
		ids, err := o.crm.Accounts.Table.IDs(tx, "source", []byte(companies[len(companies)-1].id), 1)
		if err != nil {
			return err
		}
		return o.crm.Accounts.Delete(tx, ids[0], nil)
	})
	o.work()
	got := o.imported(id)
	if got.Status != importCompleted || got.Contacts != (ImportCounts{Created: importMost / 2}) {
		t.Errorf("%+v", got)
	}
	without := 0
	o.view(func(tx *store.Tx) error {
		return o.crm.Contacts.Table.Scan(tx, func(d store.Doc[crm.Contact]) (bool, error) {
			if !d.Record.AccountID.Valid {
				without++
			}
			return true, nil
		})
	})
	if without != 1 {
		t.Errorf("%d have no account", without)
	}
}

// stopAt is a context that ends when it was asked so often whether it has.
type stopAt struct {
	context.Context
	left atomic.Int64
	stop func()
}

func newStopAt(ctx context.Context, times int64, stop func()) *stopAt {
	s := &stopAt{Context: ctx, stop: stop}
	s.left.Store(times)
	return s
}

func (s *stopAt) Err() error {
	if s.left.Add(-1) == 0 {
		s.stop()
	}
	return s.Context.Err()
}
