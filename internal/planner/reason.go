package planner

import (
	"fmt"
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
	text := fmt.Sprintf("day %d of the sequence at %02d:00", s.Day, s.Hour)
	if w.link != nil {
		text = w.firing(s)
	}
	if w.passed {
		text += "; that time has passed, due at once"
	}
	return text + w.moves()
}

// moves returns why the step is due later than its template says.
func (w cause) moves() (text string) {
	if s := w.spacing; s.from != 0 {
		isMixed := s.days.Unit == mixed
		var distance string
		switch {
		case isMixed:
			distance = "as long"
		case s.days.Unit != "":
			distance = s.days.text()
		case s.exact == 0:
			distance = "right"
		default:
			distance = shortDuration(time.Duration(s.exact) * time.Microsecond)
		}
		text = "; " + distance + reasonAfterEmail + strconv.Itoa(s.from-1)
		if s.isLate {
			text += reasonSentLate
		}
		if isMixed {
			text += reasonAsPlanned
		}
	}
	if w.moved {
		text += reasonMoved
	}
	if w.recipientGap {
		text += reasonRecipientGap
	}
	return text
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
	return base + w.moves()
}

// firing returns what a due time counts from: "1 hour and 2 days after step 0 was due".
func (w cause) firing(s *step) string {
	var delays []string
	for _, d := range [...]Delay{w.link.Pre, w.link.Post} {
		if d.Unit != "" {
			delays = append(delays, d.text())
		}
	}
	text := "when step "
	if len(delays) > 0 {
		text = strings.Join(delays, " and ") + " after step "
	}
	text += strconv.Itoa(w.link.From)
	if w.link.Type == Scheduled {
		text += " was due"
	} else {
		text += endings[w.end]
	}
	if n := len(s.in); s.all && n > 1 {
		text += fmt.Sprintf("; the last of the %d transitions it waits for", n)
	}
	return text
}

// text returns the delay in words: "2 business days".
func (d Delay) text() string {
	unit := strings.ReplaceAll(string(d.Unit), "_", " ")
	if d.N == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return strconv.Itoa(d.N) + " " + unit
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
