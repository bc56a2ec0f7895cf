//go:build race

package rows_test

const raceDetector = true
