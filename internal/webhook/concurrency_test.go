package webhook

import (
	"math/rand/v2"
	"testing"
	"time"

	"prospector/internal/shape"
)

// begins starts attempts of a tier until the limits have no room and returns them. With wait, each
// one is moved to the waiting attempts as soon as it has started.
func begins(in [2]*concurrencyLimit, p tier, wait bool) (flights []*inflightAttempt) {
	for in[0].hasRoom(p) && in[1].hasRoom(p) && len(flights) < 100_000 {
		f := &inflightAttempt{tier: p, limits: in}
		f.start()
		if wait {
			f.wait()
		}
		flights = append(flights, f)
	}
	return flights
}

func TestTierShares(t *testing.T) {
	for bound, c := range map[int]struct {
		starting [tierCount]int // attempts per tier that may be starting at once
		waiting  [tierCount]int // attempts per tier that may be in flight
	}{
		64: {starting: [tierCount]int{64, 32, 16}, waiting: [tierCount]int{8192, 2048, 1024}},
		8:  {starting: [tierCount]int{8, 4, 2}, waiting: [tierCount]int{1024, 256, 128}},
		4:  {starting: [tierCount]int{4, 2, 1}, waiting: [tierCount]int{512, 128, 64}},
		2:  {starting: [tierCount]int{2, 1, 1}, waiting: [tierCount]int{256, 64, 32}},
		1:  {starting: [tierCount]int{1, 1, 1}, waiting: [tierCount]int{128, 32, 16}},
	} {
		for p := range tierCount {
			for narrow := range 2 { // the installation, or the organization
				fresh := func() (in [2]*concurrencyLimit) {
					in[narrow], in[1-narrow] = &concurrencyLimit{bound: bound}, &concurrencyLimit{bound: 1 << 20}
					return in
				}
				if got := len(begins(fresh(), p, false)); got != c.starting[p] {
					t.Errorf("bound %d, tier %d: %d attempts can start, want %d", bound, p, got, c.starting[p])
				}
				if got := len(begins(fresh(), p, true)); got != c.waiting[p] {
					t.Errorf("bound %d, tier %d: %d attempts can wait, want %d", bound, p, got, c.waiting[p])
				}
			}
		}
	}
}

// However many attempts of the slower tiers are waiting, the faster tiers have their full share.
func TestSlowTiersLeaveRoom(t *testing.T) {
	for bound := 1; bound <= 128; bound++ {
		in := [2]*concurrencyLimit{{bound: bound}, {bound: bound}}
		begins(in, failingTier, true)
		begins(in, unprovenTier, true)
		if got := len(begins(in, fastTier, false)); got != bound {
			t.Errorf("bound %d: %d attempts of the fast tier can start beside the others", bound, got)
		}
		in = [2]*concurrencyLimit{{bound: bound}, {bound: bound}}
		begins(in, unprovenTier, true)
		if hanging := len(begins(in, fastTier, true)); hanging < bound*waitingPerStarting || in[0].hasRoom(unprovenTier) {
			t.Errorf("bound %d: %d hanging attempts of the fast tier have room", bound, hanging)
		}
	}
	for bound := 2; bound <= 128; bound++ { // starting attempts of a slower tier do not use the whole bound either
		for p := unprovenTier; p <= failingTier; p++ {
			in := [2]*concurrencyLimit{{bound: bound}, {bound: bound}}
			if starting := len(begins(in, p, false)); starting >= bound || !in[0].hasRoom(fastTier) {
				t.Errorf("bound %d: %d attempts of tier %d are starting", bound, starting, p)
			}
		}
	}
}

// The limits count every attempt exactly once, in whatever order attempts start, wait and end.
func TestInflightAttemptCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	total := &concurrencyLimit{bound: 16}
	orgs := []*concurrencyLimit{{bound: 8}, {bound: 8}, {bound: 8}}
	var under []*inflightAttempt
	for step := range 20_000 {
		switch random.IntN(3) {
		case 0:
			f := &inflightAttempt{tier: tier(random.IntN(int(tierCount))), limits: [2]*concurrencyLimit{total, orgs[random.IntN(3)]}}
			if f.limits[0].hasRoom(f.tier) && f.limits[1].hasRoom(f.tier) {
				f.start()
				under = append(under, f)
			}
		case 1:
			if len(under) > 0 {
				if f := under[random.IntN(len(under))]; !f.isWaiting {
					f.wait()
				}
			}
		default:
			if len(under) > 0 {
				i := random.IntN(len(under))
				under[i].end()
				under[i] = under[len(under)-1]
				under = under[:len(under)-1]
			}
		}
		var all concurrencyLimit
		for _, f := range under {
			if f.isWaiting {
				all.waiting[f.tier]++
			} else {
				all.starting[f.tier]++
			}
		}
		var ofOrgs concurrencyLimit
		for _, org := range orgs {
			for p := range tierCount {
				ofOrgs.starting[p] += org.starting[p]
				ofOrgs.waiting[p] += org.waiting[p]
			}
		}
		if all.starting != total.starting || all.waiting != total.waiting || ofOrgs.starting != total.starting || ofOrgs.waiting != total.waiting {
			t.Fatalf("step %d: limits are %+v and %+v, want %+v", step, *total, ofOrgs, all)
		}
		for p := range tierCount {
			if total.starting[p] > p.portionOf(16) || sum(total.starting) > 16 || total.waiting[fastTier] > 0 {
				t.Fatalf("step %d: over the limit: %+v", step, *total)
			}
		}
	}
	for _, f := range under {
		f.end()
	}
	if total.starting != [tierCount]int{} || total.waiting != [tierCount]int{} {
		t.Errorf("after all attempts ended: %+v, want zero", *total)
	}
}

