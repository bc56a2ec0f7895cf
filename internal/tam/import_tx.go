package tam

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
)

// importRow is a selected member that is being imported: a company, or a person at the last company
// before it.
type importRow struct {
	source   string
	reserved bool             // the balance contains a reservation for its record
	company  *catalog.Company // nil for a person
	person   *catalog.Person  // nil for a company
	answer   shape.Value      // the answer of research about the company
}

func newImportRow(person bool, stored []byte) (importRow, error) {
	text := append(slices.Clone(stored[1:]), '}')
	if person {
		m, err := decodeMember[catalog.Person](text)
		return importRow{source: m.SourceID, reserved: !m.Existing, person: &m.Data}, err
	}
	m, err := decodeMember[catalog.Company](text)
	r := importRow{source: m.SourceID, reserved: !m.Existing, company: &m.Data}
	if m.Qualification != nil {
		r.answer = m.Qualification.Answer
	}
	return r, err
}

// storedMember is the part of a stored member that an Import needs.
type storedMember[T any] struct {
	SourceID      string `json:"source_id"`
	Existing      bool   `json:"existing"`
	Data          T      `json:"data"`
	Qualification *struct {
		Answer shape.Value `json:"answer"`
	} `json:"qualification"`
}

func decodeMember[T any](text []byte) (m storedMember[T], err error) {
	err = json.Unmarshal(text, &m)
	return m, err
}

// outcome is the result of importing a member.
type outcome int

const (
	created outcome = iota
	reused
	skipped
)

func (c *ImportCounts) add(o outcome) {
	switch o {
	case created:
		c.Created++
	case reused:
		c.Reused++
	case skipped:
		c.Skipped++
	}
}

// importTx imports members in one transaction.
type importTx struct {
	run    *importRun
	tx     *store.Tx
	rec    *Import
	limits identity.Limits
	used   amount // in the month of the Import

	accountTags, contactTags shape.IDs // those of the request that still exist
	customs                  *shape.Customs
	field                    *shape.CustomField // the field of the answers, or nil if it was deleted
}

// importRows imports members until others wait for the transaction, and updates the counts of the Import.
func (m *importRun) importRows(tx *store.Tx, rec *Import, rows []importRow) (imported int, err error) {
	k := &importTx{run: m, tx: tx, rec: rec}
	if err := k.load(); err != nil {
		return 0, err
	}
	for imported < len(rows) && (imported == 0 || !tx.MustYield()) {
		if err := k.importMember(&rows[imported]); err != nil {
			return 0, err
		}
		imported++
	}
	return imported, m.tam.setUsed(tx, rec.CreatedAt.Std(), k.used)
}

// load reads everything that may have changed since the previous transaction.
func (k *importTx) load() error {
	org, err := k.run.tam.organization(k.tx)
	if err != nil {
		return err
	}
	k.limits = org.Limits
	if k.used, err = k.run.tam.usedIn(k.tx, k.rec.CreatedAt.Std()); err != nil {
		return err
	}
	isDeleted := func(tag uuid.UUID) bool { return !k.run.tam.crm.Tags.Table.Has(k.tx, tag) }
	k.accountTags = slices.DeleteFunc(slices.Clone(k.run.request.TagIDs), isDeleted)
	k.contactTags = slices.DeleteFunc(slices.Clone(k.run.request.ContactTagIDs), isDeleted)
	if k.run.signal == nil {
		return nil
	}
	field, err := k.run.tam.crm.Fields.Get(k.tx, k.run.signal.ID)
	if fault.CodeOf(err) == fault.NotFound || err == nil && field.Record.AI == nil { // deleted, or no longer AI-filled
		return nil
	}
	if err != nil {
		return err
	}
	customs, err := k.run.tam.crm.Accounts.List.Customs(k.tx)
	if err != nil {
		return err
	}
	k.customs = customs.Customs
	at := slices.IndexFunc(k.customs.Fields, func(f shape.CustomField) bool { return f.ID == k.run.signal.ID })
	if at >= 0 {
		k.field = &k.customs.Fields[at]
	}
	return nil
}

// importMember imports a member. Its reservation is released if no record is created.
func (k *importTx) importMember(r *importRow) error {
	person := r.person != nil
	importOne := k.importCompany
	if person {
		importOne = k.importPerson
	}
	o, err := importOne(r)
	if err != nil {
		return err
	}
	k.rec.counts(person).add(o)
	if r.reserved {
		*k.rec.private.Reserved.of(person)--
	}
	switch used := k.used.of(person); {
	case !r.reserved && o == created:
		*used++
	case r.reserved && o != created:
		*used--
	}
	return nil
}

