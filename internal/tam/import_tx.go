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

// importRow is a selected member on its way to be a record: a company, or a person of the company before it.
type importRow struct {
	source   string
	existing bool // as the Preview has it
	company  *catalog.Company
	person   *catalog.Person
	answer   shape.Value // of research, about the company
}

func newImportRow(person bool, stored []byte) (importRow, error) {
	text := append(slices.Clone(stored[1:]), '}')
	if person {
		m, err := memberOf[catalog.Person](text)
		return importRow{source: m.SourceID, existing: m.Existing, person: &m.Data}, err
	}
	m, err := memberOf[catalog.Company](text)
	r := importRow{source: m.SourceID, existing: m.Existing, company: &m.Data}
	if m.Qualification != nil {
		r.answer = m.Qualification.Answer
	}
	return r, err
}

// storedMember is what an Import needs to know of a member.
type storedMember[T any] struct {
	SourceID      string `json:"source_id"`
	Existing      bool   `json:"existing"`
	Data          T      `json:"data"`
	Qualification *struct {
		Answer shape.Value `json:"answer"`
	} `json:"qualification"`
}

func memberOf[T any](text []byte) (m storedMember[T], err error) {
	err = json.Unmarshal(text, &m)
	return m, err
}

// outcome is what becomes of a member.
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

// importTx is members being taken over, in their transaction.
type importTx struct {
	run    *importRun
	tx     *store.Tx
	rec    *Import
	limits identity.Limits
	used   amount // of the month
	// What of the request is still there.
	accountTags, contactTags shape.IDs
	customs                  *shape.Customs
	field                    *shape.CustomField // that the answers go into
}

// take takes members over, and counts them.
func (m *importRun) take(tx *store.Tx, rec *Import, rows []importRow) error {
	k := &importTx{run: m, tx: tx, rec: rec}
	if err := k.begin(); err != nil {
		return err
	}
	for i := range rows {
		if err := k.row(&rows[i]); err != nil {
			return err
		}
	}
	return m.tam.use(tx, rec.CreatedAt.Std(), k.used)
}

// begin reads what may have changed since the members before.
func (k *importTx) begin() error {
	org, err := k.run.tam.organization(k.tx)
	if err != nil {
		return err
	}
	k.limits = org.Limits
	if k.used, err = k.run.tam.usedIn(k.tx, k.rec.CreatedAt.Std()); err != nil {
		return err
	}
	isGone := func(tag uuid.UUID) bool { return !k.run.tam.crm.Tags.Table.Has(k.tx, tag) }
	k.accountTags = slices.DeleteFunc(slices.Clone(k.run.request.TagIDs), isGone)
	k.contactTags = slices.DeleteFunc(slices.Clone(k.run.request.ContactTagIDs), isGone)
	if k.run.signal == nil {
		return nil
	}
	if field, err := k.run.tam.crm.Fields.Get(k.tx, k.run.signal.ID); err != nil || field.Record.AI == nil { // it is gone, or the user's own by now
		if fault.CodeOf(err) == fault.NotFound {
			err = nil
		}
		return err
	}
	customs, err := k.run.tam.crm.Accounts.List.Customs(k.tx)
	if err != nil {
		return err
	}
	k.customs = customs.Customs
	if at := slices.IndexFunc(k.customs.Fields, func(f shape.CustomField) bool { return f.ID == k.run.signal.ID }); at >= 0 {
		k.field = &k.customs.Fields[at]
	}
	return nil
}

// row takes a member over. The month was told of each that the Preview had as new: one that is none after all is given back.
func (k *importTx) row(r *importRow) error {
	person := r.person != nil
	become := k.company
	if person {
		become = k.contact
	}
	o, err := become(r)
	if err != nil {
		return err
	}
	k.rec.counts(person).add(o)
	if !r.existing {
		*k.rec.kept.Reserved.of(person)--
	}
	switch used := k.used.of(person); {
	case r.existing && o == created:
		*used++
	case !r.existing && o != created:
		*used--
	}
	return nil
}

