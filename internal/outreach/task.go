package outreach

import (
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/shape"
	"prospector/store"
)

// taskTypes are the Tasks that steps become.
var taskTypes = map[StepType]string{
	ManualEmail: "email", LinkedInConnection: "linkedin", LinkedInMessage: "linkedin", Call: "call", ToDo: "todo", Gift: "gift",
}

// task makes the Task of a step that a person does.
func (w *walk) task(i int) error {
	h := &w.s.History[i]
	c, err := w.way()
	if err != nil {
		return err
	}
	from, err := w.sender(w.campaign.OwnerID.UUID)
	if err != nil {
		return err
	}
	step := c.render[h.StepIndex].step
	doc, err := w.crm.Tasks.Insert(w.tx, crm.Task{
		Title: w.taskTitle(step), Type: taskTypes[step.Type], Status: crm.TaskOpen, DueAt: h.DueAt,
		ContactID: uuid.NullUUID{UUID: w.s.ContactID, Valid: true}, AccountID: w.to.AccountID,
		CampaignID: uuid.NullUUID{UUID: w.s.CampaignID, Valid: true}, OwnerID: w.campaign.OwnerID,
		Notes: shape.Text(taskNotes(c.render[h.StepIndex], from.valuesFor(&w.to))),
	})
	if err != nil {
		return err
	}
	h.Status, h.At, h.TaskID = StepTaskOpen, shape.At(w.now), uuid.NullUUID{UUID: doc.ID, Valid: true}
	return nil
}

// taskTitle is what is to be done, and whom for.
func (w *walk) taskTitle(step *Step) string {
	title := string(step.Title)
	if title == "" {
		title = map[StepType]string{
			ManualEmail: "Write an email", LinkedInConnection: "Connect on LinkedIn", LinkedInMessage: "Write on LinkedIn", Call: "Call", ToDo: "To do", Gift: "Send a gift",
		}[step.Type]
	}
	if who := strings.TrimSpace(w.to.FirstName + " " + w.to.LastName); who != "" {
		title += ": " + who
	}
	return title
}

// taskNotes are the texts of a step as the contact would see them, and the gift.
func taskNotes(r *rendering, v *values) string {
	t := thread{}
	message, subject, _ := t.render(nil, r, v)
	var parts []string
	for _, part := range []struct{ label, text string }{{"Subject: ", subject}, {"", string(message)}, {"Gift: ", string(r.step.GiftID)}} {
		if part.text != "" {
			parts = append(parts, part.label+part.text)
		}
	}
	notes := strings.Join(parts, "\n\n")
	if runes := []rune(notes); len(runes) > notesMost {
		notes = string(runes[:notesMost])
	}
	return notes
}

// notesMost is how many characters the notes of a Task have at most.
const notesMost = 100_000

// taskClosed ends the step of a Task that was completed, cancelled or deleted; after is nil then.
func (o *Outreach) taskClosed(tx *store.Tx, task uuid.UUID, after *crm.Task) error {
	ids, err := o.sequences.IDs(tx, byTask, task[:], 1)
	if err != nil || len(ids) == 0 {
		return err
	}
	status, why := StepDone, ""
	switch {
	case after == nil:
		status, why = StepSkipped, "its Task was deleted"
	case after.Status == crm.TaskCancelled:
		status, why = StepSkipped, "its Task was cancelled"
	}
	return o.engage(tx, func(e *engine) error {
		return e.visit(ids[0], func(w *walk) error {
			for i := range w.s.History {
				if w.s.History[i].Status == StepTaskOpen && w.s.History[i].TaskID.UUID == task {
					w.over(i, status, why)
				}
			}
			return w.advance()
		})
	})
}
