package outreach

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// AudienceStatus is whether an audience is in use.
type AudienceStatus string

const (
	AudienceActive   AudienceStatus = "active"
	AudienceArchived AudienceStatus = "archived" // takes no contacts and cannot be attached
)

// The types of audiences.
const (
	staticAudience  = "static"  // contacts are added and removed one by one
	dynamicAudience = "dynamic" // all contacts that match its filters
)

// Audience is a named set of contacts.
type Audience struct {
	record.Head
	Name         string         `json:"name" rule:"required,maxlen=255,line"`
	Type         string         `json:"type" rule:"fixed,default=static,enum=static|dynamic" doc:"The contacts of a dynamic audience are all that match its filters. The type cannot be changed."`
	Filters      shape.Value    `json:"filters" rule:"component=Filters" doc:"Which contacts belong to a dynamic audience, as in a list of contacts. An empty list means all of them."`
	Search       shape.Text     `json:"search" doc:"Words that the contacts of a dynamic audience have, as in a list of contacts."`
	Status       AudienceStatus `json:"status" rule:"updateonly,default=active,enum=active|archived" doc:"An archived audience takes no contacts and cannot be attached to a campaign."`
	ContactCount int            `json:"contact_count" rule:"readonly"`

	// ContactIDs are the contacts that a new audience starts with.
	ContactIDs shape.IDs `json:"-" input:"contact_ids" rule:"ref=contacts,maxlen=10000"`
}

func (o *Outreach) audienceRules() record.Rules[Audience] {
	return record.Rules[Audience]{
		Object: "audience", Entity: "audiences", Example: audienceExample,
		History: record.HistoryRules{KeepsValues: true, IsMinor: isRecount},
		Unique: []store.Unique[Audience]{{
			Name:  byName,
			Of:    func(a *Audience) []byte { return nameKey(a.Name) },
			Taken: func(a *Audience, _ []byte, other uuid.UUID) error { return nameTaken("name", a.Name, other) },
		}},
		Keys: []store.Key[Audience]{store.TextKey(byDynamic, func(a *Audience) string {
			if !a.isLive() {
				return ""
			}
			return dynamicAudience
		})},
		Check: func(tx *store.Tx, before, a *Audience, p *fault.Problems) error {
			crm.CheckName("name", a.Name, p)
			if before == nil {
				a.ContactCount = len(a.ContactIDs)
			}
			return o.checkFilters(tx, before, a, p)
		},
		CheckReference: func(a *Audience, _ string) string {
			if a.Status == AudienceArchived {
				return "the audience is archived"
			}
			return ""
		},
		AfterChange: func(tx *store.Tx, before, after *Audience) error {
			if before == nil || after == nil {
				return nil
			}
			if after.isLive() && (!before.isLive() || !sameFilters(before, after)) {
				if err := o.enqueueRefresh(tx, after.ID); err != nil {
					return err
				}
			}
			if before.Name == after.Name {
				return nil
			}
			return o.updateAudienceName(tx, after)
		},
		MayDelete: func(tx *store.Tx, a *Audience) error {
			campaigns, err := o.CampaignsWithAudience(tx, a.ID, 1)
			if err != nil {
				return err
			}
			if len(campaigns) > 0 {
				return fault.Taken(fault.InUse, "audiences", campaigns[0].String(), "a campaign uses this audience")
			}
			return nil
		},
		Trash: &record.TrashRules[Audience]{
			BeforeRestore: o.reviveAudience,
			AfterRestore: func(tx *store.Tx, a *Audience, _ []uuid.UUID) error {
				if !a.isLive() {
					return nil
				}
				return o.enqueueRefresh(tx, a.ID)
			},
		},
		Forget: func(tx *store.Tx, id uuid.UUID) error {
			// A damaged audience can be deleted while a campaign uses it. The campaign goes on with its members.
			if campaigns, err := o.CampaignsWithAudience(tx, id, 1); err != nil || len(campaigns) > 0 {
				return err
			}
			return o.startDroppingMembers(tx, id)
		},
	}
}

