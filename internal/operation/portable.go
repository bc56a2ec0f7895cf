package operation

import (
	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the package has in the store of an organization.
func (o *Operations) Portions() []store.Portion { return []store.Portion{{Table: o.Table}} }

// Payloads returns the types of the payloads of jobs, by kind.
func (o *Operations) Payloads() map[string]func() any {
	return map[string]func() any{ExpireJob: func() any { return new(expireBody) }}
}

// Steps returns the types of what the package adds to journals, by kind.
func Steps() map[string]func() any {
	return map[string]func() any{MergedStep: func() any { return new(Merged) }}
}

// Rename renames the ids in the body of a bulk update too. Those of the state are renamed with the private part.
func (o *Operation) Rename(r *shape.Renaming) error {
	state := o.State
	o.State = State{}
	err := r.Fields(o)
	o.State = state
	r.Body(string(o.Entity), &o.State.Body)
	return err
}
