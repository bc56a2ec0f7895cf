package outreach

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/store"
)

// MessageStatus is what has become of a message.
type MessageStatus string

const (
	MessageSending  MessageStatus = "sending" // it is on its way
	MessageSent     MessageStatus = "sent"
	MessageRetrying MessageStatus = "retrying"
	MessageFailed   MessageStatus = "failed"
	MessageUnknown  MessageStatus = "unknown" // whether it has gone cannot be known, so it is not sent again
)

// MessageHead is a message without its texts, as events have it.
type MessageHead struct {
	ID         uuid.UUID     `json:"id" label:"ID" rule:"required"`
	CampaignID uuid.UUID     `json:"campaign_id" label:"Campaign" rule:"required"`
	SequenceID uuid.UUID     `json:"sequence_id" label:"Sequence" rule:"required"`
	ContactID  uuid.UUID     `json:"contact_id" label:"Contact" rule:"required" doc:"The contact may be deleted since."`
	StepIndex  int           `json:"step_index"`
	From       string        `json:"from" rule:"required" doc:"The address of the campaign's owner."`
	To         string        `json:"to" rule:"required"`
	Subject    shape.Text    `json:"subject"`
	Status     MessageStatus `json:"status" rule:"required,enum=sending|sent|retrying|failed|unknown" doc:"Whether one that is unknown has gone cannot be known: it is not sent again."`
	Error      shape.Text    `json:"error" doc:"Why it failed or is tried again, in the words of the mail server where it spoke."`
	CreatedAt  shape.Time    `json:"created_at" rule:"required"`
}

// Message is a message that was sent, or is to be.
type Message struct {
	MessageHead
	Body    shape.Text `json:"body" rule:"long"`
	Headers Headers    `json:"headers" doc:"As they are sent, by name; texts are shown decoded."`

	state messageState
}

// Headers are the headers of a message, by name.
type Headers map[string]string

// messageState is what a message keeps to itself.
type messageState struct {
	MessageID  string   `json:"message_id"` // of the header, without brackets
	References []string `json:"references,omitzero"`
	Tries      int      `json:"tries,omitzero"` // that the server refused for now
}

// Private is kept beside the record and never answered.
func (m *Message) Private() any { return &m.state }

const (
	byMessageID = "message_id" // unique in the installation, so that whatever refers to a message can be matched with it
	bySending   = "sending"    // those that are on their way
)

func newMessages() *store.Table[Message] {
	return store.NewTable("messages",
		[]store.Unique[Message]{{Name: byMessageID, Global: true, Of: func(m *Message) []byte { return []byte(m.state.MessageID) }}},
		[]store.Key[Message]{store.TextKey(bySending, func(m *Message) string {
			if m.Status != MessageSending {
				return ""
			}
			return bySending
		})}).ShortHistory()
}

// putMessage writes a message, and tells of its end.
func (e *engine) putMessage(doc store.Doc[Message], m Message) (_ store.Doc[Message], err error) {
	if doc.ID == uuid.Nil {
		doc, err = e.messages.Insert(e.tx, m.ID, m)
	} else {
		doc, err = e.messages.Update(e.tx, doc, m, messageShape.Diff(&doc.Record, &m))
	}
	if err != nil || m.Status != MessageSent && m.Status != MessageFailed {
		return doc, err
	}
	data, err := json.Marshal(&doc.Record.MessageHead)
	if err != nil {
		return doc, err
	}
	return doc, e.tx.Emit(store.Event{Trigger: "message." + string(m.Status), ID: m.ID, Data: data})
}

var messageShape = shape.Of[Message]()

// messageHead reads a message as events have it.
func (o *Outreach) messageHead(tx *store.Tx, id uuid.UUID) ([]byte, error) {
	doc, err := o.messages.Get(tx, id)
	if err != nil {
		return nil, err
	}
	return json.Marshal(&doc.Record.MessageHead)
}

