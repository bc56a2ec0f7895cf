package crm

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// TaskStatus is the status of a task.
type TaskStatus string

const (
	TaskOpen      TaskStatus = "open"
	TaskCompleted TaskStatus = "completed"
	TaskCancelled TaskStatus = "cancelled"
)

// Task is a piece of work for a user.
type Task struct {
	record.Head
	Title       string        `json:"title" rule:"required,line,personal"`
	Type        string        `json:"type" rule:"default=todo,enum=todo|email|call|linkedin|gift"`
	Status      TaskStatus    `json:"status" rule:"default=open,enum=open|completed|cancelled"`
	DueAt       shape.Time    `json:"due_at"`
	CompletedAt shape.Time    `json:"completed_at" rule:"readonly" doc:"The time at which the status became completed."`
	ContactID   uuid.NullUUID `json:"contact_id" label:"Contact" rule:"ref=contacts"`
	AccountID   uuid.NullUUID `json:"account_id" label:"Account" rule:"ref=accounts"`
	CampaignID  uuid.NullUUID `json:"campaign_id" label:"Campaign" rule:"ref=campaigns"`
	OwnerID     uuid.NullUUID `json:"owner_id" label:"Owner" rule:"ref=users"`
	Notes       shape.Text    `json:"notes" rule:"maxlen=100000,long,personal"`
	Common
}

var taskRules = record.Rules[Task]{Object: "task", Entity: "tasks", Check: checkTask, Example: taskExample}

// checkTask keeps completed_at consistent with the status.
func checkTask(tx *store.Tx, before, t *Task, _ *fault.Problems) error {
	switch {
	case t.Status != TaskCompleted:
		t.CompletedAt = shape.Time{}
	case before == nil || before.Status != TaskCompleted:
		t.CompletedAt = shape.At(tx.Now())
	}
	return nil
}
