package erasure

import (
	"strings"

	"prospector/index"
	"prospector/internal/shape"
	"prospector/internal/tam"
	"prospector/store"
)

// forms describe what is stored in which bucket, by the tags of the Go types.
type forms struct {
	buckets map[string]form
	// addresses are the fields of any type that have addresses, for objects of which the type is not known: the data of events,
	// and what is kept of merged records.
	addresses map[string]*shape.Field
}

// form describes the records of a table. private may be nil.
type form struct {
	entity          string
	public, private *shape.Struct
}

// memberBucket has the members of Previews.
const memberBucket = "previews.members.part"

func newForms(lists []*index.Kind) *forms {
	f := &forms{buckets: map[string]form{}, addresses: map[string]*shape.Field{}}
	for _, k := range lists {
		bucket, public, private := store.TypesOf(k.ShapedTable())
		one := form{entity: k.Entity, public: shape.OfType(public)}
		if private != nil {
			one.private = shape.OfType(private)
		}
		f.buckets[bucket] = one
		for i := range one.public.Fields {
			if field := &one.public.Fields[i]; field.Personal == shape.PersonalAddress {
				f.addresses[field.Key] = field
			}
		}
	}
	f.buckets[memberBucket] = form{entity: "preview_members", public: shape.Of[tam.Member]()}
	return f
}

// of describes a part of the records in a bucket, or is nil.
func (f *forms) of(bucket string, isPrivate bool) *shape.Struct {
	if isPrivate {
		return f.buckets[bucket].private
	}
	return f.buckets[bucket].public
}

// field returns the field of a member of an object, or nil. Of an object whose type is not known, only addresses are.
func (f *forms) field(s *shape.Struct, name string) *shape.Field {
	if s == nil {
		return f.addresses[name]
	}
	return s.Field(name)
}

// inside describes the objects in a field, or is nil.
func (f *forms) inside(field *shape.Field) *shape.Struct {
	switch {
	case field == nil:
		return nil
	case field.Component == "MemberData":
		return shape.Of[tam.PersonData]()
	}
	return field.Inside()
}

// isEventBucket reports whether a bucket has events that wait to be delivered.
func isEventBucket(bucket string) bool { return strings.HasPrefix(bucket, "webhook_") }

// kindOf returns what a result calls the values of a bucket, or "" if it does not count them: parts and changes belong to
// records.
func (f *forms) kindOf(bucket string) string {
	if one, known := f.buckets[bucket]; known {
		return one.entity
	}
	if bucket == "webhook_events.part" {
		return "webhook_events"
	}
	return ""
}
