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
	// Contacts are in the order of the request.
	Contacts []EnrolledContact `json:"contacts" doc:"What became of each contact, in the order of the request."`
}

// EnrolledContact is what became of a contact that was to be enrolled.
type EnrolledContact struct {
	ContactID  uuid.UUID     `json:"contact_id"`
	Outcome    EnrollOutcome `json:"outcome" rule:"enum=started|already_active|already_completed|stopped|not_started|refused" doc:"A sequence that was stopped before stays so until you restart it. One that has not started starts when its reason goes away or, without a reason, when the campaign becomes active."`
	Reason     shape.Text    `json:"reason" doc:"Why the sequence is stopped or has not started, or the code of the refusal."`
	SequenceID uuid.NullUUID `json:"sequence_id" doc:"The sequence that the contact already had in the campaign."`
}

// EnrollOutcome is what became of a contact that was to be enrolled.
type EnrollOutcome string

const (
	EnrollStarted          EnrollOutcome = "started"
	EnrollAlreadyActive    EnrollOutcome = "already_active"
	EnrollAlreadyCompleted EnrollOutcome = "already_completed"
	EnrollStopped          EnrollOutcome = "stopped"
	EnrollNotStarted       EnrollOutcome = "not_started"
	EnrollRefused          EnrollOutcome = "refused"
)

// FailureReason is why some contacts were not enrolled.
type FailureReason struct {
	Code        Refusal `json:"code" rule:"enum=contact_not_found|contact_opted_out|contact_suppressed"`
	Description string  `json:"description"`
	Count       int     `json:"count"`
}

// Enroll creates an audience from contacts and attaches it to a campaign that is active or paused.
// It leaves out the contacts that cannot be written to and reports why. Another status is refused
// with campaign_not_enrollable, a name that is in use with audience_name_taken. The outcomes of those who
// are not refused are left to the caller.
func (o *Outreach) Enroll(tx *store.Tx, campaign uuid.UUID, d record.Draft[EnrollBody]) (Enrolled, error) {
	result := Enrolled{FailureReasons: []FailureReason{}, Contacts: []EnrolledContact{}}
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
		return result, NotEnrollable(&doc.Record)
	}
	if other, taken := o.Audiences.Table.Find(tx, byName, nameKey(body.AudienceName)); taken {
		return result, nameTaken("audience_name", body.AudienceName, other)
	}
	enrolled, refused, err := o.splitRefused(tx, body.ContactIDs)
	if err != nil {
		return result, err
	}
	counts := map[Refusal]int{}
	for _, id := range body.ContactIDs {
		contact := EnrolledContact{ContactID: id}
		if refusal := refused[id]; refusal != "" {
			counts[refusal]++
			contact.Outcome, contact.Reason = EnrollRefused, shape.Text(refusal)
		}
		result.Contacts = append(result.Contacts, contact)
	}
	for _, refusal := range refusals {
		if n := counts[refusal]; n > 0 {
			result.FailureReasons = append(result.FailureReasons, FailureReason{refusal, refusal.Description(), n})
		}
	}
	result.SuccessCount, result.FailureCount = len(enrolled), len(refused)
	return result, o.attachNewAudience(tx, doc, body.AudienceName, enrolled)
}

// splitRefused returns the contacts that can be written to, ordered by id, and the others with their refusals.
func (o *Outreach) splitRefused(
	tx *store.Tx, contacts []uuid.UUID,
) (accepted []uuid.UUID, refused map[uuid.UUID]Refusal, err error) {
	recipients := o.crm.Recipients(tx)
	refused = map[uuid.UUID]Refusal{}
	for _, id := range slices.SortedFunc(slices.Values(contacts), store.CompareIDs) {
		to, found, err := recipients.Reach(id)
		if err != nil {
			return nil, nil, err
		}
		refusal := ContactNotFound
		if found {
			refusal = o.Refusal(tx, to)
		}
		if refusal == "" {
			accepted = append(accepted, id)
		} else {
			refused[id] = refusal
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
