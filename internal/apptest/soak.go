package apptest

import (
	"iter"
	"os"
	"strconv"
	"testing"
)

// ManyRecords is the number of records in the organization with an index. Half as many are too few for an
// index, so that their lists are evaluated record by record.
const ManyRecords = 2200

// Unraced returns n, or a smaller number if the race detector slows everything down.
func Unraced(n, raced int) int {
	if RaceDetector {
		return raced
	}
	return n
}

// Soaked returns soak if PROSPECTOR_SOAK is set, and otherwise what Unraced returns.
func Soaked(soak, n, raced int) int {
	if os.Getenv("PROSPECTOR_SOAK") != "" {
		return soak
	}
	return Unraced(n, raced)
}

// SomeRaced returns the first n cases under the race detector, which finds the same in each of them,
// and otherwise all.
func SomeRaced[T any](n int, cases []T) []T {
	if RaceDetector {
		return cases[:n]
	}
	return cases
}

// SoakSeeds yields the seeds of the random worlds that a test runs: PROSPECTOR_SOAK of them, or n,
// from PROSPECTOR_SEED on.
func SoakSeeds(t *testing.T, n int) iter.Seq[int] {
	t.Helper()
	first := 1
	for name, v := range map[string]*int{"PROSPECTOR_SOAK": &n, "PROSPECTOR_SEED": &first} {
		if text := os.Getenv(name); text != "" {
			var err error
			if *v, err = strconv.Atoi(text); err != nil {
				t.Fatalf("%s must be an integer: %v", name, err)
			}
		}
	}
	return func(yield func(int) bool) {
		for seed := first; seed < first+n && yield(seed); seed++ {
		}
	}
}

// SoakRounds returns how many seeds a model test draws: n, or n times PROSPECTOR_SOAK.
func SoakRounds(n int) int {
	if more, err := strconv.Atoi(os.Getenv("PROSPECTOR_SOAK")); err == nil {
		return n * more
	}
	return n
}
