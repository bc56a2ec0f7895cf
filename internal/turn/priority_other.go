//go:build !linux

package turn

// GiveWay does nothing, because only Linux has priorities of threads.
func GiveWay() {}
