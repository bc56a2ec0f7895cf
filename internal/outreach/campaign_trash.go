package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// A campaign in the trash keeps its sequences, messages and statistics, which belong to its id. It was a draft or archived,
// and is again what it was when it is restored, so that nothing starts.

// reviveCampaign makes a campaign true again that was in the trash: it has the present names of its template and
// audiences. Audiences that are gone for good are gone from the campaign, too. One that is in the trash must be restored
// first, like the template.
func (o *Outreach) reviveCampaign(tx *store.Tx, c *Campaign, _ bool) error {
	t, err := o.Templates.Get(tx, c.TemplateID.UUID)
	switch {
	case store.IsDamagedRecord(err):
	case err != nil:
		return err
	default:
		c.TemplateName = t.Record.Name
	}
	audiences := []AudienceName{}
	for _, a := range c.Audiences {
		doc, err := o.Audiences.Get(tx, a.ID)
		switch {
		case fault.CodeOf(err) == fault.NotFound && o.Audiences.IsTrashed(tx, a.ID):
			var p fault.Problems
			p.Invalid("audiences", "%s is in the trash; restore it first", shape.Quote(a.Name))
			return p.Err()
		case fault.CodeOf(err) == fault.NotFound:
			continue
		case store.IsDamagedRecord(err):
		case err != nil:
			return err
		default:
			a.Name = doc.Record.Name
		}
		audiences = append(audiences, a)
	}
	c.Audiences = audiences
	o.forgetJobs(tx, c)
	return nil
}

// forgetJobs forgets jobs that have ended while the campaign was in the trash or missing. They have found no campaign.
func (o *Outreach) forgetJobs(tx *store.Tx, c *Campaign) {
	for _, id := range []*uuid.UUID{&c.state.Asking, &c.state.Reopening} {
		if _, err := tx.Job(*id); err != nil {
			*id = uuid.Nil
		}
	}
	c.state.Releasing = false // it has ended, is a draft or is held, so nothing waits for a release
}

// isCampaignMinor reports whether a change of a campaign follows from its sequences or from its template.
func isCampaignMinor(c *store.Change) bool {
	return len(c.Fields) > 0 && !slices.ContainsFunc(c.Fields, func(name string) bool {
		return name != "newcomers" && name != "template_name"
	})
}
