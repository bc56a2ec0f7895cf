package repair

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The format of bbolt's pages.
const (
	pageHead    = 16 // id (8), type (2), count (2), overflow (4)
	elementSize = 16
	metaSize    = 64
	bucketHead  = 16 // root page (8), sequence (8)

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	bucketElement = 1
	noFreelist    = ^uint64(0)
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
)

// metaPage is one of the two pages that name the root of the file. bbolt writes them in turn and uses the
// newest intact one.
type metaPage struct {
	pageSize       int
	root, freelist uint64
	pages          uint64 // the number of pages of the file
	commit         uint64
}

func parseMeta(b []byte) (m metaPage, ok bool) {
	if len(b) < metaSize || binary.LittleEndian.Uint32(b) != boltMagic || binary.LittleEndian.Uint32(b[4:]) != boltVersion {
		return m, false
	}
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	if sum.Sum64() != binary.LittleEndian.Uint64(b[metaSize-8:]) {
		return m, false
	}
	return metaPage{
		pageSize: int(binary.LittleEndian.Uint32(b[8:])),
		root:     binary.LittleEndian.Uint64(b[16:]), freelist: binary.LittleEndian.Uint64(b[32:]),
		pages: binary.LittleEndian.Uint64(b[40:]), commit: binary.LittleEndian.Uint64(b[48:]),
	}, true
}

// readMeta returns the newest intact meta page, or that of a commit, and whether both are intact.
func readMeta(r io.ReaderAt, commit uint64) (m metaPage, both bool, err error) {
	found := 0
	for size := 1 << 9; size <= 1<<16; size <<= 1 { // the second one is at the page size, which is in both
		for _, at := range []int64{0, int64(size)} {
			b := make([]byte, metaSize)
			if _, err := r.ReadAt(b, at+pageHead); err != nil && err != io.EOF {
				return m, false, err
			}
			meta, ok := parseMeta(b)
			if !ok || meta.pageSize != size {
				continue
			}
			if commit != 0 && meta.commit == commit {
				return meta, false, nil
			}
			if found++; found == 1 || meta.commit > m.commit {
				m = meta
			}
		}
	}
	switch {
	case found == 0:
		return m, false, errors.New("both of its meta pages are damaged")
	case commit != 0:
		return m, false, ErrNoCommit
	}
	return m, found == 2, nil
}

// page is a page with the pages that continue it.
type page struct {
	id       uint64
	typ      uint16
	count    int
	overflow uint64
	data     []byte // including the header
}

func parsePage(b []byte) page {
	return page{
		id: binary.LittleEndian.Uint64(b), typ: binary.LittleEndian.Uint16(b[8:]),
		count: int(binary.LittleEndian.Uint16(b[10:])), overflow: uint64(binary.LittleEndian.Uint32(b[12:])), data: b,
	}
}

// element is an entry of a leaf page, a bucket in it, or a reference of a branch page.
type element struct {
	key, value []byte
	isBucket   bool
	child      uint64 // of a branch page
}

// elements returns the elements of a leaf or branch page, and an error if they are not as bbolt writes
// them: next to each other, in ascending order, up to the end of the page. The elements that can be told
// apart are returned even then.
func (p *page) elements(pageSize int) (found []element, err error) {
	fail := func(format string, args ...any) {
		if err == nil {
			err = fmt.Errorf(format, args...)
		}
	}
	if pageHead+p.count*elementSize > len(p.data) {
		return nil, fmt.Errorf("its %d elements do not fit", p.count)
	}
	if p.count == 0 && len(bytes.Trim(p.data[pageHead:], "\x00")) > 0 {
		return nil, errors.New("it has no elements, but is not empty")
	}
	next := pageHead + p.count*elementSize // where the data of the next element must begin
	found = make([]element, 0, p.count)
	for i := range p.count {
		at := pageHead + i*elementSize
		e, start, end, ok := p.element(at)
		if !ok {
			fail("element %d is outside of the page", i)
			continue
		}
		if start != next {
			fail("element %d is not where it should be", i)
		}
		next = end
		found = append(found, e)
	}
	if pages := p.overflow + 1; pageSize > 0 && err == nil && pages > uint64(next/pageSize)+1 {
		fail("it has %d pages, but %d bytes", pages, next)
	}
	if err == nil && !inOrder(found) {
		err = errOrder
	}
	return found, err
}

var errOrder = errors.New("its keys are out of order")

func inOrder(elements []element) bool {
	for i := 1; i < len(elements); i++ {
		if bytes.Compare(elements[i-1].key, elements[i].key) >= 0 {
			return false
		}
	}
	return true
}

// element reads the element whose description is at an offset of the page.
func (p *page) element(at int) (e element, start, end int, ok bool) {
	u32 := func(off int) int { return int(binary.LittleEndian.Uint32(p.data[at+off:])) }
	pos, keySize, valueSize := u32(0), u32(4), 0
	if p.typ == leafPage {
		pos, keySize, valueSize = u32(4), u32(8), u32(12)
		e.isBucket = u32(0)&bucketElement != 0
		ok = u32(0) <= bucketElement
	} else {
		e.child = binary.LittleEndian.Uint64(p.data[at+8:])
		ok = true
	}
	start, end = at+pos, at+pos+keySize+valueSize
	if end > len(p.data) || keySize == 0 {
		return e, 0, 0, false
	}
	e.key, e.value = p.data[start:start+keySize], p.data[start+keySize:end]
	return e, start, end, ok
}

// freePages returns the page numbers of a freelist page.
func (p *page) freePages() (ids []uint64, err error) {
	count, at := uint64(p.count), pageHead
	if p.count == 0xffff && len(p.data) >= pageHead+8 {
		count, at = binary.LittleEndian.Uint64(p.data[pageHead:]), pageHead+8
	}
	if p.typ != freelistPage || count > uint64(len(p.data)-at)/8 {
		return nil, errors.New("it is not a list of free pages")
	}
	for i := range count {
		ids = append(ids, binary.LittleEndian.Uint64(p.data[at+int(i)*8:]))
	}
	return ids, nil
}