// mayCreate tells whether the balance has room for a member: it was reserved, unless the Preview had it as existing.
func (k *importTx) mayCreate(r *importRow) bool {
	limit := k.limits.AccountsPerMonth
	if r.person != nil {
		limit = k.limits.ContactsPerMonth
	}
	return !r.existing || !limit.Valid || float64(*k.used.of(r.person != nil)) < limit.Float
}

func (k *importTx) company(r *importRow) (outcome, error) {
	website := string(r.company.Website)
	k.rec.kept.Account, k.rec.kept.Suppressed = uuid.NullUUID{}, k.run.tam.crm.IsDomainSuppressed(k.tx, website)
	if k.rec.kept.Suppressed {
		return skipped, nil
	}
	id, found, err := k.run.tam.accountOf(k.tx, r.source, website)
	if err != nil || !found && !k.mayCreate(r) {
		return skipped, err
	}
	if found {
		err = k.reuseAccount(id, r)
	} else {
		id, err = k.createAccount(r)
	}
	k.rec.kept.Account = uuid.NullUUID{UUID: id, Valid: true}
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

func (k *importTx) reuseAccount(id uuid.UUID, r *importRow) error {
	old, err := k.run.tam.crm.Accounts.Get(k.tx, id)
	if err != nil {
		return err
	}
	a := old.Record
	fillAccount(&a, r.company)
	if k.run.request.TagExistingAccounts {
		a.Tags = withTags(a.Tags, k.accountTags)
	}
	k.writeAnswer(&a, r.answer)
	a.Origin.SourceID = cmp.Or(a.Origin.SourceID, r.source)
	return replace(k.tx, k.run.tam.crm.Accounts, old, a, a.Origin != old.Record.Origin)
}

// writeAnswer writes an answer of research into its field, whatever that held. One that the field does not take, since it was
// changed or is gone, is left out.
func (k *importTx) writeAnswer(a *crm.Account, answer shape.Value) {
	if k.field == nil || answer.Kind == shape.Absent {
		return
	}
	var refused fault.Problems
	custom := a.Custom
	shape.DecodeCustom(shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: k.field.Key, Value: answer}}}, &custom, k.customs, &refused)
	if custom[k.field.Key] != nil && refused.Count() == 0 {
		a.Custom = custom
	}
}

func (k *importTx) contact(r *importRow) (outcome, error) {
	if k.rec.kept.Suppressed || k.run.tam.crm.IsSuppressed(k.tx, string(r.person.Email)) {
		return skipped, nil
	}
	account := k.rec.kept.Account
	if account.Valid && !k.run.tam.crm.Accounts.Table.Has(k.tx, account.UUID) { // it was deleted since its company was taken over
		account = uuid.NullUUID{}
	}
	p := r.person
	id, found, err := k.run.tam.contactOf(k.tx, r.source, string(p.Email), string(p.LinkedinURL))
	switch {
	case err != nil:
		return skipped, err
	case found:
		return reused, k.reuseContact(id, r, account)
	}
	c := crm.Contact{Source: crm.SourceTAMImport, Origin: crm.Origin{SourceID: r.source}}
	fillContact(&c, p, account)
	c.Tags = k.contactTags
	if !k.mayCreate(r) {
		return skipped, nil
	}
	_, err = k.run.tam.crm.Contacts.Insert(k.tx, c)
	return created, err
}

func (k *importTx) reuseContact(id uuid.UUID, r *importRow, account uuid.NullUUID) error {
	old, err := k.run.tam.crm.Contacts.Get(k.tx, id)
	if err != nil {
		return err
	}
	c := old.Record
	fillContact(&c, r.person, account)
	if k.run.request.TagExistingContacts {
		c.Tags = withTags(c.Tags, k.contactTags)
	}
	c.Origin.SourceID = cmp.Or(c.Origin.SourceID, r.source)
	return replace(k.tx, k.run.tam.crm.Contacts, old, c, c.Origin != old.Record.Origin)
}
