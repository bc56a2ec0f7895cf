package handlers_test

import (
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/fault"
)

// uncovered returns the outcomes of operations that no scenario has seen. The generated tests set it for
// the check at the end of the run.
var uncovered func() []string

// TestMain fails a complete run if an operation never succeeded in any scenario, or if a documented
// error never occurred, unless the tests of a feature see it.
func TestMain(m *testing.M) { apptest.Run(m, func() []string { return uncovered() }) }

// testedOnce are the errors that every operation shares. They are tested with one operation each.
var testedOnce = map[fault.Code]bool{
	fault.RateLimited: true, fault.Internal: true, fault.Damaged: true, fault.Unavailable: true, fault.Timeout: true,
}

// gaps returns the outcomes of operations that no test of this process has seen.
func gaps(app *apptest.App) []string {
	var missing []string
	elsewhere := apptest.Outcomes()
	for _, op := range app.API.Operations() {
		if !apptest.Seen(op.Name, "ok") {
			missing = append(missing, op.Name+" succeeding")
		}
		for _, code := range op.ErrorCodes() {
			outcome := op.Name + " " + string(code)
			if !testedOnce[code] && !apptest.Seen(op.Name, string(code)) && elsewhere[outcome] == "" {
				missing = append(missing, op.Name+" returning "+string(code))
			}
			delete(elsewhere, outcome)
		}
	}
	for outcome := range elsewhere {
		missing = append(missing, outcome+" of apptest/outcomes.txt, which no operation documents")
	}
	return missing
}
