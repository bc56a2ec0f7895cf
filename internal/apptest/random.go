package apptest

import (
	"math/rand/v2"
)

// Random draws what tests choose at random.
type Random struct{ *rand.Rand }

// Chance is true once in n times.
func (r Random) Chance(n int) bool { return r.IntN(n) == 0 }
