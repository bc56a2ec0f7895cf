package cmd_test

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var metricsAddress = regexp.MustCompile(`msg="serving metrics" address=(http://127\.0\.0\.1:\d+/metrics)`)

// TestMetricsAddr checks that metrics with an address of their own are served only there, without
// the API.
func TestMetricsAddr(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_METRICS_ADDR=127.0.0.1:0")
	s := p.serve()
	at := s.await(s.stderr, metricsAddress)[1]
	_, key := p.org("Acme")
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	s.do(http.StatusNotFound, key, "GET", "/metrics", "")
	get := func(url string, status int) string {
		t.Helper()
		r, err := send(client, "GET", url, "")
		if err != nil || r.status != status {
			t.Fatalf("%s: %v, %d %s", url, err, r.status, r.body)
		}
		return string(r.body)
	}
	text := get(at, http.StatusOK)
	for _, line := range []string{
		`prospector_http_request_duration_seconds_count{operation="get_me",status="200"} 1`,
		`prospector_http_request_duration_seconds_count{operation="none",status="404"} 1`,
		"prospector_http_requests_in_flight 0",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the metrics do not contain %s:\n%s", line, text)
		}
	}
	get(strings.TrimSuffix(at, "metrics")+"v1/me", http.StatusNotFound)
	get(strings.TrimSuffix(at, "metrics"), http.StatusNotFound)
	s.stop()
	if _, err := send(client, "GET", at, ""); err == nil {
		t.Error("the metrics are still served")
	}
}

// TestMetricsBesideTheAPI checks that metrics without an address of their own are served with the
// API.
func TestMetricsBesideTheAPI(t *testing.T) {
	t.Parallel()
	s := newPlace(t).serve()
	r, err := send(client, "GET", s.url+"/metrics", "")
	if err != nil || r.status != http.StatusOK || !strings.Contains(string(r.body), "prospector_build_info{") {
		t.Errorf("%v, %d %s", err, r.status, r.body)
	}
	s.stop()
}

func TestMetricsAddrInUse(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, addr := range []string{ln.Addr().String(), "nonsense"} {
		p := newPlace(t)
		p.run("org", "create", "--name", "Acme").ok() // otherwise the log reports the new store
		p.env = []string{"PROSPECTOR_METRICS_ADDR=" + addr}
		p.run("serve", "--addr", "127.0.0.1:0").fails(1, "metrics_addr", addr)
		p.env = nil
		p.serve().stop() // the failed start left nothing behind
	}
}
