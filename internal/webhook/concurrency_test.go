package webhook

import (
	"math/rand/v2"
	"testing"
	"time"

	"prospector/internal/shape"
)

// begins counts how many attempts of a pace can be begun, one after the other; with wait, each of them waits once it is begun.
func begins(in [2]*lanes, p pace, wait bool) (flights []*flight) {
	for in[0].mayBegin(p) && in[1].mayBegin(p) && len(flights) < 100_000 {
		f := &flight{pace: p, in: in}
		f.begin()
		if wait {
			f.wait()
		}
		flights = append(flights, f)
	}
	return flights
}

func TestLaneShares(t *testing.T) {
	for bound, c := range map[int]struct {
		begun   [paces]int // of each pace, that may be begun at once
		waiting [paces]int // of each pace, that may be under way in all
	}{
		64: {begun: [paces]int{64, 32, 16}, waiting: [paces]int{8192, 2048, 1024}},
		8:  {begun: [paces]int{8, 4, 2}, waiting: [paces]int{1024, 256, 128}},
		4:  {begun: [paces]int{4, 2, 1}, waiting: [paces]int{512, 128, 64}},
		2:  {begun: [paces]int{2, 1, 1}, waiting: [paces]int{256, 64, 32}},
		1:  {begun: [paces]int{1, 1, 1}, waiting: [paces]int{128, 32, 16}},
	} {
		for p := range paces {
			for narrow := range 2 { // the installation, or the organization
				fresh := func() (in [2]*lanes) {
					in[narrow], in[1-narrow] = &lanes{bound: bound}, &lanes{bound: 1 << 20}
					return in
				}
				if got := len(begins(fresh(), p, false)); got != c.begun[p] {
					t.Errorf("bound %d, pace %d: %d can be begun, want %d", bound, p, got, c.begun[p])
				}
				if got := len(begins(fresh(), p, true)); got != c.waiting[p] {
					t.Errorf("bound %d, pace %d: %d can wait, want %d", bound, p, got, c.waiting[p])
				}
			}
		}
	}
}

// However many of the worse wait, those that are better have all of their share.
func TestLaneRoomForBetter(t *testing.T) {
	for bound := 1; bound <= 128; bound++ {
		in := [2]*lanes{{bound: bound}, {bound: bound}}
		begins(in, bad, true)
		begins(in, unknown, true)
		if got := len(begins(in, prompt, false)); got != bound {
			t.Errorf("bound %d: %d that are prompt can begin beside the others", bound, got)
		}
		in = [2]*lanes{{bound: bound}, {bound: bound}}
		begins(in, unknown, true)
		if hanging := len(begins(in, prompt, true)); hanging < bound*waitingFactor || in[0].mayBegin(unknown) {
			t.Errorf("bound %d: %d that hang after they were prompt have room", bound, hanging)
		}
	}
	for bound := 2; bound <= 128; bound++ { // nor do those that have just begun take all
		for p := unknown; p <= bad; p++ {
			in := [2]*lanes{{bound: bound}, {bound: bound}}
			if begun := len(begins(in, p, false)); begun >= bound || !in[0].mayBegin(prompt) {
				t.Errorf("bound %d: %d of pace %d are begun", bound, begun, p)
			}
		}
	}
}

