package sequence_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// clockFixture is a service with access to its clock of sequences.
type clockFixture struct {
	*engineFixture
	probe string // a draft whose only step is due immediately
}

func newClockFixture(t *testing.T, change ...func(*service.Config)) *clockFixture {
	p := newEngineFixture(t, change...)
	return &clockFixture{p, simCampaign(p.Org, simAudience(p.Org, p.contacts(1)...), nil, []simStep{simCall(0, 0, 0)})}
}

// shows returns the time of the clock of sequences.
func (p *clockFixture) shows() time.Time {
	p.t.Helper()
	return *simulated(p.t, p.Org, p.probe, nil)[0].Steps[0].Due
}

// pass lets real time pass.
func (p *clockFixture) pass(d time.Duration) {
	p.app.Clock.Advance(d)
	p.app.Work()
}

// at starts the stopped service with a speed of its clock of sequences.
func (p *clockFixture) at(speed float64) {
	p.app.Config.Sequences.Speed = speed
	p.app.Start()
}

// showsAfter requires that the clock shows a time that is d after another.
func (p *clockFixture) showsAfter(from time.Time, d time.Duration) time.Time {
	p.t.Helper()
	now := p.shows()
	if now.Sub(from) != d {
		p.t.Errorf("clock = %v, which is %v after %v, want %v after it", now, now.Sub(from), from, d)
	}
	return now
}

// TestEngineClockIdle checks that an idle engine continues with the time at which its clock
// stopped. After a crash the clock may be ahead by a few seconds of real time.
func TestEngineClockIdle(t *testing.T) {
	p := newClockFixture(t, atSpeed(3600))
	p.app.Work()
	began := p.shows()
	p.pass(7 * time.Second)
	was := p.showsAfter(began, 7*time.Hour)
	p.app.Stop()
	p.app.Clock.Advance(24 * time.Hour)
	p.at(3600)
	p.showsAfter(was, 0)
	p.pass(time.Second)
	was = p.showsAfter(was, time.Hour)
	p.app.Crash()
	p.app.Clock.Advance(24 * time.Hour)
	p.at(86400)
	was = p.showsAfter(was, 3*time.Hour) // up to the persisted limit
	p.pass(2 * time.Second)
	was = p.showsAfter(was, 48*time.Hour)
	p.app.Crash()
	p.at(10)
	p.showsAfter(was, 72*time.Hour)
}

// TestEngineClockHolds checks that the clock never shows a time that is not persisted, and that it
// stops while the system clock is set back.
func TestEngineClockHolds(t *testing.T) {
	p := newClockFixture(t, atSpeed(3600))
	p.app.Work()
	began := p.shows()
	p.app.Clock.Advance(time.Minute)
	p.showsAfter(began, 3*time.Hour) // the persisted time
	p.app.Work()
	was := p.showsAfter(began, 60*time.Hour)
	p.app.Clock.Advance(-10 * time.Second)
	p.showsAfter(was, 0)
	p.app.Restart()
	p.showsAfter(was, 0)
	p.pass(time.Second)
	p.showsAfter(was, time.Hour)
}

// TestEngineClockAhead checks that at normal speed the clock stays ahead of real time, reports
// that, and also advances while the service does not run. Once real time has caught up, the clock
// shows real time.
func TestEngineClockAhead(t *testing.T) {
	const ahead = "prospector_sequences_clock_ahead_seconds"
	p := newClockFixture(t)
	apptest.Scrape(t, p.app).Has(t, apptest.Sample{ahead: 0})
	p.app.Stop()
	p.at(3600)
	p.pass(10 * time.Second)
	apptest.Scrape(t, p.app).Has(t, apptest.Sample{ahead: 10*3600 - 10})
	was := p.shows()
	p.app.Stop()
	p.app.Clock.Advance(time.Hour)
	p.at(1)
	p.showsAfter(was, 0)
	for _, end := range []func(){p.app.Stop, p.app.Crash} {
		end()
		p.app.Clock.Advance(time.Hour)
		p.at(1)
		was = p.showsAfter(was, time.Hour)
		apptest.Scrape(t, p.app).Has(t, apptest.Sample{ahead: 9*3600 - 10})
	}
	p.app.Stop()
	p.at(3600)
	was = p.showsAfter(was, 0)
	p.app.Stop()
	p.app.Clock.Advance(9 * time.Hour)
	p.at(1)
	apptest.Scrape(t, p.app).Has(t, apptest.Sample{ahead: 0})
	p.app.Restart()
	apptest.Scrape(t, p.app).Has(t, apptest.Sample{ahead: 0})
	p.showsAfter(was, 10*time.Second)
}

// TestEngineClockNeverGoesBack stops and starts a service in all ways and at all speeds.
func TestEngineClockNeverGoesBack(t *testing.T) {
	p := newClockFixture(t)
	random := rand.New(rand.NewPCG(1, 5))
	speeds := []float64{1, 0.5, 10, 3600, 86400}
	last := p.shows()
	for range 150 {
		var did string
		switch random.IntN(6) {
		case 0:
			did = "a stop"
			p.app.Stop()
		case 1:
			did = "a crash"
			p.app.Crash()
		case 2:
			did = "work"
			p.app.Work()
		default:
			did = "some time"
			p.app.Clock.Advance(time.Duration(random.Int64N(int64(10 * time.Second))))
		}
		if did == "a stop" || did == "a crash" {
			p.app.Clock.Advance(time.Duration(random.Int64N(int64(time.Hour))))
			p.at(speeds[random.IntN(len(speeds))])
		}
		now := p.shows()
		if now.Before(last) {
			t.Fatalf("after %s, at speed %v, the clock went back to %v from %v", did, p.app.Config.Sequences.Speed, now, last)
		}
		last = now
	}
}
