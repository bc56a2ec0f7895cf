package webhook

import "sync/atomic"

// Stats is how deliveries stand.
type Stats struct {
	Attempts map[string]uint64 // that are over since the service began, by "succeeded" and the classes of failures
	Running  int64
	Pending  int
}

type counts struct {
	running   atomic.Int64
	succeeded atomic.Uint64
	failed    [len(failures)]atomic.Uint64
}

// failures are the classes that are counted; every status is one.
var failures = [...]class{dnsClass, connectClass, tlsClass, timeoutClass, blockedClass, redirectClass, statusClass}

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

// Running is how many attempts are under way.
func (s *Sender) Running() int64 { return s.counts.running.Load() }

// Stats reads how deliveries stand.
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
