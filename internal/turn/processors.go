package turn

import "runtime"

// processors is the number of processors that the program may use.
var processors = runtime.GOMAXPROCS(0)

// spareThreads is how many threads may run in addition to one for each processor.
const spareThreads = 4

// Processors returns the number of processors that the program may use.
func Processors() int { return processors }

// UseSpareThreads lets Go run more threads than there are processors. Go gives a goroutine up to 10 ms before the
// next one has its turn, so on a small machine a request would wait for every piece of background work. The
// kernel prefers the thread that has used the least time and has the highest priority.
func UseSpareThreads() { runtime.GOMAXPROCS(processors + spareThreads) }
