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
	AudienceArchived AudienceStatus = "archived" // it takes no contacts and cannot be attached
)

// Audience is a named set of contacts.
type Audience struct {
	record.Head
	Name         string         `json:"name" rule:"required,maxlen=255"`
	Type         string         `json:"type" rule:"readonly,default=static,enum=static"`
	Status       AudienceStatus `json:"status" rule:"updateonly,default=active,enum=active|archived" doc:"An archived audience takes no contacts and cannot be attached to a campaign."`
	ContactCount int            `json:"contact_count" rule:"readonly"`

	// ContactIDs are whom a new audience begins with.
	ContactIDs shape.IDs `json:"-" input:"contact_ids" rule:"ref=contacts,maxlen=10000"`
}

func (o *Outreach) audienceRules() record.Rules[Audience] {
	return record.Rules[Audience]{
		Object: "audience", Entity: "audiences", Example: audienceExample,
		Unique: []store.Unique[Audience]{{
			Name:  byName,
			Of:    func(a *Audience) []byte { return nameKey(a.Name) },
			Taken: func(a *Audience, other uuid.UUID) error { return nameTaken("name", a.Name, other) },
		}},
		Check: func(_ *store.Tx, before, a *Audience, p *fault.Problems) error {
			crm.CheckName("name", a.Name, p)
			if before == nil {
				a.ContactCount = len(a.ContactIDs)
			}
			return nil
		},
		CheckReference: func(a *Audience, _ string) string {
			if a.Status == AudienceArchived {
				return "names an archived audience"
			}
			return ""
		},
		AfterUpdate: func(tx *store.Tx, before, after *Audience) error {
			if before.Name == after.Name {
				return nil
			}
			return o.renameAudience(tx, after)
		},
		MayDelete: func(tx *store.Tx, a *Audience) error {
			campaigns, err := o.Campaigns.Table.IDs(tx, byAudience, a.ID[:], 1)
			if err != nil {
				return err
			}
			if len(campaigns) > 0 {
				return fault.Taken(fault.InUse, "audiences", campaigns[0].String(), "of a campaign names it")
			}
			return nil
		},
		AfterDelete: func(tx *store.Tx, a *Audience) error { return o.drop(tx, a.ID) },
	}
}

// byName is the unique key of audiences.
const byName = "name"

func nameKey(name string) []byte { return []byte(crm.FoldName(name)) }

func nameTaken(path, name string, other uuid.UUID) error {
	return fault.Taken(fault.AudienceNameTaken, path, other.String(), "%q is the name of another audience", name)
}

// CreateAudience makes an audience with the contacts that it begins with.
func (o *Outreach) CreateAudience(tx *store.Tx, d record.Draft[Audience]) (store.Doc[Audience], error) {
	doc, err := o.Audiences.Create(tx, d)
	if err == nil {
		_, err = o.members.Add(tx, doc.ID, doc.Record.ContactIDs)
	}
	return doc, err
}

// Members gives the contacts of an audience, in the order of their ids.
func (o *Outreach) Members(tx *store.Tx, audience uuid.UUID) ([]uuid.UUID, error) {
	if !o.Audiences.Table.Has(tx, audience) {
		return nil, fault.ErrNotFound
	}
	return o.members.All(tx, audience)
}

// Added is what became of an addition to an audience.
type Added struct {
	AudienceID uuid.UUID        `json:"audience_id"`
	Added      int              `json:"added" doc:"How many were not in it before."`
	Failures   []ContactFailure `json:"failures"`
}

// Removed is what became of a removal from an audience.
type Removed struct {
	AudienceID uuid.UUID        `json:"audience_id"`
	Failures   []ContactFailure `json:"failures"`
}

// ContactFailure says why a contact was passed over.
type ContactFailure struct {
	ContactID   uuid.UUID `json:"contact_id"`
	Code        Refusal   `json:"code" rule:"enum=contact_not_found"`
	Description string    `json:"description"`
}

