package identity

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the package has in the store of an organization, besides the kinds.
func (i *Identity) Portions() []store.Portion {
	const secret = "nobody else may sign in with it"
	return []store.Portion{
		{Table: i.preferences},
		{Table: i.credentials, WhyLeft: secret}, {Table: i.sessions, WhyLeft: secret},
		{Table: i.uses.table, WhyLeft: "users show when they were last seen"},
	}
}

// Arrived keeps when the users of an organization that was imported were last seen.
func (i *Identity) Arrived(tx *store.Tx) error {
	seen := map[uuid.UUID]shape.Time{}
	err := i.Users.Table.Scan(tx, func(d store.Doc[User]) (bool, error) {
		if at := d.Record.LastSeenAt; at.Valid() {
			seen[d.ID] = at
		}
		return true, nil
	})
	for id, at := range seen {
		if err == nil {
			err = put(tx, i.uses.table, id, use{at})
		}
	}
	return err
}
