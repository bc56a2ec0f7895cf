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

// demoCampaign is the name of the campaign that can be simulated. It stays a draft, so that nothing of it runs; what runs at a speed of
// its own is runningCampaign.
const (
	demoCampaign    = "Hot leads"
	runningCampaign = "Buyers, by email"
)

// demoAudience is an audience of the demo, and who is in it: whoever has opted out too, so that a simulation shows what becomes of that.
type demoAudience struct {
	name string
	has  func(*crm.Contact) bool
}

var demoAudiences = [...]demoAudience{
	{"Hot VPs", func(c *crm.Contact) bool {
		return strings.Contains(string(c.Title), "VP") && c.Scoring.HeatScore == "hot"
	}},
	{"Buyers", func(c *crm.Contact) bool {
		return strings.Contains(string(c.Title), "Procurement") || strings.Contains(string(c.Title), "Financial")
	}},
}

// demoTemplates are one that goes on from email to email, in one thread, and one that branches.
var demoTemplates = [...]string{
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

// planOutreach gives the campaign that can be simulated. What it needs is made, unless it is there.
func planOutreach(ctx context.Context, s *service.Service, org uuid.UUID) (campaign uuid.UUID, err error) {
	return makeCampaign(ctx, s, org, func(audiences, templates []uuid.UUID) map[string]any {
		return map[string]any{"name": demoCampaign, "template_id": templates[1], "audience_ids": audiences[:1]}
	})
}

// runOutreach gives a campaign that runs.
func runOutreach(ctx context.Context, s *service.Service, org uuid.UUID) (campaign uuid.UUID, err error) {
	return makeCampaign(ctx, s, org, func(audiences, templates []uuid.UUID) map[string]any {
		return map[string]any{"name": runningCampaign, "template_id": templates[0], "audience_ids": audiences[1:], "status": outreach.CampaignActive}
	})
}

// makeCampaign makes a campaign of the demo's audiences and templates, unless there is one of the name.
func makeCampaign(ctx context.Context, s *service.Service, org uuid.UUID, of func(audiences, templates []uuid.UUID) map[string]any) (campaign uuid.UUID, err error) {
	actor := demoActor
	err = s.Store.View(org, func(tx *store.Tx) error {
		return s.Identity.Users.Table.Scan(tx, func(u store.Doc[identity.User]) (bool, error) {
			actor.User = u.ID // who sends
			return false, nil
		})
	})
	if err != nil {
		return campaign, err
	}
	err = s.Store.Update(ctx, org, actor, func(tx *store.Tx) error {
		d := &demoMaker{tx: tx}
		campaign, err = makeCampaignOf(s, d, of)
		return errors.Join(err, d.err)
	})
	return campaign, err
}

func makeCampaignOf(s *service.Service, d *demoMaker, of func(audiences, templates []uuid.UUID) map[string]any) (uuid.UUID, error) {
	o := s.Outreach
	name := of(make([]uuid.UUID, len(demoAudiences)), make([]uuid.UUID, len(demoTemplates)))["name"]
	is := func(c *outreach.Campaign) bool { return c.Name == name }
	if id, err := find(d.tx, o.Campaigns, is); err != nil || id != uuid.Nil {
		return id, err
	}
	var audiences, templates []uuid.UUID
	for _, a := range demoAudiences {
		audiences = append(audiences, makeAudience(s, d, a))
	}
	for _, template := range demoTemplates {
		templates = append(templates, makeTemplate(s, d, template))
	}
	return create(d, o.Campaigns.Create, of(audiences, templates)), nil
}

// makeAudience makes an audience, unless there is one of the name.
func makeAudience(s *service.Service, d *demoMaker, a demoAudience) uuid.UUID {
	is := func(other *outreach.Audience) bool { return other.Name == a.name }
	return again(d, s.Outreach.Audiences, is, outreach.AudienceActive, func() uuid.UUID {
		contacts := []uuid.UUID{}
		d.err = s.CRM.Contacts.Table.Scan(d.tx, func(c store.Doc[crm.Contact]) (bool, error) {
			if a.has(&c.Record) {
				contacts = append(contacts, c.ID)
			}
			return true, nil
		})
		return create(d, s.Outreach.CreateAudience, map[string]any{"name": a.name, "contact_ids": contacts})
	})
}

// makeTemplate makes a template, unless there is one of the name.
func makeTemplate(s *service.Service, d *demoMaker, content string) uuid.UUID {
	k := s.Outreach.Templates
	v, err := shape.ParseObject([]byte(content))
	if err != nil {
		d.err = err
		return uuid.Nil
	}
	is := func(t *outreach.Template) bool { return t.Name == v.Get("name").Text }
	return again(d, k, is, outreach.TemplateActive, func() uuid.UUID { return createFrom(d, k.Create, v) })
}

// again gives the record that there is, in use again should somebody have put it away, or a new one.
func again[T any, S ~string](d *demoMaker, k *record.Kind[T], is func(*T) bool, status S, fresh func() uuid.UUID) uuid.UUID {
	if d.err != nil {
		return uuid.Nil
	}
	id, err := find(d.tx, k, is)
	if err != nil {
		d.err = err
		return uuid.Nil
	}
	if id == uuid.Nil {
		return fresh()
	}
	v, err := object(map[string]any{"status": status})
	if err == nil {
		_, err = k.Update(d.tx, id, nil, v)
	}
	d.err = err
	return id
}

// find gives the first record that is meant.
func find[T any](tx *store.Tx, k *record.Kind[T], is func(*T) bool) (id uuid.UUID, err error) {
	err = k.Table.Scan(tx, func(d store.Doc[T]) (bool, error) {
		if is(&d.Record) {
			id = d.ID
		}
		return id == uuid.Nil, nil
	})
	return id, err
}
