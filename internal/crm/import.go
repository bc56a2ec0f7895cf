package crm

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/store"
)

// optOutField is the field with which a contact opts out.
const optOutField = "do_not_contact"

// ImportEntities returns the entities that can be imported.
func ImportEntities() []string { return []string{"accounts", "contacts", "suppressions"} }

// NewImporter returns an importer of accounts, contacts or suppressions. Invalid options are a
// *fault.Error with their paths. A suppression that exists already stays as it is and counts as unchanged.
func (c *CRM) NewImporter(tx *store.Tx, entity string, table *rows.Reader, o record.ImportOptions) (*record.Importer, error) {
	switch entity {
	case "accounts":
		return c.Accounts.NewImporter(tx, table, o, record.ImportRules[Account]{IsErased: c.namesErased})
	case "contacts":
		return c.Contacts.NewImporter(tx, table, o, record.ImportRules[Contact]{IsErased: c.namesErased, IsSuppressed: func(tx *store.Tx, contact *Contact) bool {
			return slices.ContainsFunc(contact.Addresses(), func(email string) bool { return c.IsSuppressed(tx, email) })
		}, OptOut: record.OptOut{
			Field: optOutField, By: "email",
			Skipped: c.suppressSkipped, Record: c.optOutSkipped, Doubt: c.noteDoubt,
		}})
	case "suppressions":
		return c.Suppressions.NewImporter(tx, table, o, record.ImportRules[Suppression]{
			IsErased: c.namesErased,
			Key: func(s *Suppression) string {
				settled := *s
				settled.moveDomain()
				return settled.subject()
			},
			Add: func(tx *store.Tx, draft record.Draft[Suppression]) (uuid.UUID, bool, error) {
				doc, created, err := c.Suppress(tx, draft)
				return doc.ID, created, err
			},
		})
	}
	return nil, notImportable(entity)
}

// InspectImport describes the columns of a table of accounts, contacts or suppressions.
func (c *CRM) InspectImport(tx *store.Tx, entity string, table *rows.Reader, o record.ImportOptions) (rows.Inspection, error) {
	switch entity {
	case "accounts":
		return c.Accounts.InspectImport(tx, table, o, "")
	case "contacts":
		return c.Contacts.InspectImport(tx, table, o, optOutField)
	case "suppressions":
		return c.Suppressions.InspectImport(tx, table, o, "")
	}
	return rows.Inspection{}, notImportable(entity)
}

func notImportable(entity string) error {
	var p fault.Problems
	p.Invalid("entity", "%q is not one of: %s", entity, strings.Join(ImportEntities(), ", "))
	return p.Err()
}