// byName is the unique key of audiences.
const byName = "name"

func nameKey(name string) []byte { return []byte(crm.FoldName(name)) }

func nameTaken(path, name string, other uuid.UUID) error {
	return fault.Taken(fault.AudienceNameTaken, path, other.String(),
		"%s is the name of another audience", shape.Quote(name))
}

// CreateAudience creates an audience with its first contacts.
func (o *Outreach) CreateAudience(tx *store.Tx, d record.Draft[Audience]) (store.Doc[Audience], error) {
	doc, err := o.Audiences.Create(tx, d)
	if err != nil {
		return doc, err
	}
	if doc.Record.isLive() {
		return doc, o.enqueueRefresh(tx, doc.ID)
	}
	_, err = o.members.Add(tx, doc.ID, doc.Record.ContactIDs)
	return doc, err
}

// Members returns the stored contacts of an audience, ordered by id. It fails with not_found if the
// audience does not exist.
func (o *Outreach) Members(tx *store.Tx, audience uuid.UUID) ([]uuid.UUID, error) {
	if !o.Audiences.Table.Has(tx, audience) {
		return nil, fault.ErrNotFound
	}
	return o.members.All(tx, audience)
}

// AudiencesOf returns the audiences that a contact belongs to.
func (o *Outreach) AudiencesOf(tx *store.Tx, contact uuid.UUID) ([]uuid.UUID, error) {
	return o.members.Owners(tx, contact)
}

// Added is the result of adding contacts to an audience.
type Added struct {
	AudienceID uuid.UUID        `json:"audience_id"`
	Added      int              `json:"added" doc:"The number of contacts that were not in the audience before."`
	Failures   []ContactFailure `json:"failures"`
}

// Removed is the result of removing contacts from an audience.
type Removed struct {
	AudienceID uuid.UUID        `json:"audience_id"`
	Failures   []ContactFailure `json:"failures"`
}

// ContactFailure is why a contact was not added or removed.
type ContactFailure struct {
	ContactID   uuid.UUID `json:"contact_id"`
	Code        Refusal   `json:"code" rule:"enum=contact_not_found"`
	Description string    `json:"description"`
}

// AddContacts adds contacts to an audience. Contacts that opted out or are suppressed are added
// too, because that is checked when something is sent. Contacts that do not exist are reported as
// failures. An archived audience is refused with audience_archived.
func (o *Outreach) AddContacts(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID) (Added, error) {
	result := Added{AudienceID: audience, Failures: []ContactFailure{}}
	doc, err := o.Audiences.Get(tx, audience)
	if err != nil {
		return result, err
	}
	if err := doc.Record.mustBeStatic(); err != nil {
		return result, err
	}
	if doc.Record.Status == AudienceArchived {
		return result, fault.New(fault.AudienceArchived, "the audience is archived: activate it before you add contacts")
	}
	known := make([]uuid.UUID, 0, len(contacts))
	for _, id := range contacts {
		if o.crm.Contacts.Table.Has(tx, id) {
			known = append(known, id)
		} else {
			result.Failures = append(result.Failures, ContactFailure{id, ContactNotFound, ContactNotFound.Description()})
		}
	}
	added, err := o.members.Add(tx, audience, known)
	if err != nil {
		return result, err
	}
	result.Added = len(added)
	if err := o.updateCount(tx, doc, len(added)); err != nil {
		return result, err
	}
	return result, o.contactsAdded(tx, audience, added, Joining{Named: true})
}

// contactsAdded tells the engine if the audience is attached to a campaign.
func (o *Outreach) contactsAdded(tx *store.Tx, audience uuid.UUID, added []uuid.UUID, why Joining) error {
	if len(added) == 0 {
		return nil
	}
	campaigns, err := o.CampaignsWithAudience(tx, audience, 1)
	if err != nil || len(campaigns) == 0 {
		return err
	}
	return o.engine.ContactsAdded(tx, audience, added, why)
}

