// The tests of this package drive the program as its users do: they build it once, run it in directories of their own
// and look at what it prints, at its exit status and at what it answers over HTTP.
package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// patience bounds every wait. It is long because it only ever passes when something is broken.
const patience = 2 * time.Minute

// unhurried is less than a server that is told to stop waits for what is under way, which is half a minute: one that took no longer
// did not wait, however busy the machine was.
const unhurried = 25 * time.Second

// binary is the program under test. plain is the same without the race detector, which takes a fraction of the time: it is for the
// short commands that prepare most tests, and for what a test runs only to judge by.
var binary, plain string

// testVersion is the version of the program under test.
const testVersion = "1.2.3-test"

func TestMain(m *testing.M) { os.Exit(withBinary(m.Run)) }

// withBinary builds the program, with the race detector when the tests have it.
func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "prospector")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "prospector")
	plain = binary
	builds := map[string][]string{plain: {"build"}}
	if raceDetector {
		plain += "-plain"
		builds = map[string][]string{binary: {"build", "-race"}, plain: {"build"}}
	}
	for file, args := range builds {
		version := "-X prospector/internal/service.version=" + testVersion
		c := exec.Command("go", append(args, "-ldflags", version, "-o", file, "prospector")...)
		if !slices.Contains(args, "-race") {
			c.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds it, which may be in the cache
		}
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
	}
	return run()
}

// place is a directory that someone works in. Its data directory is ./data, the default.
type place struct {
	t     *testing.T
	dir   string
	env   []string // settings
	plain bool     // all that it runs is not raced
}

func newPlace(t *testing.T, env ...string) *place {
	t.Helper()
	return &place{t: t, dir: t.TempDir(), env: env}
}

// judge is the same place, for what is not itself tested.
func (p *place) judge() *place { return &place{t: p.t, dir: p.dir, env: p.env, plain: true} }

// path names a file of the place.
func (p *place) path(parts ...string) string {
	return filepath.Join(append([]string{p.dir}, parts...)...)
}

// write makes a file in the place.
func (p *place) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// command is the program, ready to start. The settings of whoever runs the tests do not reach it.
func (p *place) command(args ...string) *exec.Cmd {
	program := binary
	if p.plain || len(args) > 0 && slices.Contains([]string{"org", "user", "key", "version"}, args[0]) {
		program = plain
	}
	c := exec.Command(program, args...)
	c.Dir = p.dir
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PROSPECTOR_") })
	c.Env = append(c.Env, "GORACE=atexit_sleep_ms=0") // else every command takes a second to end
	c.Env = append(c.Env, p.env...)
	return c
}

// result is how a command ended.
type result struct {
	t              *testing.T
	what           string
	stdout, stderr string
	status         int
	progress       string // what done took from stderr
}

// run runs a command to its end.
func (p *place) run(args ...string) result {
	p.t.Helper()
	r, err := p.try(args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// feed runs a command that reads the input.
func (p *place) feed(input io.Reader, args ...string) result {
	p.t.Helper()
	r, err := p.tryFeed(input, args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// try is run for goroutines, which must not end the test.
func (p *place) try(args ...string) (result, error) { return p.tryFeed(nil, args...) }

func (p *place) tryFeed(input io.Reader, args ...string) (result, error) {
	r := result{t: p.t, what: "prospector " + strings.Join(args, " ")}
	var stdout, stderr bytes.Buffer
	c := p.command(args...)
	c.Stdin, c.Stdout, c.Stderr = input, &stdout, &stderr
	if err := c.Start(); err != nil {
		return r, err
	}
	late := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	err := c.Wait()
	if !late.Stop() {
		return r, fmt.Errorf("%s: still running after %v\n%s", r.what, patience, stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	r.stdout, r.stderr, r.status = stdout.String(), stderr.String(), c.ProcessState.ExitCode()
	return r, nil
}

// ok wants success and nothing on stderr.
func (r result) ok() result {
	r.t.Helper()
	if r.status != 0 || r.stderr != "" {
		r.t.Fatalf("%s\nexit status %d\nstdout: %s\nstderr: %s", r.what, r.status, r.stdout, r.stderr)
	}
	return r
}

// fails wants an exit status and one line on stderr that has the texts in it, and nothing on stdout.
func (r result) fails(status int, texts ...string) result {
	r.t.Helper()
	if r.status != status || r.stdout != "" {
		r.t.Fatalf("%s\nexit status %d, want %d\nstdout: %s\nstderr: %s", r.what, r.status, status, r.stdout, r.stderr)
	}
	line, rest, ended := strings.Cut(r.stderr, "\n")
	if !strings.HasPrefix(line, "prospector: ") || !ended || rest != "" {
		r.t.Fatalf("%s\nstderr must be one line of the program's: %q", r.what, r.stderr)
	}
	if strings.Contains(line, "goroutine ") || strings.Contains(line, ".go:") {
		r.t.Fatalf("%s\nshows a stack trace: %s", r.what, line)
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			r.t.Fatalf("%s\nsays %q, want %q in it", r.what, line, text)
		}
	}
	return r
}

// prints wants success and exactly one JSON object; "<id>", "<time>" and "<any>" stand for what changes.
func (r result) prints(want string) result {
	r.t.Helper()
	r.ok()
	if diff := apptest.Diff(want, r.stdout); diff != "" {
		r.t.Fatalf("%s\n%s\nstdout: %s", r.what, diff, r.stdout)
	}
	return r
}

// says wants success and text for people that the pattern fits as a whole.
func (r result) says(pattern string) result {
	r.t.Helper()
	r.ok()
	if !regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString(r.stdout) {
		r.t.Fatalf("%s\nprints %q, which %s does not fit", r.what, r.stdout, pattern)
	}
	return r
}

// text is a text of the JSON object that a command printed.
func (r result) text(field string) string {
	r.t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(r.ok().stdout), &object); err != nil {
		r.t.Fatalf("%s\nprints no JSON object: %v\n%s", r.what, err, r.stdout)
	}
	s, ok := object[field].(string)
	if !ok {
		r.t.Fatalf("%s\nprints no text %s: %s", r.what, field, r.stdout)
	}
	return s
}

// org makes an organization with a user and gives its id and an admin key.
func (p *place) org(name string, flags ...string) (id, key string) {
	p.t.Helper()
	run := func(args ...string) result { return p.run(slices.Concat(args, flags, []string{"--json"})...) }
	id = run("org", "create", "--name", name).text("id")
	run("user", "create", "--org", id, "--email", "ada@acme.example").ok()
	return id, run("key", "create", "--org", id, "--name", "test", "--access", "admin").text("key")
}
