package index

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
)

// rootFile is the file in which bleve keeps the list of its segments: a bbolt file, which has no checksums but in its
// two meta pages.
const rootFile = "root.bolt"

// segmentSuffix ends the names of the files that segments are in.
const segmentSuffix = ".zap"

// checkRoot walks the root file of an index before bleve does. Bleve reads it in goroutines of its own, where a page
// that points outside of the file, or in a circle, would end the process. What the pages say is not looked at: a
// wrong list of segments shows when the ids are counted. A root file that is alone and that whoever made it had no time to
// begin is errNotStarted.
func checkRoot(path string) (err error) {
	data, err := os.ReadFile(filepath.Join(path, rootFile))
	if err != nil {
		return err
	}
	if files, err := os.ReadDir(path); err == nil && len(files) == 1 && len(data) < firstBytes {
		return errNotStarted
	}
	defer func() {
		if r := recover(); r != nil { // an index out of range: the file says more than it has
			err = fmt.Errorf("%w: its root file is torn: %v", errIndex, r)
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

// firstBytes is what bbolt begins a file with: four pages, which a kill may cut short.
const firstBytes = 4 * 4096

// The layout of bbolt's pages.
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

func torn(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// meta takes the meta page that bbolt would take, and walks what it points to.
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
			sound := native.Uint32(m) == metaMagic && native.Uint32(m[4:]) == metaVersion && native.Uint64(m[56:]) == sum.Sum64()
			if sound && uint64(native.Uint32(m[8:])) == size && (best == nil || native.Uint64(m[48:]) > native.Uint64(best[48:])) {
				best, w.pageSize = m, size
			}
		}
		if best != nil {
			break
		}
	}
	if best == nil {
		torn("it has no meta page")
	}
	w.pages = native.Uint64(best[40:])
	if w.pages > uint64(len(w.data))/w.pageSize {
		torn("%d of its %d pages are there", uint64(len(w.data))/w.pageSize, w.pages)
	}
	w.tree(native.Uint64(best[16:]))
	if free := native.Uint64(best[32:]); free != ^uint64(0) {
		w.freelist(free)
	}
}

// page gives a page that nothing else may use.
func (w *rootWalk) page(id uint64) []byte {
	if id < 2 || id >= w.pages {
		torn("there is no page %d", id)
	}
	p := w.data[id*w.pageSize:]
	more := uint64(native.Uint32(p[12:]))
	if native.Uint64(p) != id || more >= w.pages-id {
		torn("page %d is another", id)
	}
	for i := id; i <= id+more; i++ {
		if w.used[i] {
			torn("page %d is used twice", i)
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
			_ = p[at:][native.Uint32(element):][:native.Uint32(element[4:])] // the key
			w.tree(native.Uint64(element[8:]))
		}
	case leafPage:
		w.leaf(p)
	default:
		torn("page %d is of the kind %d", id, flags)
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
			torn("a bucket within a page is of the kind %d", native.Uint16(inline[8:]))
		} else {
			w.leaf(inline)
		}
	}
}

func (w *rootWalk) freelist(id uint64) {
	p := w.page(id)
	if flags := native.Uint16(p[8:]); flags != freelistPage {
		torn("the free list is of the kind %d", flags)
	}
	ids, count := p[pageHead:], uint64(native.Uint16(p[10:]))
	if count == 0xffff {
		count, ids = native.Uint64(ids), ids[8:]
	}
	for i := range count {
		free := native.Uint64(ids[i*8:])
		if free < 2 || free >= w.pages || w.used[free] {
			torn("page %d is not free", free)
		}
		w.used[free] = true
	}
}