// A slow attempt makes room for another, however many are waiting, and leaves the fast tier.
func TestInflightAttemptWait(t *testing.T) {
	for before, after := range map[tier]tier{fastTier: unprovenTier, unprovenTier: unprovenTier, failingTier: failingTier} {
		in := [2]*concurrencyLimit{{bound: 4}, {bound: 1}}
		for p := range tierCount {
			in[1].waiting[p] = 10 * waitingPerStarting
		}
		f := &inflightAttempt{tier: before, limits: in}
		f.start()
		if in[0].starting[before] != 1 || in[1].starting[before] != 1 {
			t.Errorf("tier %d: the started attempt is not counted: %+v", before, *in[0])
		}
		f.wait()
		if sum(in[0].starting) != 0 || sum(in[1].starting) != 0 || in[0].waiting[after] != 1 || in[1].waiting[after] != 10*waitingPerStarting+1 {
			t.Errorf("tier %d: the waiting attempt is not counted as waiting: %+v", before, *in[0])
		}
		f.end()
		if sum(in[0].waiting) != 0 || sum(in[1].waiting) != 3*10*waitingPerStarting || sum(in[0].starting) != 0 {
			t.Errorf("tier %d: the ended attempt is still counted: %+v", before, *in[0])
		}
	}
}

// The answers of an endpoint decide its tier, its window and its back-off.
func TestEndpointQueueAdapts(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	q := &endpointQueue{window: 1, tier: unprovenTier}
	for i, c := range []struct {
		outcome      outcome
		window       int
		tier         tier
		backOffUntil time.Time
	}{
		{outcome: outcome{duration: slowAfter}, window: 2, tier: fastTier},
		{outcome: outcome{}, window: 4, tier: fastTier},
		{outcome: outcome{}, window: 8, tier: fastTier},
		{outcome: outcome{duration: slowAfter + 1}, window: 9, tier: unprovenTier},
		{outcome: outcome{}, window: 16, tier: fastTier},
		{outcome: outcome{}, window: 16, tier: fastTier},
		{outcome: outcome{duration: time.Second}, window: 16, tier: unprovenTier},
		{outcome: outcome{class: statusFailure, code: 500, retryAfter: now}, window: 8, tier: unprovenTier},
		{outcome: outcome{class: connectFailure}, window: 4, tier: unprovenTier},
		{outcome: outcome{}, window: 8, tier: fastTier},
		{outcome: outcome{class: timeoutFailure}, window: 4, tier: failingTier}, // a single time-out is enough
		{outcome: outcome{class: dnsFailure}, window: 2, tier: unprovenTier},
		{outcome: outcome{}, window: 4, tier: fastTier},
		{outcome: outcome{class: statusFailure, code: 500}, window: 2, tier: unprovenTier},
		{outcome: outcome{class: statusFailure, code: 500}, window: 1, tier: unprovenTier},
		{outcome: outcome{class: statusFailure, code: 500}, window: 1, tier: failingTier}, // the third in a row
		{outcome: outcome{}, window: 2, tier: fastTier},
		{outcome: outcome{}, window: 4, tier: fastTier},
		{outcome: outcome{class: timeoutFailure}, window: 2, tier: failingTier},
		{outcome: outcome{class: timeoutFailure}, window: 1, tier: failingTier},
		{outcome: outcome{class: statusFailure, code: 429, retryAfter: now.Add(time.Hour)}, window: 1, tier: failingTier, backOffUntil: now.Add(time.Hour)},
		{outcome: outcome{class: statusFailure, code: 503, retryAfter: now}, window: 1, tier: failingTier, backOffUntil: now.Add(time.Hour)},
		{outcome: outcome{class: statusFailure, code: 503, retryAfter: now.Add(2 * time.Hour)}, window: 1, tier: failingTier, backOffUntil: now.Add(2 * time.Hour)},
		{outcome: outcome{}, window: 2, tier: fastTier, backOffUntil: now.Add(2 * time.Hour)},
	} {
		q.adapt(c.outcome, 16, slowAfter)
		if q.window != c.window || q.tier != c.tier || !q.backOffUntil.Equal(c.backOffUntil) {
			t.Errorf("answer %d: window %d, tier %d, back-off until %v", i, q.window, q.tier, q.backOffUntil)
		}
	}
	for before, after := range map[tier]tier{fastTier: unprovenTier, unprovenTier: unprovenTier, failingTier: failingTier} {
		late := &endpointQueue{window: 16, tier: before}
		if late.noteSlow(); late.window != 1 || late.tier != after {
			t.Errorf("tier %d: a slow attempt leads to window %d and tier %d", before, late.window, late.tier)
		}
	}
	for _, c := range []struct {
		s    Subscription
		want tier
	}{
		{Subscription{}, unprovenTier}, {Subscription{LastSuccessAt: shape.At(now)}, fastTier}, {Subscription{ConsecutiveFailures: 3}, failingTier},
		{Subscription{ConsecutiveFailures: 2, LastSuccessAt: shape.At(now)}, unprovenTier}, {Subscription{LastFailureAt: shape.At(now), LastSuccessAt: shape.At(now)}, fastTier},
	} {
		if got := initialTier(&c.s); got != c.want {
			t.Errorf("initial tier of %+v is %d, want %d", c.s, got, c.want)
		}
	}
}
