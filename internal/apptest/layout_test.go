package apptest_test

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// mayImport lists, for each package, the packages of this module that it may import.
var mayImport = map[string][]string{
	".":                         {"cmd"},
	"cmd":                       {"internal/admin", "internal/demo", "internal/service", "internal/catalog", "internal/crm", "internal/identity", "internal/rows", "internal/shape"},
	"internal/admin":            {"internal/service", "handlers", "internal/erasure", "internal/operation", "internal/imports", "internal/address", "internal/mail", "internal/sequence", "internal/identity", "internal/crm", "internal/catalog", "internal/record", "internal/rows", "internal/shape", "internal/fault", "store"},
	"internal/demo":             {"internal/admin", "internal/service", "internal/identity", "internal/crm", "internal/catalog", "internal/tam", "internal/outreach", "internal/sequence", "internal/webhook", "internal/record", "internal/filter", "internal/shape", "internal/fault", "store"},
	"internal/service":          {"handlers", "internal/erasure", "internal/undo", "internal/bulk", "internal/operation", "internal/imports", "internal/address", "internal/identity", "internal/crm", "internal/catalog", "internal/tam", "internal/outreach", "internal/sequence", "internal/planner", "internal/mail", "internal/research/offline", "internal/research/openai", "internal/webhook", "internal/record", "internal/worker", "internal/fault", "internal/turn", "index", "store"},
	"handlers":                  {"internal/erasure", "internal/undo", "internal/bulk", "internal/operation", "internal/imports", "internal/console", "internal/identity", "internal/crm", "internal/duplicate", "internal/catalog", "internal/tam", "internal/outreach", "internal/sequence", "internal/webhook", "internal/record", "internal/rows", "internal/worker", "internal/filter", "internal/shape", "internal/fault", "internal/turn", "index", "store"},
	"internal/console":          {},
	"internal/crm":              {"internal/address", "internal/duplicate", "internal/identity", "internal/match", "internal/operation", "internal/turn", "internal/record", "internal/rows", "internal/filter", "internal/shape", "internal/fault", "index", "store"},
	"internal/identity":         {"internal/address", "internal/password", "internal/record", "internal/shape", "internal/fault", "index", "store"},
	"internal/research":         {"internal/crm", "internal/shape", "internal/fault"},
	"internal/research/offline": {"internal/research", "internal/catalog", "internal/crm", "internal/shape"},
	"internal/research/openai":  {"internal/research", "internal/catalog", "internal/crm", "internal/shape"},
	"internal/catalog":          {"internal/address", "internal/crm", "internal/record", "internal/rows", "internal/shape", "internal/fault", "index", "store"},
	"internal/tam":              {"internal/address", "internal/operation", "internal/catalog", "internal/research", "internal/identity", "internal/crm", "internal/record", "internal/worker", "internal/filter", "internal/shape", "internal/fault", "internal/turn", "index", "store"},
	"internal/imports":          {"internal/crm", "internal/operation", "internal/record", "internal/rows", "internal/worker", "internal/shape", "internal/fault", "internal/turn", "index", "store"},
	"internal/sequence":         {"internal/address", "internal/outreach", "internal/template", "internal/planner", "internal/mail", "internal/identity", "internal/crm", "internal/record", "internal/worker", "internal/shape", "internal/fault", "internal/turn", "index", "store"},
	"internal/outreach":         {"internal/address", "internal/filter", "internal/template", "internal/planner", "internal/identity", "internal/crm", "internal/record", "internal/worker", "internal/shape", "internal/fault", "internal/turn", "index", "store"},
	"internal/template":         {"internal/planner", "internal/shape", "internal/fault"},
	"internal/planner":          {"internal/turn"},
	"internal/mail":             {"internal/address"},
	"internal/webhook":          {"internal/egress", "internal/record", "internal/worker", "internal/filter", "internal/shape", "internal/fault", "index", "store"},
	"internal/bulk":             {"internal/operation", "internal/record", "internal/worker", "internal/shape", "internal/fault", "store"},
	"internal/undo":             {"internal/operation", "internal/record", "internal/worker", "internal/shape", "internal/fault", "store"},
	"internal/erasure":          {"internal/address", "internal/catalog", "internal/crm", "internal/fault", "internal/identity", "internal/imports", "internal/match", "internal/operation", "internal/record", "internal/sequence", "internal/shape", "internal/tam", "internal/worker", "index", "store"},
	"internal/operation":        {"internal/record", "internal/worker", "internal/shape", "internal/fault", "index", "store"},
	"internal/worker":           {"internal/fault", "internal/turn", "store"},
	"internal/record":           {"internal/match", "internal/rows", "internal/filter", "internal/shape", "internal/fault", "index", "store"},
	"index":                     {"internal/filter", "internal/shape", "internal/turn", "store"},
	"store":                     {"store/repair", "internal/shape", "internal/fault", "internal/turn"},
	"store/repair":              {},
	"internal/rows":             {"internal/address", "internal/match", "internal/shape", "internal/fault"},
	"internal/filter":           {"internal/address", "internal/shape", "internal/fault"},
	"internal/shape":            {"internal/address", "internal/fault"},
	"internal/duplicate":        {"internal/address", "internal/match"},
	"internal/match":            {"internal/address"},
	"internal/address":          {},
	"internal/egress":           {},
	"internal/egress/dnstest":   {},
	"internal/password":         {"internal/fault"},
	"internal/fault":            {},
	"internal/turn":             {},
}

