package store

import "golang.org/x/sys/unix"

// birthTime returns when a file was created, in nanoseconds, or 0 if the file system does not know.
func birthTime(path string) uint64 {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &stat)
	if err != nil || stat.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return uint64(stat.Btime.Sec)*1e9 + uint64(stat.Btime.Nsec)
}
