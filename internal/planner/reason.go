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
	link   *link // the deciding transition; nil without incoming transitions
	end    Outcome
	passed bool // the computed time had passed
	moved  bool // moved to the next sending window
}

// Suffixes of reasons.
const (
	reasonMoved        = "; moved to the next sending window"
	reasonWindowClosed = "; the sending window closed before it could be sent"
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
	if w.moved {
		b = append(b, reasonMoved...)
	}
	return string(b)
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
