package handlers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"prospector/index"
	"prospector/internal/outreach"
	"prospector/internal/webhook"
	"prospector/internal/worker"
	"prospector/store"
)

// standing is how the parts below the API stand at one moment.
type standing struct {
	store store.Stats
	index index.Stats
	jobs  worker.Stats
	hooks webhook.Stats
	mail  outreach.MailStats
	ahead time.Duration // the clock of sequences, of the wall's
}

// measure is a metric that is read from a standing.
type measure struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*standing) float64
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

var storeMeasures = []measure{
	{"prospector_store_commit_failures_total", "Commits that failed; nothing of them was acknowledged.", counter, func(s *standing) float64 { return float64(s.store.FailedCommits) }},
	{"prospector_store_updates_total", "Transactions that wrote something. Several share a commit.", counter, func(s *standing) float64 { return float64(s.store.Updates) }},
	{"prospector_store_updates_queued", "Transactions that wait for their commit.", gauge, func(s *standing) float64 { return float64(s.store.Queued) }},
	{"prospector_store_disk_full", "1 while writes are refused because the disk has no room, else 0.", gauge, func(s *standing) float64 { return truth(s.store.DiskFull) }},
	{"prospector_store_file_bytes", "Size of the store's file.", gauge, func(s *standing) float64 { return float64(s.store.FileBytes) }},
	{"prospector_store_free_bytes", "Room within the store's file, which is used before it grows.", gauge, func(s *standing) float64 { return float64(s.store.FreeBytes) }},
	{"prospector_jobs_waiting", "Jobs that are not done, due or not.", gauge, func(s *standing) float64 { return float64(s.store.Jobs.All) }},
	{"prospector_jobs_due", "Jobs whose time has come, those that run among them.", gauge, func(s *standing) float64 { return float64(s.store.Jobs.Due) }},
	{"prospector_jobs_held", "Jobs that a restored store holds until 'prospector resume'.", gauge, func(s *standing) float64 { return float64(s.store.Jobs.Held) }},
	{"prospector_jobs_oldest_due_seconds", "How long the job that has been due for longest has been so; 0 when none is due.", gauge, func(s *standing) float64 { return s.store.Jobs.Late.Seconds() }},
}

var indexMeasures = []measure{
	{"prospector_index_lag_changes", "Changes that are not in their index yet, over all indexes.", gauge, func(s *standing) float64 { return float64(s.index.Lag) }},
	{"prospector_index_max_lag_changes", "Changes that the index furthest behind has not taken in yet; past 25000 its writers wait.", gauge, func(s *standing) float64 { return float64(s.index.MostLag) }},
	{"prospector_index_oldest_lag_seconds", "How long ago the first change was made that is not in its index yet; 0 when all are.", gauge, func(s *standing) float64 { return s.index.OldestLag.Seconds() }},
	{"prospector_index_dirty", "Indexes that have something to take in.", gauge, func(s *standing) float64 { return float64(s.index.Dirty) }},
	{"prospector_index_building", "Indexes that do not hold all records yet; their lists are slower.", gauge, func(s *standing) float64 { return float64(s.index.Building) }},
	{"prospector_index_open", "Indexes that are open.", gauge, func(s *standing) float64 { return float64(s.index.Open) }},
	{"prospector_index_cache_bytes", "Memory for what lists keep ready.", gauge, func(s *standing) float64 { return float64(s.index.Bytes) }},
	{"prospector_index_cache_limit_bytes", "What that memory may be (index.cache_bytes).", gauge, func(s *standing) float64 { return float64(s.index.MostBytes) }},
	{"prospector_index_builds_total", "Indexes that were begun from nothing: the first time, after damage, or by reindex.", counter, func(s *standing) float64 { return float64(s.index.Builds) }},
	{"prospector_index_damaged_total", "Indexes that were found wrong, and made anew.", counter, func(s *standing) float64 { return float64(s.index.Damaged) }},
	{"prospector_index_failures_total", "How often an index could not be kept; its lists are slower until it can.", counter, func(s *standing) float64 { return float64(s.index.Failures) }},
}

var jobMeasures = []measure{
	{"prospector_jobs_running", "Jobs that run.", gauge, func(s *standing) float64 { return float64(s.jobs.Running) }},
}

var webhookMeasures = []measure{
	{"prospector_webhook_deliveries_pending", "Deliveries to webhook subscriptions that wait for their first or another attempt.", gauge, func(s *standing) float64 { return float64(s.hooks.Pending) }},
	{"prospector_webhook_attempts_running", "Attempts to deliver that are under way.", gauge, func(s *standing) float64 { return float64(s.hooks.Running) }},
}

