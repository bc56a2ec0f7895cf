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

// metricsPath is the path of the metrics, whether they are served with the API or separately.
const metricsPath = "/metrics"

// noOperation is the operation label of requests that reached no operation, because of an unknown path,
// a rejected key or the rate limit.
const noOperation = "none"

// cutOff is the status label of a response that was aborted after its beginning was sent.
const cutOff = "cut_off"

// durationBuckets are the histogram buckets of request durations, in seconds.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// metrics are the Prometheus metrics of the service. They contain no data of organizations.
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
			Help: "Duration of requests by operation (none if no operation was reached) and status " +
				"(cut_off if the response was aborted).",
		}, []string{"operation", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "prospector_http_requests_in_flight", Help: "Requests in progress, including this one if the metrics are served with the API.",
		}),
		rateLimited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "prospector_http_rate_limited_total", Help: "Requests refused because their organization exceeded its rate limit.",
		}),
		keysRejected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "prospector_http_keys_rejected_total", Help: "Requests refused because the API key or session is missing or invalid, and failed sign-ins.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "prospector_build_info", Help: "Always 1; the labels contain the version.",
		ConstLabels: prometheus.Labels{"version": a.Version, "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.inFlight, m.rateLimited, m.keysRejected, build, &collector{a},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe records a finished request.
func (m *metrics) observe(c *call, sent *sentStatus, took time.Duration) {
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

// metricsText returns the metrics in the Prometheus text format. Metrics that cannot be read are logged
// and left out, because the others are still useful.
func (a *API) metricsText() (metricsText, error) {
	families, err := a.metrics.registry.Gather()
	if err != nil {
		a.Log.Error("reading some metrics failed", "error", err)
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

// metricsOperation serves the metrics with the API, unless they have a separate address.
func (a *API) metricsOperation() []Operation {
	if a.SeparateMetrics {
		return nil
	}
	return []Operation{withoutTx(Operation{
		Name: "get_metrics", Method: http.MethodGet, Path: metricsPath,
		Summary: "Get the metrics of the service in the Prometheus text format",
	}, func(*call, nothing) (metricsText, error) { return a.metricsText() })}
}

// Metrics returns a handler that serves only the metrics.
func (a *API) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsPath, func(w http.ResponseWriter, r *http.Request) {
		text, err := a.metricsText()
		if err != nil {
			http.Error(w, "encoding the metrics failed; see the server log", http.StatusInternalServerError)
			a.Log.Error("encoding the metrics failed", "error", err)
			return
		}
		response{status: http.StatusOK, contentType: text.contentType, body: text.body}.write(w)
	})
	return mux
}
