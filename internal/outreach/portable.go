package outreach

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the package has in the store of an organization, besides the kinds.
func (o *Outreach) Portions() []store.Portion {
	return []store.Portion{{Sets: o.members, Check: o.verifyMembers}, {Parts: o.versions}}
}

// Payloads returns the types of the payloads of jobs, by kind.
func (o *Outreach) Payloads() map[string]func() any {
	id := func() any { return new(uuid.UUID) }
	return map[string]func() any{dropMembersJob: id, refreshJob: id}
}

// Rename renames the ids in the filters of the audience.
func (a *Audience) Rename(r *shape.Renaming) error {
	r.Filters("contacts", &a.Filters)
	return r.Fields(a)
}
