package sequence

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// SequenceStatus is the stage of a sequence.
type SequenceStatus string

const (
	SequenceNotStarted SequenceStatus = "not_started" // its contact cannot be written to now, or awaits confirmation
	SequenceActive     SequenceStatus = "active"
	SequenceCompleted  SequenceStatus = "completed"
	SequenceStopped    SequenceStatus = "stopped"
)

// StopReason is why a sequence was stopped or has not started.
type StopReason = shape.Text

const (
	StopOptedOut             StopReason = "opted_out"
	StopSuppressed           StopReason = "suppressed"
	StopNoAddress            StopReason = "no_address"            // only of a sequence that has not started
	StopAwaitingConfirmation StopReason = "awaiting_confirmation" // only of a sequence that has not started
	StopDuplicateAddress     StopReason = "duplicate_address"     // another sequence of the campaign writes to the address
	StopLeftAudience         StopReason = "left_audience"
	StopContactDeleted       StopReason = "contact_deleted"
	StopCampaignEnded        StopReason = "campaign_ended"
	StopCampaignArchived     StopReason = "campaign_archived"
	StopReplied              StopReason = "replied"
	StopManual               StopReason = "manual"
)

// StepStatus is the stage of a step in a sequence.
type StepStatus string

const (
	StepWaiting  StepStatus = "waiting" // has a due time, or its message is in flight or to be retried
	StepSent     StepStatus = "sent"
	StepCaptured StepStatus = "captured" // its message is in the outbox and was not sent
	StepHeld     StepStatus = "held"     // a token of its message has no value
	StepTaskOpen StepStatus = "task_open"
	StepDone     StepStatus = "done" // its Task was completed
	StepSkipped  StepStatus = "skipped"
	StepFailed   StepStatus = "failed"
	StepUnknown  StepStatus = "unknown" // its message may have been delivered
)

func (s StepStatus) isFinal() bool { return s != StepWaiting && s != StepHeld && s != StepTaskOpen }

// Sequence is the progress of a contact through the template of a campaign. A contact has at most
// one sequence per campaign, besides those that a merge of contacts ended.
type Sequence struct {
	ID               uuid.UUID      `json:"id" label:"ID" rule:"required"`
	CampaignID       uuid.UUID      `json:"campaign_id" label:"Campaign" rule:"required"`
	ContactID        uuid.UUID      `json:"contact_id" label:"Contact" rule:"required" doc:"The contact may have been deleted."`
	ContactName      shape.Text     `json:"contact_name" rule:"personal"`
	ContactEmail     shape.Text     `json:"contact_email" rule:"personal=address"`
	ContactDeleted   bool           `json:"contact_deleted" doc:"The contact was deleted. Its name and address are those that it had."`
	Status           SequenceStatus `json:"status" rule:"required,enum=not_started|active|completed|stopped" doc:"A sequence that has not started starts when its reason goes away. One that awaits confirmation starts when its campaign admits it."`
	Reason           StopReason     `json:"reason" rule:"enum=opted_out|suppressed|no_address|awaiting_confirmation|duplicate_address|left_audience|contact_deleted|campaign_ended|campaign_archived|replied|manual" doc:"Why the sequence was stopped or has not started."`
	DuplicateOf      uuid.NullUUID  `json:"duplicate_of" doc:"The sequence of this campaign that writes to the same address, if the reason is duplicate_address."`
	StartedAt        shape.Time     `json:"started_at" doc:"Null if the sequence has not started."`
	CurrentStepIndex shape.Number   `json:"current_step_index" rule:"integer" doc:"The step that is due next or whose Task is open. The last step if the sequence has ended."`
	NextDueAt        shape.Time     `json:"next_due_at" doc:"When the next step happens as planned: an email under the cap and gap of its sender, within the sending window and behind everybody else who waits. Null if the sequence has ended, or waits for a Task, for a missing value or for the campaign to continue. Filters and sorts use the time at which the step is due."`
	History          []HistoryStep  `json:"history" rule:"required" doc:"Every step that has a due time, in the order in which they were scheduled."`

	state sequenceState
}

