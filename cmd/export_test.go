package cmd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"prospector/internal/apptest"
)

const (
	exportedContacts = 2500
	// Together the contacts are much larger than the connection buffers, so the server has to wait
	// for the reader.
	exportedNotes = 5000
)

// slowExport is an export of all contacts whose reader has only read the first line.
type slowExport struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Reader
}

func (s *server) slowExport(key, requestID string) *slowExport {
	s.t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(256 << 10)
		}
		return conn, err
	}}
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*waitTimeout)
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/contacts/export", strings.NewReader(`{"sort": "id"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/json", "X-Request-Id": requestID} {
		req.Header.Set(name, value)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	e := &slowExport{t: s.t, body: res.Body, lines: bufio.NewReader(res.Body)}
	if first, err := e.lines.ReadString('\n'); err != nil || res.StatusCode != http.StatusOK || !json.Valid([]byte(first)) {
		s.t.Fatalf("%d, %v, %.200s", res.StatusCode, err, first)
	}
	return e
}

// rest reads the remaining contacts by id.
func (e *slowExport) rest() map[string]contact {
	e.t.Helper()
	contacts := map[string]contact{}
	for {
		line, err := e.lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return contacts
		}
		var c contact
		if err == nil {
			err = json.Unmarshal(line, &c)
		}
		if err != nil {
			e.t.Fatalf("after %d lines: %v: %.200s", len(contacts), err, line)
		}
		if _, twice := contacts[c.ID]; twice {
			e.t.Errorf("contact %s occurs twice", c.ID)
		}
		contacts[c.ID] = c
	}
}

// exporting starts a server with enough contacts for a long export.
func exporting(t *testing.T) (p *place, s *server, key string, ids []string) {
	t.Helper()
	p = newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	_, key = p.org("Acme")
	s = p.serve()
	notes := asJSON(strings.Repeat("many words ", exportedNotes/11))
	return p, s, key, s.load(key, exportedContacts, func(int) string { return `"notes": ` + notes })
}

// TestExportSlowReader checks that a slow reader of an export blocks neither writes nor lists, and
// does not keep the store from reusing free pages. The reader receives complete lines, each with
// the contact as it was when the export reached it.
func TestExportSlowReader(t *testing.T) {
	t.Parallel()
	p, s, key, ids := exporting(t)
	round, times := 0, 30
	if apptest.RaceDetector {
		times = 10
	}
	writes := func() (grown int64) {
		t.Helper()
		before := p.storeSize()
		for range times { // each write is a megabyte
			round++
			var records []string
			for i := range 200 {
				records = append(records, fmt.Sprintf(`{"id": %q, "title": "Round %d"}`, ids[1000+i*7], round))
			}
			s.batch(key, records)
			s.counts(key, "title", "is", fmt.Sprintf(`"Round %d"`, round), len(records))
		}
		return p.storeSize() - before
	}
	alone := writes()
	reader := s.slowExport(key, "slow")
	beside := writes()
	// The file grows in steps of 16 MiB. The test writes twice the allowed growth.
	if most := alone + 24<<20; beside > most {
		t.Errorf("the store grew by %d bytes with a slow reader and by %d without one", beside, alone)
	}
	t.Logf("the store grew by %d bytes without a slow reader and by %d with one", alone, beside)

	last, gone := ids[len(ids)-1], ids[len(ids)-2]
	s.do(http.StatusOK, key, "PATCH", "/v1/contacts/"+last, `{"title": "Changed meanwhile"}`)
	s.do(http.StatusNoContent, key, "DELETE", "/v1/contacts/"+gone, "")
	fresh := s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts", `{"email": "late@acme.example"}`))
	contacts := reader.rest()
	for _, id := range ids[1:] {
		if _, has := contacts[id]; has == (id == gone) {
			t.Errorf("contact %s is in the export: got %t", id, has)
		}
	}
	if _, has := contacts[fresh]; has || len(contacts) != len(ids)-2 {
		t.Errorf("after the first line the export has %d contacts, want %d; has a contact created later: %t", len(contacts), len(ids)-2, has)
	}
	if title := contacts[last].Title; title == nil || *title != "Changed meanwhile" {
		t.Error("the last contact is outdated, or the server did not wait for the reader")
	}
	s.stop()
	s.hasNoErrors()
}

// storeSize returns the size of the store file.
func (p *place) storeSize() int64 {
	p.t.Helper()
	info, err := os.Stat(p.path("data", "prospector.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	return info.Size()
}

// TestExportReaderDisconnects checks that a reader that disconnects during an export leaves no
// goroutine behind.
func TestExportReaderDisconnects(t *testing.T) {
	t.Parallel()
	_, s, key, _ := exporting(t)
	for i := range 3 {
		id := fmt.Sprintf("gone-%d", i)
		if err := s.slowExport(key, id).body.Close(); err != nil {
			t.Fatal(err)
		}
		s.await(s.stderr, regexp.MustCompile(`msg=request request_id=`+id+` .*operation=export_contacts`))
	}
	s.exports(key, exportedContacts, "gone")
	s.hasNoErrors()
	// A server that receives SIGQUIT prints its goroutines.
	s.signal(syscall.SIGQUIT)
	s.ends(2)
	stacks := s.stderr.String()
	s.stderr = newOutput() // otherwise the cleanup mistakes the stacks for a crash
	if !strings.Contains(stacks, "goroutine ") || regexp.MustCompile(`(?i)export|handlers\.\(\*stream\)`).MatchString(ofGoroutines(stacks)) {
		t.Errorf("a goroutine of the export is left:\n%s", stacks)
	}
}

// ofGoroutines returns the stacks, which follow the log.
func ofGoroutines(log string) string { return log[strings.Index(log, "SIGQUIT"):] }
