package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

// pairWriter creates the account "1 of w" in one organization and writes 1 into the title of a
// contact there. It then does the same in another organization, continues with 2, and so on, one
// write at a time. No other writer changes its records.
type pairWriter struct {
	number   int
	sides    [2]pairSide
	began    atomic.Int64 // writes sent so far
	answered atomic.Int64
}

type pairSide struct{ key, contact string }

// run writes until stop is closed.
func (w *pairWriter) run(t *testing.T, url string, stop <-chan struct{}) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: waitTimeout}
	for n := int64(0); ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		side, number := w.sides[n%4/2], n/4+1
		method, path, body, want := http.MethodPost, "/v1/accounts", fmt.Sprintf(`{"name": "%d of %d"}`, number, w.number), http.StatusCreated
		if n%2 == 1 {
			method, path, body, want = http.MethodPatch, "/v1/contacts/"+side.contact, fmt.Sprintf(`{"title": "%d"}`, number), http.StatusOK
		}
		w.began.Add(1)
		r, err := send(c, method, url+path, body, "Authorization", "Bearer "+side.key, "Content-Type", "application/json")
		if err != nil || r.status != want {
			t.Errorf("%s %s: %v, %d %s", method, path, err, r.status, r.body)
			return
		}
		w.answered.Add(1)
	}
}

// found returns how many of the writer's writes the server has. They must be the first ones.
func (w *pairWriter) found(s *server) (n int64) {
	s.t.Helper()
	var have [4]int64
	for i, side := range w.sides {
		have[2*i] = int64(s.accountCount(side.key, w.number))
		if _, err := fmt.Sscan(*s.get(side.key, side.contact).Title, &have[2*i+1]); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, h := range have {
		n += h
	}
	for i, h := range have {
		if h != (n+3-int64(i))/4 {
			s.t.Errorf("writer %d: accounts and titles are written in turn, but the counts are %v", w.number, have)
			break
		}
	}
	return n
}

// accountCount checks that the accounts of a writer are numbered from 1 without gaps, and returns
// their number.
func (s *server) accountCount(key string, writer int) int {
	s.t.Helper()
	numbers := map[int]bool{}
	for line := range bytes.Lines(s.do(http.StatusOK, key, "POST", "/v1/accounts/export", `{}`).body) {
		var a struct{ Name string }
		var number, of int
		err := json.Unmarshal(line, &a)
		if err == nil {
			_, err = fmt.Sscanf(a.Name, "%d of %d", &number, &of)
		}
		if err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		if of != writer {
			continue
		}
		if numbers[number] {
			s.t.Errorf("account %s exists twice", a.Name)
		}
		numbers[number] = true
	}
	for i := range len(numbers) {
		if !numbers[i+1] {
			s.t.Errorf("got %d accounts of writer %d, but number %d is missing", len(numbers), writer, i+1)
		}
	}
	return len(numbers)
}

// TestBackupUnderLoad checks that a backup is a snapshot across organizations. For each writer it
// contains a prefix of the writes, including every write acknowledged before the command started.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	const orgs = 4
	var sides [2 * orgs]pairSide
	first := ""
	for i := range orgs {
		org, key := p.org(fmt.Sprint("Org ", i))
		ids := p.contacts(uuid.MustParse(org), 300) // enough that copying takes a while
		if i == 0 {
			first = key
		}
		sides[i], sides[orgs+i] = pairSide{key, ids[0].String()}, pairSide{key, ids[1].String()}
	}
	s := p.serve()
	var writers [orgs]*pairWriter
	var running sync.WaitGroup
	stop := make(chan struct{})
	for i := range writers {
		w := &pairWriter{number: i, sides: [2]pairSide{sides[i], sides[orgs+(i+1)%orgs]}}
		for _, side := range w.sides {
			s.do(http.StatusOK, side.key, "PATCH", "/v1/contacts/"+side.contact, `{"title": "0"}`)
		}
		writers[i] = w
	}
	for _, w := range writers {
		running.Go(func() { w.run(t, s.url, stop) })
	}
	backups := 3
	if apptest.RaceDetector {
		backups = 1
	}
	var before, after [3][orgs]int64
	for b := range backups {
		for i, w := range writers {
			before[b][i] = w.answered.Load()
		}
		r, err := p.try("backup", fmt.Sprint("backup ", b))
		if err != nil || r.status != 0 {
			t.Errorf("%v: %s", err, r.stderr)
		}
		for i, w := range writers {
			after[b][i] = w.began.Load()
		}
	}
	close(stop)
	running.Wait()
	if t.Failed() {
		return
	}
	s.stop()
	for b := range backups {
		dir := fmt.Sprint("restored ", b)
		p.run("restore", fmt.Sprint("backup ", b), "--data-dir", dir).withoutProgress().ok()
		s := p.serve("--data-dir", dir)
		if n := s.total(first, "contacts", `{}`); n != 300 {
			t.Errorf("got %d contacts", n)
		}
		for i, w := range writers {
			n := w.found(s)
			t.Logf("backup %d, writer %d: %d writes acknowledged before it, %d in it, %d sent before it finished", b, i, before[b][i], n, after[b][i])
			if n < before[b][i] || n > after[b][i] {
				t.Errorf("%d writes were acknowledged before backup %d started and %d were sent before it finished, but it has %d", before[b][i], b, after[b][i], n)
			}
		}
		s.stop()
		p.run("check", "--data-dir", dir).withoutProgress().says(`Checked \d+ records, found 0 problems\n`)
	}
	for i, w := range writers {
		if w.answered.Load() == 0 {
			t.Errorf("writer %d wrote nothing", i)
		}
	}
}
