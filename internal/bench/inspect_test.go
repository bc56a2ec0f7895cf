package bench

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkInspect measures how long the inspection of a file of 2 MB over HTTP takes, with 2 columns and with 1,024,
// in turns.
func BenchmarkInspect(b *testing.B) {
	s := openService(b, b.TempDir())
	server := httptest.NewServer(s.API)
	defer server.Close()
	tenant := newTenant(b, s, "Acme", 1)
	inspect := func(columns int) time.Duration {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", "contacts.csv")
		if err == nil {
			_, err = io.WriteString(part, wideTable(columns))
		}
		if err == nil {
			err = form.WriteField("options", `{"entity": "contacts"}`)
		}
		if err == nil {
			err = form.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/imports/inspect", &body)
		if err != nil {
			b.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + tenant.key}, "Content-Type": {form.FormDataContentType()}}
		start := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			b.Fatalf("%d %v", res.StatusCode, err)
		}
		return time.Since(start)
	}
	const rounds = 21
	var narrow, wide [rounds]time.Duration
	for i := range rounds {
		narrow[i], wide[i] = inspect(2), inspect(1024)
	}
	slices.Sort(narrow[:])
	slices.Sort(wide[:])
	few, many := narrow[rounds/2], wide[rounds/2]
	ratio := float64(many) / float64(few)
	fmt.Printf("inspect of 2 MB: %v with 2 columns, %v with 1,024; ratio %.1f, at most 5 %s\n", few, many, ratio, verdict(ratio <= 5))
}

// wideTable returns a table of 2 MB.
func wideTable(columns int) string {
	var table strings.Builder
	for i := range columns {
		fmt.Fprintf(&table, "name %d,", i)
	}
	for n := 0; table.Len() < 2<<20; n++ {
		if n%columns == 0 {
			table.WriteByte('\n')
		}
		fmt.Fprintf(&table, "value %d,", n)
	}
	return table.String()
}
