package store

import (
	"encoding/binary"
	"errors"
	"os"
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
			names = append(names, table+recSuffix, table+logSuffix)
		}
		return names, err
	},
	IsSealed: isSealed,
	Matches: func(org uuid.UUID, bucket string, key, value []byte) bool {
		return (&Tx{org: org}).checkEntry(bucket, key, value) == nil
	},
	Change: func(bucket string, key, value []byte) uint64 {
		switch {
		case strings.HasSuffix(bucket, recSuffix):
			return changeOf(value)
		case strings.HasSuffix(bucket, logSuffix) && len(key) == 8:
			return binary.BigEndian.Uint64(key)
		}
		return 0
	},
	Placeholder: lostValue,
	IsReported: func(bucket string, key []byte, sequence uint64) bool {
		return strings.HasSuffix(bucket, recSuffix) && len(key) == 16 ||
			strings.HasSuffix(bucket, logSuffix) && len(key) == 8 && binary.BigEndian.Uint64(key) <= sequence
	},
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
