package outreach

import (
	"maps"
	"slices"
	"time"

	"prospector/internal/planner"
	"prospector/internal/shape"
)

// SimulationSummary counts the steps of all simulated contacts that have not ended yet.
type SimulationSummary struct {
	Contacts int             `json:"contacts" doc:"The number of simulated contacts."`
	Sends    int             `json:"sends" doc:"The number of emails that are sent."`
	Tasks    int             `json:"tasks" doc:"The number of Tasks."`
	Skipped  map[string]int  `json:"skipped" doc:"The number of skipped steps by reason: those of a sequence, campaign_ended, missing_value, no_owner, never_due."`
	Held     map[string]int  `json:"held" doc:"The number of held steps by reason: missing_value, waits_for_held_step, or awaiting_confirmation."`
	PerDay   []SimulatedDay  `json:"per_day" doc:"The days on which something happens, in the time zone of the organization. What is overdue happens today."`
	FirstAt  shape.Time      `json:"first_at" doc:"When the first email is sent or Task is due. Null if there is none."`
	LastAt   shape.Time      `json:"last_at" doc:"When the last email is sent or Task is due. Null if there is none."`
	People   SimulatedPeople `json:"people"`
}

// SimulatedPeople counts contacts. One with several such steps counts once.
type SimulatedPeople struct {
	Reached int            `json:"reached" doc:"The number of contacts for whom an email is sent or who have a Task."`
	Sends   int            `json:"sends" doc:"The number of contacts who receive an email."`
	Tasks   int            `json:"tasks" doc:"The number of contacts who have a Task."`
	Skipped map[string]int `json:"skipped" doc:"The number of contacts of whose steps one is skipped, by reason."`
	Held    map[string]int `json:"held" doc:"The number of contacts of whose steps one is held, by reason."`
}

// SimulatedDay counts what happens on a day.
type SimulatedDay struct {
	Date  shape.Date `json:"date"`
	Sends int        `json:"sends"`
	Tasks int        `json:"tasks"`
}

func (d *SimulatedDay) add(action planner.Action) {
	if action == planner.Send {
		d.Sends++
	} else {
		d.Tasks++
	}
}

// skipKeys are the reasons of skipped and held steps that do not depend on the contact.
var skipKeys = map[planner.SkipCause]string{
	planner.ValueMissing: "missing_value", planner.CampaignEnds: "campaign_ended", planner.NeverDue: "never_due",
	planner.BehindHeld: "waits_for_held_step",
}

func (s *simulation) summary() (SimulationSummary, error) {
	sum := SimulationSummary{
		Contacts: len(s.contacts), Skipped: map[string]int{}, Held: map[string]int{}, PerDay: []SimulatedDay{},
		People: SimulatedPeople{Skipped: map[string]int{}, Held: map[string]int{}},
	}
	cal, err := s.Calendar(s.tx)
	if err != nil {
		return sum, err
	}
	days := map[int]SimulatedDay{} // by number
	var first, last time.Time
	for i := range s.contacts {
		c := &s.contacts[i]
		var steps SimulatedDay
		skipped, held := map[string]int{}, map[string]int{}
		for j := range c.plan {
			switch p := &c.plan[j]; {
			case p.Done:
			case p.Action == planner.Skip:
				skipped[c.skipKey(p.Why)]++
			case p.Action == planner.Hold:
				held[c.skipKey(p.Why)]++
			default:
				at := p.At
				if at.Before(s.now) {
					at = s.now
				}
				if first.IsZero() || at.Before(first) {
					first = at
				}
				if at.After(last) {
					last = at
				}
				number := cal.DayNumber(at)
				day := days[number]
				day.add(p.Action)
				days[number] = day
				steps.add(p.Action)
			}
		}
		sum.add(steps, skipped, held)
	}
	for _, number := range slices.Sorted(maps.Keys(days)) {
		day := days[number]
		day.Date = shape.Date(planner.DayText(number))
		sum.PerDay = append(sum.PerDay, day)
	}
	if !first.IsZero() {
		sum.FirstAt, sum.LastAt = shape.At(first), shape.At(last)
	}
	return sum, nil
}

// add adds the steps of a contact.
func (s *SimulationSummary) add(steps SimulatedDay, skipped, held map[string]int) {
	s.Sends += steps.Sends
	s.Tasks += steps.Tasks
	s.People.Sends += min(steps.Sends, 1)
	s.People.Tasks += min(steps.Tasks, 1)
	s.People.Reached += min(steps.Sends+steps.Tasks, 1)
	for reason, n := range skipped {
		s.Skipped[reason] += n
		s.People.Skipped[reason]++
	}
	for reason, n := range held {
		s.Held[reason] += n
		s.People.Held[reason]++
	}
}

// skipKey returns the reason of a skipped or held step.
func (c *simulatedContact) skipKey(why planner.SkipCause) string {
	switch why {
	case planner.SequenceEnded:
		return c.ended.key
	case planner.MailSkipped:
		return c.skipMail.key
	}
	return skipKeys[why]
}
