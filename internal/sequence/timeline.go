package sequence

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/shape"
	"prospector/store"
)

// TimelineEntry is something that happened to a contact, or is planned.
type TimelineEntry struct {
	At     shape.Time `json:"at" doc:"When it happened or is planned. A step whose campaign is paused or held has the time at which it is due."`
	Type   string     `json:"type" rule:"enum=message|task|meeting|opt_out|suppression|step"`
	ID     uuid.UUID  `json:"id" doc:"The id of the message, Task, meeting or suppression. The id of the sequence for a step, of the contact for an opt-out."`
	Title  string     `json:"title"`
	Detail string     `json:"detail"`
}

// Timeline returns what happened to a contact and what is planned, newest first: messages, Tasks,
// meetings, opt-outs, suppressions, and the steps of campaigns that are neither messages nor Tasks. It leaves
// out damaged records.
func (e *Engine) Timeline(ctx context.Context, tx *store.Tx, contact uuid.UUID) (entries []TimelineEntry, err error) {
	doc, err := e.crm.Contacts.Get(tx, contact)
	if err != nil {
		return nil, err
	}
	add := func(at shape.Time, typ string, id uuid.UUID, title, detail string) {
		entries = append(entries, TimelineEntry{at, typ, id, title, detail})
	}
	for _, part := range []func(context.Context, *store.Tx, *crm.Contact, addEntry) error{
		e.messageEntries, e.taskEntries, e.meetingEntries, e.suppressionEntries, e.stepEntries,
	} {
		if err := part(ctx, tx, &doc.Record, add); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(entries, func(a, b TimelineEntry) int {
		return cmp.Or(stdTime(b.At).Compare(stdTime(a.At)), store.CompareIDs(b.ID, a.ID))
	})
	return entries, nil
}

type addEntry func(at shape.Time, typ string, id uuid.UUID, title, detail string)

func (e *Engine) messageEntries(_ context.Context, tx *store.Tx, c *crm.Contact, add addEntry) error {
	return eachUnder(tx, e.messages, ofContact, c.ID[:], func(m store.Doc[Message]) error {
		detail := string(m.Record.Status) + ", to " + m.Record.To
		if m.Record.Error != "" {
			detail += ": " + string(m.Record.Error)
		}
		add(m.Record.CreatedAt, "message", m.ID, cmp.Or(string(m.Record.Subject), "Email"), detail)
		return nil
	})
}

// ofContactField is the key of the reference that tasks and meetings have to a contact.
const ofContactField = "contact_id"

func (e *Engine) taskEntries(_ context.Context, tx *store.Tx, c *crm.Contact, add addEntry) error {
	return eachUnder(tx, e.crm.Tasks.Table, ofContactField, c.ID[:], func(t store.Doc[crm.Task]) error {
		at := t.Record.CreatedAt
		for _, better := range []shape.Time{t.Record.DueAt, t.Record.CompletedAt} {
			if better.Valid() {
				at = better
			}
		}
		add(at, "task", t.ID, t.Record.Title, t.Record.Type+", "+string(t.Record.Status))
		return nil
	})
}

func (e *Engine) meetingEntries(_ context.Context, tx *store.Tx, c *crm.Contact, add addEntry) error {
	return eachUnder(tx, e.crm.Meetings.Table, ofContactField, c.ID[:], func(m store.Doc[crm.Meeting]) error {
		add(m.Record.StartsAt, "meeting", m.ID, m.Record.Title, m.Record.Status)
		return nil
	})
}

// suppressionEntries adds the suppressions that block the address of a contact, and its opt-outs as
// far back as its history reaches.
func (e *Engine) suppressionEntries(_ context.Context, tx *store.Tx, c *crm.Contact, add addEntry) error {
	suppressions, err := e.crm.SuppressionsOf(tx, string(c.Email))
	if err != nil {
		return err
	}
	for _, s := range suppressions {
		add(s.CreatedAt, "suppression", s.ID, "Suppressed: "+cmp.Or(string(s.Email), string(s.Domain)), string(s.Reason))
	}
	changes, err := e.crm.Contacts.History(tx, c.ID)
	if err != nil {
		return err
	}
	optedOut := c.DoNotContact
	for _, change := range changes { // newest first
		if !slices.Contains(change.Fields, "do_not_contact") && (!optedOut || change.Change != "created") {
			continue
		}
		title := "Opted out"
		if !optedOut {
			title = "Opted in again"
		}
		add(change.At, "opt_out", c.ID, title, change.Operation)
		optedOut = !optedOut
	}
	return nil
}

// stepEntries adds the steps of sequences that have neither a message nor a Task, and how sequences
// ended.
func (e *Engine) stepEntries(ctx context.Context, tx *store.Tx, c *crm.Contact, add addEntry) error {
	ids, err := e.sequences.IDs(tx, byAnyContact, c.ID[:], 0)
	if err != nil {
		return err
	}
	x := e.newEngineTx(tx)
	for _, id := range ids {
		r, err := x.load(store.Doc[Sequence]{ID: id})
		if store.IsDamagedRecord(err) {
			continue
		}
		if err != nil {
			return err
		}
		var planned []time.Time
		if r.s.Status == SequenceActive && (r.campaign != nil || r.damage != nil) {
			if planned, err = r.explain(ctx); err != nil {
				return err
			}
		}
		name := "a deleted campaign"
		switch {
		case r.campaign != nil:
			name = r.campaign.Name
		case r.damage != nil:
			name = "a damaged campaign"
		}
		for i, h := range r.s.History {
			if h.MessageID.Valid || h.TaskID.Valid {
				continue
			}
			at := h.DueAt
			switch {
			case h.At.Valid():
				at = h.At
			case planned != nil && !planned[i].IsZero():
				at = shape.At(planned[i])
			}
			title := fmt.Sprintf("%s, step %d: %s", name, h.StepIndex, strings.ReplaceAll(string(h.Status), "_", " "))
			add(at, "step", id, title, h.Reason)
		}
		if r.s.Status == SequenceStopped || r.s.Status == SequenceNotStarted {
			add(r.endedAt(), "step", id, name+": "+strings.ReplaceAll(string(r.s.Status), "_", " "), string(r.s.Reason))
		}
	}
	return nil
}

// endedAt returns when the last thing happened in the sequence.
func (r *sequenceRun) endedAt() (at shape.Time) {
	at = r.s.StartedAt
	for _, h := range r.s.History {
		if h.At.Valid() && (!at.Valid() || h.At.Std().After(at.Std())) {
			at = h.At
		}
	}
	if !at.Valid() { // it never started: its id, a UUIDv7, has the time at which it was created
		at = shape.At(time.UnixMilli(int64(binary.BigEndian.Uint64(r.s.ID[:]) >> 16)))
	}
	return at
}
