package outreach

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/store"
)

// SequenceStatus is how far a sequence is.
type SequenceStatus string

const (
	SequenceActive    SequenceStatus = "active"
	SequenceCompleted SequenceStatus = "completed"
	SequenceStopped   SequenceStatus = "stopped"
)

// StopReason is what stopped a sequence.
type StopReason = shape.Text

const (
	StopOptedOut         StopReason = "opted_out"
	StopSuppressed       StopReason = "suppressed"
	StopLeftAudience     StopReason = "left_audience"
	StopContactDeleted   StopReason = "contact_deleted"
	StopCampaignEnded    StopReason = "campaign_ended"
	StopCampaignArchived StopReason = "campaign_archived"
	StopReplied          StopReason = "replied"
	StopManual           StopReason = "manual"
)

// StepStatus is what has become of a step.
type StepStatus string

const (
	StepWaiting  StepStatus = "waiting" // it has a due time
	StepSent     StepStatus = "sent"
	StepTaskOpen StepStatus = "task_open"
	StepDone     StepStatus = "done" // its Task was completed
	StepSkipped  StepStatus = "skipped"
	StepFailed   StepStatus = "failed"
	StepUnknown  StepStatus = "unknown" // whether its message has gone cannot be known
)

func (s StepStatus) over() bool { return s != StepWaiting && s != StepTaskOpen }

// Sequence is the way of a contact through the template of a campaign.
type Sequence struct {
	ID               uuid.UUID      `json:"id" label:"ID" rule:"required"`
	CampaignID       uuid.UUID      `json:"campaign_id" label:"Campaign" rule:"required"`
	ContactID        uuid.UUID      `json:"contact_id" label:"Contact" rule:"required" doc:"The contact may be deleted since."`
	Status           SequenceStatus `json:"status" rule:"required,enum=active|completed|stopped"`
	Reason           StopReason     `json:"reason" rule:"enum=opted_out|suppressed|left_audience|contact_deleted|campaign_ended|campaign_archived|replied|manual" doc:"What stopped it."`
	StartedAt        shape.Time     `json:"started_at" rule:"required"`
	CurrentStepIndex shape.Number   `json:"current_step_index" rule:"integer" doc:"The step that is due next or that it waits for; the last when it is over."`
	NextDueAt        shape.Time     `json:"next_due_at" doc:"When the next step is due; null when it waits for a Task, or is over. In the past while an email waits for its sender's turn."`
	History          []HistoryStep  `json:"history" rule:"required" doc:"Every step that has a due time, in the order in which they got it."`

	state sequenceState
}

// HistoryStep is what has become of a step, and why.
type HistoryStep struct {
	StepIndex       int           `json:"step_index"`
	Type            StepType      `json:"type" rule:"enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift"`
	Status          StepStatus    `json:"status" rule:"enum=waiting|sent|task_open|done|skipped|failed|unknown"`
	DueAt           shape.Time    `json:"due_at" doc:"When it is due by the template and the sending window. An email may go later, when the cap and the gaps of its sender let it: at says when it did."`
	At              shape.Time    `json:"at" doc:"When it came to its status; null while it waits."`
	Reason          string        `json:"reason" doc:"What made it due then, and what became of it."`
	MessageID       uuid.NullUUID `json:"message_id" doc:"The record in the outbox."`
	TaskID          uuid.NullUUID `json:"task_id" doc:"The Task may be deleted since."`
	TemplateVersion int           `json:"template_version" doc:"Which version of the template's content it goes by: the one that the sequence began with."`
}

// sequenceState is what a sequence keeps to itself.
type sequenceState struct {
	Template uuid.UUID   `json:"template"`
	Version  uint32      `json:"version"`
	Steps    []stepState `json:"steps"` // those of the history
	// Mute says that the contact had no address when last seen: its messages wait for nobody's turn, and are skipped.
	Mute bool `json:"mute,omitzero"`
	threadState
}

// stepState is what is known of a step in the history beyond what is shown.
type stepState struct {
	Fixed shape.Time `json:"fixed"` // when its due time was fixed
	// Retry is when its message is tried again. A message without is on its way.
	Retry shape.Time `json:"retry"`
}

// Private is kept beside the record and never answered.
func (s *Sequence) Private() any { return &s.state }

// The keys of sequences. All but the first have those alone that are active.
const (
	bySubject = "campaign_contact" // unique: nobody goes through a campaign twice
	byContact = "contact"
	byActive  = "campaign"
	byTask    = "task" // the Tasks that are open
	byWake    = "wake" // by campaign and time: what needs nobody's turn
	byMail    = "mail" // by campaign and time: messages, which wait for their sender's turn
)

