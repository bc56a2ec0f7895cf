package planner

import "time"

// LedgerState is the content of a Ledger in a form that can be stored.
type LedgerState struct {
	Last   time.Time // when the last message was sent
	Capped time.Time // messages due before this time that are not sent yet did not fit into the cap of a day
	Opened time.Time // messages due before this time waited for the sending window to open
	Days   [2]Day
}

// Day is the number of messages sent on a local date. The date counts days from 1970-01-01.
type Day struct{ Date, Sent int }

// State returns the content of the ledger.
func (l *Ledger) State() LedgerState {
	return LedgerState{Last: l.last.time(), Capped: l.capped.time(), Opened: l.opened.time(), Days: l.days}
}

// Restore sets the content of the ledger to that of an earlier ledger of the same sender.
func (l *Ledger) Restore(s LedgerState) {
	l.last, l.capped, l.opened, l.days = instantOf(s.Last), instantOf(s.Capped), instantOf(s.Opened), s.Days
	l.sent(l.last, 0) // the cap may have been lowered since
}
