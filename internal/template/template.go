// Package template owns the content of sequence templates: its types, the checks it must pass, its
// tokens, how it renders for a recipient, and which email thread a message belongs to.
//
// The package is pure. It reads no store and knows neither campaigns nor contacts. Package outreach
// stores templates and their versions.
package template

import (
	"prospector/internal/planner"
	"prospector/internal/shape"
)

// Content is what a template does. A sequence keeps the content that its template had when the
// sequence started.
type Content struct {
	Steps       []Step           `json:"steps" rule:"required,maxlen=100" doc:"An update replaces all steps, together with the transitions."`
	Transitions []Transition     `json:"transitions" rule:"maxlen=1000" doc:"Connections between steps. A step without an incoming transition starts with the sequence."`
	Blocks      map[string]Block `json:"blocks" rule:"maxlen=100" pattern:"^[A-Za-z0-9_-]{1,100}$" hint:"must be 1 to 100 letters, digits, hyphens and underscores" doc:"Texts that messages can include, by their ids."`
}

// StepType is what happens in a step.
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
	ID      string     `json:"id" rule:"maxlen=100" pattern:"^[A-Za-z0-9_-]{1,100}$" hint:"must be 1 to 100 letters, digits, hyphens and underscores" doc:"What identifies the step when running sequences are brought to a newer text. If you omit it in an update, the step keeps the id of the one with the same index and type. Else it is generated."`
	Type    StepType   `json:"type" rule:"required,enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift" doc:"An auto_email is sent. Every other type creates a Task for the campaign's owner."`
	Index   int        `json:"index" rule:"required,min=0,max=100000" doc:"The position that transitions refer to. It is unique within the template."`
	Title   shape.Text `json:"title" rule:"maxlen=255,line" doc:"The title of the step's Task. It can contain tokens, like the message."`
	Day     int        `json:"day" rule:"min=0,max=365" doc:"Days after the start of the sequence. Ignored on a step that has an incoming transition."`
	Hour    int        `json:"hour" rule:"min=0,max=23" doc:"Hour of the day, in the organization's time zone."`
	Subject shape.Text `json:"subject" rule:"maxlen=998" doc:"A later email without a subject is a reply in the same thread."`
	Message shape.Text `json:"message" rule:"maxlen=100000" doc:"Plain text with tokens such as {{recipient.first_name}}, tokens with a fallback such as {{recipient.first_name|there}}, and blocks such as [[block:intro]]. Required for an auto_email."`
	GiftID  shape.Text `json:"gift_id" label:"Gift" rule:"maxlen=255"`
}

// Transition leads from one step to another.
type Transition struct {
	FromStepIndex     int        `json:"from_step_index" rule:"required"`
	ToStepIndex       int        `json:"to_step_index" rule:"required"`
	TransitionType    string     `json:"transition_type" rule:"required,enum=PREVIOUS_STEP_SCHEDULED|PREVIOUS_STEP_COMPLETES"`
	PreCheckTimeUnit  shape.Text `json:"pre_check_time_unit" rule:"enum=minutes|hours|days|business_days"`
	PreCheckDelay     int        `json:"pre_check_delay" rule:"min=0,max=10000" doc:"At most 1000 if the unit is days or business_days."`
	PostCheckTimeUnit shape.Text `json:"post_check_time_unit" rule:"enum=minutes|hours|days|business_days"`
	PostCheckDelay    int        `json:"post_check_delay" rule:"min=0,max=10000" doc:"At most 1000 if the unit is days or business_days."`
	RequireAll        bool       `json:"require_all" doc:"The step waits for all of its incoming transitions. It is enough that one of them sets this."`
}

// Block is a text that messages can include.
type Block struct {
	Name      string     `json:"name" rule:"required,maxlen=255,line"`
	BlockType string     `json:"block_type" rule:"default=MANUAL,enum=MANUAL"`
	Content   shape.Text `json:"content" rule:"maxlen=100000"`
}

// plan converts the content to the planner's form.
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
			From: t.FromStepIndex, To: t.ToStepIndex,
			Type: planner.TransitionType(t.TransitionType), RequireAll: t.RequireAll,
			Pre:  planner.Delay{N: t.PreCheckDelay, Unit: planner.Unit(t.PreCheckTimeUnit)},
			Post: planner.Delay{N: t.PostCheckDelay, Unit: planner.Unit(t.PostCheckTimeUnit)},
		}
	}
	return planner.New(steps, transitions)
}
