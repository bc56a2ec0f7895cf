package handlers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"prospector/index"
	"prospector/internal/sequence"
	"prospector/internal/webhook"
	"prospector/internal/worker"
	"prospector/store"
)

// componentStats are the statistics of the components below the API.
type componentStats struct {
	store store.Stats
	index index.Stats
	jobs  worker.Stats
	hooks webhook.Stats
	mail  sequence.MailStats
	ahead time.Duration // of the clock of sequences
}

// statMetric is a metric that is computed from componentStats.
type statMetric struct {
	name  string
	kind  prometheus.ValueType
	help  string
	value func(*componentStats) float64
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

var storeMetrics = []statMetric{
	{
		"prospector_store_commit_failures_total", counter,
		"Failed commits. None of their changes were acknowledged.",
		func(s *componentStats) float64 { return float64(s.store.FailedCommits) },
	},
	{
		"prospector_store_updates_total", counter,
		"Transactions with changes. Several may share a commit.",
		func(s *componentStats) float64 { return float64(s.store.Updates) },
	},
	{
		"prospector_store_updates_queued", gauge,
		"Transactions waiting for their commit.",
		func(s *componentStats) float64 { return float64(s.store.Queued) },
	},
	{
		"prospector_store_disk_full", gauge,
		"1 while writes are refused because the disk is full, otherwise 0.",
		func(s *componentStats) float64 { return truth(s.store.DiskFull) },
	},
	{
		"prospector_store_out_of_place", gauge,
		"1 while writes are refused because the store file was removed, replaced or truncated, otherwise 0.",
		func(s *componentStats) float64 { return truth(s.store.OutOfPlace) },
	},
	{
		"prospector_store_damaged_records", gauge,
		"Records that cannot be read, as far as they were found since the server started.",
		func(s *componentStats) float64 { return float64(s.store.DamagedRecords) },
	},
	{
		"prospector_store_file_bytes", gauge,
		"Size of the store file.",
		func(s *componentStats) float64 { return float64(s.store.FileBytes) },
	},
	{
		"prospector_store_free_bytes", gauge,
		"Unused space inside the store file, which is reused before the file grows.",
		func(s *componentStats) float64 { return float64(s.store.FreeBytes) },
	},
	{
		"prospector_jobs_waiting", gauge,
		"Jobs that are not finished, whether due or not.",
		func(s *componentStats) float64 { return float64(s.store.Jobs.All) },
	},
	{
		"prospector_jobs_due", gauge,
		"Jobs that are due, including those that are running.",
		func(s *componentStats) float64 { return float64(s.store.Jobs.Due) },
	},
	{
		"prospector_jobs_oldest_due_seconds", gauge,
		"How long the oldest due job has been due; 0 if no job is due.",
		func(s *componentStats) float64 { return s.store.Jobs.Late.Seconds() },
	},
}

var indexMetrics = []statMetric{
	{
		"prospector_index_lag_changes", gauge,
		"Changes that are not indexed yet, summed over all indexes.",
		func(s *componentStats) float64 { return float64(s.index.Lag) },
	},
	{
		"prospector_index_max_lag_changes", gauge,
		"Changes that are not indexed yet in the index that is furthest behind. Above 25000, its writers wait.",
		func(s *componentStats) float64 { return float64(s.index.MaxLag) },
	},
	{
		"prospector_index_oldest_lag_seconds", gauge,
		"Age of the oldest change that is not indexed yet; 0 if all changes are indexed.",
		func(s *componentStats) float64 { return s.index.OldestLag.Seconds() },
	},
	{
		"prospector_index_dirty", gauge,
		"Indexes with changes that are not indexed yet.",
		func(s *componentStats) float64 { return float64(s.index.Dirty) },
	},
	{
		"prospector_index_building", gauge,
		"Indexes that are being built. Until they lack at most 25000 records, only the default order of their lists is available.",
		func(s *componentStats) float64 { return float64(s.index.Building) },
	},
	{
		"prospector_index_unindexed_records", gauge,
		"Records that indexes that are being built do not contain yet.",
		func(s *componentStats) float64 { return float64(s.index.Unindexed) },
	},
	{
		"prospector_index_open", gauge,
		"Open indexes.",
		func(s *componentStats) float64 { return float64(s.index.Open) },
	},
	{
		"prospector_index_cache_bytes", gauge,
		"Memory used by the caches of lists.",
		func(s *componentStats) float64 { return float64(s.index.Bytes) },
	},
	{
		"prospector_index_cache_limit_bytes", gauge,
		"Maximum memory for the caches of lists (index.cache_bytes).",
		func(s *componentStats) float64 { return float64(s.index.MaxBytes) },
	},
	{
		"prospector_index_builds_total", counter,
		"Index builds from scratch: the first time, after damage, or by 'prospector reindex'.",
		func(s *componentStats) float64 { return float64(s.index.Builds) },
	},
	{
		"prospector_index_damaged_total", counter,
		"Indexes that were found damaged and rebuilt.",
		func(s *componentStats) float64 { return float64(s.index.Damaged) },
	},
	{
		"prospector_index_failures_total", counter,
		"Failures to update an index. Its lists are slower until an update succeeds.",
		func(s *componentStats) float64 { return float64(s.index.Failures) },
	},
}

var jobMetrics = []statMetric{
	{
		"prospector_jobs_running", gauge,
		"Running jobs.",
		func(s *componentStats) float64 { return float64(s.jobs.Running) },
	},
}

var webhookMetrics = []statMetric{
	{
		"prospector_webhook_deliveries_pending", gauge,
		"Webhook deliveries waiting for their first attempt or a retry.",
		func(s *componentStats) float64 { return float64(s.hooks.Pending) },
	},
	{
		"prospector_webhook_attempts_running", gauge,
		"Webhook delivery attempts in progress.",
		func(s *componentStats) float64 { return float64(s.hooks.Running) },
	},
}

var mailMetrics = []statMetric{
	{
		"prospector_mail_held", gauge,
		"1 while sending of all messages is paused because of the mail server, otherwise 0.",
		func(s *componentStats) float64 { return truth(s.mail.OutageStage != "") },
	},
	{
		"prospector_mail_in_hand", gauge,
		"Messages being handed to the mail server.",
		func(s *componentStats) float64 { return float64(s.mail.InFlight) },
	},
}

var sequenceMetrics = []statMetric{
	{
		"prospector_sequences_clock_ahead_seconds", gauge,
		"How far the clock of sequences is ahead of real time. It runs ahead once sequences.speed is above 1, and stays ahead.",
		func(s *componentStats) float64 { return s.ahead.Seconds() },
	},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collector reads the statistics on each scrape, so that the components do not have to update metrics.
type collector struct {
	api              *API
	descs            map[string]*prometheus.Desc // of the metrics above, by name
	commits, jobRuns *prometheus.Desc
	attempts         *prometheus.Desc
	mails            *prometheus.Desc
}

func newCollector(a *API) *collector {
	c := &collector{
		api: a, descs: map[string]*prometheus.Desc{},
		commits: prometheus.NewDesc("prospector_store_commit_duration_seconds", "Duration of commits, including the sync to disk.", nil, nil),
		jobRuns: prometheus.NewDesc("prospector_job_duration_seconds",
			"Duration of jobs by kind and outcome: done, failed (retried later) or cut (interrupted by a shutdown).", []string{"kind", "outcome"}, nil),
		attempts: prometheus.NewDesc("prospector_webhook_attempts_total",
			"Webhook delivery attempts by result: succeeded, or the reason of the failure.", []string{"result"}, nil),
		mails: prometheus.NewDesc("prospector_mail_handed_over_total",
			"Messages handed to the mail server by result: sent, later (retried), refused, bounced, unknown, recipient_refused (refused or bounced) and trouble (paused and retried).", []string{"result"}, nil),
	}
	for _, metrics := range [][]statMetric{storeMetrics, indexMetrics, jobMetrics, webhookMetrics, mailMetrics, sequenceMetrics} {
		for _, m := range metrics {
			c.descs[m.name] = prometheus.NewDesc(m.name, m.help, nil, nil)
		}
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	to <- c.commits
	to <- c.jobRuns
	to <- c.attempts
	to <- c.mails
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector. A component that cannot be read results in an invalid metric
// and does not affect the others.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	var s componentStats
	var err error
	if s.store, err = c.api.Store.Stats(); err != nil {
		to <- prometheus.NewInvalidMetric(c.commits, err)
	} else {
		c.show(to, &s, storeMetrics)
		to <- durations(c.commits, s.store.Commits)
	}
	isCut := s.store.OutOfPlace // the numbers that do not need the store are still shown
	if s.index, err = c.api.Index.Stats(); err != nil && !isCut {
		to <- prometheus.NewInvalidMetric(c.descs[indexMetrics[0].name], err)
	} else {
		c.show(to, &s, indexMetrics)
	}
	s.jobs = c.api.Worker.Stats()
	c.show(to, &s, jobMetrics)
	for run, took := range s.jobs.Runs {
		to <- durations(c.jobRuns, took, run.Kind, string(run.Outcome))
	}
	s.ahead = c.api.Sequences.ClockAhead()
	c.show(to, &s, sequenceMetrics)
	s.mail = c.api.Sequences.MailStats()
	c.show(to, &s, mailMetrics)
	for result, n := range s.mail.Results {
		to <- prometheus.MustNewConstMetric(c.mails, counter, float64(n), result)
	}
	if s.hooks, err = c.api.Webhooks.Stats(); err != nil && !isCut {
		to <- prometheus.NewInvalidMetric(c.attempts, err)
		return
	}
	c.show(to, &s, webhookMetrics)
	for result, n := range s.hooks.Attempts {
		to <- prometheus.MustNewConstMetric(c.attempts, counter, float64(n), result)
	}
}

func (c *collector) show(to chan<- prometheus.Metric, s *componentStats, metrics []statMetric) {
	for _, m := range metrics {
		to <- prometheus.MustNewConstMetric(c.descs[m.name], m.kind, m.value(s))
	}
}

// durations returns a histogram of durations that a component has counted.
func durations(desc *prometheus.Desc, d store.Durations, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(d.Within))
	for bound, n := range d.Within {
		buckets[bound.Seconds()] = n
	}
	return prometheus.MustNewConstHistogram(desc, d.Count, d.Sum.Seconds(), buckets, labels...)
}
