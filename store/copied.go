package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// fileKey is where a store remembers which file it is in.
var fileKey = []byte("file")

// fileID tells a file from its copies: its inode number, and when it was created if the file system knows. A disk that
// was copied block by block has the same ones.
type fileID struct {
	inode, born uint64
}

// identify returns what tells the file at a path from its copies.
func identify(path string) (id fileID, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return id, err
	}
	if stat, is := info.Sys().(*syscall.Stat_t); is {
		id.inode = stat.Ino
	}
	id.born = birthTime(path)
	return id, nil
}

func (id fileID) bytes() []byte {
	return []byte(strconv.FormatUint(id.inode, 10) + " " + strconv.FormatUint(id.born, 10))
}

// isRemembered reports whether a value of fileKey is of this file. A file system may learn to tell when a file was
// created.
func (id fileID) isRemembered(value []byte) bool {
	inode, born, _ := strings.Cut(string(value), " ")
	return inode == strconv.FormatUint(id.inode, 10) &&
		(id.born == 0 || born == "0" || born == strconv.FormatUint(id.born, 10))
}

// RememberFile records in which file the store is. If it is a copy of the file that it remembers, RememberFile calls
// hold, and then holds outbound traffic in the same commit. It is repeated if it was interrupted. A store of an earlier
// version remembers no file and is not held.
func (s *Store) RememberFile(ctx context.Context, hold func(context.Context) error) error {
	id, err := identify(s.path)
	if err != nil {
		return err
	}
	remembered, err := s.meta(fileKey)
	if err != nil || id.isRemembered(remembered) {
		return err
	}
	isCopy := len(remembered) > 0
	if isCopy {
		if err := hold(ctx); err != nil {
			return err
		}
	}
	return s.Update(ctx, uuid.Nil, Actor{Operation: "open"}, func(tx *Tx) error {
		if tx.put(metaShared, fileKey, id.bytes()); isCopy {
			tx.hold(HeldCopied)
		}
		return nil
	})
}

// carryFile makes a new file, which replaces that at the path from, remember itself, if the replaced one did.
func carryFile(db *bolt.DB, from string) error {
	before, err := identify(from)
	if err != nil {
		return err
	}
	after, err := identify(db.Path())
	if err != nil {
		return err
	}
	return db.Update(func(btx *bolt.Tx) error {
		meta := btx.Bucket(metaBucket)
		if meta == nil || !before.isRemembered(meta.Get(fileKey)) {
			return nil
		}
		return meta.Put(fileKey, after.bytes())
	})
}

// ForgetFile makes the store in a directory, which must not be open, count as a copy. It is for a store that was
// replaced: if it is used again, other messages were sent since. A damaged file is left as it is.
func ForgetFile(dir string) error {
	path := filepath.Join(dir, FileName)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	pages, err := checkPages(file, 0)
	if closed := file.Close(); closed != nil || err != nil || len(pages.Problems) > 0 { // nothing serves a file that cannot be read
		return closed
	}
	return guard(func() error {
		db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, Timeout: lockWait})
		if err != nil {
			return err
		}
		return errors.Join(db.Update(func(btx *bolt.Tx) error {
			return btx.Bucket(metaBucket).Put(fileKey, []byte("none"))
		}), db.Close())
	})
}