// isBeyondMax reports whether a record for a member would exceed a maximum of the Import together with
// the reserved records.
func (k *importTx) isBeyondMax(r *importRow) bool {
	person := r.person != nil
	return !r.reserved && k.rec.reached(person, k.rec.counts(person).Created+*k.rec.private.Reserved.of(person))
}

// mayCreate reports whether the balance allows a record for a member.
func (k *importTx) mayCreate(r *importRow) bool {
	limit := k.limits.AccountsPerMonth
	if r.person != nil {
		limit = k.limits.ContactsPerMonth
	}
	return r.reserved || !limit.Valid || float64(*k.used.of(r.person != nil)) < limit.Float
}

func (k *importTx) importCompany(r *importRow) (outcome, error) {
	id, found, refused, err := k.run.tam.recordOf(k.tx, memberKey{source: r.source, website: string(r.company.Website)})
	skipsPeople := refused || !found && k.isBeyondMax(r)
	k.rec.private.Account, k.rec.private.SkipsPeople = uuid.NullUUID{}, skipsPeople
	if err != nil || skipsPeople || !found && !k.mayCreate(r) {
		return skipped, err
	}
	if found {
		err = k.updateAccount(id, r)
	} else {
		id, err = k.createAccount(r)
	}
	k.rec.private.Account = uuid.NullUUID{UUID: id, Valid: true}
	if found {
		return reused, err
	}
	return created, err
}

func (k *importTx) createAccount(r *importRow) (uuid.UUID, error) {
	a := crm.Account{Source: crm.SourceTAMImport, Origin: crm.Origin{SourceID: r.source}}
	fillAccount(&a, r.company)
	a.Tags = k.accountTags
	k.writeAnswer(&a, r.answer)
	doc, err := k.run.tam.crm.Accounts.Insert(k.tx, a)
	return doc.ID, err
}

func (k *importTx) updateAccount(id uuid.UUID, r *importRow) error {
	old, err := k.run.tam.crm.Accounts.Get(k.tx, id)
	if err != nil {
		return err
	}
	a := old.Record
	fillAccount(&a, r.company)
	if k.run.request.TagExistingAccounts {
		a.Tags = addTags(a.Tags, k.accountTags)
	}
	k.writeAnswer(&a, r.answer)
	a.Origin.SourceID = cmp.Or(a.Origin.SourceID, r.source)
	return updateRecord(k.tx, k.run.tam.crm.Accounts, old, a, a.Origin != old.Record.Origin)
}

// writeAnswer sets the field of an answer, and replaces its previous value. An answer that the
// field does not accept is ignored: the field may have changed since the Preview.
func (k *importTx) writeAnswer(a *crm.Account, answer shape.Value) {
	if k.field == nil || answer.Kind == shape.Absent {
		return
	}
	var refused fault.Problems
	custom := a.Custom
	body := shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: k.field.Key, Value: answer}}}
	shape.DecodeCustom(body, &custom, k.customs, &refused)
	if custom[k.field.Key] != nil && refused.Count() == 0 {
		a.Custom = custom
	}
}

func (k *importTx) importPerson(r *importRow) (outcome, error) {
	if k.rec.private.SkipsPeople {
		return skipped, nil
	}
	p := r.person
	id, found, refused, err := k.run.tam.recordOf(k.tx, memberKey{
		isPerson: true, source: r.source, email: string(p.Email), linkedIn: string(p.LinkedinURL),
		isErased: p.FirstName == "" && p.LastName == "" && p.Email == "" && p.LinkedinURL == "",
	})
	if err != nil || refused {
		return skipped, err
	}
	account := k.rec.private.Account
	if account.Valid && !k.run.tam.crm.Accounts.Table.Has(k.tx, account.UUID) { // deleted after its company was imported
		account = uuid.NullUUID{}
	}
	if found {
		return reused, k.updateContact(id, r, account)
	}
	if k.isBeyondMax(r) || !k.mayCreate(r) {
		return skipped, nil
	}
	c := crm.Contact{Source: crm.SourceTAMImport, Origin: crm.Origin{SourceID: r.source}}
	fillContact(&c, p, account)
	c.Tags = k.contactTags
	_, err = k.run.tam.crm.Contacts.Insert(k.tx, c)
	return created, err
}

func (k *importTx) updateContact(id uuid.UUID, r *importRow, account uuid.NullUUID) error {
	old, err := k.run.tam.crm.Contacts.Get(k.tx, id)
	if err != nil {
		return err
	}
	c := old.Record
	fillContact(&c, r.person, account)
	if k.run.request.TagExistingContacts {
		c.Tags = addTags(c.Tags, k.contactTags)
	}
	c.Origin.SourceID = cmp.Or(c.Origin.SourceID, r.source)
	return updateRecord(k.tx, k.run.tam.crm.Contacts, old, c, c.Origin != old.Record.Origin)
}
