package crm

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the package has in the store of an organization, besides the kinds.
func (c *CRM) Portions() []store.Portion {
	dismissed := func(table store.ShapedTable) store.Portion {
		return store.Portion{Table: table, RowID: func(rec any) uuid.UUID { return rec.(*dismissal).id() }}
	}
	return []store.Portion{
		dismissed(c.AccountDuplicates.dismissed), {Counter: dismissals(c.Accounts.Entity)},
		dismissed(c.ContactDuplicates.dismissed), {Counter: dismissals(c.Contacts.Entity)},
	}
}

// Rename renames the ids in the rules of the view.
func (v *View) Rename(r *shape.Renaming) error {
	r.Filters(v.Entity, &v.FilteringRules)
	return r.Fields(v)
}
