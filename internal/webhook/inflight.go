package webhook

import (
	"context"
	"time"

	"prospector/internal/fault"
	"prospector/store"
)

// inflightAttempt is an attempt that has started and not ended, with the limits that count it.
type inflightAttempt struct {
	queue     *endpointQueue
	tier      tier
	limits    [2]*concurrencyLimit // of the installation and of the organization
	isWaiting bool
	ended     bool
}

func (a *inflightAttempt) count(starting, waiting int) {
	for _, l := range a.limits {
		l.starting[a.tier] += starting
		l.waiting[a.tier] += waiting
	}
}

func (a *inflightAttempt) start() { a.count(1, 0) }

// wait moves an attempt without an answer from the starting to the waiting ones. Its tier is no
// longer the fast one.
func (a *inflightAttempt) wait() {
	a.count(-1, 0)
	a.isWaiting, a.tier = true, max(a.tier, unprovenTier)
	a.count(0, 1)
}

func (a *inflightAttempt) end() {
	a.ended = true
	if a.isWaiting {
		a.count(0, -1)
	} else {
		a.count(-1, 0)
	}
}

// endpointOf reads the endpoint of a subscription. The result is zero if the subscription is not
// active.
func (s *Sender) endpointOf(tx *store.Tx, q *endpointQueue) (to endpoint, err error) {
	doc, err := s.webhooks.Subscriptions.Get(tx, q.id)
	if err == nil && doc.Record.Status == Active {
		to = endpoint{url: doc.Record.URL, secrets: doc.Record.private.Secrets}
	}
	return to, err
}

// readEndpoint reads the endpoint again, so that outcomes of attempts to a former URL are recognized.
func (s *Sender) readEndpoint(q *endpointQueue) {
	q.to = endpoint{}
	_ = s.webhooks.store.View(q.org, func(tx *store.Tx) (err error) { // load logs the error
		q.to, err = s.endpointOf(tx, q)
		return err
	})
}

// load reads the endpoint of a queue and its due deliveries.
func (s *Sender) load(q *endpointQueue) {
	q.stale, q.nextDue = false, time.Time{}
	err := s.webhooks.store.View(q.org, func(tx *store.Tx) (err error) {
		if q.to, err = s.endpointOf(tx, q); err != nil || q.to.url == "" {
			return err
		}
		if !q.backOffLoaded {
			q.backOffLoaded = true
			if q.backOffUntil, err = s.webhooks.backOffOf(tx, q.id); err != nil || q.backOffUntil.After(tx.Now()) {
				return err
			}
		}
		q.loaded, q.stale, q.nextDue, err = s.webhooks.due(tx, q.id, q.loadSize(), q.taken)
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		delete(s.queues, q.id)
	} else if err != nil {
		s.log.Error("cannot read pending webhook deliveries of a subscription",
			"organization", q.org, "subscription", q.id, "error", err)
		if q.nextDue.IsZero() {
			q.nextDue = s.webhooks.store.Now().Add(recordRetryDelay)
		}
	}
}

// attempt starts an attempt to deliver the first loaded delivery of a queue.
func (s *Sender) attempt(ctx context.Context, q *endpointQueue, t tier) {
	doc, to := q.loaded[0], q.to
	q.loaded = q.loaded[1:]
	q.inFlight++
	s.busy++
	a := &inflightAttempt{
		queue: q, tier: t,
		limits: [2]*concurrencyLimit{&s.total, &s.queuesOf(q.org).concurrencyLimit},
	}
	a.start()
	s.counts.running.Add(1)
	slow := time.AfterFunc(s.webhooks.SlowAfter, func() {
		s.post(func() {
			if a.ended {
				return
			}
			a.wait()
			q.noteSlow()
			s.requeue(q.org)
		})
	})
	go func() {
		o := s.send(ctx, q.org, to, doc)
		slow.Stop()
		cutOff := ctx.Err() != nil && !o.succeeded()
		s.post(func() { s.attemptEnded(ctx, a, o, cutOff) })
	}()
}

// attemptEnded handles the outcome of an attempt. cutOff marks an attempt that was canceled because
// the service stops: it is repeated after the next start.
func (s *Sender) attemptEnded(ctx context.Context, a *inflightAttempt, o outcome, cutOff bool) {
	q := a.queue
	a.end()
	q.inFlight--
	s.busy--
	s.counts.running.Add(-1)
	switch {
	case cutOff:
	case o.class == localFailure:
		q.backOffUntil = s.webhooks.store.Now().Add(time.Second)
		q.unload()
		delete(q.taken, o.delivery.ID)
		q.stale = true
		s.log.Warn("webhook delivery delayed: no file descriptor or buffer for another connection",
			"organization", q.org, "subscription", q.id)
	default:
		s.counts.count(o)
		if o.url == q.to.url { // an outcome of a former URL does not describe the current endpoint
			q.adapt(o, maxInFlightPerEndpoint(s.total.bound), s.webhooks.SlowAfter)
		}
		q.outcomes = append(q.outcomes, o)
		s.record(ctx, q)
	}
	s.requeue(q.org)
	s.schedule(q)
}

// record stores the outcomes of a queue, one batch at a time. Outcomes that arrive while a batch is
// being stored are part of the next one.
func (s *Sender) record(ctx context.Context, q *endpointQueue) {
	if q.recording || len(q.outcomes) == 0 {
		return
	}
	q.recording = true
	s.busy++
	n := min(len(q.outcomes), maxRecordBatch)
	batch := q.outcomes[:n:n]
	q.outcomes = q.outcomes[n:]
	go func() {
		err := s.webhooks.record(context.WithoutCancel(ctx), q.org, q.id, batch)
		s.post(func() { s.recorded(ctx, q, batch, err) })
	}()
}

func (s *Sender) recorded(ctx context.Context, q *endpointQueue, batch []outcome, err error) {
	s.busy--
	q.recording = false
	if err != nil && fault.CodeOf(err) != fault.NotFound { // NotFound: the organization was deleted
		s.log.Error("cannot store webhook attempts, will retry", "organization", q.org, "subscription", q.id,
			"attempts", len(batch), "retry_in", recordRetryDelay, "error", err)
		q.outcomes = append(batch, q.outcomes...)
		q.backOffUntil = s.webhooks.store.Now().Add(recordRetryDelay)
		time.AfterFunc(recordRetryDelay, func() { s.post(func() { s.record(ctx, q) }) })
		return
	}
	for i := range batch {
		delete(q.taken, batch[i].delivery.ID)
	}
	q.stale, q.gone = true, false // failed deliveries have a new due time
	s.record(ctx, q)
	s.schedule(q)
}
