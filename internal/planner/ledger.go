package planner

import (
	"strconv"
	"time"
)

// Ledger tracks what a sender has sent and computes when it may send next: at most cap messages on
// a local date, at least gap between two, and only while the calendar is open. A Ledger is not safe
// for concurrent use, and times must not go backwards.
type Ledger struct {
	cal       *Calendar
	cap       int
	gap       instant // in microseconds
	capReason string
	gapReason string
	last      instant // time of the last message
	// days counts the messages of the last two dates, indexed by the parity of the date. Two are
	// needed because clocks set back at midnight show a date twice.
	days   [2]Day
	capped instant    // see LedgerState; the end of the last date whose cap was reached
	opened instant    // see LedgerState
	open   openPeriod // the last one found
}

// Slot is a time at which a sender may send a message, and what delayed it.
type Slot struct {
	At time.Time
	slot
}

type slot struct {
	at     instant
	capped instant // end of the date whose cap was reached
	opened instant // opening of the sending window it waited for
	waited delayReasons
}

type delayReasons uint8

const (
	overdue delayReasons = 1 << iota
	byCap
	byClosing // the sending window closed, as for the messages before it
	byGap
	byWindow
)

// NewLedger returns the ledger of a sender who has sent nothing. A cap or gap of 0 means no limit.
func NewLedger(c *Calendar, cap int, gap time.Duration) *Ledger {
	return &Ledger{cal: c, cap: cap, gap: instant(gap.Microseconds()),
		capReason: "; the sender's daily cap of " + strconv.Itoa(cap) + " was reached",
		gapReason: "; " + shortDuration(gap) + " after the sender's previous message"}
}

// Sent records that n messages were sent on the local date of at, the last of them at that time.
func (l *Ledger) Sent(at time.Time, n int) { l.sent(instantOf(at), n) }

func (l *Ledger) sent(at instant, n int) {
	l.last = max(l.last, at)
	l.count(at, n)
}

// Count records a message that was sent without a slot. It counts for the cap of its local date, and not
// for the gap.
func (l *Ledger) Count(at time.Time) { l.count(instantOf(at), 1) }

func (l *Ledger) count(at instant, n int) {
	d := l.dateOf(at)
	switch of, number := &l.days[d&1], int(d); {
	case of.Date == number:
		of.Sent += n
	case of.Date < number || of.Sent == 0:
		*of = Day{number, n}
	}
	if l.isFull(d) {
		l.capped = max(l.capped, instantAt(l.cal.offsetPeriod(at.unix()).endOfDate(d)))
	}
}

// Return gives back a slot of the local date of at, whose message could not be sent.
func (l *Ledger) Return(at time.Time) {
	d := l.dateOf(instantOf(at))
	if of := &l.days[d&1]; of.Date == int(d) && of.Sent > 0 {
		of.Sent--
	}
}

// IsFull reports whether the cap of the local date of a time is reached.
func (l *Ledger) IsFull(at time.Time) bool { return l.isFull(l.dateOf(instantOf(at))) }

// isFull reports whether the cap of a date is reached.
func (l *Ledger) isFull(d date) bool {
	of := l.days[d&1]
	return l.cap > 0 && of.Date == int(d) && of.Sent >= l.cap
}

// Next returns the first slot for a message with that due time, if its step has no own hour. Nothing
// is sent before now. A caller that sends at the slot records it with Take.
func (l *Ledger) Next(due, now time.Time) Slot { return l.NextAtHour(due, now, AnyHour) }

// NextAtHour is Next for a step with an own hour, see Template.Hour. A message that did not fit into
// the cap of a day is sent on the next business day with room, and not before that hour if the hour
// is in the sending window.
func (l *Ledger) NextAtHour(due, now time.Time, hour int) Slot {
	s := l.next(instantOf(due), instantOf(now), hour)
	return Slot{At: s.at.time(), slot: s}
}

func (l *Ledger) next(due, now instant, hour int) slot {
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
		d := l.open.date
		if !l.isFull(d) {
			if due < max(l.capped, s.capped) {
				l.awaitHour(&s, d, hour)
			}
			return s
		}
		s.at = instantAt(l.cal.offsetPeriod(open.unix()).endOfDate(d))
		s.capped = s.at
		s.waited = s.waited&^(byGap|byWindow) | byCap
		s.opened = 0
	}
}

// awaitHour moves a slot to an hour of its date, if the hour is later and messages may be sent then.
func (l *Ledger) awaitHour(s *slot, d date, hour int) {
	if hour == AnyHour {
		return
	}
	own := l.cal.first(d, hour)
	if open := l.opening(own); own > s.at && open.date == d && open.enter(own) == own {
		s.at, s.opened = own, 0
		s.waited &^= byGap | byWindow
	}
}

// opening returns the first open period from m on. It caches the result, because the next message
// usually falls into the same period.
func (l *Ledger) opening(m instant) openPeriod {
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

// Take records that a message is sent at a slot.
func (l *Ledger) Take(s Slot) {
	s.at = instantOf(s.At)
	l.take(s.slot)
}

func (l *Ledger) take(s slot) {
	l.capped, l.opened = max(l.capped, s.capped), max(l.opened, s.opened)
	l.sent(s.at, 1)
}

// Reason returns what delayed a message to its slot, as a suffix for the reason of its due time; ""
// if nothing did.
func (l *Ledger) Reason(s Slot) string { return l.reasonText(s.waited) }

func (l *Ledger) reasonText(waited delayReasons) string {
	words := ""
	for _, w := range [...]struct {
		move delayReasons
		text string
	}{
		{overdue, reasonOverdue}, {byCap, l.capReason}, {byClosing, reasonWindowClosed}, {byGap, l.gapReason},
		{byWindow, reasonMoved},
	} {
		if waited&w.move != 0 {
			words += w.text
		}
	}
	return words
}
