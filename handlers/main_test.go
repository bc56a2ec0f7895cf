package handlers_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/fault"
)

// uncovered returns the outcomes of operations that no scenario has seen. The generated tests set it for
// the check at the end of the run.
var uncovered func() []string

// TestMain fails a complete run if an operation never succeeded in any scenario, or if a documented
// error never occurred.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if code == 0 && whole {
		for _, gap := range uncovered() {
			fmt.Println("FAIL: no scenario covers", gap)
			code = 1
		}
	}
	os.Exit(code)
}

// testedOnce are the errors that every operation shares. They are tested with one operation each.
var testedOnce = map[fault.Code]bool{
	fault.RateLimited: true, fault.Internal: true, fault.Damaged: true, fault.Unavailable: true, fault.Timeout: true,
}

// gaps returns the outcomes of operations that no test of this process has seen.
func gaps(app *apptest.App) []string {
	var missing []string
	for _, op := range app.API.Operations() {
		if !apptest.Seen(op.Name, "ok") {
			missing = append(missing, op.Name+" succeeding")
		}
		for _, code := range op.ErrorCodes() {
			if !testedOnce[code] && !apptest.Seen(op.Name, string(code)) {
				missing = append(missing, op.Name+" returning "+string(code))
			}
		}
	}
	return missing
}

// equalsJSON reports whether a decoded JSON value equals the value of a JSON text.
func equalsJSON(got any, want string) bool {
	var value any
	if err := json.Unmarshal([]byte(want), &value); err != nil {
		panic(err)
	}
	return reflect.DeepEqual(got, value)
}

// rowName returns a name for the subtest of a row of a table, cut to a readable length.
func rowName(text string) string {
	if len(text) > 80 {
		text = text[:80]
	}
	return strings.ToValidUTF8(text, "")
}
