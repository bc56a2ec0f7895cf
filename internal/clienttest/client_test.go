// Package clienttest generates a Go client from the API document with oapi-codegen, and a TypeScript client
// with openapi-typescript, and runs them against the service. It is a module of its own, so that the service
// does not depend on the generators.
package clienttest

import (
	"bufio"
	"encoding/json"
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

	_ "github.com/oapi-codegen/runtime" // of the generated client
)

// TestClients runs each generated client against the demo.
func TestClients(t *testing.T) {
	url, key := demo(t)
	t.Run("Go", func(t *testing.T) { testGo(t, url, key) })
	t.Run("TypeScript", func(t *testing.T) { testTypeScript(t, url, key) })
}

// testGo generates a client, compiles it together with testdata/contacts_test.go, and runs that test.
func testGo(t *testing.T, url, key string) {
	dir := t.TempDir()
	client := filepath.Join(dir, "client.go")
	run(t, "", nil, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "client", "-o", client, document(t, url, dir))
	program, err := filepath.Abs("testdata/contacts_test.go")
	if err != nil {
		t.Fatal(err)
	}
	// An overlay places the package into this module, whose dependencies it needs, without writing files here. vet is
	// off because it would look for the directory of the package.
	here := filepath.Dir(filepath.Dir(program))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(here, "client", "client.go"):        client,
		filepath.Join(here, "client", "contacts_test.go"): program,
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), overlay)
	compiled := filepath.Join(dir, "contacts")
	run(t, "", nil, "go", "test", "-c", "-vet", "off", "-o", compiled, "-overlay", filepath.Join(dir, "overlay.json"), "./client")
	run(t, "", clientEnv(url, key), compiled)
}

// testTypeScript generates the types of a client without options, compiles them together with
// testdata/typescript/contacts.ts, and runs that program. It needs node and npm, which installs the packages
// in package-lock.json from the registry that it is configured with.
func testTypeScript(t *testing.T, url, key string) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed, so the TypeScript client is not tested", tool)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/typescript")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); unreachable.Match(out) {
		t.Skipf("npm does not reach its registry, so the TypeScript client is not tested:\n%s", out)
	} else if err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	tool := func(name string) string { return filepath.Join(dir, "node_modules", ".bin", name) }
	run(t, dir, nil, tool("openapi-typescript"), document(t, url, dir), "-o", "api.d.ts")
	run(t, dir, nil, tool("tsc"))
	run(t, dir, clientEnv(url, key), "node", "out/contacts.js")
}

// unreachable matches the error codes of npm when there is no network or no registry.
var unreachable = regexp.MustCompile(`npm error code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b`)

func clientEnv(url, key string) []string { return []string{"CLIENT_URL=" + url, "CLIENT_KEY=" + key} }

// TestLint logs the findings of Redocly's linter about the API document. It needs npx, and only
// make lint-api runs it.
func TestLint(t *testing.T) {
	if os.Getenv("PROSPECTOR_LINT") == "" {
		t.Skip("run by make lint-api")
	}
	url, _ := demo(t)
	t.Logf("%s", run(t, "", nil, "npx", "--yes", "@redocly/cli@2", "lint", document(t, url, t.TempDir())))
}

// TestDocument writes the API document to a file, from which make check-console generates the types of the console.
func TestDocument(t *testing.T) {
	path := os.Getenv("PROSPECTOR_DOCUMENT")
	if path == "" {
		t.Skip("run by make check-console")
	}
	url, _ := demo(t)
	if err := os.Rename(document(t, url, filepath.Dir(path)), path); err != nil {
		t.Fatal(err)
	}
}

var (
	urlPattern = regexp.MustCompile(`running at (http://\S+)`)
	keyPattern = regexp.MustCompile(`^export KEY=(\S+)`)
)

// demo builds the service and runs its demo until the test ends.
func demo(t *testing.T) (url, key string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "prospector")
	run(t, "", nil, "go", "build", "-C", "../..", "-o", binary, ".")
	c := exec.CommandContext(t.Context(), binary, "demo", "--addr", "127.0.0.1:0", "--speed", "1", "--companies", "1000", "--data-dir", filepath.Join(dir, "data"))
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PROSPECTOR_") })
	c.Stderr = os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the test's context has ended by then, and with it the demo
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := urlPattern.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
		if m := keyPattern.FindStringSubmatch(lines.Text()); m != nil {
			return url, m[1]
		}
	}
	t.Fatal("the demo printed no API key")
	return "", ""
}

// document writes the API document to a file and returns its name.
func document(t *testing.T, url, dir string) string {
	t.Helper()
	res, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	doc, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", res.Status, err)
	}
	file := filepath.Join(dir, "openapi.json")
	write(t, file, doc)
	return file
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in a directory. It must succeed. run returns its output.
func run(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}
