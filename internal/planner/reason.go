package planner

import (
	"strconv"
	"strings"
	"time"
)

// Outcome is how a step came to be over.
type Outcome uint8

const (
	Completed  Outcome = iota // its message was sent, or its task done
	Skipped                   // it was not done
	Failed                    // its message could not be sent
	Unknown                   // whether its message was sent cannot be known
	assumedDue                // a task of a simulation, done when it is due
	assumedNow                // the same, of one that is overdue
)

// endings are the words for them, after the step that they are of.
var endings = [...]string{
	Completed: " was completed", Skipped: " was skipped", Failed: " failed", Unknown: " became unknown",
	assumedDue: " was completed, which is assumed to be when it is due", assumedNow: " was completed, which is assumed to be now",
}

// cause is what made the due time of a step.
type cause struct {
	link   *link // the transition that decided; nil where there is none
	end    Outcome
	passed bool // that time had passed
	moved  bool // to the next opening
}

// What is added to the words of a due time.
const (
	movedToOpening = "; moved to the next opening of the sending window"
	closedBefore   = "; the sending window closed before its turn"
	wasOverdue     = "; was overdue"
	hasEnded       = "; the campaign has ended by then"
)

// reason is the cause of the due time of a step in words.
func (w cause) reason(s *step) string {
	var buffer [160]byte
	b := buffer[:0]
	if w.link == nil {
		b = append(b, "day "...)
		b = strconv.AppendInt(b, int64(s.Day), 10)
		b = append(b, " of the sequence at "...)
		b = appendHour(b, s.Hour)
		if w.passed {
			b = append(b, " had passed: at once"...)
		}
	} else {
		b = appendFiring(b, w, s)
		if w.passed {
			b = append(b, "; that had passed: at once"...)
		}
	}
	if w.moved {
		b = append(b, movedToOpening...)
	}
	return string(b)
}

// appendFiring says what a due time counts from: "1 hour and 2 days after step 0 was due".
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
		b = append(b, " that it waits for"...)
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

// shortDuration is a duration without the zeros at its end: 1h, not 1h0m0s.
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
