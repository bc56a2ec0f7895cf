package bench

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// minLink is the rate, in megabits per second, up to which compressing must make responses arrive sooner.
const minLink = 100

// BenchmarkCompression decides whether compressing JSON pays. For pages of several sizes, it requests a list
// over loopback with and without compression, which the client undoes. What compressing takes more, and what
// it saves, give the rate of a link on which both are equally fast: on a slower one, it pays. Loopback is far
// faster than that, so the service does not compress there.
func BenchmarkCompression(b *testing.B) {
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t := newTenant(b, s, "Compressed", 60)
	load(b, s, t, 2000, 1)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "192.0.2.1:4711" // as if from another machine
		s.API.ServeHTTP(w, r)
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	fmt.Println()
	for _, size := range []int{2, 4, 10, 50, 500} {
		body := fmt.Sprintf(`{"page_size": %d}`, size)
		var sent [2]int
		times := [2][]time.Duration{}
		for range 200 {
			for i, encoding := range []string{"identity", "gzip"} {
				start := time.Now()
				n, err := transfer(client, t, server.URL+"/v1/contacts/list", body, encoding)
				if err != nil {
					b.Fatal(err)
				}
				sent[i] = n
				times[i] = append(times[i], time.Since(start))
			}
		}
		slices.Sort(times[0])
		slices.Sort(times[1])
		plain, packed := times[0][len(times[0])/2], times[1][len(times[1])/2]
		link := float64(8*(sent[0]-sent[1])) / (packed - plain).Seconds() / 1e6
		fmt.Printf("list of %d: %d bytes in %v; compressed %d bytes (ratio %.2f) in %v; on loopback %.2f times as long, pays up to %.0f Mbit/s, target %d %s\n",
			size, sent[0], plain, sent[1], float64(sent[1])/float64(sent[0]), packed, packed.Seconds()/plain.Seconds(),
			link, minLink, verdict(packed <= plain || link >= minLink))
	}
}

// transfer requests a list in an encoding and decodes it. It returns the number of bytes that were sent.
func transfer(client *http.Client, t tenant, url, body, encoding string) (int, error) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + t.key}, "Accept-Encoding": {encoding},
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n := int(res.ContentLength)
	plain := io.Reader(res.Body)
	if encoding == "gzip" {
		if plain, err = gzip.NewReader(res.Body); err != nil {
			return 0, err
		}
	}
	_, err = io.Copy(io.Discard, plain)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", res.Status)
	}
	return n, err
}
