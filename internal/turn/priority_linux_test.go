package turn

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGiveWay lowers the priority of one goroutine and of none that begins after it.
func TestGiveWay(t *testing.T) {
	niceOf := func(prepare func()) (nice int) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			prepare()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			priority, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
			if err != nil {
				t.Error(err)
			}
			nice = 20 - priority
		}()
		<-ended
		return nice
	}
	before := niceOf(func() {})
	for range 10 {
		if got, want := niceOf(GiveWay), max(before, niceness); got != want {
			t.Errorf("the niceness is %d, want %d", got, want)
		}
		if got := niceOf(func() {}); got != before {
			t.Errorf("afterwards the niceness is %d, want %d", got, before)
		}
	}
}
