package turn

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness is the priority of background work. A thread that has it gets a tenth of a processor that another one needs.
const niceness = 10

// GiveWay makes the rest of the calling goroutine background work, which gives way to requests. The goroutine keeps
// its thread until both end, because a thread may not raise its priority again.
func GiveWay() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
}
