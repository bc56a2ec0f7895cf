package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

// scrubChunk is the number of entries that a scrub reads in one transaction.
const scrubChunk = 1000

// Scrub reads the pages of the file. Then it reads every record, history entry, part, set and job of all
// organizations and compares it with its checksum, one chunk for each value that it receives from pace.
// What is damaged is logged and, except for pages and history entries, counted in Stats.
func (s *Store) Scrub(ctx context.Context, pace <-chan time.Time) error {
	problems, err := s.pageProblems()
	if err != nil {
		return err
	}
	for i := range problems {
		s.opt.Log.Error("store file has a damaged page; restart the server to rebuild the file", "problem", problems[i].Error())
	}
	_, err = s.eachBucket(func(org uuid.UUID, bucket string) error {
		wait := func() error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-pace:
				return nil
			}
		}
		return s.eachChunk(org, bucket, scrubChunk, wait, func(tx *Tx, key, value []byte) { tx.scrub(bucket, key, value) })
	})
	return err
}

// eachChunk calls fn for the entries of a bucket, with a transaction for each chunk of them. before is called before each
// chunk.
func (s *Store) eachChunk(org uuid.UUID, bucket string, size int, before func() error, fn func(tx *Tx, key, value []byte)) error {
	for next := []byte{}; next != nil; {
		if err := before(); err != nil {
			return err
		}
		err := s.View(org, func(tx *Tx) error {
			n, from := 0, next
			next = nil
			for key, value := range tx.scan(bucket, from) {
				if n++; n > size {
					next = bytes.Clone(key)
					break
				}
				fn(tx, key, value)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scrub compares an entry with its checksum.
func (tx *Tx) scrub(bucket string, key, value []byte) {
	switch err := tx.checkEntry(bucket, key, value); {
	case err == nil:
	case strings.HasSuffix(bucket, logSuffix): // no record is missing
		tx.store.opt.Log.Error("store entry is damaged", "organization", tx.org, "bucket", bucket, "key", hex.EncodeToString(key), "error", err)
	default:
		_ = tx.unreadable(bucket, key, err)
	}
}

// CheckCounts compares the number of records of every table with its count. A difference is logged: a
// page may have lost records, and lists report them as damaged. It returns the number of tables that
// differ.
func (s *Store) CheckCounts(ctx context.Context) (differing int, err error) {
	damaged, err := s.eachBucket(func(org uuid.UUID, bucket string) error {
		table, isRecord := strings.CutSuffix(bucket, recSuffix)
		if !isRecord {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.View(org, func(tx *Tx) error {
			b := tx.bucket(bucket)
			if b == nil {
				return nil
			}
			if have, want := b.Stats().KeyN, int(b.Sequence()); have != want {
				differing++
				s.opt.Log.Error("table does not have as many records as it counts; run 'prospector check'",
					"organization", org, "table", table, "records", have, "count", want)
			}
			return nil
		})
	})
	return differing + damaged, err
}

// eachBucket calls fn for the buckets with checksums of every organization, and of uuid.Nil, except those of
// tombstones. It logs and counts the buckets for which fn finds a page that cannot be read.
func (s *Store) eachBucket(fn func(org uuid.UUID, bucket string) error) (damaged int, err error) {
	orgs, err := s.Organizations()
	if err != nil {
		return 0, err
	}
	for _, org := range append(orgs, uuid.Nil) {
		buckets, err := Read(s, org, func(tx *Tx) ([]string, error) { return tx.sealedBuckets(tombSuffix), nil })
		if err != nil {
			return damaged, err
		}
		for _, bucket := range buckets {
			err := fn(org, bucket)
			if errors.Is(err, ErrDamaged) {
				damaged++
				s.opt.Log.Error("store is damaged", "organization", org, "bucket", bucket, "error", err)
			} else if err != nil {
				return damaged, err
			}
		}
	}
	return damaged, nil
}
