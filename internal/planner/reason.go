package planner

import (
	"strconv"
	"strings"
	"time"
)

// Outcome is how a step ended.
type Outcome uint8

const (
	Completed  Outcome = iota // its message was sent, or its task was done
	Skipped                   // it did not happen
	Failed                    // its message could not be sent
	Unknown                   // whether its message was delivered is unknown
	assumedDue                // in a simulation: a task, assumed to be done at its due time
	assumedNow                // the same for an overdue task
)

// endings are the texts for outcomes, after the name of the step.
var endings = [...]string{
	Completed: " was completed", Skipped: " was skipped", Failed: " failed", Unknown: " ended with unknown delivery",
	assumedDue: " was completed (assumed at its due time)", assumedNow: " was completed (assumed now)",
}

// cause is what determined the due time of a step.
type cause struct {
	link         *link // the deciding transition; nil without incoming transitions
	end          Outcome
	passed       bool // the computed time had passed
	spacing      spacing
	recipientGap bool // delayed because of an email of another sequence
	moved        bool // moved to the next sending window
}

// ScheduledEarlier begins the reason of a step whose due time was computed before and has no reason.
const ScheduledEarlier = "scheduled earlier"

// Suffixes of reasons.
const (
	reasonMoved        = "; moved to the next sending window"
	reasonWindowClosed = "; the sending window closed before it could be sent"
	reasonMissing      = "; a token without a fallback has no value"
	reasonRecipientGap = "; delayed after another email to the address"
	reasonAfterEmail   = " after the email of step "
	reasonSentLate     = ", which was sent late"
	reasonAsPlanned    = ", as the template plans"
	reasonOverdue      = "; overdue"
	reasonCampaignEnds = "; the campaign ends before then"
)

// reason describes the cause of a due time.
func (w cause) reason(s *step) string {
	var buffer [160]byte
	b := buffer[:0]
	if w.link == nil {
		b = append(b, "day "...)
		b = strconv.AppendInt(b, int64(s.Day), 10)
		b = append(b, " of the sequence at "...)
		b = appendHour(b, s.Hour)
		if w.passed {
			b = append(b, "; that time has passed, due at once"...)
		}
	} else {
		b = appendFiring(b, w, s)
		if w.passed {
			b = append(b, "; that time has passed, due at once"...)
		}
	}
	return string(w.appendMoves(b))
}

// appendMoves appends why the step is due later than its template says.
func (w cause) appendMoves(b []byte) []byte {
	if s := w.spacing; s.from != 0 {
		switch {
		case s.days.Unit == mixed:
			b = append(b, "; as long"...)
		case s.days.Unit == "" && s.exact == 0:
			b = append(b, "; right"...)
		case s.days.Unit == "":
			b = append(append(b, "; "...), shortDuration(time.Duration(s.exact)*time.Microsecond)...)
		default:
			b = appendDelay(append(b, "; "...), s.days)
		}
		b = append(b, reasonAfterEmail...)
		b = strconv.AppendInt(b, int64(s.from-1), 10)
		if s.isLate {
			b = append(b, reasonSentLate...)
		}
		if s.days.Unit == mixed {
			b = append(b, reasonAsPlanned...)
		}
	}
	if w.moved {
		b = append(b, reasonMoved...)
	}
	if w.recipientGap {
		b = append(b, reasonRecipientGap...)
	}
	return b
}

// pushedReason adds to the reason of a due time why the step is due later than that. It replaces
// what was added for another email before.
func pushedReason(text string, w cause) string {
	if text == "" {
		text = ScheduledEarlier
	}
	base := strings.TrimSuffix(text, reasonMoved)
	if last := strings.LastIndex(base, "; "); last >= 0 && strings.Contains(base[last:], reasonAfterEmail) {
		base = base[:last]
	}
	return string(w.appendMoves([]byte(base)))
}

// appendFiring appends what a due time counts from: "1 hour and 2 days after step 0 was due".
func appendFiring(b []byte, w cause, s *step) []byte {
	l := w.link
	began := len(b)
	for _, d := range [...]Delay{l.Pre, l.Post} {
		if d.Unit == "" {
			continue
		}
		if len(b) > began {
			b = append(b, " and "...)
		}
		b = appendDelay(b, d)
	}
	if len(b) > began {
		b = append(b, " after step "...)
	} else {
		b = append(b, "when step "...)
	}
	b = strconv.AppendInt(b, int64(l.From), 10)
	if l.Type == Scheduled {
		b = append(b, " was due"...)
	} else {
		b = append(b, endings[w.end]...)
	}
	if n := len(s.in); s.all && n > 1 {
		b = append(b, "; the last of the "...)
		b = strconv.AppendInt(b, int64(n), 10)
		b = append(b, " transitions it waits for"...)
	}
	return b
}

func appendDelay(b []byte, d Delay) []byte {
	b = strconv.AppendInt(b, int64(d.N), 10)
	b = append(b, ' ')
	unit := string(d.Unit)
	if d.Unit == BusinessDays {
		unit = "business days"
	}
	if d.N == 1 {
		unit = unit[:len(unit)-1]
	}
	return append(b, unit...)
}

func appendHour(b []byte, h int) []byte {
	return append(b, byte('0'+h/10), byte('0'+h%10), ':', '0', '0')
}

// shortDuration formats a duration without trailing zeros: 1h, not 1h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
