// Package repair reads the pages of a bbolt file without bbolt, finds what is damaged, and rebuilds the file from
// what can be read. bbolt trusts what it reads: it panics on some damaged pages, follows wrong page numbers and runs
// in circles. Its pages have no checksums, but many entries have one that covers the organization, the bucket and the
// key, so that it is known which bucket an entry belongs to. The package knows buckets and entries, but neither records
// nor transactions: what it needs to know about them is in a Layout.
package repair

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// Layout describes the buckets of a file. A path is the names of a bucket and of those that contain it, beginning
// at the root, whose path is empty.
type Layout struct {
	// Organizations is the bucket of the root that has a bucket for each organization, which is named by its id.
	Organizations string
	// Needed are the buckets of the root without which nothing can be found.
	Needed []string
	// HasBuckets reports whether a bucket contains buckets. It contains entries otherwise.
	HasBuckets func(path []string) bool
	// IsName reports whether a bucket may contain one of the name.
	IsName func(path []string, name string) bool
	// Names returns names of buckets that every organization may have, according to what was rebuilt.
	Names func(*bolt.Tx) ([]string, error)

	// IsSealed reports whether the entries of a bucket of an organization have checksums.
	IsSealed func(bucket string) bool
	// Matches reports whether an entry has the checksum of its place in a sealed bucket.
	Matches func(org uuid.UUID, bucket string, key, value []byte) bool
	// Change returns the number of the change that wrote an entry of a sealed bucket, or 0 if it has none.
	Change func(bucket string, key, value []byte) uint64
	// Placeholder is the value of entries that stand for lost ones. It matches no checksum.
	Placeholder []byte
	// IsReported reports whether an entry that does not match its checksum is kept, because whoever reads it reports
	// it as damaged. sequence is that of the bucket.
	IsReported func(bucket string, key []byte, sequence uint64) bool
}

// File is a file whose pages were read.
type File struct {
	Problems []Problem
	// HasBothMetas reports whether both meta pages are intact. If one is damaged, the last commit may be missing.
	HasBothMetas bool

	walk *walk
}

// Problem is a page that cannot be read, or not all of it.
type Problem struct {
	Path     []string // the bucket that it belongs to
	Page     uint64
	From, To []byte // its keys are at least From and below To, as far as they are known
	Cause    error
	IsWhole  bool // all its elements can be read nevertheless
}

func (p *Problem) Error() string {
	return fmt.Sprintf("page %d of %s: %v", p.Page, pathName(p.Path), p.Cause)
}

// pathName returns the path of a bucket for people.
func pathName(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	var names []string
	for _, name := range path {
		names = append(names, bucketName(name))
	}
	return strings.Join(names, "/")
}

func bucketName(name string) string {
	if len(name) == 16 {
		return uuid.UUID([]byte(name)).String()
	}
	return name
}

// ErrNoCommit is the error of Check for a commit that the file no longer has.
var ErrNoCommit = errors.New("the file does not have the commit")

// Check reads every page that belongs to a commit of a file. Commit 0 stands for the newest one. It fails if both
// meta pages are damaged, or if the file is shorter than they say.
func Check(file io.ReaderAt, size int64, commit uint64, layout *Layout) (*File, error) {
	meta, both, err := readMeta(file, commit)
	if err != nil {
		return nil, err
	}
	if meta.pages > maxPages || int64(meta.pages)*int64(meta.pageSize) > size {
		return nil, fmt.Errorf("it has only %d of its %d bytes", size, meta.pages*uint64(meta.pageSize))
	}
	w := newWalk(file, meta, layout)
	if err := w.run(); err != nil {
		return nil, err
	}
	return &File{Problems: w.problems, HasBothMetas: both, walk: w}, nil
}

// maxPages limits the size of a file, so that a damaged number does not exhaust memory.
const maxPages = 1 << 34

// Raw returns the bytes of a page, or nothing if the file does not have it.
func (f *File) Raw(page uint64) ([]byte, error) {
	w := f.walk
	if page >= w.meta.pages {
		return nil, nil
	}
	b := make([]byte, w.meta.pageSize)
	_, err := w.file.ReadAt(b, int64(page)*int64(w.meta.pageSize))
	return b, err
}
