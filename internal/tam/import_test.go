package tam

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/worker"
	"prospector/store"
)

// fixture is an organization with Previews that are stored as the preparation would store them.
type fixture struct {
	*TAM
	t      *testing.T
	worker *worker.Worker
	now    time.Time
	org    uuid.UUID
	events []string // triggers of all events, with the data of the events of Imports
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	o := &fixture{t: t, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
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
	users := identity.New(st, kinds, identity.SessionTimes{})
	o.TAM = New(st, nil, NewTables(), operation.New(st, kinds), catalog.New(nil), users, crm.New(kinds, nil), Options{UnitRate: 2})
	o.worker = worker.New(st, slog.New(slog.DiscardHandler), o.Jobs())
	t.Cleanup(func() {
		o.view(func(tx *store.Tx) error {
			return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) }, o.Portions()...)
		})
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	doc, err := users.CreateOrganization(t.Context(), store.Actor{}, parseObject(t, `{"name": "Acme"}`))
	if err != nil {
		t.Fatal(err)
	}
	o.org = doc.ID
	return o
}

func parseObject(t *testing.T, text string) shape.Value {
	t.Helper()
	v, err := shape.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (o *fixture) update(fn func(tx *store.Tx) error) {
	o.t.Helper()
	if err := o.store.Update(context.Background(), o.org, store.Actor{}, fn); err != nil {
		o.t.Fatal(err)
	}
}

func (o *fixture) view(fn func(tx *store.Tx) error) {
	o.t.Helper()
	if err := o.store.View(o.org, fn); err != nil {
		o.t.Fatal(err)
	}
}

// createField creates a custom field.
func (o *fixture) createField(body string) (id uuid.UUID) {
	o.t.Helper()
	o.update(func(tx *store.Tx) error {
		doc, err := o.crm.Fields.Create(tx, record.NewDraft[crm.Field](parseObject(o.t, body)))
		id = doc.ID
		return err
	})
	return id
}

// answeredCompany is a company with the answer of research as JSON, or "" for a company without an
// answer.
type answeredCompany struct{ id, answer string }

// preview stores a READY Preview in which every company has one person.
func (o *fixture) preview(signal *Signal, companies ...answeredCompany) (id uuid.UUID) {
	o.t.Helper()
	o.update(func(tx *store.Tx) error {
		id = tx.NewID()
		var s newMemberSets
		counts := newPreviewCounts()
		for i, c := range companies {
			rows := []row{
				{ordinal: 2 * i, source: c.id, company: c.id,
					data: fmt.Sprintf(`{"id":%q,"name":%q,"website":"%s.example"}`, c.id, c.id, c.id)},
				{ordinal: 2*i + 1, person: true, source: "p" + c.id, company: c.id,
					data: fmt.Sprintf(`{"id":"p%s","email":"%s@mail.example"}`, c.id, c.id)},
			}
			for j := range rows {
				counts.add(&rows[j])
				s.add(importableMembers, rows[j].ordinal)
				stored := rows[j].encode(id)
				if c.answer != "" {
					answer := `"qualification":{"answer":` + c.answer + `,"confidence":1}`
					stored = []byte(strings.Replace(string(stored), `"qualification":null`, answer, 1))
				}
				o.members.PutOwned(tx, id, uint32(rows[j].ordinal), stored)
			}
			s.add(people, rows[1].ordinal)
		}
		s.put(tx, o.memberSets, id)
		p := Preview{
			PreviewID: id, RequestID: id, Status: Ready, Request: &PreviewRequest{},
			Research: &Research{Status: researchSkipped},
			private:  previewPrivate{Named: resolved{Signal: signal}, Ready: true, Members: 2 * len(companies)},
		}
		if signal != nil {
			cost := o.cost(len(companies), len(companies))
			p.Research = &Research{Status: "completed", Cost: &cost}
		}
		counts.writeTo(&p)
		_, err := o.Previews.Insert(tx, id, p)
		return err
	})
	return id
}

// accept accepts the Import of a Preview.
func (o *fixture) accept(preview uuid.UUID) (id uuid.UUID) {
	o.t.Helper()
	plan, err := o.PlanImport(o.t.Context(), o.org, preview, ImportMax{})
	if err != nil {
		o.t.Fatal(err)
	}
	o.update(func(tx *store.Tx) error {
		doc, created, err := o.Accept(tx, plan)
		id = doc.ID
		if err == nil && !created {
			o.t.Error("the Import had been accepted before")
		}
		return err
	})
	return id
}

// runJobs runs the due jobs.
func (o *fixture) runJobs() { o.worker.Once(o.t.Context()) }

func (o *fixture) readImport(id uuid.UUID) (rec Import) {
	o.t.Helper()
	o.view(func(tx *store.Tx) error {
		doc, err := o.Imports.Get(tx, id)
		rec = doc.Record
		return err
	})
	return rec
}

// fits returns the value of the custom field "fit" by the name of the account, or nil for an
// account without a value.
func (o *fixture) fits() map[string]any {
	o.t.Helper()
	got := map[string]any{}
	o.view(func(tx *store.Tx) error {
		return o.crm.Accounts.Table.Scan(tx, func(d store.Doc[crm.Account]) (bool, error) {
			if _, ok := got[d.Record.Name]; ok {
				o.t.Errorf("there are two accounts %s", d.Record.Name)
			}
			if fit := d.Record.Custom[shape.CustomPrefix+"fit"]; len(d.Record.Custom) > 1 || len(d.Record.Custom) == 1 && fit == nil {
				o.t.Errorf("account %s has the custom fields %v", d.Record.Name, d.Record.Custom)
			}
			got[d.Record.Name] = d.Record.Custom[shape.CustomPrefix+"fit"]
			return true, nil
		})
	})
	return got
}

// TestImportAnswers checks that an Import writes answers into the field of created and existing
// Accounts, if the field accepts them, and that it charges them.
func TestImportAnswers(t *testing.T) {
	o := newFixture(t)
	id := o.createField(`{"entity": "accounts", "key": "fit", "data_type": "enum", "allowed_values": ["good", "bad", "fair"], "ai": {"question": "Does it fit?"}}`)
	signal := &Signal{ID: id}
	account := func(body string) {
		t.Helper()
		o.update(func(tx *store.Tx) error {
			_, err := o.crm.Accounts.Create(tx, record.NewDraft[crm.Account](parseObject(t, body)))
			return err
		})
	}
	for _, c := range []string{"c1", "c2", "c8", "c9"} {
		account(`{"name": "` + c + `", "website": "` + c + `.example", "custom_field_fit": "bad"}`)
	}
	preview := o.preview(signal, []answeredCompany{
		{"c1", `"good"`}, {"c2", ``}, {"c3", `"good"`}, {"c4", `"great"`}, {"c5", `null`}, {"c6", `["good"]`},
		{"c8", `"great"`}, {"c9", `""`},
	}...)
	id1 := o.accept(preview)
	o.runJobs()
	want := map[string]any{
		"c1": "good", "c2": "bad", "c3": "good", "c4": nil, "c5": nil, "c6": nil, "c8": "bad", "c9": "bad",
	}
	if got := o.fits(); !maps.Equal(got, want) {
		t.Errorf("the answers are %v, want %v", got, want)
	}
	charged := o.readImport(id1).Charged
	if charged == nil || !charged.Charged || charged.ChargedOperationID.UUID != id1 || charged.Units.Float != 8 {
		t.Errorf("the charge is %+v", charged)
	}
	o.view(func(tx *store.Tx) error {
		doc, err := o.Previews.Get(tx, preview)
		if cost := doc.Record.Research.Cost; *cost != *charged {
			t.Errorf("the cost of the Preview is %+v, want %+v", cost, charged)
		}
		return err
	})

	// A deleted field receives no answers, and neither does a new field with the same key.
	again := o.accept(o.preview(signal, answeredCompany{"c1", `"fair"`}, answeredCompany{"c7", `"fair"`}))
	o.update(func(tx *store.Tx) error { return o.crm.Fields.Delete(tx, id, nil) })
	other := o.createField(`{"entity": "accounts", "key": "fit", "data_type": "enum", "allowed_values": ["good", "bad", "fair"], "ai": {"question": "Does it?"}}`)
	o.runJobs()
	if got := o.readImport(again); got.Accounts != (ImportCounts{Created: 1, Reused: 1}) {
		t.Errorf("the Import is %+v", got)
	}
	want = map[string]any{
		"c1": nil, "c2": nil, "c3": nil, "c4": nil, "c5": nil, "c6": nil, "c7": nil, "c8": nil, "c9": nil,
	}
	if got := o.fits(); !maps.Equal(got, want) {
		t.Errorf("the answers are %v, want %v", got, want)
	}
	last := o.accept(o.preview(&Signal{ID: other}, answeredCompany{"c7", `"bad"`}))
	o.runJobs()
	if got := o.fits(); got["c7"] != "bad" || o.readImport(last).Accounts.Reused != 1 {
		t.Errorf("the answers are %v", got)
	}
}

// TestImportEvents checks the events of an Import: one at its start, one at its end, and one for
// each record that it creates.
func TestImportEvents(t *testing.T) {
	o := newFixture(t)
	first := o.accept(o.preview(nil, answeredCompany{"c1", ""}))
	o.now = o.now.Add(time.Second)
	o.runJobs()
	const head = `{"operation_id":"%s","preview_id":"%s","status":"%s","progress":%d,"accounts":{"created":%d,"reused":%d,"skipped":0},"contacts":{"created":%d,"reused":%d,"skipped":0},"max_accounts":null,"max_contacts":null,"charged":null,`
	event := func(id uuid.UUID, status string, progress, created, reused int, createdAt, finished string) string {
		return "tam_import." + status + " " + fmt.Sprintf(head, id, o.readImport(id).PreviewID, status, progress, created, reused, created, reused) +
			`"created_at":"` + createdAt + `","finished_at":` + finished + `,"failure_reason":null}`
	}
	const at0, at1 = "2026-03-02T09:00:00.000Z", "2026-03-02T09:00:01.000Z"
	want := []string{event(first, "accepted", 0, 0, 0, at0, "null"), "account.created", "contact.created", event(first, "completed", 1, 1, 0, at0, `"`+at1+`"`)}
	if !slices.Equal(o.events, want) {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(o.events, "\n"), strings.Join(want, "\n"))
	}
	// Existing records that do not change emit no events.
	o.events = nil
	second := o.accept(o.preview(nil, answeredCompany{"c1", ""}))
	o.runJobs()
	want = []string{event(second, "accepted", 0, 0, 0, at1, "null"), event(second, "completed", 1, 0, 1, at1, `"`+at1+`"`)}
	if !slices.Equal(o.events, want) {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(o.events, "\n"), strings.Join(want, "\n"))
	}
}

