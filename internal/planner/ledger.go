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
	gap      instant // in the same microseconds
	capWords string
	gapWords string
	last     instant // of the last message
	// days counts the messages of the last two dates, at their parity: clocks that are put back at midnight show one date again.
	days   [2]tally
	capped instant // messages that were due before have waited for the end of a date whose cap was reached
	opened instant // messages that were due before have waited for the sending window to open then
	open   stretch // the last one that was found
}

type tally struct {
	date date
	sent int
}

// Slot is an instant at which a sender may send a message, and what moved it there.
type Slot struct {
	At time.Time
	slot
}

type slot struct {
	at     instant
	capped instant // when the last date ended whose cap was reached
	opened instant // when the sending window opened that it waited for
	waited moves
}

type moves uint8

const (
	overdue moves = 1 << iota
	byCap
	byClosing // the sending window was closed meanwhile, as for the messages before it
	byGap
	byWindow
)

// NewLedger is the ledger of a sender who has sent nothing. No cap, or no gap, is 0.
func NewLedger(c *Calendar, cap int, gap time.Duration) *Ledger {
	return &Ledger{cal: c, cap: cap, gap: instant(gap.Microseconds()),
		capWords: "; the sender's daily cap of " + strconv.Itoa(cap) + " was reached",
		gapWords: "; " + shortDuration(gap) + " after the sender's message before"}
}

// Sent notes that n messages went out on the local date of at, the last of them then.
func (l *Ledger) Sent(at time.Time, n int) { l.sent(instantOf(at), n) }

func (l *Ledger) sent(at instant, n int) {
	l.last = max(l.last, at)
	d := l.dateOf(at)
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
	s := l.next(instantOf(due), instantOf(now))
	return Slot{At: s.at.time(), slot: s}
}

func (l *Ledger) next(due, now instant) slot {
	s := slot{at: due}
	if due < now {
		s.at, s.waited = now, overdue
	}
	if due < l.capped {
		s.waited |= byCap
	}
	if s.at < l.opened {
		s.waited |= byClosing
	}
	if free := l.last + l.gap; l.last != 0 && s.at < free {
		s.at = free
		if l.gap > 0 {
			s.waited |= byGap
		}
	}
	for {
		open := l.opening(s.at).enter(s.at)
		if open != s.at && s.capped == 0 {
			s.waited |= byWindow
			s.opened = open
		}
		s.at = open
		if l.cap <= 0 {
			return s
		}
		d := l.open.date
		if of := l.days[d&1]; of.date != d || of.sent < l.cap {
			return s
		}
		s.at = instantAt(l.cal.span(open.unix()).leave(d))
		s.capped = s.at
		s.waited = s.waited&^(byGap|byWindow) | byCap
		s.opened = 0
	}
}

// opening is the first open stretch from a instant on. It is remembered: the next message most often goes out in the same.
func (l *Ledger) opening(m instant) stretch {
	if sec := m.unix(); sec < l.open.start || sec >= l.open.end {
		l.open = l.cal.opening(sec)
	}
	return l.open
}

func (l *Ledger) dateOf(m instant) date {
	if sec := m.unix(); l.open.start <= sec && sec < l.open.end {
		return l.open.date
	}
	return l.cal.dateOf(m)
}

// Take notes that a message goes out at a slot.
func (l *Ledger) Take(s Slot) {
	s.at = instantOf(s.At)
	l.take(s.slot)
}

func (l *Ledger) take(s slot) {
	l.capped, l.opened = max(l.capped, s.capped), max(l.opened, s.opened)
	l.sent(s.at, 1)
}

// Reason is what moved a message to its slot, in words that are added to those of its due time: "" for nothing.
func (l *Ledger) Reason(s Slot) string { return l.words(s.waited) }

func (l *Ledger) words(waited moves) string {
	words := ""
	for _, w := range [...]struct {
		move moves
		text string
	}{{overdue, wasOverdue}, {byCap, l.capWords}, {byClosing, closedBefore}, {byGap, l.gapWords}, {byWindow, movedToOpening}} {
		if waited&w.move != 0 {
			words += w.text
		}
	}
	return words
}