// HistoryStep is a step that was scheduled, and what became of it.
type HistoryStep struct {
	StepIndex       int               `json:"step_index"`
	Type            template.StepType `json:"type" rule:"enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift"`
	Status          StepStatus        `json:"status" rule:"enum=waiting|sent|captured|held|task_open|done|skipped|failed|unknown"`
	DueAt           shape.Time        `json:"due_at" doc:"When the step is due, given the template and the sending window. An email can be sent later because of its sender's cap and gap. See at."`
	At              shape.Time        `json:"at" doc:"When the step got its status. Null while it waits."`
	Reason          string            `json:"reason" doc:"Why the step is due then, what it waits for, and what became of it."`
	MessageID       uuid.NullUUID     `json:"message_id" doc:"The message in the outbox."`
	TaskID          uuid.NullUUID     `json:"task_id" doc:"The Task may have been deleted."`
	TemplateVersion int               `json:"template_version" doc:"The version of the template's content: the one that the sequence started with or, for a step that was held, the newest one."`
}

// sequenceState is the private part of a sequence. JSON names are those of stored data, and may be
// older than the Go names.
type sequenceState struct {
	Template uuid.UUID   `json:"template"`
	Version  uint32      `json:"version"`
	Steps    []stepState `json:"steps"` // parallel to History
	// Unconfirmed is set if the contact came with many others, or by an undo, and nobody has confirmed that it is
	// meant to be in the campaign. See newcomers.go.
	Unconfirmed bool `json:"unconfirmed,omitzero"`
	// LacksAddress is set if the contact had no email address when last seen. Its email steps need
	// no slot of the sender then, and are skipped.
	LacksAddress bool `json:"mute,omitzero"`
	// Addresses are the canonical addresses that the sequence has claimed: no other sequence of the
	// campaign writes to them.
	Addresses []string `json:"addresses,omitzero" rule:"personal=address"`
	// Superseded is set if contacts were merged that both had a sequence in the campaign, and the other one is
	// that of the contact now.
	Superseded bool `json:"superseded,omitzero"`
	// Replied is set if the recipient replied after the sequence had ended. Nothing of it is sent again, unless somebody
	// restarts this one.
	Replied bool `json:"replied,omitzero"`
	// Postponed is when the sequence may go on, if a request has postponed it.
	Postponed shape.Time `json:"postponed,omitzero"`
	// Earlier counts the messages of the runs before the sequence began again.
	Earlier messageCounts `json:"earlier,omitzero"`
	// Account is the account of the contact when a step was held.
	Account uuid.NullUUID `json:"account,omitzero"`
	// ThreadAddress is the canonical address that the current thread was sent to.
	ThreadAddress string `json:"thread_address,omitzero" rule:"personal=address"`
	template.Thread
}

// stepState is the private part of a step in the history.
type stepState struct {
	ScheduledAt shape.Time `json:"fixed"` // when the due time was computed
	// Retry is when the step's message is tried again. A waiting step that has a message but no
	// Retry is in flight.
	Retry shape.Time `json:"retry"`
	// NeedsSlot is set if the next attempt needs a slot of the sender again, because the server
	// deferred the one before.
	NeedsSlot bool `json:"needs_slot,omitzero"`
	// NotBefore delays an email beyond its due time, because the recipient just got another one.
	NotBefore shape.Time `json:"not_before,omitzero"`
	// Newest is set if the step was held. Its message has the newest text of the template then.
	Newest bool `json:"newest,omitzero"`
	// Undecided is set if the mail server left the message unknown, and no release has decided what
	// becomes of it.
	Undecided bool `json:"undecided,omitzero"`
	// Gone is set if the step was skipped because a newer content of the template lacks it. Its index is that of
	// the earlier content.
	Gone bool `json:"gone,omitzero"`
	// GoneID is the id of a step that is gone and was over before. It stays over if a content has it again.
	GoneID string `json:"gone_id,omitzero"`
}

// Private returns the part that is stored beside the record and never shown.
func (s *Sequence) Private() any { return &s.state }

