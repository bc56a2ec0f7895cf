//go:build !race

package apptest

// RaceDetector reports whether the race detector runs, which makes everything some ten times slower.
const RaceDetector = false
