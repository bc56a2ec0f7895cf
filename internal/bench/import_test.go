package bench

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/service"
	"prospector/internal/shape"
)

// BenchmarkImport measures the import of an untidy CSV file over HTTP, and compares it with batches of the same contacts
// over HTTP. It also prints the memory that an import takes.
func BenchmarkImport(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, ln.(*net.TCPListener), nil, func(context.Context) error { close(ready); return nil })
	}()
	<-ready
	server := httptest.NewServer(s.API)
	defer server.Close()

	const rounds = 5
	ratios := make([]float64, rounds)
	for i := range rounds {
		batched := newTenant(b, s, fmt.Sprintf("Batched %d", i), 60)
		bodies := batchBodies(b, batched, n)
		batch := timed(b, s, n, func() { sendBatches(b, server, batched, "contacts", bodies) })

		uploaded := newTenant(b, s, fmt.Sprintf("Uploaded %d", i), 60)
		file, bad := dirtyCSV(b, uploaded, n)
		upload := timed(b, s, n, func() { wholeFile(b, uploadImport(b, server, uploaded, file), n+bad) })
		ratios[i] = upload / batch
		fmt.Printf("import of %d contacts and %d bad rows over HTTP: %.0f rows/s; batches over HTTP: %.0f/s; ratio %.2f\n",
			n, bad, upload, batch, upload/batch)
	}
	slices.Sort(ratios)
	fmt.Printf("import over HTTP compared with batches, median ratio: %.2f, target 0.8 %s\n",
		ratios[rounds/2], verdict(ratios[rounds/2] >= 0.8))
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	measureImportMemory(b, n)
}

// timed returns the records per second of a run that writes n records, measured until they are
// indexed.
func timed(b *testing.B, s *service.Service, n int, write func()) float64 {
	start := time.Now()
	write()
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	return float64(n) / time.Since(start).Seconds()
}

type importResult struct {
	ID, Status           string
	Rows, Added, Skipped int
}

// wholeFile checks that an import has read all rows and imported nearly all of them. People of the same name at the same
// account are one.
func wholeFile(b *testing.B, r importResult, rows int) {
	if r.Rows != rows || r.Added < rows*9/10 || r.Skipped > rows/50 {
		b.Errorf("the import of %d rows has %+v", rows, r)
	}
}

// uploadImport imports a file over HTTP and returns the import when it is over.
func uploadImport(b *testing.B, server *httptest.Server, t tenant, file string) importResult {
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	body, sent := io.Pipe()
	form := multipart.NewWriter(sent)
	go func() {
		err := form.WriteField("options", `{"entity": "contacts"}`)
		if err == nil {
			var part io.Writer
			if part, err = form.CreateFormFile("file", "contacts.csv"); err == nil {
				_, err = io.Copy(part, f)
			}
		}
		_ = sent.CloseWithError(errors.Join(err, form.Close()))
	}()
	ask := func(method, path, contentType string, body io.Reader) (r importResult) {
		req, err := http.NewRequest(method, server.URL+path, body)
		if err != nil {
			b.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + t.key}, "Content-Type": {contentType}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		var answer struct{ Data importResult }
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode >= 300 {
			b.Fatalf("%s: %d %v", path, res.StatusCode, err)
		}
		return answer.Data
	}
	r := ask(http.MethodPost, "/v1/imports", form.FormDataContentType(), body)
	for r.Status == "running" {
		time.Sleep(10 * time.Millisecond)
		r = ask(http.MethodGet, "/v1/imports/"+r.ID, "", nil)
	}
	return r
}

// dirtyCSV writes n contacts the way other programs export them: with a byte-order mark, CRLF,
// different column names, unknown columns, quotes and newlines in cells, spaces around addresses,
// and one bad row in every hundred.
func dirtyCSV(b *testing.B, t tenant, n int) (file string, bad int) {
	file = filepath.Join(b.TempDir(), "contacts.csv")
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	fmt.Fprint(f, "\ufeff")
	w := csv.NewWriter(f)
	w.UseCRLF = true
	columns := []string{"first_name", "last_name", "email", "title", "location", "linkedin_url", "scoring.heat_score", "phone_number", "do_not_contact", "notes", "tags", "owner"}
	header := slices.Clone(columns)
	header[0], header[2] = "First Name", "E-Mail"
	rows := [][]string{header}
	r := rand.New(rand.NewPCG(3, 7))
	for i := range n {
		body := contactBody(r, i, t.tags)
		row := make([]string, len(columns))
		for c, column := range columns {
			row[c] = cellOf(body, column)
		}
		row[2] += " "
		if i%3 == 0 {
			row[9] = "said \"later\";\ncalled, twice"
		}
		row[11] = "someone"
		rows = append(rows, row)
		if i%100 == 0 {
			bad++
			rows = append(rows, slices.Replace(slices.Clone(row), 2, 3, "not an address"))
		}
	}
	if err := w.WriteAll(rows); err != nil {
		b.Fatal(err)
	}
	return file, bad
}

func cellOf(body shape.Value, column string) string {
	v := body
	for key := range strings.SplitSeq(column, ".") {
		v = v.Get(key)
	}
	var entries []string
	for _, item := range v.Items {
		entries = append(entries, item.Text)
	}
	switch {
	case v.Kind == shape.List:
		return strings.Join(entries, "|")
	case v.Kind == shape.Bool:
		return fmt.Sprint(v.True)
	}
	return v.Text
}

// measureImportMemory prints the peak memory of the command without a server, for a fifth of the
// rows and for all of them.
func measureImportMemory(b *testing.B, n int) {
	binary := filepath.Join(b.TempDir(), "prospector")
	if out, err := exec.Command("go", "build", "-o", binary, "prospector").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	peak := func(n int) int64 {
		dir := b.TempDir()
		s := openService(b, dir)
		t := newTenant(b, s, "Memory", 60)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		file, _ := dirtyCSV(b, t, n)
		c := exec.Command(binary, "import", "contacts", file, "--org", t.id.String(), "--map", "E-Mail=email", "--data-dir", dir)
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- c.Wait() }()
		most := int64(0)
		for {
			select {
			case err := <-exited:
				if err != nil {
					b.Fatal(err)
				}
				return most
			case <-time.After(20 * time.Millisecond):
				most = max(most, anonOf(c.Process.Pid))
			}
		}
	}
	few, all := peak(n/5), peak(n)
	fmt.Printf("peak memory (RssAnon) of an import without a server: %d MB for %d rows, %d MB for %d rows; ratio %.2f\n",
		few>>20, n/5, all>>20, n, float64(all)/float64(few))
}
