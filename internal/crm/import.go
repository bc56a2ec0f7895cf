package crm

import (
	"strings"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/store"
)

// optOutField is the field with which a contact opts out.
const optOutField = "do_not_contact"

// ImportEntities returns the entities that can be imported.
func ImportEntities() []string { return []string{"accounts", "contacts", "suppressions"} }

type importable interface {
	NewImporter(*store.Tx, *rows.Reader, record.ImportOptions) (*record.Importer, error)
	InspectImport(*store.Tx, *rows.Reader, record.ImportOptions) (rows.Inspection, error)
}

// importable returns the kind of accounts, contacts or suppressions.
func (c *CRM) importable(entity string) (importable, error) {
	switch entity {
	case "accounts":
		return c.Accounts, nil
	case "contacts":
		return c.Contacts, nil
	case "suppressions":
		return c.Suppressions, nil
	}
	var p fault.Problems
	p.Invalid("entity", "%q is not one of: %s", entity, strings.Join(ImportEntities(), ", "))
	return nil, p.Err()
}

// NewImporter returns an importer of accounts, contacts or suppressions. Invalid options are a
// *fault.Error with their paths. A suppression that exists already stays as it is and counts as unchanged.
func (c *CRM) NewImporter(tx *store.Tx, entity string, table *rows.Reader, o record.ImportOptions) (*record.Importer, error) {
	k, err := c.importable(entity)
	if err != nil {
		return nil, err
	}
	return k.NewImporter(tx, table, o)
}

// InspectImport describes the columns of a table of accounts, contacts or suppressions.
func (c *CRM) InspectImport(tx *store.Tx, entity string, table *rows.Reader, o record.ImportOptions) (rows.Inspection, error) {
	k, err := c.importable(entity)
	if err != nil {
		return rows.Inspection{}, err
	}
	return k.InspectImport(tx, table, o)
}