// send sends the messages of a sender that are due, as far as the sender may, and tells how many sequences it has visited.
func (e *engine) send(a *agenda, owner uuid.UUID, due []entry, most int) (visited int, err error) {
	from, err := e.sender(owner)
	if err != nil {
		return 0, err
	}
	transport := e.Transport(owner)
	if transport != nil {
		until, one := e.post.turn(owner, e.tx.Now())
		if !until.IsZero() {
			a.later(e.clock.at(until))
			return 0, nil
		}
		if one {
			most = min(most, 1)
		}
	}
	slices.SortFunc(due, func(a, b entry) int {
		if a.campaign.Prioritized != b.campaign.Prioritized {
			if a.campaign.Prioritized {
				return -1
			}
			return 1
		}
		return compareEntries(a, b)
	})
	for _, at := range due[:min(most, len(due))] {
		slot := from.ledger.Next(at.due, e.now)
		if slot.At.After(e.now) {
			a.later(slot.At)
			return visited, nil
		}
		if transport != nil && e.room == 0 {
			e.starved = true
			return visited, nil
		}
		again := false
		err := e.visit(at.sequence, func(w *walk) error {
			_, i, found := w.dueNow()
			if !found {
				return nil
			}
			if err := w.mail(i, from, transport, slot); err != nil {
				return err
			}
			_, _, again = w.dueNow()
			return nil
		})
		visited++
		if err != nil || again { // a message that is due only now may have its turn before the others
			return visited, err
		}
	}
	return visited, nil
}

// lateMost is how late a message may be before it is called overdue.
const lateMost = time.Minute

// mail sends the message of a step at a slot of its sender's, or hands it to a transport.
func (w *walk) mail(i int, from *sender, t Transport, slot planner.Slot) error {
	why, err := w.obstacle()
	if err != nil {
		return err
	}
	if why != "" {
		return w.stop(why)
	}
	h := &w.s.History[i]
	switch {
	case w.to.Email == "":
		w.over(i, StepSkipped, noAddress)
	case from.user == nil:
		w.over(i, StepSkipped, noOwner)
	default:
		if ideal := from.ledger.Next(h.DueAt.Std(), h.DueAt.Std()); w.now.Sub(ideal.At) < lateMost {
			ideal.At = slot.At // the same, but counted from the due time, it knows what moved it
			slot = ideal
		}
		h.Reason += from.ledger.Reason(slot)
		from.ledger.Take(slot)
		from.sent = true
		if err := w.compose(i, from, t); err != nil {
			return err
		}
	}
	return w.onward()
}

// compose writes the message of a step, and sends it: at once, where nothing leaves the machine.
func (w *walk) compose(i int, from *sender, t Transport) error {
	c, err := w.way()
	if err != nil {
		return err
	}
	h := &w.s.History[i]
	r, v := c.render[h.StepIndex], from.valuesFor(&w.to)
	th := w.s.state.thread(c)
	body, subject, _ := th.render(nil, r, v)
	id := w.tx.NewID()
	m := Message{
		MessageHead: MessageHead{
			ID: id, CampaignID: w.s.CampaignID, SequenceID: w.s.ID, ContactID: w.s.ContactID, StepIndex: h.StepIndex,
			From: from.from.Email, To: w.to.Email, Subject: shape.Text(subject), Status: MessageSending, CreatedAt: shape.At(w.tx.Now()),
		},
		Body:  shape.Text(body),
		state: messageState{MessageID: id.String() + "@" + from.from.Email[strings.LastIndexByte(from.from.Email, '@')+1:]},
	}
	m.state.References = w.s.state.join(th, m.state.MessageID)
	letter := w.letter(&m, from)
	m.Headers = letter.Headers()
	h.MessageID = uuid.NullUUID{UUID: id, Valid: true}
	switch err := letter.Check(); {
	case err != nil:
		m.Status, m.Error = MessageFailed, shape.Text(err.Error())
		w.over(i, StepFailed, err.Error())
	case t == nil:
		m.Status = MessageSent
		w.over(i, StepSent, "")
	}
	doc, err := w.putMessage(store.Doc[Message]{}, m)
	if err == nil && m.Status == MessageSending {
		w.handOver(doc, letter, t)
	}
	return err
}

// letter is a message as it goes out.
func (w *walk) letter(m *Message, from *sender) *mail.Message {
	return &mail.Message{
		ID: m.state.MessageID, Date: m.CreatedAt.Std(), Subject: string(m.Subject), Body: string(m.Body), References: m.state.References,
		From:        mail.Address{Name: from.from.Name, Email: m.From},
		To:          mail.Address{Name: strings.TrimSpace(w.to.FirstName + " " + w.to.LastName), Email: m.To},
		Unsubscribe: w.unsubscribeLink(w.tx.Org(), m.ID),
	}
}

// handOver has a message be handed to its transport when the transaction is on the disk.
func (w *walk) handOver(m store.Doc[Message], letter *mail.Message, t Transport) {
	w.room--
	w.post.claim(w.campaign.OwnerID.UUID)
	handed := &outgoing{org: w.tx.Org(), message: m, sender: w.campaign.OwnerID.UUID, letter: letter, transport: t}
	w.handed = append(w.handed, handed)
	w.out = append(w.out, handed)
}

