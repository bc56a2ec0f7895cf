// Package browsertest tests the console in a real browser, Debian's chromium, against the demo. It is a module of
// its own, so that the service does not depend on the browser's protocol. Without a browser the tests are skipped.
package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// demo is a running demo.
type demo struct {
	url, key, link string
	binary, data   string
}

var shared *demo

// TestMain runs one demo and one browser for all tests.
func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if browserPath() == "" {
		return m.Run(), nil // each test is skipped
	}
	dir, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shared = &demo{binary: os.Getenv("PROSPECTOR_BINARY"), data: filepath.Join(dir, "data")}
	if shared.binary == "" {
		shared.binary = filepath.Join(dir, "prospector")
		if out, err := exec.Command("go", "build", "-C", "../..", "-o", shared.binary, ".").CombinedOutput(); err != nil {
			return 1, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	stop, err := shared.start()
	if err != nil {
		return 1, err
	}
	defer stop()
	stopBrowser, err := startChromium()
	if err != nil {
		return 1, err
	}
	defer stopBrowser()
	if code := m.Run(); code != 0 {
		return code, nil
	}
	problems, err := uncovered()
	if len(problems) > 0 {
		return 1, fmt.Errorf("the console and the list in coverage_test.go disagree:\n%s", strings.Join(problems, "\n"))
	}
	return 0, err
}

// start runs the demo until its campaign is over, and leaves it serving.
func (d *demo) start() (stop func(), err error) {
	companies := "2000"
	if os.Getenv("PROSPECTOR_SCREENSHOTS") != "" {
		companies = "20000" // as in a demo that a user starts
	}
	c := exec.Command(d.binary, "demo", "--addr", "127.0.0.1:0", "--companies", companies, "--speed", "604800", "--data-dir", d.data)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PROSPECTOR_") }),
		"PROSPECTOR_RATE_LIMIT_PER_MINUTE=0", "PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=1ms")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
	patterns := map[*regexp.Regexp]*string{
		regexp.MustCompile(`running at (http://\S+)`):         &d.url,
		regexp.MustCompile(`^  (http://\S+/app/welcome#\S+)`): &d.link,
		regexp.MustCompile(`^export KEY=(\S+)`):               &d.key,
	}
	for lines := bufio.NewScanner(out); lines.Scan() && d.key == ""; {
		for pattern, into := range patterns {
			if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
				*into = m[1]
			}
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
	if d.url == "" || d.link == "" || d.key == "" {
		stop()
		return nil, fmt.Errorf("the demo printed no address, link or key: %q %q %q", d.url, d.link, d.key)
	}
	return stop, nil
}

// invite makes a one-time link for the demo's user.
func (d *demo) invite(t testing.TB) string {
	t.Helper()
	out, err := exec.Command(d.binary, "user", "invite", "--org", "Northwind Demo", "--email", "ada@northwind.example", "--data-dir", d.data).Output()
	if err != nil {
		t.Fatalf("user invite: %v", err)
	}
	return regexp.MustCompile(`http\S+`).FindString(string(out))
}

// call makes a request with the demo's API key and returns the decoded body.
func (d *demo) call(t testing.TB, method, path string, body any) map[string]any {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(method, d.url+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Timeout: time.Minute}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	decoded := map[string]any{}
	if err := json.NewDecoder(res.Body).Decode(&decoded); err != nil && res.StatusCode != http.StatusNoContent {
		t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		t.Fatalf("%s %s %s: status %d: %v", method, path, encoded, res.StatusCode, decoded)
	}
	return decoded
}

// create makes a record and returns its id.
func (d *demo) create(t testing.TB, path string, body map[string]any) string {
	t.Helper()
	id, _ := d.call(t, http.MethodPost, path, body)["data"].(map[string]any)["id"].(string)
	return id
}

// first returns the first record of a list.
func (d *demo) first(t testing.TB, path string, query map[string]any) map[string]any {
	t.Helper()
	found, _ := d.call(t, http.MethodPost, path, query)["data"].([]any)
	if len(found) == 0 {
		t.Fatalf("%s has no records", path)
	}
	return found[0].(map[string]any)
}