// TestImportFails lets an Import fail in its second batch. The records of the first batch stay, and
// the remaining reservation is released.
func TestImportFails(t *testing.T) {
	o := newFixture(t)
	var companies []answeredCompany
	for i := range importBatchSize/2 + 3 {
		companies = append(companies, answeredCompany{id: fmt.Sprintf("c%03d", i)})
	}
	preview := o.preview(nil, companies...)
	id := o.accept(preview)
	o.update(func(tx *store.Tx) error {
		o.members.Put(tx, preview, importBatchSize+1, []byte{flagImportable, '['})
		return nil
	})
	for range maxTries + 1 {
		if got := o.readImport(id); got.hasEnded() {
			t.Fatalf("the Import is %s before its last try", got.Status)
		}
		o.runJobs()
		o.now = o.now.Add(time.Hour)
	}
	got := o.readImport(id)
	n := importBatchSize / 2
	if got.Status != importFailed || got.FailureReason != internalError || !got.FinishedAt.Valid() ||
		got.Accounts.Created != n || got.Contacts.Created != n || got.private.Reserved != (amount{}) {
		t.Errorf("the Import is %+v", got)
	}
	if last := o.events[len(o.events)-1]; !strings.HasPrefix(last, "tam_import.failed ") || !strings.Contains(last, `"failure_reason":"internal"`) {
		t.Errorf("the last event is %s", last)
	}
	b, err := o.Balance(t.Context(), o.org, uuid.NullUUID{UUID: preview, Valid: true})
	if err != nil {
		t.Fatal(err)
	}
	o.view(func(tx *store.Tx) error {
		if b.Accounts.Used != n || b.Contacts.Used != n || o.crm.Accounts.Table.Count(tx) != n {
			t.Errorf("the balance is %+v", b)
		}
		if due, _, err := o.store.Due(o.now.Add(time.Hour), 10, nil, nil); err != nil || len(due) != 0 {
			t.Errorf("the due jobs are %v, %v", due, err)
		}
		return err
	})
	o.update(func(tx *store.Tx) error { return o.Delete(tx, preview, nil) })
}