// owners lists the libraries that only certain packages may import.
var owners = map[string][]string{
	"go.etcd.io/bbolt":                    {"store", "store/repair", "index"}, // index for the root file of bleve, which is such a file
	"github.com/tidwall/btree":            {"store"},
	"github.com/blevesearch":              {"index"},
	"github.com/RoaringBitmap":            {"index", "internal/tam"},
	"github.com/julienschmidt/httprouter": {"handlers"},
	"github.com/klauspost/compress":       {"handlers", "store"},
	"github.com/andybalholm/brotli":       {"handlers"},
	"github.com/trustelem/zxcvbn":         {"internal/password"},
	"github.com/prometheus":               {"handlers"},
	"github.com/spf13/cobra":              {"cmd"},
	"github.com/spf13/viper":              {"internal/service"},
	"github.com/getkin/kin-openapi":       {"internal/apptest"},
	"github.com/santhosh-tekuri":          {"internal/apptest"},
	"github.com/wneessen/go-mail":         {"internal/mail"},
	"golang.org/x/crypto":                 {"internal/password"},
	"golang.org/x/net":                    {"internal/address", "internal/egress", "internal/egress/dnstest"},
	"golang.org/x/sys":                    {"internal/admin", "internal/turn", "store"},
	"golang.org/x/text":                   {"internal/address", "internal/match", "internal/rows"},
}

// apptest may import anything, and is imported by tests alone.
const apptest = "internal/apptest"

// root is where the module is from here.
const root = "../../"

func atRoot(name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = root
	return c.Output()
}

func TestImports(t *testing.T) {
	out, err := atRoot("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(strings.TrimPrefix(words[0], "prospector"), "/")
		if pkg == "" {
			pkg = "."
		}
		allowed, known := mayImport[pkg]
		if !known && pkg != apptest {
			t.Errorf("%s is not in the layout", pkg)
			continue
		}
		seen++
		for _, imported := range words[1:] {
			if ours, is := strings.CutPrefix(imported, "prospector/"); is && pkg != apptest && !slices.Contains(allowed, ours) {
				t.Errorf("%s may not import %s", pkg, ours)
			}
			for library, own := range owners {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !slices.Contains(own, pkg) {
					t.Errorf("%s may not import %s: it belongs to %s", pkg, imported, own)
				}
			}
		}
	}
	if seen != len(mayImport)+1 {
		t.Errorf("the layout has %d packages, the module %d", len(mayImport)+1, seen)
	}
}

// TestDesignHasPackages compares the list of packages in the design with those that exist. A package inside of another one may
// be described with it.
func TestDesignHasPackages(t *testing.T) {
	design, err := os.ReadFile(root + "docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for line := range strings.Lines(string(design)) {
		if name, _, is := strings.Cut(line, "/ "); is && !strings.ContainsAny(name, " `|") {
			described[name] = true
			if info, err := os.Stat(root + name); err != nil || !info.IsDir() {
				t.Errorf("docs/design.md describes %s, which is no package", name)
			}
		}
	}
	for pkg := range mayImport {
		if pkg != "." && !described[pkg] && !described[path.Dir(pkg)] {
			t.Errorf("docs/design.md does not describe %s", pkg)
		}
	}
}

// TestForbiddenCalls checks that only handlers uses HTTP status codes, and that nothing below the
// commands creates a root context, ends the process or reads the system clock. Turns at the processors depend on
// real time.
func TestForbiddenCalls(t *testing.T) {
	files, err := atRoot("git", "ls-files", "*.go")
	if err != nil {
		t.Skip("not a git checkout")
	}
	for file := range strings.Lines(string(files)) {
		file = strings.TrimSpace(file)
		dir := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || dir == apptest {
			continue
		}
		source, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		for word, where := range map[string][]string{
			"http.Status":          {"handlers", "internal/demo", "internal/research/openai", "internal/webhook"},
			"context.Background()": {"cmd", "internal/service"},
			"os.Exit(":             {"cmd", "."},
			"time.Now()":           {"handlers", "internal/admin", "internal/service", "internal/turn"},
		} {
			if strings.Contains(string(source), word) && !slices.Contains(where, dir) {
				t.Errorf("%s has %s", file, word)
			}
		}
	}
}