// AddFound adds contacts that a search found. Unlike AddContacts, it ignores those that were
// deleted since.
func (o *Outreach) AddFound(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID) (Added, error) {
	result, err := o.AddContacts(tx, audience, contacts)
	result.Failures = []ContactFailure{}
	return result, err
}

// RemoveContacts removes contacts from an audience. Contacts that are not in it are ignored.
func (o *Outreach) RemoveContacts(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID) (Removed, error) {
	result := Removed{AudienceID: audience, Failures: []ContactFailure{}}
	doc, err := o.Audiences.Get(tx, audience)
	if err != nil {
		return result, err
	}
	if err := doc.Record.mustBeStatic(); err != nil {
		return result, err
	}
	removed, err := o.members.Remove(tx, audience, contacts)
	if err != nil {
		return result, err
	}
	if err := o.updateCount(tx, doc, -len(removed)); err != nil {
		return result, err
	}
	return result, o.engine.ContactsRemoved(tx, removed)
}

// updateCount changes contact_count, as a change that the caller made to the audience.
func (o *Outreach) updateCount(tx *store.Tx, doc store.Doc[Audience], by int) error {
	rec := doc.Record
	rec.ContactCount += by
	_, err := o.Audiences.Replace(tx, doc, rec)
	return err
}

// verifyMembers checks the contacts of audiences, and reports audiences that do not have as many as they count. In an Update it
// corrects the count. It leaves out that of dynamic audiences, which is ahead while their contacts are compared with their filters.
func (o *Outreach) verifyMembers(tx *store.Tx, report store.Report) error {
	if err := o.members.Verify(tx, report); err != nil {
		return err
	}
	return o.Audiences.Table.Scan(tx, func(doc store.Doc[Audience]) (bool, error) {
		if doc.Record.isLive() {
			return true, nil
		}
		return true, o.correctCount(tx, doc, report)
	})
}

// Restored corrects the contacts or the count of an audience that was restored from a backup, or that has lost contacts.
func (o *Outreach) Restored(tx *store.Tx, id uuid.UUID) error {
	doc, err := o.Audiences.Get(tx, id)
	switch {
	case err != nil:
		return ignoreNotFound(err)
	case doc.Record.isLive():
		return o.enqueueRefresh(tx, id)
	}
	return o.recount(tx, doc)
}

// correctCount reports a wrong count of contacts and, in an Update, corrects it. It does nothing if the contacts cannot
// be read.
func (o *Outreach) correctCount(tx *store.Tx, doc store.Doc[Audience], report store.Report) error {
	n, err := o.members.Count(tx, doc.ID)
	if count := doc.Record.ContactCount; err == nil && n != count {
		report(tx.Writable(), "audiences %s: contact_count is %d, but the audience has %d contacts", doc.ID, count, n)
	}
	if err != nil || !tx.Writable() {
		return store.ExceptDamaged(err)
	}
	return o.changeCount(tx, doc, n-doc.Record.ContactCount)
}

// changeCount changes contact_count. Nobody changed the audience itself, so it keeps its version.
func (o *Outreach) changeCount(tx *store.Tx, doc store.Doc[Audience], by int) error {
	if by == 0 {
		return nil
	}
	rec := doc.Record
	rec.ContactCount += by
	return o.Audiences.Table.Touch(tx, doc, rec, []string{"contact_count"})
}

// ForgetContact removes a deleted contact from its audiences. Nobody changed the audiences
// themselves, so they keep their versions.
func (o *Outreach) ForgetContact(tx *store.Tx, contact uuid.UUID) error {
	audiences, err := o.members.Owners(tx, contact)
	if err != nil {
		return err
	}
	for _, id := range audiences {
		if _, err := o.members.Remove(tx, id, []uuid.UUID{contact}); err != nil {
			return err
		}
		doc, err := o.Audiences.Get(tx, id)
		if store.IsGone(err) { // it is in the trash, or its members are still being dropped
			continue
		}
		if err != nil {
			return err
		}
		if err := o.changeCount(tx, doc, -1); err != nil {
			return err
		}
	}
	return nil
}

