package crm

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Meeting is an appointment.
type Meeting struct {
	record.Head
	Title     string        `json:"title" rule:"required,line,personal"`
	StartsAt  shape.Time    `json:"starts_at" rule:"required"`
	EndsAt    shape.Time    `json:"ends_at" doc:"Must not be before starts_at."`
	Status    string        `json:"status" rule:"default=scheduled,enum=scheduled|completed|cancelled|no_show"`
	Location  shape.Text    `json:"location" rule:"personal"`
	ContactID uuid.NullUUID `json:"contact_id" label:"Contact" rule:"ref=contacts"`
	AccountID uuid.NullUUID `json:"account_id" label:"Account" rule:"ref=accounts"`
	OwnerID   uuid.NullUUID `json:"owner_id" label:"Owner" rule:"ref=users"`
	Notes     shape.Text    `json:"notes" rule:"maxlen=100000,long,personal"`
	Common
}

var meetingRules = record.Rules[Meeting]{
	Object: "meeting", Entity: "meetings", Example: meetingExample,
	Check: func(_ *store.Tx, _, m *Meeting, p *fault.Problems) error {
		endsFirst := m.EndsAt.Valid() && m.StartsAt.Valid() && m.EndsAt.Milli() < m.StartsAt.Milli()
		if endsFirst && !p.Has("starts_at") && !p.Has("ends_at") {
			p.Invalid("ends_at", "must not be before starts_at")
		}
		return nil
	},
}
