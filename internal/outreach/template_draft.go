package outreach

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// TemplateDraft is the content of a template that is not saved, and for whom it is rendered.
type TemplateDraft struct {
	template.Content
	ContactID uuid.NullUUID `json:"contact_id" doc:"If it is missing, all tokens about the contact are missing."`
	UserID    uuid.NullUUID `json:"user_id" doc:"The sender. Defaults to the user of the API key or session."`
}

// TestSendBody is a step of a template that is not saved, to be sent to the caller.
type TestSendBody struct {
	TemplateDraft
	StepIndex int `json:"step_index" rule:"required" doc:"The email to send."`
}

// PlannedTemplate is a template as a contact would see it if the sequence started now.
type PlannedTemplate struct {
	Steps []PlannedStep `json:"steps"`
}

// PlannedStep is a rendered step with its time.
type PlannedStep struct {
	RenderedStep
	DueAt  shape.Time `json:"due_at" doc:"When the step is due in a sequence that starts now, if nothing else is sent. Null for a step that is never due."`
	Reason string     `json:"reason" doc:"Why the step is due then."`
}

// RenderDraft checks the content of a template as saving it would, renders all steps for a contact and plans
// a sequence that starts now. It changes nothing.
func (o *Outreach) RenderDraft(
	ctx context.Context, tx *store.Tx, d record.Draft[TemplateDraft], user uuid.UUID,
) (out PlannedTemplate, err error) {
	body, p := d.Open()
	compiled, values, err := o.compileDraft(tx, &body, user, &p)
	if err != nil {
		return out, err
	}
	cal, err := o.Calendar(tx)
	if err != nil {
		return out, err
	}
	now := o.engine.Now(tx)
	plans, err := planner.Simulate(ctx, planner.NewLedger(cal, 0, 0), now, []planner.Sequence{{Template: compiled.Plan, Start: now}})
	if err != nil {
		return out, err
	}
	for i, rendered := range renderSteps(compiled, values).Steps {
		step := PlannedStep{RenderedStep: rendered}
		if plan := plans[0][compiled.Steps[i].Position]; !plan.At.IsZero() {
			step.DueAt, step.Reason = shape.At(plan.At), plan.Reason
		}
		out.Steps = append(out.Steps, step)
	}
	return out, nil
}

// compileDraft checks and compiles a template that is not saved.
func (o *Outreach) compileDraft(
	tx *store.Tx, d *TemplateDraft, user uuid.UUID, p *fault.Problems,
) (*template.Compiled, *template.Values, error) {
	tokens, err := o.vocabulary(tx)
	if err != nil {
		return nil, nil, err
	}
	d.Content.Check(tokens, p)
	to, from, err := o.readRecipient(tx, d.ContactID, d.UserID, user, p)
	if err != nil {
		return nil, nil, err
	}
	return o.compileFor(tx, &d.Content, &to, from)
}

// RenderTestSend renders one email of a template that is not saved.
func (o *Outreach) RenderTestSend(tx *store.Tx, d record.Draft[TestSendBody], user uuid.UUID) (Rendered, error) {
	body, p := d.Open()
	isEmail := func(s template.Step) bool {
		return s.Index == body.StepIndex && (s.Type == template.AutoEmail || s.Type == template.ManualEmail)
	}
	if !slices.ContainsFunc(body.Steps, isEmail) && !p.Has("step_index") {
		p.Invalid("step_index", "%d is not the index of an email", body.StepIndex)
	}
	compiled, values, err := o.compileDraft(tx, &body.TemplateDraft, user, &p)
	if err != nil {
		return Rendered{}, err
	}
	steps := renderSteps(compiled, values).Steps
	i := slices.IndexFunc(steps, func(s RenderedStep) bool { return s.Index == body.StepIndex })
	return steps[i].Rendered, nil
}
