package outreach

import (
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// TemplateStatus is whether a template can be chosen.
type TemplateStatus string

const (
	TemplateActive   TemplateStatus = "ACTIVE"
	TemplateInactive TemplateStatus = "INACTIVE"
	TemplateArchived TemplateStatus = "ARCHIVED"
)

// Template is a sequence of steps that a contact is taken through.
type Template struct {
	record.Head
	Name        string         `json:"name" rule:"required,maxlen=255"`
	Kind        string         `json:"kind" rule:"readonly,default=USER_GENERATED,enum=USER_GENERATED"`
	Status      TemplateStatus `json:"status" rule:"updateonly,default=ACTIVE,enum=ACTIVE|INACTIVE|ARCHIVED" doc:"A campaign can choose a template that is ACTIVE."`
	Description shape.Text     `json:"description" rule:"maxlen=100000,long"`
	OwnerID     uuid.NullUUID  `json:"owner_id" label:"Owner" rule:"readonly,ref=users"`
	IsDefault   bool           `json:"is_default" rule:"readonly"`
	ArchivedAt  shape.Time     `json:"archived_at" rule:"readonly" doc:"When the status became ARCHIVED."`
	Content

	state templateState
}

// Content is what a template does. Sequences keep the content that the template had when they began.
type Content struct {
	Steps       []Step           `json:"steps" rule:"required,maxlen=100" doc:"An update replaces them as a whole, together with the transitions."`
	Transitions []Transition     `json:"transitions" rule:"maxlen=1000" doc:"What leads from one step to another. A step that none leads to starts with the sequence."`
	Blocks      map[string]Block `json:"blocks" rule:"maxlen=100" pattern:"^[A-Za-z0-9_-]{1,100}$" hint:"must be 1 to 100 letters, digits, hyphens and underscores" doc:"Texts that messages include, by their ids."`
}

// StepType is what is done in a step.
type StepType string

const (
	AutoEmail          StepType = "auto_email"
	ManualEmail        StepType = "manual_email"
	LinkedInConnection StepType = "auto_linkedin_connection"
	LinkedInMessage    StepType = "auto_linkedin_message"
	Call               StepType = "call"
	ToDo               StepType = "task"
	Gift               StepType = "gift"
)

// Step is one touch of the contact.
type Step struct {
	ID      string     `json:"id" rule:"maxlen=100" pattern:"^[A-Za-z0-9_-]{1,100}$" hint:"must be 1 to 100 letters, digits, hyphens and underscores" doc:"Made when none is given."`
	Type    StepType   `json:"type" rule:"required,enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift" doc:"An auto_email is sent; every other is a Task for the campaign's owner."`
	Index   int        `json:"index" rule:"required,min=0,max=100000" doc:"Its position, which transitions refer to. No two steps have the same."`
	Title   shape.Text `json:"title" rule:"maxlen=255" doc:"What the Task of the step is called, with tokens as in the message."`
	Day     int        `json:"day" rule:"min=0,max=365" doc:"Days after the sequence's start; it means nothing on a step that a transition leads to."`
	Hour    int        `json:"hour" rule:"min=0,max=23" doc:"Hour of the day, in the organization's time zone."`
	Subject shape.Text `json:"subject" rule:"maxlen=998" doc:"An email after the first without one is a reply in the same thread."`
	Message shape.Text `json:"message" rule:"maxlen=100000" doc:"Plain text, with tokens such as {{recipient.first_name}} and blocks such as [[block:intro]]. An auto_email needs one."`
	GiftID  shape.Text `json:"gift_id" label:"Gift" rule:"maxlen=255"`
}

// Transition leads from one step to another.
type Transition struct {
	FromStepIndex     int        `json:"from_step_index" rule:"required"`
	ToStepIndex       int        `json:"to_step_index" rule:"required"`
	TransitionType    string     `json:"transition_type" rule:"required,enum=PREVIOUS_STEP_SCHEDULED|PREVIOUS_STEP_COMPLETES"`
	PreCheckTimeUnit  shape.Text `json:"pre_check_time_unit" rule:"enum=minutes|hours|days|business_days"`
	PreCheckDelay     int        `json:"pre_check_delay" rule:"min=0,max=10000" doc:"Of days and business days at most 1000."`
	PostCheckTimeUnit shape.Text `json:"post_check_time_unit" rule:"enum=minutes|hours|days|business_days"`
	PostCheckDelay    int        `json:"post_check_delay" rule:"min=0,max=10000" doc:"Of days and business days at most 1000."`
	RequireAll        bool       `json:"require_all" doc:"The step waits for all transitions that lead to it, also when only one of them says so."`
}

// Block is a text that messages include.
type Block struct {
	Name      string     `json:"name" rule:"required,maxlen=255"`
	BlockType string     `json:"block_type" rule:"default=MANUAL,enum=MANUAL"`
	Content   shape.Text `json:"content" rule:"maxlen=100000"`
}

// templateState is what a template keeps to itself.
type templateState struct {
	Version uint32 `json:"version"` // of its content
}

// Private is kept beside the record and never answered.
func (t *Template) Private() any { return &t.state }

func (o *Outreach) templateRules() record.Rules[Template] {
	return record.Rules[Template]{
		Object: "sequence_template", Entity: "sequence-templates", Example: templateExample, Check: o.checkTemplate,
		UpdateTogether: []string{"steps", "transitions"},
		CheckReference: func(t *Template, object string) string {
			if object == "campaign" && t.Status != TemplateActive {
				return "names a template that is " + string(t.Status) + ", not ACTIVE"
			}
			return ""
		},
		AfterUpdate: func(tx *store.Tx, before, after *Template) error {
			if before.Name == after.Name {
				return nil
			}
			return o.mention(tx, "template_id", after.ID, "template_name", func(c *Campaign) { c.TemplateName = after.Name })
		},
		AfterDelete: func(tx *store.Tx, t *Template) error {
			_, err := o.versions.Delete(tx, t.ID, 0, int(t.state.Version)+1)
			return err
		},
	}
}

// checkTemplate notes all that is wrong with a template's content, and keeps what follows from its status true.
func (o *Outreach) checkTemplate(tx *store.Tx, before, t *Template, p *fault.Problems) error {
	if before == nil {
		t.OwnerID = actingUser(tx)
	}
	switch {
	case t.Status != TemplateArchived:
		t.ArchivedAt = shape.Time{}
	case before == nil || before.Status != TemplateArchived:
		t.ArchivedAt = shape.At(tx.Now())
	}
	if before != nil && reflect.DeepEqual(&before.Content, &t.Content) {
		return nil
	}
	t.Content.check(p)
	if p.Err() != nil {
		return nil
	}
	for i := range t.Steps {
		if t.Steps[i].ID == "" {
			t.Steps[i].ID = tx.NewID().String()
		}
	}
	return o.keepVersion(tx, before, t)
}

// plan is the content as the planner sees it.
func (c *Content) plan() *planner.Template {
	steps := make([]planner.Step, len(c.Steps))
	for i, s := range c.Steps {
		action := planner.Task
		if s.Type == AutoEmail {
			action = planner.Send
		}
		steps[i] = planner.Step{Index: s.Index, Action: action, Day: s.Day, Hour: s.Hour}
	}
	transitions := make([]planner.Transition, len(c.Transitions))
	for i, t := range c.Transitions {
		transitions[i] = planner.Transition{
			From: t.FromStepIndex, To: t.ToStepIndex, Type: planner.TransitionType(t.TransitionType), RequireAll: t.RequireAll,
			Pre:  planner.Delay{N: t.PreCheckDelay, Unit: planner.Unit(t.PreCheckTimeUnit)},
			Post: planner.Delay{N: t.PostCheckDelay, Unit: planner.Unit(t.PostCheckTimeUnit)},
		}
	}
	return planner.New(steps, transitions)
}
