package shape

import (
	"math/rand/v2"
	"testing"
)

// TestTimeString checks that times of all years have the format of timeLayout.
func TestTimeString(t *testing.T) {
	for i := range 20_000 {
		at := Time{milli: rand.Int64N(400_000_000_000_000) - 100_000_000_000_000, valid: true}
		if i%2 == 0 {
			at.milli = rand.Int64N(4_000_000_000_000)
		}
		if got, want := at.String(), at.Std().Format(timeLayout); got != want {
			t.Fatalf("%d is %s, want %s", at.milli, got, want)
		}
	}
}
