package crm

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// mayUndoContact refuses to undo what would lift an opt-out: do_not_contact stays true, and so does an address that is
// suppressed. Only an opt-out of a value that the operation could not read is taken back.
func (c *CRM) mayUndoContact(tx *store.Tx, operation uuid.UUID, contact *Contact, field string, to jsontext.Value) (bool, error) {
	switch field {
	case "do_not_contact":
		return !contact.DoNotContact || bytes.Equal(to, jsontext.Value("true")) || contact.Origin.DoubtfulOptOut == operation, nil
	case "email":
		var email string
		if err := json.Unmarshal(to, &email); err != nil || email != "" && c.IsErased(tx, email) {
			return false, nil
		}
		return contact.Email == "" || !c.IsSuppressed(tx, string(contact.Email)), nil
	case "other_emails": // the address with which the person has opted out stays known
		var emails []string
		if err := json.Unmarshal(to, &emails); err != nil || slices.ContainsFunc(emails, func(email string) bool { return c.IsErased(tx, email) }) {
			return false, nil
		}
		return contact.DoNotContact || !c.IsCovered(tx, contact.OtherEmails), nil
	}
	return true, nil
}

// noteDoubt notes whether the opt-out of a contact that the transaction's import has written is doubtful.
func (c *CRM) noteDoubt(tx *store.Tx, id uuid.UUID, isDoubtful bool) error {
	doc, err := c.Contacts.Get(tx, id)
	if err != nil {
		return err
	}
	rec := doc.Record
	if rec.Origin.DoubtfulOptOut = uuid.Nil; isDoubtful {
		rec.Origin.DoubtfulOptOut = tx.Actor().OperationID
	}
	if rec.Origin != doc.Record.Origin {
		_, err = c.Contacts.Table.Update(tx, doc, rec, nil)
	}
	return err
}

// confirmOptOut notes that an update says that a contact has opted out which has opted out already: an import that could not read
// why is not the only one that says so.
func (c *CRM) confirmOptOut(tx *store.Tx, before *Contact, body shape.Value) error {
	doubt := before.Origin.DoubtfulOptOut
	if says := body.Get(optOutField); doubt == uuid.Nil || doubt == tx.Actor().OperationID || says.Kind != shape.Bool || !says.True {
		return nil
	}
	return c.noteDoubt(tx, before.ID, false)
}

// optOutSkipped opts out a contact that a skipped row means.
func (c *CRM) optOutSkipped(tx *store.Tx, id uuid.UUID, isDoubtful bool) error {
	doc, err := c.Contacts.Get(tx, id)
	if err != nil {
		return err
	}
	if err = c.OptOut(tx, id); err == nil && isDoubtful && !doc.Record.DoNotContact {
		err = c.noteDoubt(tx, id, true)
	}
	return err
}

// takeOptOutBack takes the opt-out of a contact back that an operation has added, if the operation could not read its value.
func (c *CRM) takeOptOutBack(tx *store.Tx, operation, id uuid.UUID) error {
	doc, err := c.Contacts.Get(tx, id)
	if err != nil || !doc.Record.DoNotContact || doc.Record.Origin.DoubtfulOptOut != operation {
		return err
	}
	return c.setOptOut(tx, doc, false)
}

func (c *CRM) setOptOut(tx *store.Tx, doc store.Doc[Contact], hasOptedOut bool) error {
	rec := doc.Record
	rec.DoNotContact = hasOptedOut
	_, err := c.Contacts.Replace(tx, doc, rec)
	return err
}

// DoubtStep is the kind of a step in a journal that says that the address of a skipped row was suppressed because of a value
// that could not be read. RestoreDoubt takes it back.
const DoubtStep = "doubtful_opt_out"

// Doubt is the data of such a step.
type Doubt struct {
	Suppression uuid.UUID `json:"suppression"`
}

// suppressSkipped suppresses the address of a row that was skipped.
func (c *CRM) suppressSkipped(tx *store.Tx, email string, isDoubtful bool) error {
	rec := Suppression{Email: shape.Text(email), Reason: ReasonOptedOut}
	_, found, err := c.listed(tx, &rec)
	if err == nil && found {
		return c.confirmAt(tx, email)
	}
	if err != nil {
		return err
	}
	doc, err := c.Suppressions.Insert(tx, rec)
	if err == nil && isDoubtful {
		err = tx.AddToJournal(DoubtStep, Doubt{doc.ID})
	}
	return err
}

