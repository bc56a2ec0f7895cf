package planner

import "time"

// LedgerState is all that a ledger knows, for whoever keeps it.
type LedgerState struct {
	Last   time.Time // when the last message went
	Capped time.Time // messages that were due before have waited for the end of a date whose cap was reached
	Opened time.Time // messages that were due before have waited for the sending window to open then
	Days   [2]Day
}

// Day is how many messages went on a local date, which is a number.
type Day struct{ Date, Sent int }

// LedgerState gives what the ledger knows.
func (l *Ledger) State() LedgerState {
	s := LedgerState{Last: l.last.time(), Capped: l.capped.time(), Opened: l.opened.time()}
	for i, d := range l.days {
		s.Days[i] = Day{int(d.date), d.sent}
	}
	return s
}

// Resume has a ledger know what another, of the same sender, did.
func (l *Ledger) Restore(s LedgerState) {
	l.last, l.capped, l.opened = instantOf(s.Last), instantOf(s.Capped), instantOf(s.Opened)
	for i, d := range s.Days {
		l.days[i] = tally{date(d.Date), d.Sent}
	}
}
