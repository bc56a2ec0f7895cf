package erasure

import (
	"prospector/index"
	"prospector/internal/shape"
	"prospector/store"
)

// forms describe what is stored in which bucket: the records of lists by the tags of their types, and other values as the
// features declare them.
type forms struct {
	lists    map[string]form // by bucket
	portions []store.Portion // of other values
	// addresses are the fields of any type that have addresses, for objects of which the type is not known: the data of events,
	// and what is kept of merged records.
	addresses map[string]*shape.Field
}

// form describes the records of a list. private may be nil.
type form struct {
	entity          string
	public, private *shape.Struct
}

func newForms(lists []*index.Kind, portions []store.Portion) *forms {
	f := &forms{lists: map[string]form{}, portions: portions, addresses: map[string]*shape.Field{}}
	for _, k := range lists {
		bucket, public, private := store.TypesOf(k.ShapedTable())
		one := form{entity: k.Entity, public: shape.OfType(public)}
		if private != nil {
			one.private = shape.OfType(private)
		}
		f.lists[bucket] = one
		for i := range one.public.Fields {
			if field := &one.public.Fields[i]; field.Personal == shape.PersonalAddress {
				f.addresses[field.Key] = field
			}
		}
	}
	return f
}

// of describes a part of the records in a bucket, or is nil.
func (f *forms) of(bucket string, isPrivate bool) *shape.Struct {
	if one, is := f.lists[bucket]; is && isPrivate {
		return one.private
	} else if is {
		return one.public
	}
	return f.personal(bucket).Type
}

// personal is what a feature declares about the values in a bucket.
func (f *forms) personal(bucket string) store.Personal {
	for i := range f.portions {
		if f.portions[i].Has(bucket) {
			return f.portions[i].Personal
		}
	}
	return store.Personal{}
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
	if field == nil {
		return nil
	}
	for i := range f.portions {
		if s := f.portions[i].Personal.Components[field.Component]; s != nil {
			return s
		}
	}
	return field.Inside()
}

// kindOf returns what a result calls the values of a bucket, or "" if it does not count them: parts and changes belong to
// records.
func (f *forms) kindOf(bucket string) string {
	if one, known := f.lists[bucket]; known {
		return one.entity
	}
	return f.personal(bucket).Entity
}