// What is counted in is counted out, in whatever order attempts begin, wait and end.
func TestFlights(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	total := &lanes{bound: 16}
	orgs := []*lanes{{bound: 8}, {bound: 8}, {bound: 8}}
	var under []*flight
	for step := range 20_000 {
		switch random.IntN(3) {
		case 0:
			f := &flight{pace: pace(random.IntN(int(paces))), in: [2]*lanes{total, orgs[random.IntN(3)]}}
			if f.in[0].mayBegin(f.pace) && f.in[1].mayBegin(f.pace) {
				f.begin()
				under = append(under, f)
			}
		case 1:
			if len(under) > 0 {
				if f := under[random.IntN(len(under))]; !f.waiting {
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
		var all lanes
		for _, f := range under {
			if f.waiting {
				all.waiting[f.pace]++
			} else {
				all.begun[f.pace]++
			}
		}
		var ofOrgs lanes
		for _, org := range orgs {
			for p := range paces {
				ofOrgs.begun[p] += org.begun[p]
				ofOrgs.waiting[p] += org.waiting[p]
			}
		}
		if all.begun != total.begun || all.waiting != total.waiting || ofOrgs.begun != total.begun || ofOrgs.waiting != total.waiting {
			t.Fatalf("step %d: counted are %+v and %+v, there are %+v", step, *total, ofOrgs, all)
		}
		for p := range paces {
			if total.begun[p] > p.share(16) || sum(total.begun) > 16 || total.waiting[prompt] > 0 {
				t.Fatalf("step %d: too many: %+v", step, *total)
			}
		}
	}
	for _, f := range under {
		f.end()
	}
	if total.begun != [paces]int{} || total.waiting != [paces]int{} {
		t.Errorf("when all is over, %+v is left", *total)
	}
}

// An attempt that is late makes room for another, however many wait; it was not prompt.
func TestFlightLate(t *testing.T) {
	for before, after := range map[pace]pace{prompt: unknown, unknown: unknown, bad: bad} {
		in := [2]*lanes{{bound: 4}, {bound: 1}}
		for p := range paces {
			in[1].waiting[p] = 10 * waitingFactor
		}
		f := &flight{pace: before, in: in}
		f.begin()
		if in[0].begun[before] != 1 || in[1].begun[before] != 1 {
			t.Errorf("pace %d: begun, it is not counted: %+v", before, *in[0])
		}
		f.wait()
		if sum(in[0].begun) != 0 || sum(in[1].begun) != 0 || in[0].waiting[after] != 1 || in[1].waiting[after] != 10*waitingFactor+1 {
			t.Errorf("pace %d: late, it is not counted so: %+v", before, *in[0])
		}
		f.end()
		if sum(in[0].waiting) != 0 || sum(in[1].waiting) != 3*10*waitingFactor || sum(in[0].begun) != 0 {
			t.Errorf("pace %d: over, it is counted: %+v", before, *in[0])
		}
	}
}

// How an endpoint answers decides how much it gets.
func TestLineLearns(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	l := &line{window: 1, pace: unknown}
	for i, c := range []struct {
		outcome outcome
		window  int
		pace    pace
		rest    time.Time
	}{
		{outcome: outcome{took: promptTime}, window: 2, pace: prompt},
		{outcome: outcome{}, window: 4, pace: prompt},
		{outcome: outcome{}, window: 8, pace: prompt},
		{outcome: outcome{took: promptTime + 1}, window: 9, pace: unknown},
		{outcome: outcome{}, window: 16, pace: prompt},
		{outcome: outcome{}, window: 16, pace: prompt},
		{outcome: outcome{took: time.Second}, window: 16, pace: unknown},
		{outcome: outcome{class: statusClass, code: 500, retryAfter: now}, window: 8, pace: unknown},
		{outcome: outcome{class: connectClass}, window: 4, pace: unknown},
		{outcome: outcome{}, window: 8, pace: prompt},
		{outcome: outcome{class: timeoutClass}, window: 4, pace: bad}, // at once: it takes the most
		{outcome: outcome{class: dnsClass}, window: 2, pace: unknown},
		{outcome: outcome{}, window: 4, pace: prompt},
		{outcome: outcome{class: statusClass, code: 500}, window: 2, pace: unknown},
		{outcome: outcome{class: statusClass, code: 500}, window: 1, pace: unknown},
		{outcome: outcome{class: statusClass, code: 500}, window: 1, pace: bad}, // the third in a row
		{outcome: outcome{}, window: 2, pace: prompt},
		{outcome: outcome{}, window: 4, pace: prompt},
		{outcome: outcome{class: timeoutClass}, window: 2, pace: bad},
		{outcome: outcome{class: timeoutClass}, window: 1, pace: bad},
		{outcome: outcome{class: statusClass, code: 429, retryAfter: now.Add(time.Hour)}, window: 1, pace: bad, rest: now.Add(time.Hour)},
		{outcome: outcome{class: statusClass, code: 503, retryAfter: now}, window: 1, pace: bad, rest: now.Add(time.Hour)},
		{outcome: outcome{class: statusClass, code: 503, retryAfter: now.Add(2 * time.Hour)}, window: 1, pace: bad, rest: now.Add(2 * time.Hour)},
		{outcome: outcome{}, window: 2, pace: prompt, rest: now.Add(2 * time.Hour)},
	} {
		l.learn(c.outcome, 16)
		if l.window != c.window || l.pace != c.pace || !l.rest.Equal(c.rest) {
			t.Errorf("answer %d: window %d, pace %d, rest %v", i, l.window, l.pace, l.rest)
		}
	}
	for before, after := range map[pace]pace{prompt: unknown, unknown: unknown, bad: bad} {
		late := &line{window: 16, pace: before}
		if late.slow(); late.window != 1 || late.pace != after {
			t.Errorf("pace %d: with an attempt that is late it has the window %d and the pace %d", before, late.window, late.pace)
		}
	}
	for _, c := range []struct {
		s    Subscription
		want pace
	}{
		{Subscription{}, unknown}, {Subscription{LastSuccessAt: shape.At(now)}, prompt}, {Subscription{ConsecutiveFailures: 3}, bad},
		{Subscription{ConsecutiveFailures: 2, LastSuccessAt: shape.At(now)}, unknown}, {Subscription{LastFailureAt: shape.At(now), LastSuccessAt: shape.At(now)}, prompt},
	} {
		if got := paceOf(&c.s); got != c.want {
			t.Errorf("the pace of %+v is %d, want %d", c.s, got, c.want)
		}
	}
}
