package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// BenchmarkFacets measures facets over HTTP and compares each with the default list, in turns. The fields have
// recurring values: up to some thousands of distinct ones.
func BenchmarkFacets(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t := newTenant(b, s, "Faceted", 60)
	load(b, s, t, n, 1)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(s.API)
	defer server.Close()
	measure := func(path, body string) float64 {
		start := time.Now()
		if _, err := send(http.DefaultClient, t, http.MethodPost, server.URL+path, body); err != nil {
			b.Fatal(path, body, err)
		}
		return time.Since(start).Seconds()
	}
	fmt.Printf("\nfacets over %d contacts, target 5 times the default list\n", n)
	for _, body := range []string{
		`{"field":"tags"}`, `{"field":"title"}`, `{"field":"source"}`, `{"field":"do_not_contact"}`, `{"field":"last_name"}`,
		`{"field":"tags","filters":[{"field":"do_not_contact","condition":"is","value":false}]}`,
		`{"field":"title","search":"an"}`,
	} {
		var lists, facets []float64
		for i := range 60 {
			list, facet := measure("/v1/contacts/list", `{}`), measure("/v1/contacts/facets", body)
			if i >= 10 {
				lists, facets = append(lists, list), append(facets, facet)
			}
		}
		slices.Sort(lists)
		slices.Sort(facets)
		list, facet := lists[len(lists)/2], facets[len(facets)/2]
		fmt.Printf("%-90s %7.2f ms  default list %.2f ms  ratio %.1f %s\n", body, facet*1e3, list*1e3, facet/list, verdict(facet/list <= 5))
	}
}
