package webhook

import (
	"context"
	"time"

	"prospector/internal/fault"
	"prospector/store"
)

// flight is an attempt under way, in the lanes that it is counted in.
type flight struct {
	line    *line
	pace    pace
	in      [2]*lanes
	waiting bool
	over    bool
}

func (f *flight) count(begun, waiting int) {
	for _, l := range f.in {
		l.begun[f.pace] += begun
		l.waiting[f.pace] += waiting
	}
}

func (f *flight) begin() { f.count(1, 0) }

// wait makes an attempt that has no answer yet one that waits. It was not prompt, whatever its endpoint was before.
func (f *flight) wait() {
	f.count(-1, 0)
	f.waiting, f.pace = true, max(f.pace, unknown)
	f.count(0, 1)
}

func (f *flight) end() {
	f.over = true
	if f.waiting {
		f.count(0, -1)
	} else {
		f.count(-1, 0)
	}
}

// endpointOf reads where a line goes; nowhere when its subscription is not active.
func (s *Sender) endpointOf(tx *store.Tx, l *line) (to endpoint, err error) {
	doc, err := s.hooks.Subscriptions.Get(tx, l.id)
	if err == nil && doc.Record.Status == Active {
		to = endpoint{url: doc.Record.URL, secrets: doc.Record.kept.Secrets}
	}
	return to, err
}

// readEndpoint sees whether a line goes elsewhere now, before what is under way comes back.
func (s *Sender) readEndpoint(l *line) {
	l.to = endpoint{}
	_ = s.hooks.store.View(l.org, func(tx *store.Tx) (err error) { // what is wrong is told when it is loaded
		l.to, err = s.endpointOf(tx, l)
		return err
	})
}

// load reads what is due for a line, and where it goes.
func (s *Sender) load(l *line) {
	l.look, l.next = false, time.Time{}
	err := s.hooks.store.View(l.org, func(tx *store.Tx) (err error) {
		if l.to, err = s.endpointOf(tx, l); err != nil || l.to.url == "" {
			return err
		}
		if !l.known {
			l.known = true
			if l.rest, err = s.hooks.restOf(tx, l.id); err != nil || l.rest.After(tx.Now()) {
				return err
			}
		}
		l.loaded, l.look, l.next, err = s.hooks.due(tx, l.id, l.most(), l.taken)
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		delete(s.lines, l.id)
	} else if err != nil {
		s.log.Error("what waits for a webhook subscription cannot be read", "organization", l.org, "subscription", l.id, "error", err)
		if l.next.IsZero() {
			l.next = s.hooks.store.Now().Add(recordAgain)
		}
	}
}

// attempt begins an attempt to deliver the first that a line has loaded.
func (s *Sender) attempt(ctx context.Context, l *line, p pace) {
	doc, to := l.loaded[0], l.to
	l.loaded = l.loaded[1:]
	l.inFlight++
	s.busy++
	f := &flight{line: l, pace: p, in: [2]*lanes{&s.total, &s.lanesOf(l.org).lanes}}
	f.begin()
	s.counts.running.Add(1)
	late := time.AfterFunc(promptTime, func() {
		s.post(func() {
			if f.over {
				return
			}
			f.wait()
			l.slow()
			s.requeue(l.org)
		})
	})
	go func() {
		o := s.send(ctx, l.org, to, doc)
		late.Stop()
		cut := ctx.Err() != nil && !o.succeeded()
		s.post(func() { s.ended(ctx, f, o, cut) })
	}()
}

// ended takes in what became of an attempt.
func (s *Sender) ended(ctx context.Context, f *flight, o outcome, cut bool) {
	l := f.line
	f.end()
	l.inFlight--
	s.busy--
	s.counts.running.Add(-1)
	switch {
	case cut: // the service stops: it is sent again when it runs again
	case o.class == localClass:
		l.rest = s.hooks.store.Now().Add(time.Second)
		l.forget()
		delete(l.taken, o.delivery.ID)
		l.look = true
		s.log.Warn("a webhook delivery waits: this machine has no room for another connection")
	default:
		s.counts.count(o)
		if o.url == l.to.url { // what another said, which it had before, is nothing to go by
			l.learn(o, lineMost(s.total.bound))
		}
		l.outcomes = append(l.outcomes, o)
		s.record(ctx, l)
	}
	s.requeue(l.org)
	s.place(l)
}

// record writes down what became of a line's attempts: those that there are by the time that the last writing ends.
func (s *Sender) record(ctx context.Context, l *line) {
	if l.recording || len(l.outcomes) == 0 {
		return
	}
	l.recording = true
	s.busy++
	n := min(len(l.outcomes), recordMost)
	batch := l.outcomes[:n:n]
	l.outcomes = l.outcomes[n:]
	go func() {
		err := s.hooks.record(context.WithoutCancel(ctx), l.org, l.id, batch)
		s.post(func() { s.recorded(ctx, l, batch, err) })
	}()
}

func (s *Sender) recorded(ctx context.Context, l *line, batch []outcome, err error) {
	s.busy--
	l.recording = false
	if err != nil && fault.CodeOf(err) != fault.NotFound { // an organization that was deleted has no records
		s.log.Error("webhook attempts cannot be written down; they will be", "organization", l.org, "subscription", l.id, "attempts", len(batch), "error", err)
		l.outcomes = append(batch, l.outcomes...)
		l.rest = s.hooks.store.Now().Add(recordAgain)
		time.AfterFunc(recordAgain, func() { s.post(func() { s.record(ctx, l) }) })
		return
	}
	for i := range batch {
		delete(l.taken, batch[i].delivery.ID)
	}
	l.look, l.gone = true, false // what failed is due again some time
	s.record(ctx, l)
	s.place(l)
}
