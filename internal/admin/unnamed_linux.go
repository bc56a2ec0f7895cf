package admin

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// createUnnamed creates a file in a directory that has no name yet. If the process is killed, nothing is left
// of it. Some network file systems do not support this.
func createUnnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// nameFile gives a name to a file of createUnnamed. It fails if there is a file with this name.
func nameFile(f *os.File, path string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
}
