package planner

import "time"

// instant is a time in microseconds since the year 1. It compares and adds much faster than a
// time.Time. Its zero value corresponds to the zero time.Time and means none.
type instant int64

const (
	second instant = 1_000_000
	minute         = 60 * second
	// epoch is 1970-01-01, from which calendars count.
	epoch = 62135596800 * second
)

func instantOf(t time.Time) instant { return instant(t.UnixMicro()) + epoch }

func instantAt(unix int64) instant { return instant(unix)*second + epoch }

func (m instant) time() time.Time { return time.UnixMicro(int64(m - epoch)).UTC() }

// unix returns the time in seconds since 1970-01-01.
func (m instant) unix() int64 { return int64(m/second - epoch/second) }