// RejoinContact adds a restored contact to the audiences that it belonged to, as far as they exist. The
// audiences keep their versions, as in ForgetContact. If the contact does not match the filters of a dynamic
// audience any more, Finish removes it again. Nobody is written to because of this: where the contact has no sequence
// yet, it awaits confirmation.
func (o *Outreach) RejoinContact(tx *store.Tx, contact uuid.UUID, audiences []uuid.UUID) error {
	o.rejoining.Set(tx, true)
	for _, id := range audiences {
		doc, err := o.Audiences.Get(tx, id)
		if fault.CodeOf(err) == fault.NotFound {
			if err := o.changeTrashed(tx, id, contact, o.members.Add); err != nil {
				return err
			}
			continue
		}
		isDamaged := store.IsDamagedRecord(err)
		if err != nil && !isDamaged {
			return err
		}
		added, err := o.members.Add(tx, id, []uuid.UUID{contact})
		if err != nil {
			return err
		}
		if len(added) == 0 || isDamaged {
			continue
		}
		if err := o.changeCount(tx, doc, 1); err != nil {
			return err
		}
		if err := o.contactsAdded(tx, id, added, Joining{Ask: true}); err != nil {
			return err
		}
	}
	return nil
}

// MoveMember replaces a contact that was merged into another by the other, in all of its audiences.
func (o *Outreach) MoveMember(tx *store.Tx, contact, into uuid.UUID) error {
	audiences, err := o.members.Owners(tx, contact)
	if err != nil {
		return err
	}
	if err := o.ForgetContact(tx, contact); err != nil {
		return err
	}
	return o.RejoinContact(tx, into, audiences)
}

// dropMembersJob is the kind of job that drops the members of a deleted audience.
const dropMembersJob = "audience.drop"

const (
	// maxDroppedMembers is how many members are dropped in one transaction, so other writers do
	// not wait noticeably.
	maxDroppedMembers = 5_000
	// maxDroppedAtOnce is how many members an audience loses in the transaction that deletes it for good, perhaps with many
	// others.
	maxDroppedAtOnce = 500
)

// startDroppingMembers drops the members of a deleted audience. A job drops what does not fit into
// this transaction.
func (o *Outreach) startDroppingMembers(tx *store.Tx, audience uuid.UUID) error {
	more, err := o.members.Drop(tx, audience, maxDroppedAtOnce)
	if err == nil && more {
		_, err = tx.Enqueue(dropMembersJob, tx.Now(), audience)
	}
	return err
}

func (o *Outreach) runDropMembersJob(ctx context.Context, job store.Job) error {
	var audience uuid.UUID
	if err := json.Unmarshal(job.Payload, &audience); err != nil {
		return err
	}
	for more := true; more; {
		actor := store.Actor{Operation: "delete_audience"}
		err := o.store.Update(ctx, job.Org, actor, func(tx *store.Tx) (err error) {
			if more, err = o.members.Drop(tx, audience, maxDroppedMembers); err == nil && !more {
				err = tx.Done(job.ID)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// LeaveAudiences removes a contact from static audiences that a merge had added it to. The audiences keep their
// versions, as in ForgetContact.
func (o *Outreach) LeaveAudiences(tx *store.Tx, contact uuid.UUID, audiences []uuid.UUID) error {
	for _, id := range audiences {
		doc, err := o.Audiences.Get(tx, id)
		if fault.CodeOf(err) == fault.NotFound {
			if err := o.changeTrashed(tx, id, contact, o.members.Remove); err != nil {
				return err
			}
			continue
		}
		if store.IsDamagedRecord(err) || err == nil && doc.Record.isLive() {
			continue
		}
		if err != nil {
			return err
		}
		removed, err := o.members.Remove(tx, id, []uuid.UUID{contact})
		if err != nil {
			return err
		}
		if len(removed) == 0 {
			continue
		}
		if err := o.changeCount(tx, doc, -1); err != nil {
			return err
		}
		if err := o.engine.ContactsRemoved(tx, removed); err != nil {
			return err
		}
	}
	return nil
}
