package store

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/store/repair"
)

// pageLayout is what the package repair has to know about the buckets of a store.
var pageLayout = &repair.Layout{
	Organizations: string(orgsBucket),
	Needed:        []string{string(metaBucket), string(orgsBucket)},
	HasBuckets: func(path []string) bool {
		return len(path) == 0 || len(path) <= 2 && (path[0] == string(orgsBucket) || path[0] == string(trashBucket))
	},
	IsName: isBucketName,
	Names: func(btx *bolt.Tx) (names []string, err error) {
		tables, err := tablesOf(btx)
		for table := range tables {
			names = append(names, table+".rec", table+logSuffix)
		}
		return names, err
	},
	IsSealed: isSealed,
	Matches: func(org uuid.UUID, bucket string, key, value []byte) bool {
		return (&Tx{org: org}).checkEntry(bucket, key, value) == nil
	},
	Change: func(bucket string, key, value []byte) uint64 {
		switch {
		case strings.HasSuffix(bucket, ".rec"):
			return changeOf(value)
		case strings.HasSuffix(bucket, logSuffix) && len(key) == 8:
			return binary.BigEndian.Uint64(key)
		}
		return 0
	},
	Placeholder: lostValue,
	IsReported: func(bucket string, key []byte, sequence uint64) bool {
		return strings.HasSuffix(bucket, ".rec") && len(key) == 16 ||
			strings.HasSuffix(bucket, logSuffix) && len(key) == 8 && binary.BigEndian.Uint64(key) <= sequence
	},
}

// rootBuckets are the buckets of the root with a fixed name. The bucket held is one of older formats.
var rootBuckets = []string{"due", "gone", "held", "incomplete", "lost", "meta", "orgs", "trash"}

// isBucketName reports whether a bucket in the path may have the name.
func isBucketName(path []string, name string) bool {
	switch len(path) {
	case 0:
		return strings.HasPrefix(name, globalPrefix) || slices.Contains(rootBuckets, name)
	case 1:
		return len(name) == 16
	}
	return isSealed(name) || name == probeBucket || strings.Contains(name, ".uniq.") || strings.Contains(name, ".key.") ||
		endsWith(name, ".gone", ownerSuffix, counterSuffix)
}

// isSealed reports whether the entries of an organization's bucket have checksums.
func isSealed(bucket string) bool {
	return bucket == jobsBucket || endsWith(bucket, ".rec", logSuffix, partSuffix, setSuffix, ".tomb")
}

func endsWith(name string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// checkEntry compares an entry of a sealed bucket with its checksum.
func (tx *Tx) checkEntry(bucket string, key, value []byte) (err error) {
	if strings.HasSuffix(bucket, ".rec") {
		_, _, _, err = decodeValue(tx.place(bucket, key), value)
	} else {
		_, err = unseal(tx.place(bucket, key), value)
	}
	return err
}

// checkPages reads the pages of a store file that a commit has. Commit 0 is the newest one.
func checkPages(file *os.File, commit uint64) (*repair.File, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return repair.Check(file, info.Size(), commit, pageLayout)
}

// pageProblems reads the pages of the open file. The next start rebuilds a file with problems.
func (s *Store) pageProblems() (problems []repair.Problem, err error) {
	for range checkPagesTries {
		err := s.read(func(btx *bolt.Tx) error {
			file, err := os.Open(s.path)
			if err != nil {
				return err
			}
			defer file.Close()
			pages, err := checkPages(file, uint64(btx.ID()))
			if err == nil {
				problems = pages.Problems
			}
			return err
		})
		if !errors.Is(err, repair.ErrNoCommit) { // there were not two commits since the transaction began
			return problems, err
		}
	}
	return nil, errors.New("the pages were not checked, because there are too many commits; try again")
}

// checkPagesTries limits how often pageProblems begins again because of other commits.
const checkPagesTries = 100