// AddContacts puts contacts into an audience, whoever they are: who may be written to is decided when something is sent. Those that
// do not exist are failures.
func (o *Outreach) AddContacts(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID) (Added, error) {
	done := Added{AudienceID: audience, Failures: []ContactFailure{}}
	doc, err := o.Audiences.Get(tx, audience)
	if err != nil {
		return done, err
	}
	if doc.Record.Status == AudienceArchived {
		return done, fault.New(fault.AudienceArchived, "the audience is archived and takes no contacts")
	}
	known := make([]uuid.UUID, 0, len(contacts))
	for _, id := range contacts {
		if o.crm.Contacts.Table.Has(tx, id) {
			known = append(known, id)
		} else {
			done.Failures = append(done.Failures, ContactFailure{id, ContactNotFound, ContactNotFound.description()})
		}
	}
	added, err := o.members.Add(tx, audience, known)
	if err != nil {
		return done, err
	}
	done.Added = len(added)
	if err := o.recount(tx, doc, len(added)); err != nil {
		return done, err
	}
	return done, o.joined(tx, audience, added)
}

// AddFound puts contacts into an audience that were found and not named: those that are gone since are no failures.
func (o *Outreach) AddFound(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID) (Added, error) {
	done, err := o.AddContacts(tx, audience, contacts)
	done.Failures = []ContactFailure{}
	return done, err
}

// RemoveContacts takes contacts out of an audience; those that are not in it are ignored.
func (o *Outreach) RemoveContacts(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID) (Removed, error) {
	done := Removed{AudienceID: audience, Failures: []ContactFailure{}}
	doc, err := o.Audiences.Get(tx, audience)
	if err != nil {
		return done, err
	}
	removed, err := o.members.Remove(tx, audience, contacts)
	if err != nil {
		return done, err
	}
	if err := o.recount(tx, doc, -len(removed)); err != nil {
		return done, err
	}
	return done, o.recheckContacts(tx, removed)
}

// recount changes the count of an audience that the caller has named: it is a change of the audience.
func (o *Outreach) recount(tx *store.Tx, doc store.Doc[Audience], by int) error {
	rec := doc.Record
	rec.ContactCount += by
	_, err := o.Audiences.Replace(tx, doc, rec)
	return err
}

// ContactDeleted stops the sequences of a contact that goes, and takes it out of its audiences, which is no change that anybody made
// to them.
func (o *Outreach) ContactDeleted(tx *store.Tx, contact uuid.UUID) error {
	if err := o.stopContact(tx, contact, StopContactDeleted); err != nil {
		return err
	}
	audiences, err := o.members.Owners(tx, contact)
	if err != nil {
		return err
	}
	for _, id := range audiences {
		if _, err := o.members.Remove(tx, id, []uuid.UUID{contact}); err != nil {
			return err
		}
		doc, err := o.Audiences.Get(tx, id)
		if fault.CodeOf(err) == fault.NotFound { // its members are being dropped
			continue
		}
		if err != nil {
			return err
		}
		rec := doc.Record
		rec.ContactCount--
		if err := o.Audiences.Table.Touch(tx, doc, rec, []string{"contact_count"}); err != nil {
			return err
		}
	}
	return nil
}

// dropJob is the kind of the job that clears the members of an audience that is gone.
const dropJob = "audience.drop"

// dropMost is how many members go in one transaction: more would keep other writers waiting for longer than they notice.
const dropMost = 5_000

// drop clears the members of an audience that goes: here when they are few, else in a job.
func (o *Outreach) drop(tx *store.Tx, audience uuid.UUID) error {
	more, err := o.members.Drop(tx, audience, dropMost)
	if err == nil && more {
		_, err = tx.Enqueue(dropJob, tx.Now(), audience)
	}
	return err
}

func (o *Outreach) dropMembers(ctx context.Context, job store.Job) error {
	var audience uuid.UUID
	if err := json.Unmarshal(job.Payload, &audience); err != nil {
		return err
	}
	for more := true; more; {
		err := o.store.Update(ctx, job.Org, store.Actor{Operation: "delete_audience"}, func(tx *store.Tx) (err error) {
			if more, err = o.members.Drop(tx, audience, dropMost); err == nil && !more {
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
