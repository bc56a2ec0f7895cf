// The tests of this package use the program as its users do. They build it once, run it in temporary
// directories, and check its output, its exit status and its HTTP responses.
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

// waitTimeout limits every wait. It is long because it only expires when something is broken.
const waitTimeout = 2 * time.Minute

// shutdownLimit is less than the 30 seconds that a stopping server waits for requests in flight. A
// server that stops faster did not wait, however busy the machine was.
const shutdownLimit = 25 * time.Second

// binary is the program under test. plain is the same program without the race detector, which
// takes a fraction of the time. It runs the short commands that prepare most tests, and those that
// only check a result.
var binary, plain string

// testVersion is the version of the program under test.
const testVersion = "1.2.3-test"

func TestMain(m *testing.M) { os.Exit(withBinary(m.Run)) }

// withBinary builds the program, with the race detector if the tests use it.
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
	if apptest.RaceDetector {
		plain += "-plain"
		builds = map[string][]string{binary: {"build", "-race"}, plain: {"build"}}
	}
	for file, args := range builds {
		version := "-w -X prospector/internal/service.version=" + testVersion
		c := exec.Command("go", append(args, "-ldflags", version, "-o", file, "prospector")...)
		if !slices.Contains(args, "-race") {
			c.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, to share its build cache
		}
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
	}
	return run()
}

// place is a working directory. Its data directory is ./data, the default.
type place struct {
	t     *testing.T
	dir   string
	env   []string // settings
	plain bool     // run everything without the race detector
	setup string   // a shell command that runs before each program, in its process
}

func newPlace(t *testing.T, env ...string) *place {
	t.Helper()
	return &place{t: t, dir: t.TempDir(), env: env}
}

// withoutRaceDetector returns the same place, for commands that only check a result.
func (p *place) withoutRaceDetector() *place {
	return &place{t: p.t, dir: p.dir, env: p.env, plain: true, setup: p.setup}
}

// path returns the path of a file in the place.
func (p *place) path(parts ...string) string {
	return filepath.Join(append([]string{p.dir}, parts...)...)
}

// write writes a file in the place.
func (p *place) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// command returns a command that is ready to start. It does not inherit settings from the environment.
func (p *place) command(args ...string) *exec.Cmd {
	program := binary
	if p.plain || len(args) > 0 && slices.Contains([]string{"org", "user", "key", "version"}, args[0]) {
		program = plain
	}
	c := exec.Command(program, args...)
	if p.setup != "" {
		c = exec.Command("sh", append([]string{"-c", p.setup + ` && exec "$0" "$@"`, program}, args...)...)
	}
	c.Dir = p.dir
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PROSPECTOR_") })
	c.Env = append(c.Env, "GORACE=atexit_sleep_ms=0") // otherwise every command takes a second to exit
	c.Env = append(c.Env, p.env...)
	return c
}

// result is the result of a command.
type result struct {
	t              *testing.T
	what           string
	stdout, stderr string
	status         int
	progress       string // the progress that done removed from stderr
}

// run runs a command and waits for it.
func (p *place) run(args ...string) result {
	p.t.Helper()
	r, err := p.try(args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// feed runs a command with input on stdin.
func (p *place) feed(input io.Reader, args ...string) result {
	p.t.Helper()
	r, err := p.tryFeed(input, args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// try is run for goroutines, which must not call Fatal.
func (p *place) try(args ...string) (result, error) { return p.tryFeed(nil, args...) }

func (p *place) tryFeed(input io.Reader, args ...string) (result, error) {
	r := result{t: p.t, what: "prospector " + strings.Join(args, " ")}
	var stdout, stderr bytes.Buffer
	c := p.command(args...)
	c.Stdin, c.Stdout, c.Stderr = input, &stdout, &stderr
	if err := c.Start(); err != nil {
		return r, err
	}
	late := time.AfterFunc(waitTimeout, func() { _ = c.Process.Kill() })
	err := c.Wait()
	if !late.Stop() {
		return r, fmt.Errorf("%s: still running after %v\n%s", r.what, waitTimeout, stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	r.stdout, r.stderr, r.status = stdout.String(), stderr.String(), c.ProcessState.ExitCode()
	return r, nil
}

// ok checks that the command succeeded and printed nothing on stderr.
func (r result) ok() result {
	r.t.Helper()
	if r.status != 0 || r.stderr != "" {
		r.t.Fatalf("%s\nexit status %d\nstdout: %s\nstderr: %s", r.what, r.status, r.stdout, r.stderr)
	}
	return r
}

// fails checks the exit status, that stderr is one line that contains the texts, and that stdout is
// empty.
func (r result) fails(status int, texts ...string) result {
	r.t.Helper()
	if r.status != status || r.stdout != "" {
		r.t.Fatalf("%s\nexit status %d, want %d\nstdout: %s\nstderr: %s", r.what, r.status, status, r.stdout, r.stderr)
	}
	line, rest, ended := strings.Cut(r.stderr, "\n")
	if !strings.HasPrefix(line, "prospector: ") || !ended || rest != "" {
		r.t.Fatalf("%s\nstderr is not one line of the program: %q", r.what, r.stderr)
	}
	if strings.Contains(line, "goroutine ") || strings.Contains(line, ".go:") {
		r.t.Fatalf("%s\nshows a stack trace: %s", r.what, line)
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			r.t.Fatalf("%s\nprints %q, which does not contain %q", r.what, line, text)
		}
	}
	return r
}

// prints checks that the command succeeded and printed exactly one JSON object. "<id>", "<time>" and
// "<any>" match any such value.
func (r result) prints(want string) result {
	r.t.Helper()
	r.ok()
	if diff := apptest.Diff(want, r.stdout); diff != "" {
		r.t.Fatalf("%s\n%s\nstdout: %s", r.what, diff, r.stdout)
	}
	return r
}

// says checks that the command succeeded and that the pattern matches its whole output.
func (r result) says(pattern string) result {
	r.t.Helper()
	r.ok()
	if !regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString(r.stdout) {
		r.t.Fatalf("%s\nprints %q, which does not match %s", r.what, r.stdout, pattern)
	}
	return r
}

// text returns a string of the JSON object that a command printed.
func (r result) text(field string) string {
	r.t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(r.ok().stdout), &object); err != nil {
		r.t.Fatalf("%s\nprints no JSON object: %v\n%s", r.what, err, r.stdout)
	}
	s, ok := object[field].(string)
	if !ok {
		r.t.Fatalf("%s\nprints no string %s: %s", r.what, field, r.stdout)
	}
	return s
}

// org creates an organization with a user, and returns its id and an admin key.
func (p *place) org(name string, flags ...string) (id, key string) {
	p.t.Helper()
	run := func(args ...string) result { return p.run(slices.Concat(args, flags, []string{"--json"})...) }
	id = run("org", "create", "--name", name).text("id")
	run("user", "create", "--org", id, "--email", "ada@acme.example").ok()
	return id, run("key", "create", "--org", id, "--name", "test", "--access", "admin").text("key")
}
