package crm

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Tag labels the records of one object type.
type Tag struct {
	record.Head
	Name       string     `json:"name" rule:"required,maxlen=100" pattern:"^[a-zA-Z0-9 ]+$" hint:"must contain only letters from a to z, digits and spaces"`
	Color      string     `json:"color" rule:"required,enum=green|blue|red|yellow|purple|berry|peach|gray"`
	ObjectType ObjectType `json:"object_type" rule:"required,fixed"`
}

var tagRules = record.Rules[Tag]{
	Object: "tag", Entity: "tags", Example: tagExample, Trash: &record.TrashRules[Tag]{},
	Unique: []store.Unique[Tag]{{
		Name: "name",
		Of:   func(t *Tag) []byte { return tagKey(t.Name, string(t.ObjectType)) },
		Taken: func(t *Tag, _ []byte, other uuid.UUID) error {
			return fault.Taken(fault.TagNameTaken, "name", other.String(),
				"%q is the name of another %s tag", t.Name, t.ObjectType)
		},
	}},
	Check: func(_ *store.Tx, _, t *Tag, p *fault.Problems) error {
		CheckName("name", t.Name, p)
		return nil
	},
	Names: &record.NameRules{Key: tagKey, New: newTag},
	CheckReference: func(t *Tag, object string) string {
		if string(t.ObjectType) != object {
			return "the tag is for another object type, " + string(t.ObjectType)
		}
		return ""
	},
}

func tagKey(name, object string) []byte { return []byte(object + "\x00" + FoldName(name)) }

// newTag returns the body of a tag that an import creates.
func newTag(name, object string) shape.Value {
	text := func(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }
	return shape.Value{Kind: shape.Object, Members: []shape.Member{
		{Key: "name", Value: text(name)}, {Key: "color", Value: text("gray")}, {Key: "object_type", Value: text(object)},
	}}
}
