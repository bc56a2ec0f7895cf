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
	err := s.CheckPages(func(problem string) {
		s.opt.Log.Error("store file has a damaged page; restart the server to rebuild the file", "problem", problem)
	})
	if err != nil {
		return err
	}
	return s.eachOrganization(func(org uuid.UUID, buckets []string) error {
		for _, bucket := range buckets {
			from := []byte{}
			for from != nil {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-pace:
				}
				err := s.View(org, func(tx *Tx) (err error) {
					from, err = tx.scrub(bucket, from)
					return err
				})
				if errors.Is(err, ErrDamaged) { // a page cannot be read
					s.opt.Log.Error("store is damaged", "organization", org, "bucket", bucket, "error", err)
					break
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// scrub checks the entries of a bucket from a key on, and returns the key of the next chunk, or nil.
func (tx *Tx) scrub(bucket string, from []byte) (next []byte, err error) {
	n := 0
	err = tx.look(bucket, from, func(key, value []byte) (bool, error) {
		if n++; n > scrubChunk {
			next = bytes.Clone(key)
			return false, nil
		}
		table, isRecord := strings.CutSuffix(bucket, ".rec")
		if isRecord && len(key) == 16 {
			if _, _, _, err := decodeValue(tx.place(bucket, key), value); err != nil {
				_ = tx.unreadable(table, uuid.UUID(key), err)
			}
			return true, nil
		}
		if _, err := unseal(tx.place(bucket, key), value); err != nil {
			if strings.HasSuffix(bucket, logSuffix) { // no record is missing
				tx.store.opt.Log.Error("store entry is damaged", "organization", tx.org, "bucket", bucket, "key", hex.EncodeToString(key), "error", err)
			} else {
				tx.foundDamaged(bucket, key, err)
			}
		}
		return true, nil
	})
	return next, err
}

// CheckCounts compares the number of records of every table with its count. A difference is logged: a
// page may have lost records, and lists report them as damaged. It returns the number of tables that
// differ.
func (s *Store) CheckCounts(ctx context.Context) (differing int, err error) {
	err = s.eachOrganization(func(org uuid.UUID, buckets []string) error {
		for _, bucket := range buckets {
			table, isRecord := strings.CutSuffix(bucket, ".rec")
			if !isRecord {
				continue
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			default:
			}
			err := s.View(org, func(tx *Tx) error {
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
			if errors.Is(err, ErrDamaged) {
				differing++
				s.opt.Log.Error("store is damaged", "organization", org, "bucket", bucket, "error", err)
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	return differing, err
}

// eachOrganization calls fn for every organization, and for uuid.Nil, with the names of its buckets that
// have checksums.
func (s *Store) eachOrganization(fn func(org uuid.UUID, buckets []string) error) error {
	orgs, err := s.Organizations()
	if err != nil {
		return err
	}
	for _, org := range append(orgs, uuid.Nil) {
		var buckets []string
		err := s.View(org, func(tx *Tx) error {
			if tx.orgBkt == nil {
				return nil
			}
			return tx.orgBkt.ForEachBucket(func(name []byte) error {
				if n := string(name); isSealed(n) && !strings.HasSuffix(n, ".tomb") {
					buckets = append(buckets, n)
				}
				return nil
			})
		})
		if err == nil {
			err = fn(org, buckets)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
