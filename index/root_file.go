package index

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
)

// rootFile is the bbolt file in which bleve keeps the list of its segments. Only its two meta pages
// have checksums.
const rootFile = "root.bolt"

// checkRoot checks the page structure of the root file of an index. It must run before bleve opens
// the file: bleve reads it in its own goroutines, where a page that points outside of the file or
// to itself would crash the process. The content of the pages is not checked, because a wrong list
// of segments shows when the ids are counted. checkRoot returns errNotStarted if the root file is
// the only file and its first pages are incomplete.
func checkRoot(path string) (err error) {
	data, err := os.ReadFile(filepath.Join(path, rootFile))
	if err != nil {
		return err
	}
	if files, err := os.ReadDir(path); err == nil && len(files) == 1 && len(data) < firstBytes {
		return errNotStarted
	}
	defer func() {
		if r := recover(); r != nil { // a panic of damaged, or an index out of range
			err = fmt.Errorf("%w: its root file is damaged: %v", errIndex, r)
		}
	}()
	w := rootWalk{data: data, used: map[uint64]bool{}}
	w.meta()
	return nil
}

type rootWalk struct {
	data     []byte
	pageSize uint64
	pages    uint64
	used     map[uint64]bool
}

// firstBytes is the size of a new bbolt file: four pages. It is smaller if the process is killed
// while it creates the file.
const firstBytes = 4 * 4096

// The layout of bbolt pages.
const (
	pageHead = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	bucketLeaf   = 0x01

	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
)

var native = binary.NativeEndian

// damaged reports a damaged page to checkRoot.
func damaged(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// meta chooses the meta page that bbolt would use and checks the pages that it points to.
func (w *rootWalk) meta() {
	var best []byte
	for _, size := range []uint64{uint64(os.Getpagesize()), 4096, 8192, 16384, 65536} {
		for _, at := range []uint64{0, size} {
			if at+pageHead+metaSize > uint64(len(w.data)) {
				continue
			}
			m := w.data[at+pageHead : at+pageHead+metaSize]
			sum := fnv.New64a()
			_, _ = sum.Write(m[:metaSize-8])
			valid := native.Uint32(m) == metaMagic && native.Uint32(m[4:]) == metaVersion &&
				native.Uint64(m[56:]) == sum.Sum64()
			isNewer := func() bool { return best == nil || native.Uint64(m[48:]) > native.Uint64(best[48:]) }
			if valid && uint64(native.Uint32(m[8:])) == size && isNewer() {
				best, w.pageSize = m, size
			}
		}
		if best != nil {
			break
		}
	}
	if best == nil {
		damaged("no valid meta page")
	}
	w.pages = native.Uint64(best[40:])
	if w.pages > uint64(len(w.data))/w.pageSize {
		damaged("the file has %d pages instead of %d", uint64(len(w.data))/w.pageSize, w.pages)
	}
	w.tree(native.Uint64(best[16:]))
	if free := native.Uint64(best[32:]); free != ^uint64(0) {
		w.freelist(free)
	}
}

// page returns a page and marks it as used. No other page may refer to it.
func (w *rootWalk) page(id uint64) []byte {
	if id < 2 || id >= w.pages {
		damaged("page %d does not exist", id)
	}
	p := w.data[id*w.pageSize:]
	more := uint64(native.Uint32(p[12:]))
	if native.Uint64(p) != id || more >= w.pages-id {
		damaged("page %d has the wrong id or size", id)
	}
	for i := id; i <= id+more; i++ {
		if w.used[i] {
			damaged("page %d is used twice", i)
		}
		w.used[i] = true
	}
	return p[:(more+1)*w.pageSize]
}

func (w *rootWalk) tree(id uint64) {
	p := w.page(id)
	switch flags := native.Uint16(p[8:]); flags {
	case branchPage:
		for i := range uint64(native.Uint16(p[10:])) {
			at := pageHead + i*16
			element := p[at : at+16]
			_ = p[at:][native.Uint32(element):][:native.Uint32(element[4:])] // the key must be inside of the page
			w.tree(native.Uint64(element[8:]))
		}
	case leafPage:
		w.leaf(p)
	default:
		damaged("page %d has the unexpected type %d", id, flags)
	}
}

func (w *rootWalk) leaf(p []byte) {
	for i := range uint64(native.Uint16(p[10:])) {
		at := pageHead + i*16
		element := p[at : at+16]
		keyAndValue := p[at:][native.Uint32(element[4:]):]
		key, size := native.Uint32(element[8:]), native.Uint32(element[12:])
		value := keyAndValue[key:][:size]
		if native.Uint32(element)&bucketLeaf == 0 {
			continue
		}
		if root := native.Uint64(value[:16]); root != 0 {
			w.tree(root)
		} else if inline := value[16:]; native.Uint16(inline[8:]) != leafPage {
			damaged("an inline bucket has the unexpected type %d", native.Uint16(inline[8:]))
		} else {
			w.leaf(inline)
		}
	}
}

func (w *rootWalk) freelist(id uint64) {
	p := w.page(id)
	if flags := native.Uint16(p[8:]); flags != freelistPage {
		damaged("the free list has the unexpected type %d", flags)
	}
	ids, count := p[pageHead:], uint64(native.Uint16(p[10:]))
	if count == 0xffff {
		count, ids = native.Uint64(ids), ids[8:]
	}
	for i := range count {
		free := native.Uint64(ids[i*8:])
		if free < 2 || free >= w.pages || w.used[free] {
			damaged("page %d is in the free list but in use", free)
		}
		w.used[free] = true
	}
}
