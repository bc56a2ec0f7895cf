package outreach

import (
	"time"

	"prospector/internal/planner"
	"prospector/store"
)

// Calendar returns the business days and sending window of the transaction's organization.
func (o *Outreach) Calendar(tx *store.Tx) (*planner.Calendar, error) { return o.calendars.Of(tx) }

func (o *Outreach) readCalendar(tx *store.Tx) (*planner.Calendar, error) {
	doc, err := o.identity.Organizations.Get(tx, tx.Org())
	if err != nil {
		return nil, err
	}
	org := &doc.Record
	zone, err := time.LoadLocation(org.TimeZone)
	if err != nil {
		return nil, err
	}
	holidays := make([]string, len(org.Holidays))
	for i, h := range org.Holidays {
		holidays[i] = string(h)
	}
	window := org.SendingWindow
	return planner.NewCalendar(zone, org.BusinessDays, holidays, window.FromHour, window.ToHour)
}