// retryAfter is how long after each refusal for now a message is tried again. After the last it has failed.
var retryAfter = []time.Duration{5 * time.Minute, 15 * time.Minute, 60 * time.Minute}

// retry sends the message of a step again, if it may go now.
func (w *walk) retry(i int) error {
	doc, err := w.messages.Get(w.tx, w.s.History[i].MessageID.UUID)
	if err != nil {
		return err
	}
	cal, err := w.calendar()
	if err != nil {
		return err
	}
	from, err := w.sender(w.campaign.OwnerID.UUID)
	if err != nil {
		return err
	}
	t := w.Transport(w.campaign.OwnerID.UUID)
	until, _ := w.post.turn(w.campaign.OwnerID.UUID, w.tx.Now())
	state := &w.s.state.Steps[i]
	m := doc.Record
	switch open := cal.NextOpen(w.now); {
	case w.refusal(w.tx, m.To, false) != "": // the contact has another address since
		m.Status, m.Error = MessageFailed, "the address is suppressed"
		w.over(i, StepFailed, "the address is suppressed")
	case open.After(w.now):
		state.Retry = shape.At(open)
		return nil
	case t == nil:
		m.Status, m.Error = MessageSent, ""
		w.over(i, StepSent, "")
	case !until.IsZero():
		state.Retry = shape.At(w.clock.at(until))
		return nil
	case w.room == 0:
		state.Retry = shape.At(w.now.Add(w.clock.second()))
		return nil
	default:
		m.Status, state.Retry = MessageSending, shape.Time{}
	}
	doc, err = w.putMessage(doc, m)
	if err == nil && m.Status == MessageSending {
		w.handOver(doc, w.letter(&m, from), t)
	}
	return err
}

// abandon gives a message up that was to be tried again.
func (w *walk) abandon(id uuid.UUID, why StopReason) error {
	doc, err := w.messages.Get(w.tx, id)
	if err != nil {
		return err
	}
	m := doc.Record
	m.Status, m.Error = MessageFailed, shape.Text("the sequence was stopped: "+why)
	_, err = w.putMessage(doc, m)
	return err
}

// record writes down what came of messages.
func (e *engine) record(came []result) error {
	for _, r := range came {
		doc, err := e.messages.Reload(e.tx, r.message)
		if fault.CodeOf(err) == fault.NotFound { // the organization is new in its place
			continue
		}
		if err != nil {
			return err
		}
		if doc.Record.Status != MessageSending {
			continue
		}
		if err := e.visitAgain(r.sequence, func(w *walk) error { return w.came(doc, r) }); err != nil {
			return err
		}
		if r.Status == mail.Bounced {
			if err := e.crm.SuppressEmail(e.tx, doc.Record.To, "bounce"); err != nil {
				return err
			}
		}
	}
	return nil
}

// came notes what came of a message, and lets its sequence go on.
func (w *walk) came(doc store.Doc[Message], r result) error {
	i := slices.IndexFunc(w.s.History, func(h HistoryStep) bool { return h.MessageID.UUID == doc.ID })
	m := doc.Record
	m.Error = shape.Text(r.Text)
	again := func(at time.Time) {
		m.Status, w.s.state.Steps[i].Retry = MessageRetrying, shape.At(at)
	}
	if r.Status == mail.Deferred {
		m.state.Tries++
	}
	switch active := w.s.Status == SequenceActive; {
	case r.Status == mail.Sent:
		m.Status, m.Error = MessageSent, ""
		w.over(i, StepSent, "")
	case r.Status == mail.Unknown:
		m.Status = MessageUnknown
		w.over(i, StepUnknown, r.Text)
	case r.Status == mail.Rejected || r.Status == mail.Bounced || r.Status == mail.Deferred && m.state.Tries > len(retryAfter):
		m.Status = MessageFailed
		w.over(i, StepFailed, r.Text)
	case !active:
		m.Status = MessageFailed
		m.Error = cmp.Or(m.Error, shape.Text("the sequence was stopped: "+w.s.Reason))
		w.over(i, StepSkipped, "the sequence was stopped: "+string(w.s.Reason))
	case r.Status == mail.Deferred:
		again(w.now.Add(retryAfter[m.state.Tries-1]))
	case r.Status == mail.ServerUnavailable || r.Status == mail.SenderRejected:
		until := w.post.held(r.sender, w.tx.Now())
		if until.IsZero() {
			until = w.tx.Now()
		}
		again(w.clock.at(until))
	default: // it was withheld
		again(w.now)
	}
	if _, err := w.putMessage(doc, m); err != nil {
		return err
	}
	return w.advance()
}
