package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long Open waits for another process by default.
const lockWait = time.Second

// Open opens the store in dir and creates it if it does not exist. A damaged file, or one with a
// newer format, is refused with a one-line error and left unchanged.
func Open(dir string, opt Options) (*Store, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Fatal == nil {
		opt.Fatal = func(err error) { panic(err) }
	}
	if opt.migrations == nil {
		opt.migrations = migrations
	}
	if opt.commit == nil {
		opt.commit = (*bolt.Tx).Commit
	}
	opt.LockTimeout, opt.Log = cmp.Or(opt.LockTimeout, lockWait), cmp.Or(opt.Log, slog.Default())
	s := &Store{
		path:    filepath.Join(dir, FileName),
		opt:     opt,
		wake:    make(chan struct{}, 1),
		stopped: make(chan struct{}),
		slow:    map[uuid.UUID]time.Duration{},
	}
	s.arrived = sync.NewCond(&s.mu)
	if err := s.create(dir); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		if s.db != nil {
			_ = s.db.Close()
		}
		return nil, err
	}
	if err := forgetAsides(dir); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	go s.commitLoop()
	return s, nil
}

// open opens the file and migrates it to the current format. It checks the file before it relies on
// it.
func (s *Store) open() error {
	err := s.openIntact()
	var system syscall.Errno
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%s: %w", filepath.Dir(s.path), ErrLocked)
	case errors.As(err, &system):
		return fmt.Errorf("cannot open %s: %w", s.path, err) // not the fault of the file
	case err != nil:
		return damaged(s.path, err)
	}
	err = s.read(func(btx *bolt.Tx) error {
		if s.file.Size() < btx.Size() {
			return fmt.Errorf("it has only %d of its %d bytes", s.file.Size(), btx.Size())
		}
		for _, name := range [][]byte{metaBucket, orgsBucket, dueBucket} {
			if btx.Bucket(name) == nil {
				return fmt.Errorf("it has no bucket %q", name)
			}
		}
		return nil
	})
	if err != nil {
		return damaged(s.path, err)
	}
	if err := guard(s.migrate); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	err = s.read(func(btx *bolt.Tx) (err error) {
		s.ids.last = btx.Bucket(orgsBucket).Sequence()
		s.rebuilt = btx.Bucket(metaBucket).Get(rebuiltKey) != nil
		if lost := btx.Bucket(lostBucket); lost != nil {
			s.lostPages.Store(int64(lost.Stats().KeyN))
		}
		s.epoch, err = uuid.FromBytes(btx.Bucket(metaBucket).Get(epochKey))
		return err
	})
	if err != nil {
		return damaged(s.path, err)
	}
	return nil
}

// openIntact opens the file and checks its pages. A file with damaged pages is rebuilt if the options
// allow it, and refused if they do not.
func (s *Store) openIntact() error {
	err := s.openFile(mmapSize)
	if errors.Is(err, syscall.ENOMEM) {
		err = s.openFile(0) // address space is limited
	}
	var system syscall.Errno
	if errors.Is(err, berrors.ErrTimeout) || errors.As(err, &system) {
		return err
	}
	if err == nil && s.isNewer() {
		return nil // it may have buckets that this program does not know
	}
	file, opened := os.Open(s.path)
	if opened != nil {
		return opened
	}
	defer file.Close()
	pages, checked := checkPages(file, 0)
	if checked != nil {
		return checked
	}
	if !pages.HasBothMetas {
		s.opt.Log.Error("one of the two meta pages of the store is damaged; its last commit may be missing", "file", s.path)
	}
	switch {
	case len(pages.Problems) == 0:
		return err
	case !s.opt.Rebuild:
		return fmt.Errorf("%w: %v (run 'prospector check --repair --drop FILE', or restore a backup)", ErrDamaged, &pages.Problems[0])
	}
	if s.db != nil {
		if err := guard(s.db.Close); err != nil {
			return err
		}
		s.db = nil
	}
	if err := s.rebuildFile(pages); err != nil {
		return err
	}
	return s.openFile(mmapSize)
}

// isNewer reports whether the file says that it has a newer format than this program knows.
func (s *Store) isNewer() (newer bool) {
	_ = s.read(func(btx *bolt.Tx) error { // an error shows again when the format is used
		if meta := btx.Bucket(metaBucket); meta != nil {
			v := meta.Get(formatKey)
			newer = len(v) == 8 && binary.BigEndian.Uint64(v) > uint64(len(s.opt.migrations))
		}
		return nil
	})
	return newer
}

func (s *Store) openFile(mmap int) (err error) {
	s.db, s.handle, err = openCurrent(s.path, bolt.Options{
		Timeout:         s.opt.LockTimeout,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: mmap,
		MaxSize:         s.opt.MaxSize,
		NoSync:          s.opt.NoSync,
	})
	if err == nil {
		s.file, err = s.handle.Stat()
	}
	return err
}

// openCurrent opens the file at a path, which must exist, and locks it. While it waits for the lock, the process that
// has it may replace the file, which is then opened instead: the replaced one no longer has what was written since.
func openCurrent(path string, opt bolt.Options) (db *bolt.DB, file *os.File, err error) {
	opt.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
		return file, err
	}
	for {
		err := guard(func() (err error) {
			db, err = bolt.Open(path, 0o600, &opt)
			return err
		})
		if err != nil {
			if file != nil {
				unlock(file) // bbolt keeps it when it panics
			}
			return nil, nil, err
		}
		isCurrent, err := isAt(path, file)
		if err == nil && isCurrent {
			return db, file, nil
		}
		if err = errors.Join(err, db.Close()); err != nil {
			return nil, nil, err
		}
	}
}

// create writes a new store under a temporary name and links it into place when it is complete. An
// unreadable file with the store's name is therefore always damaged and never half-written.
func (s *Store) create(dir string) error {
	info, err := os.Stat(s.path)
	switch {
	case err == nil && info.Size() == 0:
		return damaged(s.path, errors.New("it is empty")) // bbolt would initialize it as a new store
	case !errors.Is(err, os.ErrNotExist) || s.opt.MustExist:
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, FileName+".new-*")
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	id, err := identify(f.Name()) // also of the link
	if err != nil {
		return err
	}
	db, err := bolt.Open(f.Name(), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = db.Update(func(btx *bolt.Tx) error {
		for _, name := range [][]byte{metaBucket, orgsBucket, dueBucket} {
			if _, err := btx.CreateBucket(name); err != nil {
				return err
			}
		}
		epoch, err := uuid.NewRandom()
		if err != nil {
			return err
		}
		meta := btx.Bucket(metaBucket)
		format := binary.BigEndian.AppendUint64(nil, uint64(len(s.opt.migrations)))
		return errors.Join(meta.Put(epochKey, epoch[:]), meta.Put(formatKey, format), meta.Put(fileKey, id.bytes()))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	switch err := os.Link(f.Name(), s.path); {
	case err == nil:
		s.opt.Log.Info("created a new store", "file", s.path)
	case !errors.Is(err, os.ErrExist):
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
