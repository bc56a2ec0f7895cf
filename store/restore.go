package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// BeginEpoch prepares a store that came out of a backup for use. It gives the store a new epoch, so
// that everything derived from the data is rebuilt, records that it belongs in this file, and holds outbound traffic.
// The caller must close the store and open it again.
func (s *Store) BeginEpoch(ctx context.Context) error {
	epoch, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	id, err := identify(s.path)
	if err != nil {
		return err
	}
	return s.Update(ctx, uuid.Nil, Actor{Operation: "restore"}, func(tx *Tx) error {
		tx.put(metaShared, epochKey, epoch[:])
		tx.put(metaShared, fileKey, id.bytes())
		tx.hold(HeldRestored)
		return nil
	})
}

// Replace moves the store in the directory from, which is on the same disk, to dir. An existing
// store is kept in the directory aside, which Replace creates beside dir or, if it cannot, within
// dir. There is a store in dir at all times. Replace returns ErrLocked while another process has
// the existing store open.
func Replace(dir, from string, now time.Time) (aside string, err error) {
	old, err := lock(dir)
	if err != nil {
		return "", err
	}
	if old != nil {
		defer unlock(old)
	}
	if err := ownLike(dir, filepath.Join(from, FileName)); err != nil {
		return "", err
	}
	if old != nil {
		if aside, err = keepAside(dir, now); err != nil {
			return "", fmt.Errorf("cannot keep the old store aside: %w", err)
		}
	}
	if err := os.Rename(filepath.Join(from, FileName), filepath.Join(dir, FileName)); err != nil {
		if aside != "" {
			err = errors.Join(err, forgetAsides(dir))
		}
		return "", err
	}
	return aside, syncDir(dir)
}

// CheckUnlocked returns ErrLocked while another process has the store in dir open. The store need
// not exist.
func CheckUnlocked(dir string) error {
	f, err := lock(dir)
	if f != nil {
		unlock(f)
	}
	return err
}

// unlock releases the lock explicitly. Closing the file is not enough while a process that is being
// started still shares it.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	f.Close()
}

// lock takes the lock of a store as bbolt does, without opening the store, which may be damaged.
// The file is nil if there is no store.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	if isCurrent, err := isAt(f.Name(), f); err != nil || !isCurrent { // a compaction has just replaced it
		unlock(f)
		if err != nil {
			return nil, err
		}
		return lock(dir)
	}
	return f, nil
}

// asides returns the two places where a store may be kept aside. The directory beside the data
// directory may be on another disk or not be writable.
func asides(dir, name string) []string {
	return []string{dir + "." + name, filepath.Join(dir, name)}
}

// Asides returns the directories in which stores of dir are kept aside.
func Asides(dir string) (found []string) {
	for _, path := range asides(dir, asidePrefix) {
		some, _ := filepath.Glob(path + "*") // the pattern is valid
		found = append(found, some...)
	}
	return found
}

const asidePrefix = "before-restore-"

// keepAside links the store of dir into a directory of its own.
func keepAside(dir string, now time.Time) (aside string, err error) {
	name := asidePrefix + now.UTC().Format("20060102T150405.000Z")
	var errs []error
	for _, aside := range asides(dir, name) {
		err := os.Mkdir(aside, 0o700)
		if err == nil {
			err = os.Link(filepath.Join(dir, FileName), filepath.Join(aside, FileName))
			if err == nil {
				err = ownLike(dir, aside)
			}
			if err == nil {
				return aside, errors.Join(syncDir(aside), syncDir(filepath.Dir(aside)))
			}
			_ = os.Remove(aside)
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// ownLike gives a path the owner of the directory. Root may restore for another user, who must be
// able to open the files.
func ownLike(dir, path string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, is := info.Sys().(*syscall.Stat_t); is && os.Geteuid() == 0 {
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// forgetAsides removes the links that an interrupted restore left behind. They lead to the very
// store that is still in place, so working on them would change it.
func forgetAsides(dir string) error {
	there, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		return err
	}
	for _, path := range asides(dir, asidePrefix) {
		parent, prefix := filepath.Split(path)
		entries, _ := os.ReadDir(parent) // a directory that cannot be read has no links of ours
		for _, entry := range entries {
			file := filepath.Join(parent, entry.Name(), FileName)
			if !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) {
				continue
			}
			if kept, err := os.Stat(file); err == nil && os.SameFile(there, kept) {
				if err := os.Remove(file); err != nil {
					return err
				}
			}
			_ = os.Remove(filepath.Dir(file)) // fails if it is not empty
		}
	}
	return nil
}
