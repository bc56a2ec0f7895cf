package planner

import "time"

// instant is an instant in microseconds since the year 1: a number, to be compared and counted with in a fraction of the time that a
// time.Time takes. Its zero value is that of a time.Time, and says that there is none.
type instant int64

const (
	second instant = 1_000_000
	minute         = 60 * second
	// epoch is 1970, from which calendars count.
	epoch = 62135596800 * second
)

func instantOf(t time.Time) instant { return instant(t.UnixMicro()) + epoch }

func instantAt(unix int64) instant { return instant(unix)*second + epoch }

func (m instant) time() time.Time { return time.UnixMicro(int64(m - epoch)).UTC() }

// unix is the second of a instant, of those since 1970.
func (m instant) unix() int64 { return int64(m/second - epoch/second) }