// TestPlanOutdated excludes a company and creates the Account of another one between the plan of an
// Import and its acceptance.
func TestPlanOutdated(t *testing.T) {
	o := newFixture(t)
	preview := o.preview(nil, answeredCompany{"c1", ""}, answeredCompany{"c2", ""}, answeredCompany{"c3", ""})
	plan, err := o.PlanImport(t.Context(), o.org, preview, ImportMax{})
	if err != nil || plan.add != (amount{3, 3}) {
		t.Fatalf("the plan adds %+v, %v", plan.add, err)
	}
	var id uuid.UUID
	o.update(func(tx *store.Tx) error {
		_, err := o.Exclude(tx, preview, ExcludeBody{MemberIDs: []uuid.UUID{memberID(preview, 0)}})
		if err == nil {
			_, err = o.crm.Accounts.Create(tx, record.NewDraft[crm.Account](parseObject(t, `{"name": "c2", "website": "c2.example"}`)))
		}
		return err
	})
	o.update(func(tx *store.Tx) error {
		doc, _, err := o.Accept(tx, plan)
		id = doc.ID
		return err
	})
	if got := o.readImport(id).private.Reserved; got != (amount{2, 2}) {
		t.Errorf("%+v is reserved", got)
	}
	o.runJobs()
	if got := o.readImport(id); got.Accounts != (ImportCounts{Created: 1, Reused: 1}) || got.Contacts != (ImportCounts{Created: 2}) {
		t.Errorf("the Import is %+v", got)
	}
	if b, err := o.Balance(t.Context(), o.org, uuid.NullUUID{}); err != nil || b.Accounts.Used != 1 || b.Contacts.Used != 2 {
		t.Errorf("the balance is %+v, %v", b, err)
	}
}

