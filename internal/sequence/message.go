package sequence

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// MessageStatus is the delivery status of a message.
type MessageStatus string

const (
	MessageQueued   MessageStatus = "queued"  // will be sent
	MessageSending  MessageStatus = "sending" // its content is being handed over
	MessageSent     MessageStatus = "sent"
	MessageCaptured MessageStatus = "captured" // stays in the outbox
	MessageRetrying MessageStatus = "retrying"
	MessageFailed   MessageStatus = "failed"
	MessageUnknown  MessageStatus = "unknown" // may have been delivered, so it is not sent again by itself
)

// MessageHead is a message without its texts, as events contain it.
type MessageHead struct {
	ID         uuid.UUID `json:"id" label:"ID" rule:"required"`
	CampaignID uuid.UUID `json:"campaign_id" label:"Campaign" rule:"required"`
	SequenceID uuid.UUID `json:"sequence_id" label:"Sequence" rule:"required"`
	ContactID  uuid.UUID `json:"contact_id" label:"Contact" rule:"required" doc:"The contact may have been deleted."`
	// ContactDeleted is set when the contact is deleted.
	ContactDeleted bool          `json:"contact_deleted"`
	StepIndex      int           `json:"step_index"`
	From           string        `json:"from" rule:"required" doc:"The email address of the campaign's owner."`
	To             string        `json:"to" rule:"required,personal=address"`
	Subject        shape.Text    `json:"subject" rule:"personal"`
	Status         MessageStatus `json:"status" rule:"required,enum=queued|sending|sent|captured|retrying|failed|unknown" doc:"A captured message stays in the outbox and is not sent. A message with status unknown may or may not have been delivered. It is not sent again unless you retry it."`
	Error          shape.Text    `json:"error" rule:"personal" doc:"Why the message failed or is retried: the mail server's response, if there was one."`
	CreatedAt      shape.Time    `json:"created_at" rule:"required"`
}

// Message is an email of a sequence.
type Message struct {
	MessageHead
	Body    shape.Text `json:"body" rule:"long,personal"`
	Headers Headers    `json:"headers" rule:"personal" doc:"The headers by name. Encoded text is shown decoded."`

	state messageState
}

// Headers are the headers of a message, by name.
type Headers map[string]string

// messageState is the private part of a message. JSON names are those of stored data, and may be
// older than the Go names.
type messageState struct {
	HeaderID   string   `json:"message_id"` // the Message-ID header, without angle brackets
	References []string `json:"references,omitzero"`
	Deferrals  int      `json:"tries,omitzero"` // how often the server deferred it
	// FirstTried is when the server deferred it for the first time.
	FirstTried shape.Time `json:"first_tried,omitzero"`
}

// Private returns the part that is stored beside the record and never shown.
func (m *Message) Private() any { return &m.state }

// The keys of messages.
const (
	byMessageID = "message_id" // unique in the installation, so that a reply or bounce can be matched to its message
	bySending   = "sending"    // only messages with the status sending
	byQueued    = "queued"     // only messages with the status queued
	ofContact   = "contact"
)

func newMessages() *store.Table[Message] {
	return record.NewTable("messages",
		[]store.Unique[Message]{{
			Name: byMessageID, Global: true, Of: func(m *Message) []byte { return []byte(m.state.HeaderID) },
		}},
		[]store.Key[Message]{
			statusKey(bySending, MessageSending), statusKey(byQueued, MessageQueued),
			{Name: ofContact, Of: func(_ *store.Tx, m *Message) ([][]byte, error) { return [][]byte{m.ContactID[:]}, nil }},
		}).WithShape(hidingLinks()).ShortHistory()
}

// statusKey returns a key that contains only messages with a status, under its name.
func statusKey(name string, status MessageStatus) store.Key[Message] {
	return store.TextKey(name, func(m *Message) string {
		if m.Status != status {
			return ""
		}
		return name
	})
}

var messageShape = shape.Of[Message]()

// messageEvents are the statuses that are events when a message gets them.
var messageEvents = []MessageStatus{MessageSent, MessageCaptured, MessageFailed, MessageUnknown}

// saveMessage inserts m, or updates doc to m. It emits an event if the status is one.
func (x *engineTx) saveMessage(doc store.Doc[Message], m Message) (_ store.Doc[Message], err error) {
	if doc.ID == uuid.Nil {
		doc, err = x.engine.messages.Insert(x.tx, m.ID, m)
	} else {
		doc, err = x.engine.messages.Update(x.tx, doc, m, messageShape.Diff(&doc.Record, &m))
	}
	if err != nil || !slices.Contains(messageEvents, m.Status) {
		return doc, err
	}
	return doc, x.emitMessage(&doc.Record, string(m.Status))
}

// emitMessage emits an event about a message.
func (x *engineTx) emitMessage(m *Message, event string) error {
	data, err := json.Marshal(&m.MessageHead)
	if err != nil {
		return err
	}
	return x.tx.Emit(store.Event{Trigger: "message." + event, ID: m.ID, Data: data})
}

// messageHead reads a message as events contain it.
func (e *Engine) messageHead(tx *store.Tx, id uuid.UUID) ([]byte, error) {
	doc, err := e.messages.Get(tx, id)
	if err != nil {
		return nil, err
	}
	return json.Marshal(&doc.Record.MessageHead)
}