// The keys of sequences. Only some contain sequences that have ended.
const (
	byCampaignAndContact = "campaign_contact" // unique
	byAnyContact         = "any_contact"      // by contact, also ended ones
	byAddress            = "address"          // by campaign and claimed address, also ended ones
	byCaptured           = "captured"         // by campaign: those with captured messages, also ended ones
	byFailed             = "failed"           // by campaign: those with messages to try again, also ended ones
	byHeldStep           = "held"             // by what a held step or a newcomer waits for, see heldKeys
	byContact            = "contact"
	byCampaign           = "campaign"
	byTask               = "task" // open Tasks
	byImmediate          = "wake" // by campaign and time: what needs no slot of the sender
	byEmail              = "mail" // by campaign and time: emails, which need a slot of the sender
)

func newSequences() *store.Table[Sequence] {
	return record.NewTable("sequences",
		[]store.Unique[Sequence]{{
			Name: byCampaignAndContact,
			Of: func(s *Sequence) []byte {
				if s.state.Superseded {
					return nil
				}
				return store.PairKey(s.CampaignID, s.ContactID)
			},
		}},
		[]store.Key[Sequence]{
			keyWhere(byAnyContact, always, func(s *Sequence) [][]byte { return [][]byte{s.ContactID[:]} }),
			keyWhere(byAddress, always, (*Sequence).addressKeys),
			keyWhere(byCaptured, always, func(s *Sequence) [][]byte { return s.campaignKeyIf(StepCaptured) }),
			keyWhere(byFailed, always, func(s *Sequence) [][]byte { return s.campaignKeyIf(StepFailed, StepUnknown) }),
			keyWhere(byHeldStep, (*Sequence).isOpen, (*Sequence).heldKeys),
			keyWhere(byContact, (*Sequence).isOpen, func(s *Sequence) [][]byte { return [][]byte{s.ContactID[:]} }),
			keyWhere(byCampaign, (*Sequence).isOpen, func(s *Sequence) [][]byte { return [][]byte{s.CampaignID[:]} }),
			activeKey(byTask, (*Sequence).openTasks),
			activeKey(byImmediate, func(s *Sequence) [][]byte { return s.dueKeys(false) }),
			activeKey(byEmail, func(s *Sequence) [][]byte { return s.dueKeys(true) }),
		}).ShortHistory()
}

// isOpen reports whether the sequence has not ended.
func (s *Sequence) isOpen() bool { return s.Status == SequenceActive || s.Status == SequenceNotStarted }

func (s *Sequence) isActive() bool { return s.Status == SequenceActive }

func always(*Sequence) bool { return true }

// activeKey returns a key that contains only active sequences.
func activeKey(name string, of func(*Sequence) [][]byte) store.Key[Sequence] {
	return keyWhere(name, (*Sequence).isActive, of)
}

// keyWhere returns a key that contains only the sequences for which contains returns true.
func keyWhere(name string, contains func(*Sequence) bool, of func(*Sequence) [][]byte) store.Key[Sequence] {
	return store.Key[Sequence]{Name: name, Of: func(_ *store.Tx, s *Sequence) ([][]byte, error) {
		if !contains(s) {
			return nil, nil
		}
		return of(s), nil
	}}
}

// stepsWhere returns the positions in the history of the steps that a condition applies to.
func (s *Sequence) stepsWhere(applies func(i int) bool) (steps []int) {
	for i := range s.History {
		if applies(i) {
			steps = append(steps, i)
		}
	}
	return steps
}

// countSteps returns how many steps have one of the statuses.
func (s *Sequence) countSteps(statuses ...StepStatus) int {
	return len(s.stepsWhere(func(i int) bool { return slices.Contains(statuses, s.History[i].Status) }))
}

// hasStep reports whether a step has one of the statuses.
func (s *Sequence) hasStep(statuses ...StepStatus) bool { return s.countSteps(statuses...) > 0 }

// campaignKeyIf returns the campaign as a key if a step has one of the statuses.
func (s *Sequence) campaignKeyIf(statuses ...StepStatus) [][]byte {
	if !s.hasStep(statuses...) {
		return nil
	}
	return [][]byte{s.CampaignID[:]}
}

