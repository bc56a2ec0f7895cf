package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/template"
	"prospector/store"
)

// Sources returns the objects that the engine emits events about. Those of audiences, templates and
// campaigns come from their kinds.
func (e *Engine) Sources() []store.Source {
	sequence := exampleSequence()
	message := record.Example[MessageHead](messageExample)
	return []store.Source{
		{
			Object: "sequence",
			Triggers: []store.Trigger{
				{Event: "started", Description: "A sequence started for a contact.", Example: startedSequence()},
				{
					Event: "step_completed", Example: completedStep(),
					Description: "A step of a sequence ended: its message was sent, its Task was closed, or it was skipped or failed.",
				},
				{
					Event: "completed", Example: completedSequence(),
					Description: "A sequence was completed: all of its steps have ended.",
				},
				{Event: "stopped", Description: "A sequence was stopped. See reason.", Example: stoppedSequence()},
			},
			Example: &sequence,
			Read:    e.sequences.Public,
		},
		{
			Object: "message",
			Triggers: []store.Trigger{
				{Event: "sent", Description: "A message was sent."},
				{
					Event: "captured", Example: messageAs(message, MessageCaptured),
					Description: "A message was captured in the outbox. It was not sent.",
				},
				{
					Event: "failed", Example: failedMessage(message),
					Description: "A message could not be sent and is not tried again.",
				},
				{
					Event: "bounced", Example: failedMessage(message),
					Description: "A message failed because the mailbox of its recipient does not exist. The address is suppressed.",
				},
				{
					Event: "unknown", Example: messageAs(message, MessageUnknown),
					Description: "A message may or may not have been delivered. It is not sent again unless you retry it.",
				},
			},
			Example: &message,
			Read:    e.messageHead,
		},
	}
}

// sequenceEvent is an event about a sequence.
type sequenceEvent struct {
	name string
	step *endedStep // the step that the event is about, if there is one
}

// endedStep is what an event about a step adds to the sequence.
type endedStep struct {
	StepIndex int `json:"step_index" doc:"The step that ended."`
}

// emit emits an event about the sequence, as it is stored.
func (r *sequenceRun) emit(event sequenceEvent) error {
	e := store.Event{Trigger: "sequence." + event.name, ID: r.s.ID, Data: r.doc.JSON}
	if event.step != nil {
		e.Extra = event.step
	}
	return r.x.tx.Emit(e)
}

const (
	sequenceExample = `{
		"id": "019cd721-3c40-7a11-8e21-4b6a0c9d8f53",
		"campaign_id": "019cd720-1c3f-7d88-b1c4-7e0a9d5b6f42",
		"contact_id": "019cd6c9-63a4-7cd1-9f2e-3a8b5d7c1e90",
		"contact_name": "Ada Park",
		"contact_email": "ada@packers.example",
		"contact_deleted": false,
		"status": "active",
		"reason": null,
		"duplicate_of": null,
		"started_at": "2026-03-10T09:42:11.908Z",
		"current_step_index": 1,
		"next_due_at": "2026-03-12T14:00:00.000Z",
		"history": [
			{
				"step_index": 0, "type": "auto_email", "status": "sent",
				"due_at": "2026-03-10T09:42:11.908Z", "at": "2026-03-10T09:42:11.908Z",
				"reason": "day 0 of the sequence at 09:00; that time has passed, due at once",
				"message_id": "019cd721-4a02-7b35-9d10-6c2f8e1a7b44", "task_id": null, "template_version": 1
			},
			{
				"step_index": 1, "type": "call", "status": "waiting", "due_at": "2026-03-12T14:00:00.000Z", "at": null,
				"reason": "2 business days after step 0 was completed",
				"message_id": null, "task_id": null, "template_version": 1
			}
		]
	}`
	messageExample = `{
		"id": "019cd721-4a02-7b35-9d10-6c2f8e1a7b44",
		"campaign_id": "019cd720-1c3f-7d88-b1c4-7e0a9d5b6f42",
		"sequence_id": "019cd721-3c40-7a11-8e21-4b6a0c9d8f53",
		"contact_id": "019cd6c9-63a4-7cd1-9f2e-3a8b5d7c1e90",
		"contact_deleted": false,
		"step_index": 0,
		"from": "sam@robots.example",
		"to": "ada@packers.example",
		"subject": "Packing at Packers",
		"status": "sent",
		"error": null,
		"created_at": "2026-03-10T09:42:11.908Z"
	}`
)

// exampleSequence returns the example with the private part that its history needs.
func exampleSequence() Sequence {
	s := record.Example[Sequence](sequenceExample)
	s.state.Steps = make([]stepState, len(s.History))
	return s
}

// StepCompleted is a sequence with the step that an event is about.
type StepCompleted struct {
	Sequence
	endedStep
}

func completedStep() *StepCompleted { return &StepCompleted{Sequence: exampleSequence()} }

func startedSequence() *Sequence {
	s := exampleSequence()
	s.History = s.History[:1]
	first := &s.History[0]
	s.History[0] = HistoryStep{
		StepIndex: 0, Type: template.AutoEmail, Status: StepWaiting, DueAt: first.DueAt, Reason: first.Reason,
		TemplateVersion: 1,
	}
	s.updateSummary()
	return &s
}

func completedSequence() *Sequence {
	s := exampleSequence()
	call := &s.History[1]
	call.Status, call.At = StepDone, call.DueAt
	call.TaskID = uuid.NullUUID{UUID: uuid.MustParse("019ce1a3-77d0-7f21-8b09-5a4e3d2c1b60"), Valid: true}
	s.Status = SequenceCompleted
	s.updateSummary()
	return &s
}

func stoppedSequence() *Sequence {
	s := exampleSequence()
	call := &s.History[1]
	call.Status, call.At, call.Reason = StepSkipped, s.StartedAt, call.Reason+"; "+stoppedBecause(StopReplied)
	s.Status, s.Reason = SequenceStopped, StopReplied
	s.updateSummary()
	return &s
}

func messageAs(m MessageHead, status MessageStatus) *MessageHead {
	m.Status = status
	return &m
}

func failedMessage(m MessageHead) *MessageHead {
	m.Status, m.Error = MessageFailed, "550 5.1.1 no such mailbox"
	return &m
}
