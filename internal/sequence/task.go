package sequence

import (
	"cmp"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/shape"
	"prospector/internal/template"
)

// taskTypes are the types of the Tasks of steps.
var taskTypes = map[template.StepType]string{
	template.ManualEmail: "email", template.LinkedInConnection: "linkedin", template.LinkedInMessage: "linkedin",
	template.Call: "call", template.ToDo: "todo", template.Gift: "gift",
}

// taskTitles are the titles of Tasks whose steps have none.
var taskTitles = map[template.StepType]string{
	template.ManualEmail: "Write an email", template.LinkedInConnection: "Connect on LinkedIn",
	template.LinkedInMessage: "Write on LinkedIn", template.Call: "Call", template.ToDo: "To do",
	template.Gift: "Send a gift",
}

// maxNotesChars is how many characters the notes of a Task can have.
const maxNotesChars = 100_000

// createTask creates the Task of a step for the owner of the campaign.
func (r *sequenceRun) createTask(i int) error {
	h := &r.s.History[i]
	c, err := r.template()
	if err != nil {
		return err
	}
	from, err := r.x.sender(r.campaign.OwnerID.UUID)
	if err != nil {
		return err
	}
	step := c.Step(h.StepIndex)
	values, err := from.tokens.For(c, &r.recipient)
	if err != nil {
		return err
	}
	doc, err := r.x.engine.crm.Tasks.Insert(r.x.tx, crm.Task{
		Title: taskTitle(step, values, &r.recipient), Type: taskTypes[step.Type], Status: crm.TaskOpen,
		DueAt: h.DueAt, ContactID: uuid.NullUUID{UUID: r.s.ContactID, Valid: true},
		AccountID: r.recipient.AccountID, CampaignID: uuid.NullUUID{UUID: r.s.CampaignID, Valid: true},
		OwnerID: r.campaign.OwnerID, Notes: shape.Text(taskNotes(step, values)),
	})
	if err != nil {
		return err
	}
	h.Status, h.At = StepTaskOpen, shape.At(r.x.now)
	h.TaskID = uuid.NullUUID{UUID: doc.ID, Valid: true}
	return nil
}

// taskTitle returns what to do and for whom.
func taskTitle(s *template.CompiledStep, v *template.Values, to *crm.Recipient) string {
	title := cmp.Or(s.TaskTitle(v), taskTitles[s.Type])
	if name := strings.TrimSpace(to.FirstName + " " + to.LastName); name != "" {
		title += ": " + name
	}
	return truncate(title, shape.MaxText)
}

// taskNotes returns the texts of a step as the contact would see them, and its gift.
func taskNotes(s *template.CompiledStep, v *template.Values) string {
	message, subject, _ := new(template.Composer).Compose(s, v)
	var parts []string
	for _, part := range []struct{ label, text string }{
		{"Subject: ", subject}, {"", message}, {"Gift: ", string(s.GiftID)},
	} {
		if part.text != "" {
			parts = append(parts, part.label+part.text)
		}
	}
	return truncate(strings.Join(parts, "\n\n"), maxNotesChars)
}

// truncate returns the first limit characters of s.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit])
	}
	return s
}
