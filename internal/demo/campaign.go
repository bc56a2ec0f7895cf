package demo

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// The campaigns of the demo. The draft can be simulated, and nothing of it is sent.
const (
	draftCampaign   = "Hot leads"
	runningCampaign = "Buyers, by email"
)

// audience is an audience of the demo. It includes contacts that have opted out, so that a simulation
// shows how they are treated.
type audience struct {
	name     string
	contains func(*crm.Contact) bool
}

var audiences = [...]audience{
	{"Hot VPs", func(c *crm.Contact) bool {
		return strings.Contains(string(c.Title), "VP") && c.Scoring.HeatScore == "hot"
	}},
	{"Buyers", func(c *crm.Contact) bool {
		return strings.Contains(string(c.Title), "Procurement") && c.Scoring.HeatScore != "cold"
	}},
}

// templates are the content of the demo's templates: one that continues from email to email, and one
// that branches.
var templates = [...]string{
	`{"name": "Three emails", "description": "An introduction, a reminder in the same thread, and a last word.",
	"steps": [
		{"index": 0, "type": "auto_email", "title": "Introduction", "day": 0, "hour": 9, "subject": "{{recipient.company}} and {{sender.company}}",
			"message": "Hello {{recipient.first_name}},\n\n[[block:pitch]]\n\n{{sender.first_name}} {{sender.last_name}}\n{{sender.title}}"},
		{"index": 1, "type": "auto_email", "title": "Reminder", "hour": 10,
			"message": "Hello {{recipient.first_name}},\n\nhave you had time to look at this?\n\n{{sender.first_name}}"},
		{"index": 2, "type": "auto_email", "title": "Last word", "hour": 9, "subject": "Shall I close your file?",
			"message": "Hello {{recipient.first_name}},\n\nI will not write again. Whenever it suits you: {{sender.email}}.\n\n{{sender.first_name}}"}],
	"transitions": [
		{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 3, "pre_check_time_unit": "business_days"},
		{"from_step_index": 1, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 7, "pre_check_time_unit": "days"}],
	"blocks": {"pitch": {"name": "Pitch", "block_type": "MANUAL",
		"content": "teams like that of {{recipient.company}} lose a day a week to lists that nobody trusts. Ours are right."}}}`,
	`{"name": "Email, LinkedIn and phone", "description": "Two ways at once after the first email; the last one waits for both.",
	"steps": [
		{"index": 0, "type": "auto_email", "title": "Introduction", "day": 0, "hour": 9, "subject": "A question about {{recipient.company}}",
			"message": "Hello {{recipient.first_name}},\n\n[[block:question]]\n\n{{sender.first_name}} {{sender.last_name}}"},
		{"index": 1, "type": "auto_linkedin_connection", "title": "Connect", "hour": 11, "message": "Hello {{recipient.first_name}}, I have just written to you."},
		{"index": 2, "type": "auto_email", "title": "Reminder", "hour": 10, "message": "Hello {{recipient.first_name}},\n\nwhom should I ask instead?\n\n{{sender.first_name}}"},
		{"index": 3, "type": "call", "title": "Call", "hour": 14, "message": "Ask {{recipient.first_name}} {{recipient.last_name}} who keeps the lists."},
		{"index": 4, "type": "task", "title": "Look back", "hour": 16, "message": "Does {{recipient.company}} belong in the next campaign?"}],
	"transitions": [
		{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_SCHEDULED", "post_check_delay": 2, "post_check_time_unit": "hours"},
		{"from_step_index": 0, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 2, "pre_check_time_unit": "business_days"},
		{"from_step_index": 2, "to_step_index": 3, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 90, "pre_check_time_unit": "minutes"},
		{"from_step_index": 1, "to_step_index": 4, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days", "require_all": true},
		{"from_step_index": 3, "to_step_index": 4, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days",
			"post_check_delay": 1, "post_check_time_unit": "business_days"}],
	"blocks": {"question": {"name": "Question", "block_type": "MANUAL", "content": "who keeps your lists of customers up to date, and how long does that take?"}}}`,
}

// ensureDraft returns the campaign that can be simulated, which it creates if needed.
func ensureDraft(ctx context.Context, s *service.Service, org uuid.UUID) (campaign uuid.UUID, err error) {
	return ensureCampaign(ctx, s, org, draftCampaign, func(audiences, templates []uuid.UUID) map[string]any {
		return map[string]any{"template_id": templates[1], "audience_ids": audiences[:1]}
	})
}

