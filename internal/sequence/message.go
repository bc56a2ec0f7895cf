package sequence

import (
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// MessageStatus is the delivery status of a message.
type MessageStatus string

const (
	MessageSending  MessageStatus = "sending" // claimed or in flight
	MessageSent     MessageStatus = "sent"
	MessageRetrying MessageStatus = "retrying"
	MessageFailed   MessageStatus = "failed"
	MessageUnknown  MessageStatus = "unknown" // may have been delivered, so it is not sent again
)

// MessageHead is a message without its texts, as events contain it.
type MessageHead struct {
	ID         uuid.UUID     `json:"id" label:"ID" rule:"required"`
	CampaignID uuid.UUID     `json:"campaign_id" label:"Campaign" rule:"required"`
	SequenceID uuid.UUID     `json:"sequence_id" label:"Sequence" rule:"required"`
	ContactID  uuid.UUID     `json:"contact_id" label:"Contact" rule:"required" doc:"The contact may have been deleted."`
	StepIndex  int           `json:"step_index"`
	From       string        `json:"from" rule:"required" doc:"The email address of the campaign's owner."`
	To         string        `json:"to" rule:"required"`
	Subject    shape.Text    `json:"subject"`
	Status     MessageStatus `json:"status" rule:"required,enum=sending|sent|retrying|failed|unknown" doc:"A message with status unknown may or may not have been delivered. It is not sent again."`
	Error      shape.Text    `json:"error" doc:"Why the message failed or is retried: the mail server's response, if there was one."`
	CreatedAt  shape.Time    `json:"created_at" rule:"required"`
}

// Message is an email of a sequence.
type Message struct {
	MessageHead
	Body    shape.Text `json:"body" rule:"long"`
	Headers Headers    `json:"headers" doc:"The headers by name. Encoded text is shown decoded."`

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
}

// Private returns the part that is stored beside the record and never shown.
func (m *Message) Private() any { return &m.state }

// The keys of messages.
const (
	byMessageID = "message_id" // unique in the installation, so that a reply or bounce can be matched to its message
	bySending   = "sending"    // only messages with the status sending
)

func newMessages() *store.Table[Message] {
	return record.NewTable("messages",
		[]store.Unique[Message]{{
			Name: byMessageID, Global: true, Of: func(m *Message) []byte { return []byte(m.state.HeaderID) },
		}},
		[]store.Key[Message]{store.TextKey(bySending, func(m *Message) string {
			if m.Status != MessageSending {
				return ""
			}
			return bySending
		})}).WithShape(hidingLinks()).ShortHistory()
}

var messageShape = shape.Of[Message]()

// saveMessage inserts m, or updates doc to m. It emits an event if m was sent or has failed.
func (x *engineTx) saveMessage(doc store.Doc[Message], m Message) (_ store.Doc[Message], err error) {
	if doc.ID == uuid.Nil {
		doc, err = x.engine.messages.Insert(x.tx, m.ID, m)
	} else {
		doc, err = x.engine.messages.Update(x.tx, doc, m, messageShape.Diff(&doc.Record, &m))
	}
	if err != nil || m.Status != MessageSent && m.Status != MessageFailed {
		return doc, err
	}
	data, err := json.Marshal(&doc.Record.MessageHead)
	if err != nil {
		return doc, err
	}
	return doc, x.tx.Emit(store.Event{Trigger: "message." + string(m.Status), ID: m.ID, Data: data})
}

// messageHead reads a message as events contain it.
func (e *Engine) messageHead(tx *store.Tx, id uuid.UUID) ([]byte, error) {
	doc, err := e.messages.Get(tx, id)
	if err != nil {
		return nil, err
	}
	return json.Marshal(&doc.Record.MessageHead)
}
