package handlers

import (
	"bytes"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"prospector/internal/fault"
)

// metricsPath is where the metrics are, on whichever address.
const metricsPath = "/metrics"

// noOperation stands in labels for requests that reached no operation: an unknown path, a key or a rate that was refused.
const noOperation = "none"

// cutOff stands for the status of an answer that was cut off, whatever status it had begun with.
const cutOff = "cut_off"

// durationBuckets are the seconds that requests are counted by.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// metrics are what Prometheus reads. They show how the service does, and nothing of an organization.
type metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.HistogramVec
	inFlight     prometheus.Gauge
	rateLimited  prometheus.Counter
	keysRejected prometheus.Counter
}

func newMetrics(a *API) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prospector_http_request_duration_seconds", Buckets: durationBuckets,
			Help: "How long requests took, by operation (none for what reached none) and status (cut_off for an answer that was).",
		}, []string{"operation", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "prospector_http_requests_in_flight", Help: "Requests that are being answered, this one too when it is one of the API.",
		}),
		rateLimited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "prospector_http_rate_limited_total", Help: "Requests refused because their organization had used up its minute.",
		}),
		keysRejected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "prospector_http_keys_rejected_total", Help: "Requests refused for a key that is missing, unknown, expired or deactivated.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "prospector_build_info", Help: "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": a.Version, "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.inFlight, m.rateLimited, m.keysRejected, build, newCollector(a),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// answered counts a request.
func (m *metrics) answered(c *call, sent *sentStatus, took time.Duration) {
	operation, status := noOperation, cutOff
	if c.op != nil {
		operation = c.op.Name
	}
	if !sent.cut {
		status = strconv.Itoa(sent.status)
	}
	m.requests.WithLabelValues(operation, status).Observe(took.Seconds())
	switch c.code {
	case fault.RateLimited:
		m.rateLimited.Inc()
	case fault.Unauthorized:
		m.keysRejected.Inc()
	}
}

// metricsText is the metrics as Prometheus reads them. What cannot be read is left out, and logged: the rest is needed all the
// more then.
func (a *API) metricsText() (metricsText, error) {
	families, err := a.metrics.registry.Gather()
	if err != nil {
		a.Log.Error("some metrics cannot be read", "error", err)
	}
	var text bytes.Buffer
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	encoder := expfmt.NewEncoder(&text, format)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return metricsText{}, err
		}
	}
	return metricsText{raw{string(format), text.Bytes()}}, nil
}

type metricsText struct{ raw }

func (metricsText) output() outputSource { return outputSource{raw: "text/plain"} }

// metricsOperation serves the metrics beside the API, unless they have an address of their own.
func (a *API) metricsOperation() []Operation {
	if a.MetricsElsewhere {
		return nil
	}
	return []Operation{plain(Operation{
		Name: "get_metrics", Method: http.MethodGet, Path: metricsPath, Summary: "Read how the service does, as text for Prometheus",
	}, func(*call, nothing) (metricsText, error) { return a.metricsText() })}
}

// Metrics serves the metrics and nothing else.
func (a *API) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsPath, func(w http.ResponseWriter, r *http.Request) {
		text, err := a.metricsText()
		if err != nil {
			http.Error(w, "the metrics cannot be written; the log says why", http.StatusInternalServerError)
			a.Log.Error("metrics", "error", err)
			return
		}
		answer{status: http.StatusOK, contentType: text.contentType, body: text.body}.write(w)
	})
	return mux
}
