package store

import (
	"bytes"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// The name of a bucket of an organization says what it contains. See the package comment for the keys and values.
const (
	recSuffix     = ".rec"
	logSuffix     = ".log"
	goneSuffix    = ".gone"
	tombSuffix    = ".tomb"
	partSuffix    = ".part"
	setSuffix     = ".set"
	ownerSuffix   = ".owner"
	counterSuffix = ".counter"
	uniqueInfix   = ".uniq."
	keyInfix      = ".key."
	jobsBucket    = "jobs"
)

// globalPrefix begins the names of the buckets of global keys, which are buckets of the root.
const globalPrefix = "global."

// rootBuckets are the buckets of the root with a fixed name. The bucket held is one of older formats.
var rootBuckets = []string{"due", "gone", "held", "incomplete", "lost", "meta", "orgs", "trash"}

// goneBucket has the change number of each deletion that the log has, by record.
func goneBucket(table string) string { return table + goneSuffix }

func tombBucket(table string) string { return table + tombSuffix }

func keyBucket(table, key string) string { return table + keyInfix + key }

func globalBucket(table, key string) string { return globalPrefix + table + "." + key }

// isOfTable reports whether a bucket belongs to a table.
func isOfTable(bucket, table string) bool {
	rest, is := strings.CutPrefix(bucket, table)
	return is && (slices.Contains([]string{recSuffix, logSuffix, goneSuffix, tombSuffix}, rest) || isKey(rest))
}

// isKey reports whether a name, without that of its table, is one of a unique or secondary key.
func isKey(rest string) bool {
	return strings.HasPrefix(rest, uniqueInfix) || strings.HasPrefix(rest, keyInfix)
}

// isBucketName reports whether a bucket in the path may have the name.
func isBucketName(path []string, name string) bool {
	switch len(path) {
	case 0:
		return strings.HasPrefix(name, globalPrefix) || slices.Contains(rootBuckets, name)
	case 1:
		return len(name) == 16
	}
	return isSealed(name) || name == probeBucket || strings.Contains(name, uniqueInfix) || strings.Contains(name, keyInfix) ||
		endsWith(name, goneSuffix, ownerSuffix, counterSuffix)
}

// isSealed reports whether the entries of an organization's bucket have checksums.
func isSealed(bucket string) bool {
	return bucket == jobsBucket || endsWith(bucket, recSuffix, logSuffix, partSuffix, setSuffix, tombSuffix)
}

func endsWith(name string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// checkEntry compares an entry of a sealed bucket with its checksum.
func (tx *Tx) checkEntry(bucket string, key, value []byte) (err error) {
	if strings.HasSuffix(bucket, recSuffix) {
		_, _, _, err = decodeValue(tx.placeSum(bucket, key), value)
	} else {
		_, err = unseal(tx.placeSum(bucket, key), value)
	}
	return err
}

// bucketNames returns the names of the buckets within a bucket that end with a suffix, without it. The bucket may be
// nil.
func bucketNames(b *bolt.Bucket, suffix string) (names []string) {
	if b == nil {
		return nil
	}
	_ = b.ForEachBucket(func(k []byte) error { // the function never fails
		if name, has := strings.CutSuffix(string(k), suffix); has {
			names = append(names, name)
		}
		return nil
	})
	return names
}

// sealedBuckets returns the organization's buckets whose entries have checksums, without those that end with any of the
// suffixes.
func (tx *Tx) sealedBuckets(except ...string) []string {
	return slices.DeleteFunc(bucketNames(tx.orgBkt, ""), func(name string) bool { return !isSealed(name) || endsWith(name, except...) })
}

// globalBuckets returns the names of the buckets of all global keys.
func globalBuckets(btx *bolt.Tx) (names []string) {
	_ = btx.ForEach(func(name []byte, _ *bolt.Bucket) error { // the function never fails
		if bytes.HasPrefix(name, []byte(globalPrefix)) {
			names = append(names, string(name))
		}
		return nil
	})
	return names
}

// keyBuckets returns the buckets of the unique and secondary keys of a table.
func (tx *Tx) keyBuckets(table string) (buckets []string) {
	for _, name := range bucketNames(tx.orgBkt, "") {
		if rest, is := strings.CutPrefix(name, table); is && isKey(rest) {
			buckets = append(buckets, name)
		}
	}
	for _, name := range globalBuckets(tx.btx) {
		if strings.HasPrefix(name, globalBucket(table, "")) {
			buckets = append(buckets, sharedPrefix+name)
		}
	}
	return buckets
}
