package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// EnrollBody names contacts who are to go through a campaign, and the audience that they become.
type EnrollBody struct {
	AudienceName string    `json:"audience_name" rule:"required,maxlen=255" doc:"A new audience is made under this name, which no other may have."`
	ContactIDs   shape.IDs `json:"contact_ids" rule:"required,maxlen=10000"`
}

// Enrolled is what became of an enrollment.
type Enrolled struct {
	SuccessCount   int             `json:"success_count"`
	FailureCount   int             `json:"failure_count"`
	FailureReasons []FailureReason `json:"failure_reasons"`
}

// FailureReason is why some contacts were not enrolled.
type FailureReason struct {
	Code        Refusal `json:"code" rule:"enum=contact_not_found|contact_opted_out|contact_suppressed"`
	Description string  `json:"description"`
	Count       int     `json:"count"`
}

// Enroll makes an audience of contacts and attaches it to a campaign that is active or paused. Those who cannot be written to are
// left out of it.
func (o *Outreach) Enroll(tx *store.Tx, campaign uuid.UUID, d record.Draft[EnrollBody]) (Enrolled, error) {
	done := Enrolled{FailureReasons: []FailureReason{}}
	body, p := d.Open()
	crm.CheckName("audience_name", body.AudienceName, &p)
	doc, err := o.Campaigns.Get(tx, campaign)
	if err != nil {
		return done, err
	}
	if err := p.Err(); err != nil {
		return done, err
	}
	if !doc.Record.goesOn() {
		return done, notEnrollable(&doc.Record)
	}
	if other, taken := o.Audiences.Table.Find(tx, byName, nameKey(body.AudienceName)); taken {
		return done, nameTaken("audience_name", body.AudienceName, other)
	}
	ids := slices.SortedFunc(slices.Values(body.ContactIDs), store.CompareIDs)
	contacts := o.crm.Recipients(tx)
	enrolled, refused := ids[:0], map[Refusal]int{}
	for _, id := range ids {
		email, optedOut, found, err := contacts.Reach(id)
		if err != nil {
			return done, err
		}
		why := ContactNotFound
		if found {
			why = o.refusal(tx, email, optedOut)
		}
		if why == "" {
			enrolled = append(enrolled, id)
		} else {
			refused[why]++
		}
	}
	for _, why := range refusals {
		if n := refused[why]; n > 0 {
			done.FailureCount += n
			done.FailureReasons = append(done.FailureReasons, FailureReason{why, why.description(), n})
		}
	}
	done.SuccessCount = len(enrolled)
	return done, o.enrol(tx, doc, body.AudienceName, enrolled)
}

// enrol makes the audience and attaches it.
func (o *Outreach) enrol(tx *store.Tx, doc store.Doc[Campaign], name string, contacts []uuid.UUID) error {
	audience, err := o.Audiences.Insert(tx, Audience{Name: name, Type: "static", Status: AudienceActive, ContactCount: len(contacts)})
	if err != nil {
		return err
	}
	if _, err := o.members.Add(tx, audience.ID, contacts); err != nil {
		return err
	}
	rec := doc.Record
	if err := o.attach(tx, &rec, audience.ID); err != nil {
		return err
	}
	_, err = o.Campaigns.Replace(tx, doc, rec)
	return err
}
