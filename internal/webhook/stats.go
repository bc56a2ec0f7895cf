package webhook

import "sync/atomic"

// Stats are the numbers that the metrics show.
type Stats struct {
	Attempts map[string]uint64 // ended since the service started, by "succeeded" or failure class
	Running  int64
	Pending  int
}

type counts struct {
	running   atomic.Int64
	succeeded atomic.Uint64
	failed    [len(failures)]atomic.Uint64
}

// failures lists the classes that are counted. All HTTP statuses are one class.
var failures = [...]failureClass{
	dnsFailure, connectFailure, tlsFailure, timeoutFailure, redirectFailure, statusFailure,
}

func (c *counts) count(o outcome) {
	if o.succeeded() {
		c.succeeded.Add(1)
		return
	}
	at := len(failures) - 1
	for i, f := range failures {
		if f == o.class {
			at = i
		}
	}
	c.failed[at].Add(1)
}

// Running is the number of attempts in flight.
func (s *Sender) Running() int64 { return s.counts.running.Load() }

// Stats returns the current numbers.
func (w *Webhooks) Stats() (Stats, error) {
	c := &w.Sender.counts
	st := Stats{Attempts: map[string]uint64{string(Succeeded): c.succeeded.Load()}, Running: w.Sender.Running()}
	for i, f := range failures {
		st.Attempts[string(f)] = c.failed[i].Load()
	}
	var err error
	st.Pending, err = w.Pending()
	return st, err
}
