package crm

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/store"
)

// Tag labels the records of one object type.
type Tag struct {
	record.Head
	Name       string `json:"name" rule:"required,max=100" pattern:"^[a-zA-Z0-9\\s]+$" says:"must have only letters from a to z, digits and spaces"`
	Color      string `json:"color" rule:"required,enum=green|blue|red|yellow|purple|berry|peach|gray"`
	ObjectType string `json:"object_type" rule:"required,fixed,enum=account|contact|opportunity|task|meeting"`
}

var tagRules = record.Rules[Tag]{
	Object: "tag", Entity: "tags", Example: tagExample,
	Unique: []store.Unique[Tag]{{
		Name: "name",
		Of:   func(t *Tag) []byte { return tagKey(t.Name, t.ObjectType) },
		Taken: func(t *Tag, other uuid.UUID) error {
			return fault.Taken(fault.TagNameTaken, "name", other.String(), "%q is the name of another %s tag", t.Name, t.ObjectType)
		},
	}},
	Check: func(_ *store.Tx, _, t *Tag, p *fault.Problems) error {
		CheckName("name", t.Name, p)
		return nil
	},
	Named: tagKey,
	Fits: func(t *Tag, object string) string {
		if t.ObjectType != object {
			return "names a tag for another object type, " + t.ObjectType
		}
		return ""
	},
}

func tagKey(name, object string) []byte { return []byte(object + "\x00" + FoldName(name)) }
