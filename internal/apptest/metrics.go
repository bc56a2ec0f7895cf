package apptest

import (
	"strconv"
	"strings"
	"testing"
)

// Sample is one reading of the metrics: their values by name and labels, as Prometheus writes them.
type Sample map[string]float64

// Scrape reads the metrics.
func Scrape(t *testing.T, app *App) Sample {
	t.Helper()
	s := Sample{}
	for line := range strings.Lines(string(app.Anonymous().Get("/metrics").Is(200).Body)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		s[line[:at]] = v
	}
	return s
}

// Has requires the values of some metrics.
func (s Sample) Has(t *testing.T, want Sample) {
	t.Helper()
	for name, v := range want {
		if got, there := s[name]; got != v || !there {
			t.Errorf("%s = %v (present: %t), want %v", name, got, there, v)
		}
	}
}

// Since returns how much each of the metrics has increased.
func (s Sample) Since(before Sample) Sample {
	up := Sample{}
	for name, v := range s {
		up[name] = v - before[name]
	}
	return up
}
