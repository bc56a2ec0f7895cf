package fault_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"prospector/internal/fault"
)

func TestProblems(t *testing.T) {
	var p fault.Problems
	if err := p.Err(); err != nil {
		t.Fatalf("no problems: %v", err)
	}
	p.Add(fault.InvalidSort, "sort", "cannot use %q", "x")
	p.Invalid("steps[1].hour", "must be between 0 and 23, not 24")
	for path, want := range map[string][2]bool{ // Has, At
		"sort": {true, true}, "steps[1].hour": {true, true}, "steps[1]": {true, false}, "steps": {true, false},
		"step": {}, "steps[1].hour.x": {}, "steps[10]": {}, "hour": {},
	} {
		if has, at := p.Has(path), p.At(path); has != want[0] || at != want[1] {
			t.Errorf("%s: Has %v, At %v, want %v", path, has, at, want)
		}
	}
	var refused *fault.Error
	if !errors.As(p.Err(), &refused) {
		t.Fatal(p.Err())
	}
	want := []fault.Detail{{Path: "sort", Message: `cannot use "x"`}, {Path: "steps[1].hour", Message: "must be between 0 and 23, not 24"}}
	if refused.Code != fault.InvalidSort || refused.Message != `sort: cannot use "x"` || !slices.Equal(refused.Details, want) {
		t.Errorf("got %+v", refused)
	}
}

// TestManyProblems checks that the list of problems is bounded.
func TestManyProblems(t *testing.T) {
	var p fault.Problems
	for i := range 1500 {
		p.Invalid(fmt.Sprintf("ids[%d]", i), "required")
	}
	var refused *fault.Error
	if !errors.As(p.Err(), &refused) || len(refused.Details) != 1001 || p.Count() != 1500 {
		t.Fatalf("%d problems, error %v", p.Count(), p.Err())
	}
	want := fault.Detail{Path: "ids[0]", Message: "first of 1500 problems; 500 are not listed"}
	if last := refused.Details[1000]; last != want {
		t.Errorf("the last detail is %+v, want %+v", last, want)
	}
}

func TestTaken(t *testing.T) {
	err := fault.Taken(fault.InUse, "account_id", "id-1", "%s refers to this record", "a task")
	want := []fault.Detail{{Path: "account_id", Message: "a task refers to this record", ID: "id-1"}}
	if err.Message != "account_id: a task refers to this record" || !slices.Equal(err.Details, want) {
		t.Errorf("got %+v", err)
	}
	if wrapped := fmt.Errorf("delete: %w", err); fault.CodeOf(wrapped) != fault.InUse || fault.CodeOf(errors.New("x")) != fault.Internal {
		t.Error("CodeOf does not see through a wrapped error")
	}
}