func (s *Sequence) openTasks() (keys [][]byte) {
	for i := range s.History {
		if h := &s.History[i]; h.Status == StepTaskOpen {
			keys = append(keys, h.TaskID.UUID[:])
		}
	}
	return keys
}

// dueKeys returns the due times of steps that need a slot of the sender, or of those that do not.
func (s *Sequence) dueKeys(withSlot bool) (keys [][]byte) {
	for i := range s.History {
		if at, needsSlot, waits := s.due(i); waits && needsSlot == withSlot {
			keys = append(keys, dueKey(s.CampaignID, at))
		}
	}
	slices.SortFunc(keys, slices.Compare)
	return slices.CompactFunc(keys, slices.Equal)
}

// dueKey orders what is due by campaign and time.
func dueKey(campaign uuid.UUID, at time.Time) []byte {
	key := append(make([]byte, 0, 24), campaign[:]...)
	return binary.BigEndian.AppendUint64(key, uint64(max(0, at.UnixMilli())))
}

// timeOfDueKey returns the time in a dueKey.
func timeOfDueKey(key []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[16:]))).UTC()
}

// due reports whether a step of the history waits for a time, which time that is, and whether it
// then needs a slot of the sender.
func (s *Sequence) due(i int) (at time.Time, needsSlot, waits bool) {
	switch h := &s.History[i]; {
	case h.Status != StepWaiting:
		return time.Time{}, false, false
	case h.MessageID.Valid:
		state := &s.state.Steps[i]
		return later(stdTime(state.Retry), h.DueAt.Std()), state.NeedsSlot, state.Retry.Valid()
	default:
		at := later(h.DueAt.Std(), stdTime(s.state.Steps[i].NotBefore))
		return at, h.Type == template.AutoEmail && !s.state.LacksAddress, true
	}
}

// outcomes are the outcomes, for the planner, of steps that were neither sent nor done.
var outcomes = map[StepStatus]planner.Outcome{
	StepSkipped: planner.Skipped, StepFailed: planner.Failed, StepUnknown: planner.Unknown,
}

// plannerHistory returns the history in the planner's form: by the positions of the steps in the
// template.
func (s *Sequence) plannerHistory(c *template.Compiled) []planner.StepHistory {
	history := make([]planner.StepHistory, len(c.Content.Steps))
	for i := range s.History {
		h := &s.History[i]
		if s.state.Steps[i].Gone {
			continue
		}
		p := planner.StepHistory{
			ScheduledAt: s.state.Steps[i].ScheduledAt.Std(), Due: h.DueAt.Std(), Reason: h.Reason,
		}
		if h.Status.isFinal() {
			p.EndedAt, p.Outcome = h.At.Std(), outcomes[h.Status]
		}
		history[c.Step(h.StepIndex).Position] = p
	}
	return history
}

// updateSummary derives current_step_index and next_due_at from the history.
func (s *Sequence) updateSummary() {
	s.NextDueAt, s.CurrentStepIndex = shape.Time{}, shape.Number{}
	open := -1 // the step with an open Task
	for i := range s.History {
		h := &s.History[i]
		switch at, _, waits := s.due(i); {
		case waits:
			if !s.NextDueAt.Valid() || at.Before(s.NextDueAt.Std()) {
				s.NextDueAt, s.CurrentStepIndex = shape.At(at), shape.NumberOf(float64(h.StepIndex))
			}
		case !h.Status.isFinal():
			open = i
		}
	}
	if s.NextDueAt.Valid() {
		return
	}
	if open < 0 {
		open = len(s.History) - 1
	}
	if open >= 0 {
		s.CurrentStepIndex = shape.NumberOf(float64(s.History[open].StepIndex))
	}
}

// isFinished reports whether all scheduled steps are final.
func (s *Sequence) isFinished() bool { return !s.hasStep(StepWaiting, StepHeld, StepTaskOpen) }

// clone returns a copy whose history can be changed.
func (s *Sequence) clone() Sequence {
	c := *s
	c.History, c.state.Steps = slices.Clone(s.History), slices.Clone(s.state.Steps)
	return c
}
