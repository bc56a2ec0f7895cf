package sequence_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// emptied is an engine fixture whose contact had everything that its first email needs, until a bulk change. The email is
// held because of that, and the sequence has a call a day later.
type emptied struct {
	*engineFixture
	campaign, contact, account, other string
	operation                         string // the bulk change
}

func newEmptied(t *testing.T, token, change string) *emptied {
	t.Helper()
	e := &emptied{engineFixture: newEngineFixture(t)}
	e.account = e.Write.Post("/v1/accounts", `{"name": "Initech", "industry": "Paper", "external_id": "a"}`).Is(201).ID()
	e.other = e.Write.Post("/v1/accounts", `{"name": "Hooli"}`).Is(201).ID()
	e.contact = e.Write.Post("/v1/contacts", map[string]string{"email": "lee@x.example", "first_name": "Lee", "title": "VP", "account_id": e.account}).Is(201).ID()
	first := simMail(0, 1, 9)
	first.Message = "About {{" + token + "}}."
	e.campaign = e.engineFixture.campaign([]string{e.contact}, nil, []simStep{first, simCall(1, 2, 9)})
	entity, id := "contacts", e.contact
	if strings.Contains(change, "industry") {
		entity, id = "accounts", e.account
	}
	e.operation = apptest.Bulk(e.Org, entity, fmt.Sprintf(`{"ids": [%q], "set": %s}`, id, strings.ReplaceAll(change, "OTHER", e.other)))
	e.to("03-03 09:00")
	e.isHeld()
	return e
}

func (e *emptied) isHeld() {
	e.t.Helper()
	if s := e.sequence(e.campaign, e.contact); s.History[0].Status != "held" || len(e.outbox()) > 0 {
		e.t.Errorf("the step is %+v, want it held", s.History[0])
	}
}

// TestUndoLeavesHeldSteps checks that an undo which brings back what a held email lacks does not send it, at once or with
// a later step of the sequence. A change by a person does.
func TestUndoLeavesHeldSteps(t *testing.T) {
	for _, c := range []struct{ name, token, change, fix string }{
		{"field", "recipient.title", `{"title": ""}`, "contact"},
		{"field of the account", "account.industry", `{"industry": ""}`, "account"},
		{"another account", "account.industry", `{"account_id": "OTHER"}`, "contact"},
		{"another account, which changes then", "account.industry", `{"account_id": "OTHER"}`, "account"},
		{"postponed", "recipient.title", `{"title": ""}`, "postpone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEmptied(t, c.token, c.change)
			again := apptest.Undo(t, e.app, e.Org, e.operation, apptest.Undone(1))
			e.isHeld()
			again = apptest.Undo(t, e.app, e.Org, again, apptest.Undone(1)) // the change is there again
			e.isHeld()
			apptest.Undo(t, e.app, e.Org, again, apptest.Undone(1))
			e.isHeld()
			e.app.Restart()
			e.app.Work()
			e.isHeld()
			e.to("03-04 12:00") // the call is due meanwhile
			e.isHeld()
			if got := e.sequence(e.campaign, e.contact).History[1].Status; got != "task_open" {
				t.Errorf("the call is %s", got)
			}
			e.Write.Patch("/v1/tasks/"+*e.sequence(e.campaign, e.contact).History[1].Task, `{"status": "completed"}`).Is(200)
			e.to("03-04 13:00")
			e.isHeld()
			switch c.fix {
			case "contact":
				e.patchContact(e.contact, `{"notes": "Go on."}`)
			case "account":
				e.Write.Patch("/v1/accounts/"+e.other, `{"notes": "Not this one."}`).Is(200)
				e.app.Work()
				e.isHeld()
				e.Write.Patch("/v1/accounts/"+e.account, `{"notes": "Go on."}`).Is(200)
			case "postpone":
				e.Write.Post("/v1/sequences/"+e.sequence(e.campaign, e.contact).ID+"/postpone", `{"until": "2026-03-05T09:00:00Z"}`).Is(200)
			}
			e.to("03-05 12:00")
			if got := e.outbox(); len(got) != 1 {
				t.Errorf("%d messages", len(got))
			}
			e.verify()
		})
	}
}

// TestMergeWakesHeldSteps checks that a held email goes out when its contact is merged into one that has the value, also
// if the merge does not change that.
func TestMergeWakesHeldSteps(t *testing.T) {
	e := newEmptied(t, "recipient.title", `{"title": ""}`)
	whole := e.Write.Post("/v1/contacts", map[string]string{"email": "lee@y.example", "first_name": "Lee", "title": "CEO", "account_id": e.account}).Is(201).ID()
	merge := e.Write.Post("/v1/contacts/"+whole+"/merge", map[string]any{"ids": []string{e.contact}}).Is(200).Text("meta.operation_id")
	e.app.Work()
	if got := e.outbox(); len(got) != 1 || !strings.HasPrefix(*got[0].Body, "About CEO.") {
		t.Errorf("got %+v", got)
	}
	apptest.Undo(t, e.app, e.Org, merge, apptest.Undone(2))
	e.to("03-05 12:00")
	if got := e.outbox(); len(got) != 1 {
		t.Errorf("%d messages after the undo", len(got))
	}
	e.verify()
}
