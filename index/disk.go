package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/store"
)

// errIndex is in every error that comes from an index which does not hold what was written to it, or can no longer be
// written to. It is thrown away then, and made anew from the store.
var errIndex = errors.New("the index is damaged")

// disk is a bleve index: that of one kind of one organization. It is written by one goroutine at a time.
type disk struct {
	path   string
	index  bleve.Index
	state  state
	failed chan struct{} // closed when bleve gave up in the background
	why    atomic.Pointer[error]
}

// state is what an index says about itself. It is written with every batch, so that it is true whatever becomes of the
// process: the index holds the records up to the id of cursor as they were at the change number.
type state struct {
	Epoch  uuid.UUID
	Org    uuid.UUID
	Kind   uint64 // the fields that it was made for
	Number uint64
	Seen   uint64 // the last change of the store when it was written: of records changed after Number it may hold anything up to here
	Mark   uint64 // tells the change Seen from another that a restored store might have under its number
	Cursor uuid.UUID
	Count  uint64
	Sum    uint64 // over the ids that it holds, see idSum
}

// end is the cursor of an index that holds all records.
var end = uuid.Max

var stateKey = []byte("state")

func (s *state) encode() []byte {
	b, err := binary.Append(nil, binary.BigEndian, s)
	must(err)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (s *state) decode(b []byte) error {
	if len(b) != binary.Size(s)+4 || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return fmt.Errorf("%w: its state cannot be read", errIndex)
	}
	_, err := binary.Decode(b, binary.BigEndian, s)
	return err
}

// idSum is what an id adds to the sum of a state.
func idSum(id uuid.UUID) uint64 {
	// The ids are random in their second half; the multiplication spreads what the first half counts.
	return (binary.BigEndian.Uint64(id[:8]) * 0x9e3779b97f4a7c15) ^ binary.BigEndian.Uint64(id[8:])
}

// markOf tells a change from any other that could have its number.
func markOf(c *store.Change) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, c.ID, c.At.UnixMilli(), c.Prev, c.Op, c.Actor.RequestID)
	return h.Sum64()
}

// background hears of the failures that bleve has in its own goroutines, which end with them. Bleve wants it in a map
// of its package, by a name.
var background = sync.OnceValue(func() *sync.Map {
	disks := &sync.Map{} // path → *disk
	scorch.RegistryAsyncErrorCallbacks[callbackName] = func(err error, path string) {
		if d, ok := disks.Load(path); ok && !errors.Is(err, scorch.ErrCleanup) {
			d.(*disk).fail(err)
		}
	}
	return disks
})

const callbackName = "prospector"

func (d *disk) fail(err error) {
	err = fmt.Errorf("%w: %w", errIndex, err)
	if d.why.CompareAndSwap(nil, &err) {
		close(d.failed)
	}
}

// diskExists tells whether there is an index at the path.
func diskExists(path string) bool {
	root, err := os.Stat(filepath.Join(path, rootFile))
	return err == nil && root.Size() > 0 // whoever began it may have been killed before it wrote anything
}

// removeDisk removes the index at the path. Its root file goes first: what a kill leaves then is no index, rather than one
// that lacks segments.
func removeDisk(path string) error {
	_ = os.Remove(filepath.Join(path, rootFile)) // when it stays, the rest of it says why
	return os.RemoveAll(path)
}

// lockTime is how long another process may still have the root file.
const lockTime = 2 * time.Second

// openDisk opens the index at the path, and makes it when it is not there.
func openDisk(path string, queue *bleve.AnalysisQueue) (*disk, error) {
	d := &disk{path: path, failed: make(chan struct{})}
	background().Store(path, d)
	err := guarded(func() (err error) {
		d.index, err = scorch.NewScorch(scorch.Name, map[string]any{
			"path":                   path,
			"bolt_timeout":           lockTime.String(),
			"asyncErrorCallbackName": callbackName,
		}, queue)
		if err != nil {
			return err
		}
		return d.index.Open()
	})
	if err != nil {
		background().CompareAndDelete(path, d)
		return nil, err
	}
	return d, nil
}

// checkSegments wants the segments to be there and to match their checksums, before bleve opens them: bleve writes
// checksums and never reads them, and what it makes of a damaged segment can end the process.
func checkSegments(path string, segments []string) error {
	var wrong atomic.Int64
	err := eachAtOnce(len(segments), func(i int) error {
		sound, err := isSound(filepath.Join(path, segments[i]))
		if !sound {
			wrong.Add(1)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err == nil && wrong.Load() > 0 {
		err = fmt.Errorf("%w: segments that are gone or do not match their checksums: %d", errIndex, wrong.Load())
	}
	return err
}

// isSound tells whether the last four bytes of a file are the checksum of the others.
func isSound(path string) (bool, error) {
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

// readState reads what the index says about itself.
func (d *disk) readState() error {
	return guarded(func() error {
		snapshot := d.snapshot()
		defer snapshot.Close()
		b, err := snapshot.GetInternal(stateKey)
		if err != nil {
			return err
		}
		return d.state.decode(b)
	})
}

// eachAtOnce calls fn for the numbers below n, on all processors, each call guarded.
func eachAtOnce(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = guarded(func() error { return fn(i) })
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

func (d *disk) snapshot() *scorch.IndexSnapshot {
	r, err := d.index.Reader()
	must(err)
	return r.(*scorch.IndexSnapshot)
}

// write begins to make a batch durable, together with the state that it leads to; wait says how that went.
func (d *disk) write(batch *bleve.Batch, next state) (wait func() error) {
	batch.SetInternal(stateKey, next.encode())
	done := make(chan error, 1)
	go func() { done <- guarded(func() error { return d.index.Batch(batch) }) }()
	return func() (err error) {
		select {
		case err = <-done:
		case <-d.failed: // then bleve may never answer
			err = *d.why.Load()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errIndex, err)
		}
		d.state = next
		return nil
	}
}

func (d *disk) close() error {
	background().CompareAndDelete(d.path, d)
	if d.why.Load() != nil { // what failed may hold a lock that closing would wait for
		go func() { _ = guarded(d.index.Close) }()
		return nil
	}
	return guarded(d.index.Close)
}

// guarded turns the panics that reading a damaged index ends in into errors. What is wrong with the store is not the
// index's fault.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if cause, is := r.(error); is && errors.Is(cause, store.ErrDamaged) {
			err = cause
		} else if r != nil {
			err = fmt.Errorf("%w: %v", errIndex, r)
		}
	}()
	return fn()
}
