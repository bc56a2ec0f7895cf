package rows

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

const (
	// maxUnpacked is the maximum size of an unpacked file in bytes unless Options sets another.
	maxUnpacked = 64 << 30
	// maxRatio is how many times larger than packed a file may be, once freeRatio bytes are unpacked.
	// Tables reach about 30.
	maxRatio  = 200
	freeRatio = 32 << 20
	// maxDirectory is how much of an archive may be read to find its files.
	maxDirectory = 1 << 20
)

// unpack returns the content of a file that may be packed with gzip or zip, or the workbook if it is a spreadsheet. What it
// returns fails when more than limit bytes are unpacked, or when so much comes out of so little that the file was
// made to exhaust the reader. release removes temporary files.
func unpack(r io.Reader, limit int64, sheet string) (content io.Reader, book *workbook, release func(), err error) {
	packed := &counter{Reader: r}
	in := bufio.NewReaderSize(packed, 1<<16)
	magic, _ := in.Peek(4)
	release = func() {}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, release, fmt.Errorf("invalid gzip header: %w", err)
		}
		return &guard{in: plain, packed: packed, limit: limit}, nil, release, nil
	case bytes.Equal(magic, []byte("PK\x03\x04")):
		file, size, release, err := seekable(r, in, limit)
		if err != nil {
			return nil, nil, release, err
		}
		z, packed, err := openArchive(file, size)
		guard := &guard{packed: packed, limit: limit}
		switch {
		case err != nil:
		case isOffice(z):
			book, err = openWorkbook(z, guard, sheet)
		default:
			guard.in, err = onlyFile(z)
			content = guard
		}
		if err != nil {
			release()
			return nil, nil, release, err
		}
		return content, book, release, nil
	}
	return &guard{in: in, limit: limit}, nil, release, nil
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// guard fails when too much was unpacked.
type guard struct {
	in     io.Reader
	packed *counter // nil if the content is not packed
	limit  int64
	n      int64
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.in.Read(p)
	g.n += int64(n)
	switch {
	case g.n > g.limit:
		return 0, fmt.Errorf("the file has more than %d bytes when it is unpacked", g.limit)
	case g.packed != nil && g.n > freeRatio && g.n/maxRatio > g.packed.n:
		return 0, fmt.Errorf("the file unpacks to more than %d times its size", maxRatio)
	}
	return n, err
}

// seekable returns a packed file for random access: r itself if it is a file that was opened at its start, or a
// temporary copy of in.
func seekable(r io.Reader, in io.Reader, limit int64) (file io.ReaderAt, size int64, release func(), err error) {
	release = func() {}
	if f, is := r.(interface {
		io.ReaderAt
		io.Seeker
	}); is {
		size, err = f.Seek(0, io.SeekEnd)
		return f, size, release, err
	}
	spool, err := os.CreateTemp("", "import-*.zip")
	if err != nil {
		return nil, 0, release, err
	}
	release = func() {
		_ = spool.Close()
		_ = os.Remove(spool.Name())
	}
	size, err = io.Copy(spool, io.LimitReader(in, limit+1))
	if err == nil && size > limit {
		err = fmt.Errorf("the file has more than %d bytes", limit)
	}
	if err != nil {
		release()
	}
	return spool, size, release, err
}

var errArchive = errors.New("the archive must contain exactly one file; pack the table alone")

// openArchive opens a zip archive. packed counts what is read of its files.
func openArchive(archive io.ReaderAt, size int64) (z *zip.Reader, packed *counter, err error) {
	at := &countingAt{ReaderAt: archive, left: maxDirectory}
	z, err = zip.NewReader(at, size)
	if at.left < 0 {
		return nil, nil, errArchive
	}
	if err != nil {
		return nil, nil, fmt.Errorf("invalid zip archive: %w", err)
	}
	at.left, at.counted.n = 1<<62, 0
	return z, &at.counted, nil
}

// onlyFile opens the only file of a zip archive.
func onlyFile(z *zip.Reader) (io.Reader, error) {
	var table *zip.File
	for _, f := range z.File {
		name := path.Base(f.Name)
		switch {
		case strings.HasSuffix(f.Name, "/") || strings.HasPrefix(f.Name, "__MACOSX/") || strings.HasPrefix(name, "."):
		case table != nil:
			return nil, errArchive
		default:
			table = f
		}
	}
	if table == nil {
		return nil, errArchive
	}
	if table.Flags&1 != 0 {
		return nil, errors.New("the archive is encrypted; pack the table without a password")
	}
	plain, err := table.Open()
	if err != nil {
		return nil, fmt.Errorf("invalid zip archive: %w", err)
	}
	return plain, nil
}

// countingAt counts what is read and fails when nothing is left of its budget.
type countingAt struct {
	io.ReaderAt
	left    int64
	counted counter
}

func (c *countingAt) ReadAt(p []byte, off int64) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, errArchive
	}
	n, err := c.ReaderAt.ReadAt(p, off)
	c.counted.n += int64(n)
	return n, err
}
