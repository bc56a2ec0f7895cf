package webhook

import "time"

// slowAfter is the default of Options.SlowAfter.
//
// Concurrency is bounded in two ways. The number of starting attempts is bounded because starting
// one takes processor time. The number of waiting attempts is bounded because each holds a socket
// and some memory. An attempt moves from the first count to the second after slowAfter, so that
// endpoints that hang do not block the others. Of both bounds, failing endpoints may use a quarter,
// and slow or unproven ones half. However many endpoints are dead, there is room for one that
// answers quickly. An organization may use half of each bound.
const slowAfter = 50 * time.Millisecond

// tier groups endpoints by how they answered last.
type tier int

const (
	fastTier     tier = iota
	unprovenTier      // slow, recently failed, or not called yet
	failingTier       // timed out, or failed several times in a row
	tierCount
)

// waitingPerStarting is how many attempts may wait for an answer, for each that may be starting.
const waitingPerStarting = 64

// portionOf is the part of a bound that the endpoints of a tier may use.
func (t tier) portionOf(bound int) int {
	switch t {
	case unprovenTier:
		bound /= 2
	case failingTier:
		bound /= 4
	}
	return max(1, bound)
}

// concurrencyLimit counts the attempts of the installation or of one organization.
type concurrencyLimit struct {
	bound    int // of starting attempts
	starting [tierCount]int
	waiting  [tierCount]int
}

// hasRoom reports whether an attempt may start. An attempt of a slower tier will probably wait, so it
// must find room for that too. An attempt of the fast tier may still turn out to hang; for those
// there is as much room again.
func (l *concurrencyLimit) hasRoom(t tier) bool {
	if sum(l.starting) >= l.bound || l.starting[t] >= t.portionOf(l.bound) {
		return false
	}
	waiting := l.bound * waitingPerStarting
	if t == fastTier {
		return sum(l.waiting) < 2*waiting
	}
	return l.starting[t]+l.waiting[t] < t.portionOf(waiting)
}

func sum(counts [tierCount]int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}
