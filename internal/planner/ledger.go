package planner

import (
	"strconv"
	"time"
)

// Ledger is what a sender has sent and may still send: at most so many messages on a local date, with at least so much time
// between two, at open instants. It is used by one goroutine at a time, and for instants that do not go back.
type Ledger struct {
	cal      *Calendar
	cap      int
	gap      time.Duration
	capWords string
	gapWords string
	last     time.Time // of the last message
	// days counts the messages of the last two dates, at their parity: clocks that are put back at midnight show one date again.
	days   [2]tally
	capped time.Time // messages that were due before have waited for the end of a date whose cap was reached
}

type tally struct {
	date date
	sent int
}

// Slot is an instant at which a sender may send a message, and what moved it there.
type Slot struct {
	At     time.Time
	capped time.Time // when the last date ended whose cap was reached
	waited moves
}

type moves uint8

const (
	overdue moves = 1 << iota
	byCap
	byGap
	byWindow
)

// NewLedger is the ledger of a sender who has sent nothing. No cap, or no gap, is 0.
func NewLedger(c *Calendar, cap int, gap time.Duration) *Ledger {
	return &Ledger{cal: c, cap: cap, gap: gap,
		capWords: "; the sender's daily cap of " + strconv.Itoa(cap) + " was reached",
		gapWords: "; " + shortDuration(gap) + " after the sender's message before"}
}

// Sent notes that n messages went out on the local date of at, the last of them then.
func (l *Ledger) Sent(at time.Time, n int) {
	l.last = latest(l.last, at)
	d := l.cal.date(at)
	switch of := &l.days[d&1]; {
	case of.date == d:
		of.sent += n
	case of.date < d || of.sent == 0:
		*of = tally{date: d, sent: n}
	}
}

// Next is the first slot for a message that is due then, as of an instant before which nothing is sent any more. Whoever sends at
// it says so with Take.
func (l *Ledger) Next(due, now time.Time) Slot {
	s := Slot{At: due}
	if due.Before(now) {
		s.At, s.waited = now, overdue
	}
	if due.Before(l.capped) {
		s.waited |= byCap
	}
	if free := l.last.Add(l.gap); !l.last.IsZero() && free.After(s.At) {
		s.At = free
		if l.gap > 0 {
			s.waited |= byGap
		}
	}
	for {
		open := l.cal.Opening(s.At)
		if !open.Equal(s.At) && s.capped.IsZero() {
			s.waited |= byWindow
		}
		s.At = open
		if l.cap <= 0 {
			return s
		}
		d := l.cal.date(open)
		if of := l.days[d&1]; of.date != d || of.sent < l.cap {
			return s
		}
		s.At = time.Unix(l.cal.span(open.Unix()).leave(d), 0)
		s.capped = s.At
		s.waited = s.waited&^(byGap|byWindow) | byCap
	}
}

// Take notes that a message goes out at a slot.
func (l *Ledger) Take(s Slot) {
	l.capped = latest(l.capped, s.capped)
	l.Sent(s.At, 1)
}

// Reason is what moved a message to its slot, in words that are added to those of its due time: "" for nothing.
func (l *Ledger) Reason(s Slot) string {
	words := ""
	for _, w := range [...]struct {
		move moves
		text string
	}{{overdue, wasOverdue}, {byCap, l.capWords}, {byGap, l.gapWords}, {byWindow, movedToOpening}} {
		if s.waited&w.move != 0 {
			words += w.text
		}
	}
	return words
}
