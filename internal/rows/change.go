package rows

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
)

// Change is the value of a field before and after a row.
type Change struct {
	Field    string
	From, To shape.Value
}

// ChangedField is what an import changes in a field of the records that it finds.
type ChangedField struct {
	Field   string         `json:"field"`
	Count   int            `json:"count" doc:"The rows that change the field."`
	Samples []ChangeSample `json:"samples" doc:"The first five of them."`
}

// ChangeSample is a change of one record.
type ChangeSample struct {
	Line int           `json:"line"`
	ID   uuid.NullUUID `json:"id" doc:"The record. Null if a dry run would have added it with an earlier row."`
	From shape.Value   `json:"from" rule:"personal" doc:"References are shown by the names of the records."`
	To   shape.Value   `json:"to" rule:"personal"`
}

// maxChangeSamples is the number of samples of a field.
const maxChangeSamples = 5

// Changes are what an import changes, by field.
type Changes []ChangedField

func (c *Changes) add(line int, o *Outcome) {
	for _, change := range o.Changes {
		f := c.field(change.Field)
		if f.Count++; len(f.Samples) < maxChangeSamples {
			f.Samples = append(f.Samples, ChangeSample{
				Line: line, ID: uuid.NullUUID{UUID: o.ID, Valid: o.ID != uuid.Nil}, From: shown(change.From), To: shown(change.To),
			})
		}
	}
}

func (c *Changes) field(name string) *ChangedField {
	for i := range *c {
		if (*c)[i].Field == name {
			return &(*c)[i]
		}
	}
	*c = append(*c, ChangedField{Field: name})
	return &(*c)[len(*c)-1]
}

// shown cuts long texts of a value, and long lists.
func shown(v shape.Value) shape.Value {
	v.Text = shorten(v.Text)
	if len(v.Items) > maxChangeSamples {
		v.Items = v.Items[:maxChangeSamples]
	}
	items := make([]shape.Value, len(v.Items))
	for i := range v.Items {
		items[i] = shown(v.Items[i])
	}
	v.Items = items
	members := make([]shape.Member, len(v.Members))
	for i, m := range v.Members {
		members[i] = shape.Member{Key: m.Key, Value: shown(m.Value)}
	}
	v.Members = members
	return v
}
