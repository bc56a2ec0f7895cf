package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// CompactInPlace replaces the store in a directory with a copy that has no deleted data. It returns ErrLocked while
// another process has the store open. work is a directory on the same disk for the copy. A crash leaves the store as it
// was, and may leave work behind, which the next compaction replaces.
//
// The file is locked until the copy is in its place, and the copy until work is removed. So no other process writes to
// a file that is about to be replaced, or works in the same directory.
func CompactInPlace(dir, work string) error {
	path := filepath.Join(dir, FileName)
	return guard(func() error {
		src, _, err := openCurrent(path, bolt.Options{FreelistType: bolt.FreelistMapType, Timeout: lockWait})
		if errors.Is(err, berrors.ErrTimeout) {
			return fmt.Errorf("%s: %w", dir, ErrLocked)
		}
		if err != nil {
			return err
		}
		return errors.Join(compactOver(src, work), src.Close())
	})
}

// compactOver puts a compacted copy in the place of an open file.
func compactOver(src *bolt.DB, work string) (err error) {
	if err := os.RemoveAll(work); err != nil { // a compaction was killed
		return err
	}
	dst, err := createFile(work)
	if err != nil {
		return errors.Join(err, os.RemoveAll(work))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work), dst.Close()) }()
	if err := bolt.Compact(dst, src, compactTx); err != nil {
		return err
	}
	if err := errors.Join(carryFile(dst, src.Path()), dst.Sync()); err != nil {
		return err
	}
	if err := os.Rename(dst.Path(), src.Path()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(src.Path()))
}

// isAt reports whether an open file is the one at a path.
func isAt(path string, file *os.File) (bool, error) {
	have, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(have, there), err
}