var mailMeasures = []measure{
	{"prospector_mail_held", "1 while nobody's messages can be sent because of trouble with the mail server, else 0.", gauge, func(s *standing) float64 { return truth(s.mail.Trouble != "") }},
	{"prospector_mail_senders_held", "Senders whose messages alone cannot be sent: the mail server does not take them.", gauge, func(s *standing) float64 { return float64(s.mail.SendersHeld) }},
	{"prospector_mail_in_hand", "Messages that are on their way to the mail server.", gauge, func(s *standing) float64 { return float64(s.mail.InHand) }},
}

var sequenceMeasures = []measure{
	{"prospector_sequences_clock_ahead_seconds", "How far the clock of sequences is ahead of the wall's: it is once it has run faster, and stays so.", gauge, func(s *standing) float64 { return s.ahead.Seconds() }},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collector reads the standing when it is asked for it, so that counting costs the parts next to nothing.
type collector struct {
	api              *API
	descs            map[string]*prometheus.Desc // of the measures, by name
	commits, jobRuns *prometheus.Desc
	attempts         *prometheus.Desc
	mails            *prometheus.Desc
}

func newCollector(a *API) *collector {
	c := &collector{
		api: a, descs: map[string]*prometheus.Desc{},
		commits: prometheus.NewDesc("prospector_store_commit_duration_seconds", "How long commits took to reach the disk.", nil, nil),
		jobRuns: prometheus.NewDesc("prospector_job_duration_seconds",
			"How long jobs ran, by kind and outcome: done, failed (tried again later) or cut (short, by the end of the service).", []string{"kind", "outcome"}, nil),
		attempts: prometheus.NewDesc("prospector_webhook_attempts_total",
			"Attempts to deliver to webhook subscriptions, by result: succeeded, or why they failed.", []string{"result"}, nil),
		mails: prometheus.NewDesc("prospector_mail_handed_over_total",
			"Messages that were handed to the mail server, by what came of it: sent, later (tried again), refused, bounced, unknown, or trouble and unwelcome (held, and tried again).", []string{"result"}, nil),
	}
	for _, measures := range [][]measure{storeMeasures, indexMeasures, jobMeasures, webhookMeasures, mailMeasures, sequenceMeasures} {
		for _, m := range measures {
			c.descs[m.name] = prometheus.NewDesc(m.name, m.help, nil, nil)
		}
	}
	return c
}

// Describe names what Collect gives.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	to <- c.commits
	to <- c.jobRuns
	to <- c.attempts
	to <- c.mails
	for _, d := range c.descs {
		to <- d
	}
}

// Collect gives the standing. A part that cannot be read is an error, and keeps no other from being shown.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	var s standing
	var err error
	if s.store, err = c.api.Store.Stats(); err != nil {
		to <- prometheus.NewInvalidMetric(c.commits, err)
	} else {
		c.show(to, &s, storeMeasures)
		to <- durations(c.commits, s.store.Commits)
	}
	if s.index, err = c.api.Index.Stats(); err != nil {
		to <- prometheus.NewInvalidMetric(c.descs[indexMeasures[0].name], err)
	} else {
		c.show(to, &s, indexMeasures)
	}
	s.jobs = c.api.Worker.Stats()
	c.show(to, &s, jobMeasures)
	for run, took := range s.jobs.Runs {
		to <- durations(c.jobRuns, took, run.Kind, string(run.Outcome))
	}
	s.ahead = c.api.Outreach.ClockAhead()
	c.show(to, &s, sequenceMeasures)
	s.mail = c.api.Outreach.MailStats()
	c.show(to, &s, mailMeasures)
	for result, n := range s.mail.HandedOver {
		to <- prometheus.MustNewConstMetric(c.mails, counter, float64(n), result)
	}
	if s.hooks, err = c.api.Webhooks.Stats(); err != nil {
		to <- prometheus.NewInvalidMetric(c.attempts, err)
		return
	}
	c.show(to, &s, webhookMeasures)
	for result, n := range s.hooks.Attempts {
		to <- prometheus.MustNewConstMetric(c.attempts, counter, float64(n), result)
	}
}

func (c *collector) show(to chan<- prometheus.Metric, s *standing, measures []measure) {
	for _, m := range measures {
		to <- prometheus.MustNewConstMetric(c.descs[m.name], m.kind, m.value(s))
	}
}

// durations is a histogram of what was counted below.
func durations(desc *prometheus.Desc, d store.Durations, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(d.Within))
	for bound, n := range d.Within {
		buckets[bound.Seconds()] = n
	}
	return prometheus.MustNewConstHistogram(desc, d.Count, d.Sum.Seconds(), buckets, labels...)
}
