package outreach

import (
	"math"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// TemplateStatus is whether campaigns can choose a template.
type TemplateStatus string

const (
	TemplateActive   TemplateStatus = "ACTIVE"
	TemplateInactive TemplateStatus = "INACTIVE"
	TemplateArchived TemplateStatus = "ARCHIVED"
)

// Template is a stored sequence template.
type Template struct {
	record.Head
	Name        string         `json:"name" rule:"required,maxlen=255,line"`
	Kind        string         `json:"kind" rule:"readonly,default=USER_GENERATED,enum=USER_GENERATED"`
	Status      TemplateStatus `json:"status" rule:"updateonly,default=ACTIVE,enum=ACTIVE|INACTIVE|ARCHIVED" doc:"Campaigns can only choose an ACTIVE template."`
	Description shape.Text     `json:"description" rule:"maxlen=100000,long"`
	OwnerID     uuid.NullUUID  `json:"owner_id" label:"Owner" rule:"readonly,ref=users"`
	IsDefault   bool           `json:"is_default" rule:"readonly"`
	ArchivedAt  shape.Time     `json:"archived_at" rule:"readonly" doc:"When the status became ARCHIVED."`
	template.Content

	state templateState
}

// templateState is the private part of a template.
type templateState struct {
	Version uint32 `json:"version"` // of its content
}

// Private returns the part that is stored beside the record and never shown.
func (t *Template) Private() any { return &t.state }

func (o *Outreach) templateRules() record.Rules[Template] {
	return record.Rules[Template]{
		Object: "sequence_template", Entity: "sequence-templates", Example: templateExample, Check: o.checkTemplate,
		History: record.HistoryRules{KeepsValues: true}, Trash: &record.TrashRules[Template]{},
		UpdateTogether: []string{"steps", "transitions"},
		CheckReference: func(t *Template, object string) string {
			if object == "campaign" && t.Status != TemplateActive {
				return "the template is " + string(t.Status) + ", not ACTIVE"
			}
			return ""
		},
		AfterChange: func(tx *store.Tx, before, after *Template) error {
			if before == nil || after == nil || before.Name == after.Name {
				return nil
			}
			return o.updateTemplateName(tx, after)
		},
		Forget: func(tx *store.Tx, id uuid.UUID) error {
			_, err := o.versions.Delete(tx, id, 0, math.MaxInt)
			return err
		},
	}
}

// HasContentOf reports whether t has the steps and transitions of an earlier state.
func (t *Template) HasContentOf(before *Template) bool {
	return t.state.Version == before.state.Version
}

// checkTemplate reports everything that is wrong with a template's content, and derives the fields
// that follow from the others.
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
	tokens, err := o.vocabulary(tx)
	if err != nil {
		return err
	}
	t.Content.Check(tokens, p)
	if p.Err() != nil {
		return nil
	}
	if before != nil {
		t.Content.KeepIDs(&before.Content)
	}
	for i := range t.Steps {
		if t.Steps[i].ID == "" {
			t.Steps[i].ID = tx.NewID().String()
		}
	}
	return o.saveVersion(tx, before, t)
}
