package apptest

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// outcomesText lists errors of operations that the tests of a feature see, and not those of handlers. A line has the
// package, the operation and the code.
//
//go:embed outcomes.txt
var outcomesText string

// Outcomes returns the errors of operations that the tests of features see, as operation and code, each with its package.
func Outcomes() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(outcomesText) {
		feature, outcome, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[outcome] = feature
	}
	return all
}

// Main runs the tests of a feature. It fails a complete run if an error that outcomes.txt assigns to the package did
// not occur.
func Main(m *testing.M, feature string) {
	Run(m, func() (missing []string) {
		for outcome, of := range Outcomes() {
			if op, code, _ := strings.Cut(outcome, " "); of == feature && !Seen(op, code) {
				missing = append(missing, op+" returning "+code)
			}
		}
		return missing
	})
}

// Run runs the tests of a package. It fails a complete run that leaves gaps.
func Run(m *testing.M, gaps func() []string) {
	flag.Parse()
	code := m.Run()
	whole := true
	for _, name := range []string{"test.run", "test.fuzz", "test.skip", "test.list"} {
		whole = whole && flag.Lookup(name).Value.String() == ""
	}
	if code == 0 && whole {
		for _, gap := range gaps() {
			fmt.Println("FAIL: no scenario covers", gap)
			code = 1
		}
	}
	os.Exit(code)
}