func newSequences() *store.Table[Sequence] {
	return store.NewTable("sequences",
		[]store.Unique[Sequence]{{Name: bySubject, Of: func(s *Sequence) []byte { return store.PairKey(s.CampaignID, s.ContactID) }}},
		[]store.Key[Sequence]{
			sequenceKey(byContact, func(s *Sequence) [][]byte { return [][]byte{s.ContactID[:]} }),
			sequenceKey(byActive, func(s *Sequence) [][]byte { return [][]byte{s.CampaignID[:]} }),
			sequenceKey(byTask, (*Sequence).openTasks),
			sequenceKey(byWake, func(s *Sequence) [][]byte { return s.dueKeys(false) }),
			sequenceKey(byMail, func(s *Sequence) [][]byte { return s.dueKeys(true) }),
		}).ShortHistory()
}

// sequenceKey is a key of active sequences.
func sequenceKey(name string, of func(*Sequence) [][]byte) store.Key[Sequence] {
	return store.Key[Sequence]{Name: name, Of: func(_ *store.Tx, s *Sequence) ([][]byte, error) {
		if s.Status != SequenceActive {
			return nil, nil
		}
		return of(s), nil
	}}
}

// dueKey is where something of a campaign that is due then stands in the order of time.
func dueKey(campaign uuid.UUID, at time.Time) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), campaign[:]...), uint64(max(0, at.UnixMilli())))
}

// dueOf is the time in such a key.
func dueOf(key []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[16:]))).UTC()
}

func (s *Sequence) openTasks() (keys [][]byte) {
	for i := range s.History {
		if h := &s.History[i]; h.Status == StepTaskOpen {
			keys = append(keys, h.TaskID.UUID[:])
		}
	}
	return keys
}

func (s *Sequence) dueKeys(mail bool) (keys [][]byte) {
	for i := range s.History {
		if at, takesTurn, waits := s.due(i); waits && takesTurn == mail {
			keys = append(keys, dueKey(s.CampaignID, at))
		}
	}
	slices.SortFunc(keys, slices.Compare)
	return slices.CompactFunc(keys, slices.Equal)
}

// due tells whether a step of the history waits for a time, when that is, and whether it waits for the turn of its sender then.
func (s *Sequence) due(i int) (at time.Time, takesTurn, waits bool) {
	switch h := &s.History[i]; {
	case h.Status != StepWaiting:
		return time.Time{}, false, false
	case h.MessageID.Valid:
		retry := s.state.Steps[i].Retry
		return retry.Std(), false, retry.Valid()
	default:
		return h.DueAt.Std(), h.Type == AutoEmail && !s.state.Mute, true
	}
}

// endings are how steps are over that were neither sent nor done.
var endings = map[StepStatus]planner.Outcome{StepSkipped: planner.Skipped, StepFailed: planner.Failed, StepUnknown: planner.Unknown}

// past is the history as the planner wants it: by the positions of the steps in the template.
func (s *Sequence) past(c *course) []planner.StepHistory {
	past := make([]planner.StepHistory, len(c.content.Steps))
	for i := range s.History {
		h := &s.History[i]
		p := planner.StepHistory{ScheduledAt: s.state.Steps[i].Fixed.Std(), Due: h.DueAt.Std()}
		if h.Status.over() {
			p.EndedAt, p.Outcome = h.At.Std(), endings[h.Status]
		}
		past[c.position[h.StepIndex]] = p
	}
	return past
}

// settle brings what is shown of a sequence in line with its history.
func (s *Sequence) settle() {
	s.NextDueAt, s.CurrentStepIndex = shape.Time{}, shape.Number{}
	open := -1 // the step with an open Task
	for i := range s.History {
		h := &s.History[i]
		switch at, _, waits := s.due(i); {
		case waits:
			if next := shape.At(at); !s.NextDueAt.Valid() || at.Before(s.NextDueAt.Std()) {
				s.NextDueAt, s.CurrentStepIndex = next, shape.NumberOf(float64(h.StepIndex))
			}
		case !h.Status.over():
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

// idle tells whether nothing of a sequence is to come.
func (s *Sequence) idle() bool {
	return !slices.ContainsFunc(s.History, func(h HistoryStep) bool { return !h.Status.over() })
}

// clone is a copy whose history can be changed.
func (s *Sequence) clone() Sequence {
	c := *s
	c.History, c.state.Steps = slices.Clone(s.History), slices.Clone(s.state.Steps)
	return c
}