// TestImportOfEarlierVersion runs an Import that was accepted by a version that reserved the members
// that are new according to the Preview.
func TestImportOfEarlierVersion(t *testing.T) {
	o := newFixture(t)
	preview := o.preview(nil, answeredCompany{"c1", ""}, answeredCompany{"c2", ""})
	id := o.accept(preview)
	o.update(func(tx *store.Tx) error {
		if _, err := o.memberSets.Delete(tx, preview, partNumber(reservedMembers, 0), 1); err != nil {
			return err
		}
		doc, err := o.Imports.Get(tx, id)
		if err != nil {
			return err
		}
		rec := doc.Record
		rec.private.HasSet = false
		if _, err = o.Imports.Update(tx, doc, rec, nil); err == nil {
			_, err = o.crm.Accounts.Create(tx, record.NewDraft[crm.Account](parseObject(t, `{"name": "c1", "website": "c1.example"}`)))
		}
		return err
	})
	o.runJobs()
	if got := o.readImport(id); got.Accounts != (ImportCounts{Created: 1, Reused: 1}) || got.Contacts != (ImportCounts{Created: 2}) || got.private.Reserved != (amount{}) {
		t.Errorf("the Import is %+v", got)
	}
	if b, err := o.Balance(t.Context(), o.org, uuid.NullUUID{}); err != nil || b.Accounts.Used != 1 || b.Contacts.Used != 2 {
		t.Errorf("the balance is %+v, %v", b, err)
	}
}

// TestImportAccountDeleted deletes an Account after its company was imported and before its people
// are. The people are imported without an Account.
func TestImportAccountDeleted(t *testing.T) {
	o := newFixture(t)
	var companies []answeredCompany
	for i := range importBatchSize/2 + 1 {
		companies = append(companies, answeredCompany{id: fmt.Sprintf("c%03d", i)})
	}
	preview := o.preview(nil, companies...)
	o.update(func(tx *store.Tx) error { // excludes the first person, so that a batch ends with a company
		s := o.memberSetsOf(tx, preview, 2*len(companies))
		s.remove(1)
		s.save()
		doc, err := o.Previews.Get(tx, preview)
		rec := doc.Record
		counts := countsOf(&rec)
		counts.remove(true, false, false)
		counts.writeTo(&rec)
		if err == nil {
			_, err = o.Previews.Update(tx, doc, rec, nil)
		}
		return err
	})
	id := o.accept(preview)
	ctx, stop := context.WithCancel(t.Context())
	o.worker.Once(newStopAt(ctx, 3, stop)) // the worker checks the context once, and so does each batch
	if got := o.readImport(id); got.Status != importRunning || got.Accounts.Created != importBatchSize/2+1 || got.Contacts.Created != importBatchSize/2-1 {
		t.Fatalf("the Import is %+v", got)
	}
	o.update(func(tx *store.Tx) error {
		ids, err := o.crm.Accounts.Table.IDs(tx, "source", []byte(companies[len(companies)-1].id), 1)
		if err != nil {
			return err
		}
		return o.crm.Accounts.Delete(tx, ids[0], nil)
	})
	o.runJobs()
	got := o.readImport(id)
	if got.Status != importCompleted || got.Contacts != (ImportCounts{Created: importBatchSize / 2}) {
		t.Errorf("the Import is %+v", got)
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
		t.Errorf("%d contacts have no account, want 1", without)
	}
}

// stopAt is a context that ends when Err was called a number of times.
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
