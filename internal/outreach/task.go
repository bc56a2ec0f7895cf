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
	r, v := c.render[h.StepIndex], from.valuesFor(&w.to)
	doc, err := w.crm.Tasks.Insert(w.tx, crm.Task{
		Title: taskTitle(r, v, &w.to), Type: taskTypes[r.step.Type], Status: crm.TaskOpen, DueAt: h.DueAt,
		ContactID: uuid.NullUUID{UUID: w.s.ContactID, Valid: true}, AccountID: w.to.AccountID,
		CampaignID: uuid.NullUUID{UUID: w.s.CampaignID, Valid: true}, OwnerID: w.campaign.OwnerID,
		Notes: shape.Text(taskNotes(r, v)),
	})
	if err != nil {
		return err
	}
	h.Status, h.At, h.TaskID = StepTaskOpen, shape.At(w.now), uuid.NullUUID{UUID: doc.ID, Valid: true}
	return nil
}

// taskTitles are what Tasks are called whose steps have no title.
var taskTitles = map[StepType]string{
	ManualEmail: "Write an email", LinkedInConnection: "Connect on LinkedIn", LinkedInMessage: "Write on LinkedIn", Call: "Call", ToDo: "To do", Gift: "Send a gift",
}

// taskTitle is what is to be done, and whom for.
func taskTitle(r *rendering, v *values, to *crm.Recipient) string {
	rendered, _ := r.title.render(nil, plain, &v.subject, nil)
	title := string(rendered)
	if strings.TrimSpace(title) == "" {
		title = taskTitles[r.step.Type]
	}
	if who := strings.TrimSpace(to.FirstName + " " + to.LastName); who != "" {
		title += ": " + who
	}
	return firstRunes(title, shape.MaxText)
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
	return firstRunes(strings.Join(parts, "\n\n"), notesMost)
}

// notesMost is how many characters the notes of a Task have at most.
const notesMost = 100_000

// firstRunes is as much of a text as there is room for.
func firstRunes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most])
	}
	return s
}

// TaskClosed ends the step of a Task that was completed, cancelled or deleted; after is nil then.
func (o *Outreach) TaskClosed(tx *store.Tx, task uuid.UUID, after *crm.Task) error {
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
