package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"

	"prospector/internal/turn"
	"prospector/store"
)

// errIndex wraps every error of an index that does not contain what was written to it, or that can
// no longer be written although nothing is short. Such an index is removed and rebuilt from the store.
var errIndex = errors.New("the index is damaged")

// diskIndex is the bleve index of one kind in one organization. Only one goroutine may write it at
// a time.
type diskIndex struct {
	path   string
	index  bleve.Index
	state  indexState
	failed chan struct{} // closed when bleve has failed in the background
	why    atomic.Pointer[error]
	notify func() // is called when bleve has failed in the background
}

// openIndexes maps the path of every open index to its *diskIndex. It routes the failures of
// bleve's background goroutines, which bleve reports only to a callback in a global registry, and makes merging
// give way to requests.
var openIndexes = sync.OnceValue(func() *sync.Map {
	indexes := &sync.Map{}
	scorch.RegistryAsyncErrorCallbacks[callbackName] = func(err error, path string) {
		if d, ok := indexes.Load(path); ok && !errors.Is(err, scorch.ErrCleanup) {
			d.(*diskIndex).fail(err)
		}
	}
	scorch.RegistryEventCallbacks[callbackName] = func(e scorch.Event) bool {
		if e.Kind == scorch.EventKindPreMergeCheck { // in the goroutine that merges
			turn.GiveWay()
		}
		return true
	}
	return indexes
})

const callbackName = "prospector"

func (d *diskIndex) fail(err error) {
	err = failureOf(err)
	if d.why.CompareAndSwap(nil, &err) {
		close(d.failed)
		d.notify()
	}
}

// failure returns why bleve has failed in the background, if it has.
func (d *diskIndex) failure() error {
	if why := d.why.Load(); why != nil {
		return *why
	}
	return nil
}

// diskIndexExists reports whether there is an index at the path. An empty root file does not count:
// the process that created it was killed before it wrote anything.
func diskIndexExists(path string) bool {
	root, err := os.Stat(filepath.Join(path, rootFile))
	return err == nil && root.Size() > 0
}

// removeDiskIndex removes the index at the path. It removes the root file first: if the process is
// killed in between, there is no index instead of one without segments.
func removeDiskIndex(path string) error {
	_ = os.Remove(filepath.Join(path, rootFile)) // RemoveAll reports the error if this fails
	return os.RemoveAll(path)
}

// lockTimeout is how long opening waits for another process to unlock the root file.
const lockTimeout = 2 * time.Second

// openDiskIndex opens the index at the path, and creates it if it does not exist. It calls notify if bleve
// fails in the background.
func openDiskIndex(path string, queue *bleve.AnalysisQueue, notify func()) (*diskIndex, error) {
	d := &diskIndex{path: path, failed: make(chan struct{}), notify: notify}
	openIndexes().Store(path, d)
	err := recoverDamage(func() (err error) {
		d.index, err = scorch.NewScorch(scorch.Name, map[string]any{
			"path":                   path,
			"bolt_timeout":           lockTimeout.String(),
			"asyncErrorCallbackName": callbackName,
			"eventCallbackName":      callbackName,
		}, queue)
		if err != nil {
			return err
		}
		return d.index.Open()
	})
	if err != nil {
		openIndexes().CompareAndDelete(path, d)
		return nil, err
	}
	return d, nil
}

// checkSegments reports an error if a segment file is missing or does not match its checksum. It
// must run before bleve opens the segments: bleve writes checksums but never verifies them, and a
// damaged segment can crash the process.
func checkSegments(path string, segments []string) error {
	var damaged atomic.Int64
	err := parallel(len(segments), func(i int) error {
		ok, err := matchesChecksum(filepath.Join(path, segments[i]))
		if !ok {
			damaged.Add(1)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err == nil && damaged.Load() > 0 {
		err = fmt.Errorf("%w: segments that are missing or do not match their checksums: %d", errIndex, damaged.Load())
	}
	return err
}

// matchesChecksum reports whether the last four bytes of a file are the checksum of the rest.
func matchesChecksum(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < crc32.Size {
		return false, err
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, info.Size()-crc32.Size); err != nil {
		return false, err
	}
	var want [crc32.Size]byte
	_, err = io.ReadFull(f, want[:])
	return sum.Sum32() == binary.BigEndian.Uint32(want[:]), err
}

// readState reads the state from the index.
func (d *diskIndex) readState() error {
	return recoverDamage(func() error {
		snapshot := d.bleveSnapshot()
		defer snapshot.Close()
		b, err := snapshot.GetInternal(stateKey)
		if err != nil {
			return err
		}
		return d.state.decode(b)
	})
}

func (d *diskIndex) bleveSnapshot() *scorch.IndexSnapshot {
	r, err := d.index.Reader()
	must(err)
	return r.(*scorch.IndexSnapshot)
}

// write starts to write a batch and the state that the index has after it. The returned function
// waits until both are durable.
func (d *diskIndex) write(batch *bleve.Batch, next indexState) (wait func() error) {
	batch.SetInternal(stateKey, next.encode())
	done := make(chan error, 1)
	go func() {
		turn.GiveWay()
		done <- recoverDamage(func() error { return d.index.Batch(batch) })
	}()
	return func() (err error) {
		select {
		case err = <-done:
		case <-d.failed:
			if err = d.failure(); isShortage(err) {
				err = <-done
			} // else a goroutine has panicked, and bleve may never return from Batch
		}
		if err != nil {
			return failureOf(err)
		}
		d.state = next
		return nil
	}
}

func (d *diskIndex) close() error {
	openIndexes().CompareAndDelete(d.path, d)
	// A goroutine of bleve that has panicked may hold a lock that Close waits for. A goroutine that lacks
	// something, such as space on the disk, continues and ends.
	if err := d.failure(); err != nil && !isShortage(err) {
		go func() { _ = recoverDamage(d.index.Close) }()
		return nil
	}
	return recoverDamage(d.index.Close)
}

// recoverDamage runs fn and turns a panic or a memory fault, which reading a damaged index can
// cause, into errIndex. A panic with store.ErrDamaged is returned as it is, because the index is
// not at fault.
func recoverDamage(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if s, is := r.(stopped); is {
			err = s.error
		} else if cause, is := r.(error); is && errors.Is(cause, store.ErrDamaged) {
			err = cause
		} else if is && isShortage(cause) {
			err = failureOf(cause)
		} else if r != nil {
			err = fmt.Errorf("%w: %v", errIndex, r)
		}
	}()
	return fn()
}

// parallel calls fn for the numbers below n on all processors, each call inside recoverDamage.
func parallel(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, turn.Processors()) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = recoverDamage(func() error { return fn(i) })
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}
