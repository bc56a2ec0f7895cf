package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"prospector/internal/service"
)

// clients is the number of concurrent callers in measureHTTP.
const clients = 8

// measureHTTP measures the default list over HTTP and compares it with a bare handler that writes
// the same bytes.
func measureHTTP(b *testing.B, s *service.Service, t tenant) {
	server := httptest.NewServer(s.API)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	call := func(url string) []byte {
		answer, err := send(client, t, http.MethodPost, url+"/v1/contacts/list", "{}")
		if err != nil {
			b.Error(err)
		}
		return answer
	}
	answer := call(server.URL)
	router := httprouter.New()
	router.POST("/v1/contacts/list", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
	bare := httptest.NewServer(router)
	defer bare.Close()

	const rounds = 7
	rates := [2][]float64{}
	for range rounds {
		for i, url := range []string{server.URL, bare.URL} {
			var done atomic.Int64
			var wg sync.WaitGroup
			start := time.Now()
			for range clients {
				wg.Go(func() {
					for time.Since(start) < 300*time.Millisecond {
						call(url)
						done.Add(1)
					}
				})
			}
			wg.Wait()
			rates[i] = append(rates[i], float64(done.Load())/time.Since(start).Seconds())
		}
	}
	for i := range rates {
		slices.Sort(rates[i])
	}
	ours, theirs := rates[0][rounds/2], rates[1][rounds/2]
	fmt.Printf("\ndefault list over HTTP, %d clients: %.0f/s; bare handler with the same %d bytes: %.0f/s; ratio %.2f, target 0.5 %s\n",
		clients, ours, len(answer), theirs, ours/theirs, verdict(ours/theirs >= 0.5))
}
