package webhook

import "time"

// Attempts are bounded in two ways. Only so many are being begun at a time, which takes the processor's time; and only so many
// wait for an answer, which takes a socket and some memory. An attempt that has no answer after promptTime stops counting as the
// one and begins to count as the other, so that endpoints that hang do not keep others from being asked. Of both bounds, endpoints
// that fail have a quarter, and those that nothing is known of or that answer slowly half: however many are dead, there is
// room for one that answers promptly. An organization has half of what there is.
const promptTime = 50 * time.Millisecond

// pace is how an endpoint has answered last.
type pace int

const (
	prompt pace = iota
	unknown
	bad
	paces
)

// waitingFactor is how many attempts may wait for an answer, for each that may be begun.
const waitingFactor = 64

// share is how much of a bound endpoints of a pace may take.
func (p pace) share(bound int) int {
	switch p {
	case unknown:
		bound /= 2
	case bad:
		bound /= 4
	}
	return max(1, bound)
}

// lanes counts the attempts of the installation, or of an organization.
type lanes struct {
	bound   int // of those being begun
	begun   [paces]int
	waiting [paces]int
}

// mayBegin tells whether there is room for an attempt. One that will likely wait must find room for that too. Of the others some
// turn out to hang, which they could not know: for them there is as much room again.
func (l *lanes) mayBegin(p pace) bool {
	if sum(l.begun) >= l.bound || l.begun[p] >= p.share(l.bound) {
		return false
	}
	waiting := l.bound * waitingFactor
	if p == prompt {
		return sum(l.waiting) < 2*waiting
	}
	return l.begun[p]+l.waiting[p] < p.share(waiting)
}

func sum(counts [paces]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}
