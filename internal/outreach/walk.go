package outreach

import (
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/store"
)

// walk is a sequence in the hands of the engine: it is read, taken further, and put back.
type walk struct {
	*engine
	doc      store.Doc[Sequence] // as it was; without an ID when it begins
	s        Sequence
	campaign *Campaign // nil when it is gone
	course   *course   // when it was needed
	to       crm.Recipient
	found    bool        // the contact is there
	events   []string    // what has happened, in order
	cancel   []uuid.UUID // Tasks that nobody needs to do any more
	handed   []*outgoing // its messages that are handed over
}

// walk takes a sequence up, as it may have been before.
func (e *engine) walk(doc store.Doc[Sequence]) (*walk, error) {
	doc, err := e.sequences.Reload(e.tx, doc)
	if err != nil {
		return nil, err
	}
	w := &walk{engine: e, doc: doc, s: doc.Record.clone()}
	return w, w.meet()
}

// meet reads the campaign and the contact of a sequence.
func (w *walk) meet() (err error) {
	if w.campaign, err = w.engine.campaign(w.s.CampaignID); err != nil {
		return err
	}
	w.to, w.found, err = w.read.Read(w.s.ContactID)
	return err
}

// way is the content that the sequence began with.
func (w *walk) way() (_ *course, err error) {
	if w.course == nil {
		w.course, err = w.Outreach.course(w.tx, w.s.state.Template, w.s.state.Version)
	}
	return w.course, err
}

// goes tells whether something of the sequence may happen now.
func (w *walk) goes() bool {
	return w.s.Status == SequenceActive && w.campaign != nil && w.campaign.Status == CampaignActive
}

// advance does what is due and takes nobody's turn, and fixes the due times that follow. A sequence that has to stop does so.
func (w *walk) advance() error {
	if w.s.Status != SequenceActive {
		return nil
	}
	why, err := w.obstacle()
	if err != nil {
		return err
	}
	if why != "" {
		return w.stop(why)
	}
	return w.onward()
}

// onward is advance for a sequence that nothing keeps from going on.
func (w *walk) onward() (err error) {
	w.s.state.Mute = w.to.Email == ""
	for more := true; more; {
		if more, err = w.fix(); err != nil {
			return err
		}
		did := false
		if w.goes() {
			if did, err = w.perform(); err != nil {
				return err
			}
		}
		more = more || did
	}
	if w.s.idle() {
		w.s.Status = SequenceCompleted
		w.events = append(w.events, "completed")
	}
	return nil
}

// fix fixes the due times that follow from what has happened.
func (w *walk) fix() (fixed bool, err error) {
	c, err := w.way()
	if err != nil {
		return false, err
	}
	cal, err := w.calendar()
	if err != nil {
		return false, err
	}
	dues := planner.Schedule(c.plan, cal, w.s.StartedAt.Std(), w.s.past(c), w.now)
	for _, d := range dues {
		step := &c.content.Steps[d.Step]
		w.s.History = append(w.s.History, HistoryStep{
			StepIndex: step.Index, Type: step.Type, Status: StepWaiting, DueAt: shape.At(d.At), Reason: d.Reason, TemplateVersion: int(w.s.state.Version),
		})
		w.s.state.Steps = append(w.s.state.Steps, stepState{Fixed: shape.At(w.now)})
	}
	return len(dues) > 0, nil
}

// perform does the steps that are due and take nobody's turn.
func (w *walk) perform() (did bool, err error) {
	for i := range w.s.History {
		at, takesTurn, waits := w.s.due(i)
		if !waits || takesTurn || at.After(w.now) {
			continue
		}
		did = true
		switch h := &w.s.History[i]; {
		case h.MessageID.Valid:
			err = w.retry(i)
		case h.Type == AutoEmail:
			w.over(i, StepSkipped, noAddress)
		default:
			err = w.task(i)
		}
		if err != nil {
			return did, err
		}
	}
	return did, nil
}

// Why a message is not sent.
const (
	noAddress = "the contact has no email address"
	noOwner   = "the campaign has no owner who could send it"
)

// over notes what has become of a step, and why.
func (w *walk) over(i int, status StepStatus, why string) {
	h := &w.s.History[i]
	h.Status, h.At = status, shape.At(w.now)
	w.s.state.Steps[i].Retry = shape.Time{}
	if why != "" {
		h.Reason += "; " + why
	}
	if w.s.Status != SequenceActive {
		return
	}
	w.events = append(w.events, "step_completed")
	if h.Type == AutoEmail && (status == StepSkipped || status == StepFailed) {
		w.s.state.miss(h.StepIndex, h.MessageID)
	}
}

// put writes a sequence down, with what follows from its having changed.
func (w *walk) put() error {
	w.s.settle()
	var err error
	began := w.doc.ID == uuid.Nil
	if began {
		w.doc, err = w.sequences.Insert(w.tx, w.s.ID, w.s)
		w.events = append([]string{"started"}, w.events...)
	} else {
		fields := sequenceShape.Diff(&w.doc.Record, &w.s)
		before := w.doc.Record
		if err := w.count(&before, -1); err != nil {
			return err
		}
		w.doc, err = w.sequences.Update(w.tx, w.doc, w.s, fields)
	}
	if err != nil {
		return err
	}
	if err := w.count(&w.s, 1); err != nil {
		return err
	}
	for _, m := range w.handed {
		m.sequence = w.doc
	}
	w.woken = w.woken || w.goes() && w.s.NextDueAt.Valid()
	for _, event := range w.events {
		if err := w.tx.Emit(store.Event{Trigger: "sequence." + event, ID: w.s.ID, Data: w.doc.JSON}); err != nil {
			return err
		}
	}
	return w.cancelTasks()
}

var sequenceShape = shape.Of[Sequence]()

// begin begins the sequence of a contact in a campaign, unless something keeps it from going through.
func (e *engine) begin(c *Campaign, version uint32, contact uuid.UUID) error {
	w := &walk{engine: e, s: Sequence{
		ID: e.tx.NewID(), CampaignID: c.ID, ContactID: contact, Status: SequenceActive, StartedAt: shape.At(e.now), History: []HistoryStep{},
		state: sequenceState{Template: c.TemplateID.UUID, Version: version},
	}}
	if err := w.meet(); err != nil {
		return err
	}
	if why, err := w.obstacle(); err != nil || why != "" {
		return err
	}
	if err := w.advance(); err != nil {
		return err
	}
	return w.put()
}

// dueNow tells whether a message of the sequence waits for its sender's turn alone.
func (w *walk) dueNow() (due time.Time, i int, found bool) {
	for j := range w.s.History {
		at, takesTurn, waits := w.s.due(j)
		if !waits || !takesTurn || at.After(w.now) {
			continue
		}
		if !found || at.Before(due) || at.Equal(due) && w.s.History[j].StepIndex < w.s.History[i].StepIndex {
			due, i, found = at, j, true
		}
	}
	return due, i, found
}
