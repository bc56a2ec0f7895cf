package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// EnrollBody names contacts to enroll in a campaign, and the new audience that they become.
type EnrollBody struct {
	AudienceName string    `json:"audience_name" rule:"required,maxlen=255,line" doc:"The name of the new audience. No other audience can have it."`
	ContactIDs   shape.IDs `json:"contact_ids" rule:"required,maxlen=10000"`
}

// Enrolled is the result of an enrollment.
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

// Enroll creates an audience from contacts and attaches it to a campaign that is active or paused.
// It leaves out the contacts that cannot be written to and reports why. Another status is refused
// with campaign_not_enrollable, a name that is in use with audience_name_taken.
func (o *Outreach) Enroll(tx *store.Tx, campaign uuid.UUID, d record.Draft[EnrollBody]) (Enrolled, error) {
	result := Enrolled{FailureReasons: []FailureReason{}}
	body, p := d.Open()
	crm.CheckName("audience_name", body.AudienceName, &p)
	doc, err := o.Campaigns.Get(tx, campaign)
	if err != nil {
		return result, err
	}
	if err := p.Err(); err != nil {
		return result, err
	}
	if !doc.Record.IsRunning() {
		return result, notEnrollable(&doc.Record)
	}
	if other, taken := o.Audiences.Table.Find(tx, byName, nameKey(body.AudienceName)); taken {
		return result, nameTaken("audience_name", body.AudienceName, other)
	}
	enrolled, refused, err := o.splitRefused(tx, body.ContactIDs)
	if err != nil {
		return result, err
	}
	for _, refusal := range refusals {
		if n := refused[refusal]; n > 0 {
			result.FailureCount += n
			result.FailureReasons = append(result.FailureReasons, FailureReason{refusal, refusal.Description(), n})
		}
	}
	result.SuccessCount = len(enrolled)
	return result, o.attachNewAudience(tx, doc, body.AudienceName, enrolled)
}

// splitRefused returns the contacts that can be written to, ordered by id, and counts the others by
// refusal.
func (o *Outreach) splitRefused(
	tx *store.Tx, contacts []uuid.UUID,
) (accepted []uuid.UUID, refused map[Refusal]int, err error) {
	recipients := o.crm.Recipients(tx)
	refused = map[Refusal]int{}
	for _, id := range slices.SortedFunc(slices.Values(contacts), store.CompareIDs) {
		email, optedOut, found, err := recipients.Reach(id)
		if err != nil {
			return nil, nil, err
		}
		refusal := ContactNotFound
		if found {
			refusal = o.Refusal(tx, email, optedOut)
		}
		if refusal == "" {
			accepted = append(accepted, id)
		} else {
			refused[refusal]++
		}
	}
	return accepted, refused, nil
}

// attachNewAudience creates an audience and attaches it to a campaign.
func (o *Outreach) attachNewAudience(
	tx *store.Tx, doc store.Doc[Campaign], name string, contacts []uuid.UUID,
) error {
	audience, err := o.Audiences.Insert(tx, Audience{
		Name: name, Type: "static", Status: AudienceActive, ContactCount: len(contacts),
	})
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
