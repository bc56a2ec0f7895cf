package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// output collects what a running program writes. Tests can read it and wait for it concurrently.
type output struct {
	mu    sync.Mutex
	text  []byte
	grown chan struct{} // closed at the next write
}

func newOutput() *output { return &output{grown: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	close(o.grown)
	o.grown = make(chan struct{})
	return len(p), nil
}

func (o *output) String() string {
	s, _ := o.now()
	return s
}

func (o *output) now() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text), o.grown
}

// server is a running serve or demo.
type server struct {
	t              *testing.T
	url            string
	process        *os.Process
	stdout, stderr *output
	exited         chan struct{} // closed when the process has exited
	status         int
}

var listening = regexp.MustCompile(`msg"?[=:]"?listening"?.*?address"?[=:]"?(https?://127\.0\.0\.1:\d+)`)

// serve starts a server on a free port and waits until it listens.
func (p *place) serve(flags ...string) *server {
	p.t.Helper()
	s := p.start(append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	s.url = s.await(s.stderr, listening)[1]
	return s
}

// start starts the program, which runs at most until the end of the test.
func (p *place) start(args ...string) *server {
	p.t.Helper()
	s := &server{t: p.t, stdout: newOutput(), stderr: newOutput(), exited: make(chan struct{})}
	c := p.command(args...)
	c.Stdout, c.Stderr = s.stdout, s.stderr
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	s.process = c.Process
	go s.reap(c)
	p.t.Cleanup(s.cleanup)
	return s
}

func (s *server) reap(c *exec.Cmd) {
	_ = c.Wait() // the exit status is checked instead
	s.status = c.ProcessState.ExitCode()
	close(s.exited)
}

var plaintextKey = regexp.MustCompile(`pro_[A-Za-z0-9_-]{48}`)

// cleanup kills the program if it still runs, and checks that the log contains nothing forbidden.
func (s *server) cleanup() {
	_ = s.process.Kill()
	<-s.exited
	log := s.stderr.String()
	for _, bad := range []string{"panic", "goroutine ", "DATA RACE"} {
		if strings.Contains(log, bad) {
			s.t.Errorf("the log contains %q", bad)
		}
	}
	if plaintextKey.MatchString(log) {
		s.t.Error("the log contains an API key")
	}
	if s.t.Failed() {
		s.t.Logf("log of the server:\n%s", log)
	}
}

// await waits until the pattern matches the output, and returns the groups.
func (s *server) await(o *output, pattern *regexp.Regexp) []string {
	s.t.Helper()
	late := time.After(waitTimeout)
	for {
		text, grown := o.now()
		if m := pattern.FindStringSubmatch(text); m != nil {
			return m
		}
		select {
		case <-grown:
		case <-s.exited:
			if m := pattern.FindStringSubmatch(o.String()); m != nil {
				return m
			}
			s.t.Fatalf("the program exited with status %d before it printed %q:\n%s%s", s.status, pattern, s.stdout, s.stderr)
		case <-late:
			s.t.Fatalf("the output does not match %q:\n%s%s", pattern, s.stdout, s.stderr)
		}
	}
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the process to exit and checks its exit status.
func (s *server) ends(status int) {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(waitTimeout):
		s.t.Fatalf("the program does not exit:\n%s", s.stderr)
	}
	if s.status != status {
		s.t.Fatalf("exit status %d, want %d:\n%s", s.status, status, s.stderr)
	}
}

// stop stops the server gracefully.
func (s *server) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.ends(0)
}

// kill kills the server. The exit status of a killed process is -1.
func (s *server) kill() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	s.ends(-1)
}

// reply is an HTTP response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// client reuses no connections, so it is always clear which server responds.
var client = &http.Client{Timeout: waitTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// send sends a request with headers given as names and values.
func send(c *http.Client, method, url, body string, headers ...string) (reply, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	res, err := c.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: answer}, err
}

// do sends a request with a key and checks the status of the response.
func (s *server) do(status int, key, method, path, body string, headers ...string) reply {
	s.t.Helper()
	headers = append([]string{"Authorization", "Bearer " + key, "Content-Type", "application/json"}, headers...)
	r, err := send(client, method, s.url+path, body, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.status != status {
		s.t.Fatalf("%s %s %s\nstatus %d, want %d: %s", method, path, body, r.status, status, r.body)
	}
	return r
}

// envelope is the part of responses that the tests use.
type envelope struct {
	Data struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	} `json:"data"`
	Error struct {
		Code string `json:"code"`
	} `json:"error"`
}

func (r reply) item() (e envelope, err error) {
	if len(r.body) == 0 {
		return e, nil
	}
	if err = json.Unmarshal(r.body, &e); err != nil {
		err = fmt.Errorf("the response is not JSON: %w: %s", err, r.body)
	}
	return e, err
}

// id returns the id of the item in a response.
func (s *server) id(r reply) string {
	s.t.Helper()
	e, err := r.item()
	if err != nil || e.Data.ID == "" {
		s.t.Fatalf("the response is not an item (%v): %s", err, r.body)
	}
	return e.Data.ID
}

// total returns the number of records in a list.
func (s *server) total(key, entity, body string) int {
	s.t.Helper()
	var list struct {
		Pagination struct {
			TotalCount *int `json:"total_count"`
		} `json:"pagination"`
	}
	r := s.do(http.StatusOK, key, "POST", "/v1/"+entity+"/list", body)
	if err := json.NewDecoder(bytes.NewReader(r.body)).Decode(&list); err != nil || list.Pagination.TotalCount == nil {
		s.t.Fatalf("the response is not a list (%v): %s", err, r.body)
	}
	return *list.Pagination.TotalCount
}