// ensureRunning returns the campaign that runs, which it creates if needed.
func ensureRunning(ctx context.Context, s *service.Service, org uuid.UUID) (campaign uuid.UUID, err error) {
	return ensureCampaign(ctx, s, org, runningCampaign, func(audiences, templates []uuid.UUID) map[string]any {
		return map[string]any{
			"template_id": templates[0], "audience_ids": audiences[1:], "status": outreach.CampaignActive,
		}
	})
}

// campaignFields returns the fields of a campaign, given the ids of the demo's audiences and templates.
type campaignFields func(audiences, templates []uuid.UUID) map[string]any

// ensureCampaign returns the campaign with the name, which it creates if needed.
func ensureCampaign(
	ctx context.Context, s *service.Service, org uuid.UUID, name string, fields campaignFields,
) (campaign uuid.UUID, err error) {
	by := actor
	err = s.Store.View(org, func(tx *store.Tx) error {
		return s.Identity.Users.Table.Scan(tx, func(u store.Doc[identity.User]) (bool, error) {
			by.User = u.ID // the sender
			return false, nil
		})
	})
	if err != nil {
		return campaign, err
	}
	err = s.Store.Update(ctx, org, by, func(tx *store.Tx) error {
		c := &creator{tx: tx}
		campaign, err = find(tx, s.Outreach.Campaigns, func(o *outreach.Campaign) bool { return o.Name == name })
		if err == nil && campaign == uuid.Nil {
			campaign = createCampaign(c, s, name, fields)
		}
		return errors.Join(err, c.err)
	})
	return campaign, err
}

func createCampaign(c *creator, s *service.Service, name string, fields campaignFields) uuid.UUID {
	var audienceIDs, templateIDs []uuid.UUID
	for _, a := range audiences {
		audienceIDs = append(audienceIDs, ensureAudience(c, s, a))
	}
	for _, content := range templates {
		templateIDs = append(templateIDs, ensureTemplate(c, s, content))
	}
	all := fields(audienceIDs, templateIDs)
	all["name"] = name
	return create(c, s.Outreach.Campaigns.Create, all)
}

// ensureAudience returns an active audience with the name.
func ensureAudience(c *creator, s *service.Service, a audience) uuid.UUID {
	is := func(other *outreach.Audience) bool { return other.Name == a.name }
	return ensure(c, s.Outreach.Audiences, is, outreach.AudienceActive, func() uuid.UUID {
		contacts := []uuid.UUID{}
		c.err = s.CRM.Contacts.Table.Scan(c.tx, func(d store.Doc[crm.Contact]) (bool, error) {
			if a.contains(&d.Record) {
				contacts = append(contacts, d.ID)
			}
			return true, nil
		})
		return create(c, s.Outreach.CreateAudience, map[string]any{"name": a.name, "contact_ids": contacts})
	})
}

// ensureTemplate returns an active template with the name in the content.
func ensureTemplate(c *creator, s *service.Service, content string) uuid.UUID {
	k := s.Outreach.Templates
	v, err := shape.ParseObject([]byte(content))
	if err != nil {
		c.err = err
		return uuid.Nil
	}
	is := func(t *outreach.Template) bool { return t.Name == v.Get("name").Text }
	return ensure(c, k, is, outreach.TemplateActive, func() uuid.UUID { return createFrom(c, k.Create, v) })
}

// ensure returns a record that exists, which it gives the status, or a new one.
func ensure[T any, S ~string](
	c *creator, k *record.Kind[T], is func(*T) bool, status S, fresh func() uuid.UUID,
) uuid.UUID {
	if c.err != nil {
		return uuid.Nil
	}
	id, err := find(c.tx, k, is)
	if err != nil {
		c.err = err
		return uuid.Nil
	}
	if id == uuid.Nil {
		return fresh()
	}
	v, err := object(map[string]any{"status": status})
	if err == nil {
		_, err = k.Update(c.tx, id, nil, v)
	}
	c.err = err
	return id
}

// find returns the id of the first record that matches, or the nil id.
func find[T any](tx *store.Tx, k *record.Kind[T], is func(*T) bool) (id uuid.UUID, err error) {
	err = k.Table.Scan(tx, func(d store.Doc[T]) (bool, error) {
		if is(&d.Record) {
			id = d.ID
		}
		return id == uuid.Nil, nil
	})
	return id, err
}
