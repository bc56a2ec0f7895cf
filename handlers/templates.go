package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/internal/sequence"
	"prospector/store"
)

// templateSample is an example template for the documentation.
const templateSample = `{"name": "Introduction", "steps": [
	{"index": 0, "type": "auto_email", "day": 0, "hour": 9, "subject": "Hello {{recipient.first_name}}", "message": "[[block:offer]]\n\n{{sender.first_name}}"},
	{"index": 1, "type": "call", "hour": 14, "message": "Ask {{recipient.first_name}} what they think."}],
	"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 2, "pre_check_time_unit": "business_days"}],
	"blocks": {"offer": {"name": "Offer", "content": "Would a demo interest you?"}}}`

// templateOperations returns the operations on sequence templates.
func (a *API) templateOperations() []Operation {
	k := a.Outreach.Templates
	ops := recordOperations(a, k)
	ops[0].example, ops[2].example = []byte(templateSample), []byte(`{"status": "INACTIVE"}`)
	return append(ops, historyOperation(k), read(Operation{
		Name: "render_sequence_template", Method: http.MethodPost, Path: "/v1/sequence-templates/{id}/render",
		Access:  identity.Read,
		Summary: "Render the steps of a sequence template for a contact",
	}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in createBody[outreach.RenderBody]) (outreach.RenderedTemplate, error) {
		return a.Outreach.Render(tx, id, in.Draft, c.principal.User)
	})), read(Operation{
		Name: "render_template_draft", Method: http.MethodPost, Path: "/v1/sequence-templates/render", Access: identity.Read,
		Summary: "Check and render the steps of a template that is not saved, with the times of a sequence that starts now",
		example: []byte(`{"steps": [{"index": 0, "type": "auto_email", "day": 0, "hour": 9, "subject": "Hello {{recipient.first_name|there}}", "message": "Would a demo interest you?"}]}`),
	}, func(c *call, tx *store.Tx, in createBody[outreach.TemplateDraft]) (outreach.PlannedTemplate, error) {
		return a.Outreach.RenderDraft(c.request.Context(), tx, in.Draft, c.principal.User)
	}), withoutTx(Operation{
		Name: "test_template_draft", Method: http.MethodPost, Path: "/v1/sequence-templates/test", Access: identity.Write,
		Summary: "Send an email of a template that is not saved to yourself", Codes: testMailCodes,
		example: []byte(`{"step_index": 0, "steps": [{"index": 0, "type": "auto_email", "day": 0, "hour": 9, "subject": "Hello {{recipient.first_name|there}}", "message": "Would a demo interest you?"}]}`),
	}, a.testTemplateDraft))
}

func (a *API) testTemplateDraft(c *call, in createBody[outreach.TestSendBody]) (sequence.TestSend, error) {
	var message outreach.Rendered
	err := a.Store.View(c.org(), func(tx *store.Tx) (err error) {
		message, err = a.Outreach.RenderTestSend(tx, in.Draft, c.principal.User)
		return err
	})
	if err != nil {
		return sequence.TestSend{}, err
	}
	return a.Sequences.SendToSelf(c.request.Context(), c.org(), c.actor(), string(message.Subject), string(message.Message))
}
