package handlers_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"prospector/internal/service"
)

// clockPlay is a service whose clock of sequences can be read.
type clockPlay struct {
	*play
	probe string // a draft whose only step is due at once
}

func newClockPlay(t *testing.T, change ...func(*service.Config)) *clockPlay {
	p := newPlay(t, change...)
	return &clockPlay{p, simCampaign(p.Org, simAudience(p.Org, p.contacts(1)...), nil, []simStep{simCall(0, 0, 0)})}
}

// shows is what the clock of sequences shows.
func (p *clockPlay) shows() time.Time {
	p.t.Helper()
	return *simulated(p.t, p.Org, p.probe, nil)[0].Steps[0].Due
}

// pass lets time of the wall pass.
func (p *clockPlay) pass(d time.Duration) {
	p.app.Clock.Advance(d)
	p.app.Work()
}

// at starts the service, which does not run, at a speed.
func (p *clockPlay) at(speed float64) {
	p.app.Config.Sequences.Speed = speed
	p.app.Start()
}

// showsAfter wants the clock to show a time that is so long after another.
func (p *clockPlay) showsAfter(from time.Time, d time.Duration) time.Time {
	p.t.Helper()
	now := p.shows()
	if now.Sub(from) != d {
		p.t.Errorf("it shows %v, which is %v after %v and not %v", now, now.Sub(from), from, d)
	}
	return now
}

// TestEngineClockIdle: an engine that has nothing to do goes on from where its clock was, however it ended; a kill takes the clock
// forward, by some seconds of the wall's at the most.
func TestEngineClockIdle(t *testing.T) {
	p := newClockPlay(t, atSpeed(3600))
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
	was = p.showsAfter(was, 3*time.Hour) // as far as it was let go
	p.pass(2 * time.Second)
	was = p.showsAfter(was, 48*time.Hour)
	p.app.Crash()
	p.at(10)
	p.showsAfter(was, 72*time.Hour)
}

// TestEngineClockHolds: the clock shows nothing that is not on the disk, and stands still while the wall's is put back.
func TestEngineClockHolds(t *testing.T) {
	p := newClockPlay(t, atSpeed(3600))
	p.app.Work()
	began := p.shows()
	p.app.Clock.Advance(time.Minute)
	p.showsAfter(began, 3*time.Hour) // what was written down
	p.app.Work()
	was := p.showsAfter(began, 60*time.Hour)
	p.app.Clock.Advance(-10 * time.Second)
	p.showsAfter(was, 0)
	p.app.Restart()
	p.showsAfter(was, 0)
	p.pass(time.Second)
	p.showsAfter(was, time.Hour)
}

// TestEngineClockAhead: at the wall's speed the clock stays as far ahead as it has come, says so, and goes on while the service does
// not run; one that the wall has caught up with is the wall's again.
func TestEngineClockAhead(t *testing.T) {
	const ahead = "prospector_sequences_clock_ahead_seconds"
	p := newClockPlay(t)
	scrape(t, p.app).has(t, sample{ahead: 0})
	p.app.Stop()
	p.at(3600)
	p.pass(10 * time.Second)
	scrape(t, p.app).has(t, sample{ahead: 10*3600 - 10})
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
		scrape(t, p.app).has(t, sample{ahead: 9*3600 - 10})
	}
	p.app.Stop()
	p.at(3600)
	was = p.showsAfter(was, 0)
	p.app.Stop()
	p.app.Clock.Advance(9 * time.Hour)
	p.at(1)
	scrape(t, p.app).has(t, sample{ahead: 0})
	p.app.Restart()
	scrape(t, p.app).has(t, sample{ahead: 0})
	p.showsAfter(was, 10*time.Second)
}

// TestEngineClockNeverGoesBack takes a service through ends of all kinds, at all speeds.
func TestEngineClockNeverGoesBack(t *testing.T) {
	p := newClockPlay(t)
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
			t.Fatalf("after %s, at speed %v, it shows %v, and did show %v", did, p.app.Config.Sequences.Speed, now, last)
		}
		last = now
	}
}
