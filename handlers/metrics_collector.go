package handlers

import (
	"github.com/prometheus/client_golang/prometheus"

	"prospector/store"
)

// collector reads the statistics of the components below the API on each scrape, so that these do not have to update metrics.
type collector struct {
	api *API
}

// Describe implements prometheus.Collector. The collector is an unchecked one: what it sends is said in Collect alone.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. A component that cannot be read results in an invalid metric
// and does not affect the others.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := scrape{to}
	isCut := s.ofStore(c.api) // the numbers that do not need the store are still shown
	s.ofIndex(c.api, isCut)
	s.ofJobs(c.api)
	s.ofMail(c.api)
	s.ofWebhooks(c.api, isCut)
}

// scrape sends metrics to one reader of them.
type scrape struct {
	to chan<- prometheus.Metric
}

func (s scrape) gauge(name, help string, value float64) {
	s.to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value)
}

func (s scrape) counter(name, help string, value float64) {
	s.to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.CounterValue, value)
}

// results sends a counter with a value for each result.
func (s scrape) results(name, help string, byResult map[string]uint64) {
	desc := prometheus.NewDesc(name, help, []string{"result"}, nil)
	for result, n := range byResult {
		s.to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), result)
	}
}

// durations sends a histogram of durations that a component has counted.
func (s scrape) durations(desc *prometheus.Desc, d store.Durations, labels ...string) {
	buckets := make(map[float64]uint64, len(d.Within))
	for bound, n := range d.Within {
		buckets[bound.Seconds()] = n
	}
	s.to <- prometheus.MustNewConstHistogram(desc, d.Count, d.Sum.Seconds(), buckets, labels...)
}

func (s scrape) failed(err error) {
	s.to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// ofStore returns whether the store was cut off from its file.
func (s scrape) ofStore(a *API) (isCut bool) {
	stats, err := a.Store.Stats()
	if err != nil {
		s.failed(err)
		return stats.OutOfPlace
	}
	s.counter("prospector_store_commit_failures_total",
		"Failed commits. None of their changes were acknowledged.", float64(stats.FailedCommits))
	s.counter("prospector_store_updates_total",
		"Transactions with changes. Several may share a commit.", float64(stats.Updates))
	s.gauge("prospector_store_updates_queued",
		"Transactions waiting for their commit.", float64(stats.Queued))
	s.gauge("prospector_store_disk_full",
		"1 while writes are refused because the disk is full, otherwise 0.", truth(stats.DiskFull))
	s.gauge("prospector_store_out_of_place",
		"1 while writes are refused because the store file was removed, replaced or truncated, otherwise 0.", truth(stats.OutOfPlace))
	s.gauge("prospector_store_damaged_records",
		"Records that cannot be read, as far as they were found since the server started.", float64(stats.DamagedRecords))
	s.gauge("prospector_store_file_bytes",
		"Size of the store file.", float64(stats.FileBytes))
	s.gauge("prospector_store_free_bytes",
		"Unused space inside the store file, which is reused before the file grows.", float64(stats.FreeBytes))
	s.gauge("prospector_jobs_waiting",
		"Jobs that are not finished, whether due or not.", float64(stats.Jobs.All))
	s.gauge("prospector_jobs_due",
		"Jobs that are due, including those that are running.", float64(stats.Jobs.Due))
	s.gauge("prospector_jobs_oldest_due_seconds",
		"How long the oldest due job has been due; 0 if no job is due.", stats.Jobs.Late.Seconds())
	s.durations(prometheus.NewDesc("prospector_store_commit_duration_seconds", "Duration of commits, including the sync to disk.", nil, nil), stats.Commits)
	return stats.OutOfPlace
}

func (s scrape) ofIndex(a *API, isCut bool) {
	stats, err := a.Index.Stats()
	if err != nil && !isCut {
		s.failed(err)
		return
	}
	s.gauge("prospector_index_lag_changes",
		"Changes that are not indexed yet, summed over all indexes.", float64(stats.Lag))
	s.gauge("prospector_index_max_lag_changes",
		"Changes that are not indexed yet in the index that is furthest behind. Above 25000, its writers wait.", float64(stats.MaxLag))
	s.gauge("prospector_index_oldest_lag_seconds",
		"Age of the oldest change that is not indexed yet; 0 if all changes are indexed.", stats.OldestLag.Seconds())
	s.gauge("prospector_index_dirty",
		"Indexes with changes that are not indexed yet.", float64(stats.Dirty))
	s.gauge("prospector_index_building",
		"Indexes that are being built. Until they lack at most 25000 records, only the default order of their lists is available.", float64(stats.Building))
	s.gauge("prospector_index_unindexed_records",
		"Records that indexes that are being built do not contain yet.", float64(stats.Unindexed))
	s.gauge("prospector_index_open",
		"Open indexes.", float64(stats.Open))
	s.gauge("prospector_index_cache_bytes",
		"Memory used by the caches of lists.", float64(stats.Bytes))
	s.gauge("prospector_index_cache_limit_bytes",
		"Maximum memory for the caches of lists (index.cache_bytes).", float64(stats.MaxBytes))
	s.counter("prospector_index_builds_total",
		"Index builds from scratch: the first time, after damage, or by 'prospector reindex'.", float64(stats.Builds))
	s.counter("prospector_index_damaged_total",
		"Indexes that were found damaged and rebuilt.", float64(stats.Damaged))
	s.counter("prospector_index_failures_total",
		"Failures to update an index. Its lists are slower until an update succeeds.", float64(stats.Failures))
}

func (s scrape) ofJobs(a *API) {
	stats := a.Worker.Stats()
	s.gauge("prospector_jobs_running",
		"Running jobs.", float64(stats.Running))
	desc := prometheus.NewDesc("prospector_job_duration_seconds",
		"Duration of jobs by kind and outcome: done, failed (retried later) or cut (interrupted by a shutdown).", []string{"kind", "outcome"}, nil)
	for run, took := range stats.Runs {
		s.durations(desc, took, run.Kind, string(run.Outcome))
	}
}

func (s scrape) ofMail(a *API) {
	s.gauge("prospector_sequences_clock_ahead_seconds",
		"How far the clock of sequences is ahead of real time. It runs ahead once sequences.speed is above 1, and stays ahead.", a.Sequences.ClockAhead().Seconds())
	stats := a.Sequences.MailStats()
	s.gauge("prospector_mail_held",
		"1 while sending of all messages is paused because of the mail server, otherwise 0.", truth(stats.OutageStage != ""))
	s.gauge("prospector_mail_in_hand",
		"Messages being handed to the mail server.", float64(stats.InFlight))
	s.results("prospector_mail_handed_over_total",
		"Messages handed to the mail server by result: sent, later (retried), refused, bounced, unknown, recipient_refused (refused or bounced) and trouble (paused and retried).", stats.Results)
}

func (s scrape) ofWebhooks(a *API, isCut bool) {
	stats, err := a.Webhooks.Stats()
	if err != nil && !isCut {
		s.failed(err)
		return
	}
	s.gauge("prospector_webhook_deliveries_pending",
		"Webhook deliveries waiting for their first attempt or a retry.", float64(stats.Pending))
	s.gauge("prospector_webhook_attempts_running",
		"Webhook delivery attempts in progress.", float64(stats.Running))
	s.results("prospector_webhook_attempts_total",
		"Webhook delivery attempts by result: succeeded, or the reason of the failure.", stats.Attempts)
}
