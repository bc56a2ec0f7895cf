package planner

import "time"

// moment is an instant in microseconds since the year 1: a number, to be compared and counted with in a fraction of the time that a
// time.Time takes. Its zero value is that of a time.Time, and says that there is none.
type moment int64

const (
	second moment = 1_000_000
	minute        = 60 * second
	// epoch is 1970, from which calendars count.
	epoch = 62135596800 * second
)

func momentOf(t time.Time) moment { return moment(t.UnixMicro()) + epoch }

func momentAt(unix int64) moment { return moment(unix)*second + epoch }

func (m moment) time() time.Time { return time.UnixMicro(int64(m - epoch)).UTC() }

// unix is the second of a moment, of those since 1970.
func (m moment) unix() int64 { return int64(m/second - epoch/second) }
