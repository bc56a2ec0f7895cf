package handlers_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/fault"
)

// tableOf is the table of operations, left here by the generated tests for the check at the end.
var tableOf func() []string

// TestMain holds the whole run against the table of operations: an operation that no scenario succeeded with, or a
// documented error that no scenario met, fails it.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if code == 0 && whole {
		for _, gap := range tableOf() {
			fmt.Println("FAIL: no scenario has seen", gap)
			code = 1
		}
	}
	os.Exit(code)
}

// elsewhere are the errors that every operation shares and that have scenarios of their own.
var elsewhere = map[fault.Code]bool{fault.RateLimited: true, fault.Internal: true, fault.Unavailable: true}

func gaps(app *apptest.App) []string {
	var missing []string
	for _, op := range app.API.Operations() {
		if !apptest.Seen(op.Name, "ok") {
			missing = append(missing, op.Name+" succeed")
		}
		for _, code := range op.ErrorCodes() {
			if !elsewhere[code] && !apptest.Seen(op.Name, string(code)) {
				missing = append(missing, op.Name+" answer "+string(code))
			}
		}
	}
	return missing
}
