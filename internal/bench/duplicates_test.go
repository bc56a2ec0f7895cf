package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"prospector/internal/crm"
	"prospector/store"
)

// BenchmarkDuplicates measures the search for duplicate contacts over HTTP and compares it with one scan of the contacts, in
// turns. A record changes before each search, so that none is answered from the one before.
func BenchmarkDuplicates(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t := newTenant(b, s, "Twins", 60)
	load(b, s, t, n, 1)
	server := httptest.NewServer(s.API)
	defer server.Close()
	post := func(path, body string) string {
		answer, err := send(http.DefaultClient, t, http.MethodPost, server.URL+path, body)
		if err != nil {
			b.Fatal(path, err)
		}
		return string(answer)
	}
	fmt.Printf("\nduplicates of %d contacts, target 5 times one scan\n", n)
	for range 3 {
		post("/v1/contacts/batch", `{"records": [{"first_name": "Ann", "last_name": "Lee"}]}`)
		start := time.Now()
		err := s.Store.View(t.id, func(tx *store.Tx) error {
			return s.CRM.Contacts.Table.Scan(tx, func(store.Doc[crm.Contact]) (bool, error) { return true, nil })
		})
		if err != nil {
			b.Fatal(err)
		}
		scan := time.Since(start)
		start = time.Now()
		answer := post("/v1/contacts/duplicates", `{"page_size": 1}`)
		search := time.Since(start)
		ratio := search.Seconds() / scan.Seconds()
		fmt.Printf("scan %6.2f s  duplicates %6.2f s  ratio %.1f %s  %s\n", scan.Seconds(), search.Seconds(), ratio, verdict(ratio <= 5), answer[max(0, len(answer)-150):])
	}
}
