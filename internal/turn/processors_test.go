package turn

import (
	"runtime"
	"testing"
)

func TestSpareThreads(t *testing.T) {
	before := Processors()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	UseSpareThreads()
	if got := runtime.GOMAXPROCS(0); got != before+spareThreads || Processors() != before {
		t.Errorf("%d threads run on %d processors, want %d on %d", got, Processors(), before+spareThreads, before)
	}
}