// confirmAt notes that another row than those that could not be read says that an address has opted out.
func (c *CRM) confirmAt(tx *store.Tx, email string) error {
	ids, err := c.ContactsWith(tx, email)
	for _, id := range ids {
		if err != nil {
			break
		}
		var doc store.Doc[Contact]
		if doc, err = c.Contacts.Get(tx, id); err == nil && doc.Record.Origin.DoubtfulOptOut != tx.Actor().OperationID {
			err = c.noteDoubt(tx, id, false)
		}
	}
	return err
}

// RestoreDoubt deletes the suppression of a DoubtStep, unless a contact with the address has opted out since.
func (c *CRM) RestoreDoubt(tx *store.Tx, data json.RawMessage) error {
	var d Doubt
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	doc, found, err := c.Suppressions.Lookup(tx, d.Suppression)
	if !found || doc.Record.Reason != ReasonOptedOut {
		return err
	}
	return c.liftSuppressions(tx, uuid.Nil, string(doc.Record.Email))
}

// OptOut opts out a contact. One in the trash has opted out when it is restored.
func (c *CRM) OptOut(tx *store.Tx, id uuid.UUID) error {
	doc, found, err := c.Contacts.Lookup(tx, id)
	switch {
	case err != nil:
		return err
	case !found:
		rec, err := c.Contacts.GetTrashed(tx, id)
		if err != nil {
			return err
		}
		rec.DoNotContact = true
		return c.Contacts.ReplaceTrashed(tx, rec)
	case doc.Record.DoNotContact:
		return c.noteDoubt(tx, id, false)
	}
	return c.setOptOut(tx, doc, true)
}

// SpreadOptOut makes an opt-out of one of some contacts that of all of them. They were one contact until an undo.
func (c *CRM) SpreadOptOut(tx *store.Tx, contacts []uuid.UUID) error {
	docs, hasOptedOut := []store.Doc[Contact]{}, false
	for _, id := range contacts {
		doc, found, err := c.Contacts.Lookup(tx, id)
		if err != nil {
			return err
		}
		if found {
			docs, hasOptedOut = append(docs, doc), hasOptedOut || doc.Record.DoNotContact
		}
	}
	for _, doc := range docs {
		if hasOptedOut {
			if err := c.setOptOut(tx, doc, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// isContactInUse reports whether somebody works with a contact: a message to it went out, or somebody made a task, a
// meeting or an opportunity.
func (c *CRM) isContactInUse(tx *store.Tx, id uuid.UUID, use record.Use) (bool, error) {
	if has, err := c.follower.HasMessages(tx, id, use.Since); err != nil || has {
		return has, err
	}
	return c.hasWork(tx, "contact_id", id, use.Since)
}

// isAccountInUse reports whether a contact of an account stays, or somebody made a task, a meeting or an opportunity.
func (c *CRM) isAccountInUse(tx *store.Tx, id uuid.UUID, use record.Use) (bool, error) {
	contacts, err := c.Contacts.Table.IDs(tx, "account_id", id[:], 0)
	if err != nil {
		return false, err
	}
	for _, contact := range contacts {
		if use.Stays(contact) {
			return true, nil
		}
	}
	return c.hasWork(tx, "account_id", id, use.Since)
}

// hasWork reports whether an opportunity, a meeting or a task that somebody made, with a later id than since, refers to a
// record in the field.
func (c *CRM) hasWork(tx *store.Tx, field string, id uuid.UUID, since uuid.UUID) (bool, error) {
	for _, table := range []*store.AnyTable{&c.Opportunities.Table.AnyTable, &c.Meetings.Table.AnyTable, &c.Tasks.Table.AnyTable} {
		ids, err := table.IDs(tx, field, id[:], 0)
		if err != nil {
			return false, err
		}
		for _, id := range ids {
			if store.CompareIDs(id, since) < 0 {
				continue
			}
			if table != &c.Tasks.Table.AnyTable {
				return true, nil
			}
			if made, err := c.isMadeByHand(tx, id); err != nil || made {
				return made, err
			}
		}
	}
	return false, nil
}

// isMadeByHand reports whether somebody made a task. A campaign makes tasks in nobody's name.
func (c *CRM) isMadeByHand(tx *store.Tx, task uuid.UUID) (bool, error) {
	doc, err := c.Tasks.Get(tx, task)
	if err != nil || !doc.Record.CampaignID.Valid {
		return true, nil // a damaged task counts as made by hand
	}
	var creator store.Actor
	err = tx.History(c.Tasks.Table.Name(), task, func(change store.Change) (bool, error) {
		creator = change.Actor
		return true, nil
	})
	return creator.User != uuid.Nil || creator.Key != uuid.Nil, err
}
