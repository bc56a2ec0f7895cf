package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// entries counts the entries of a bucket and of the buckets within it, including the buckets
// themselves.
func entries(b *bolt.Bucket) (n int) {
	if b == nil {
		return 0
	}
	_ = b.ForEach(func(k, v []byte) error {
		if n++; v == nil {
			n += entries(b.Bucket(k))
		}
		return nil
	})
	return n
}

// watching records the size of the trash at the end of each commit, and calls then after the given
// number of commits.
func watching(trash *[]int, then func(commits int)) Options {
	return Options{commit: func(btx *bolt.Tx) error {
		if b := btx.Bucket(trashBucket); b != nil {
			*trash = append(*trash, entries(b))
			then(len(*trash))
		}
		return btx.Commit()
	}}
}

// fill writes people with two keys each.
func fill(t *testing.T, s *Store, org uuid.UUID, most int) {
	t.Helper()
	for from := 0; from < most; from += 1000 {
		write(t, s, org, func(tx *Tx) error {
			for i := from; i < min(from+1000, most); i++ {
				p := person{Name: strings.Repeat("x", 50), Email: fmt.Sprint(i, "@x"), Tags: []string{fmt.Sprint(i % 7)}}
				if _, err := people.Insert(tx, tx.NewID(), p); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func freePages(s *Store) int {
	stats := s.db.Stats()
	return stats.FreePageN + stats.PendingPageN
}

// TestEmptyTrash frees a large organization in commits of limited size, is interrupted, and
// continues after the store was reopened. Other organizations are not affected.
func TestEmptyTrash(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var trash []int
	s := open(t, dir, watching(&trash, func(commits int) {
		if commits == 3 { // the first is the deletion itself
			cancel()
		}
	}))
	s.db.NoSync = true
	const many = 4000 // × record, change, email, tag
	fill(t, s, orgA, many)
	fill(t, s, orgB, 300)
	var size int64
	read(t, s, orgA, func(tx *Tx) error { size = tx.btx.Size(); return nil })
	before, free := without(t, s, orgA), freePages(s)

	write(t, s, orgA, drop)
	if err := s.EmptyTrash(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("it was interrupted: %v", err)
	}
	wantGone(t, s)
	wantSound(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, watching(&trash, func(int) {}))
	s.db.NoSync = true
	wantGone(t, s)
	if err := s.EmptyTrash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(trash) < 4 || trash[0] < 4*many || trash[len(trash)-1] != 0 {
		t.Fatalf("in the trash there were %v", trash)
	}
	for i, n := range trash[1:] {
		if was := trash[i]; n >= was || was-n > maxTrashPerCommit {
			t.Errorf("one commit made %d of %d", n, was)
		}
	}
	wantGone(t, s)
	wantSound(t, s)
	if after := without(t, s, orgA); after != before {
		t.Errorf("of the other organization there changed\n%s", difference(before, after))
	}
	if pages := int(size) / os.Getpagesize(); freePages(s)-free < pages*8/10 {
		t.Errorf("%d pages were free, now %d; it had most of %d", free, freePages(s), pages)
	}

	// Its space is reused.
	fill(t, s, numberedID(7, 7), many*8/10)
	read(t, s, orgA, func(tx *Tx) error {
		if got := tx.btx.Size(); got > size*11/10 {
			t.Errorf("it was %d bytes, now %d", size, got)
		}
		return nil
	})
}

func TestAnEmptyTrash(t *testing.T) {
	opt, commits := counting()
	s := open(t, t.TempDir(), opt)
	insert(t, s, orgB, person{Name: "b"})
	write(t, s, orgA, drop) // it had nothing
	wantGone(t, s)
	commits.Store(0)
	for range 2 {
		if err := s.EmptyTrash(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := commits.Load(); n != 0 {
		t.Errorf("%d commits for nothing", n)
	}
}

// TestTrashOfMany has buckets that end exactly where a commit does, and organizations that are
// deleted while the trash is emptied.
func TestTrashOfMany(t *testing.T) {
	var trash []int
	var s *Store
	late := make(chan error, 2)
	s = open(t, t.TempDir(), watching(&trash, func(commits int) {
		if commits == 8 { // queued behind this commit
			go func() { late <- s.Update(context.Background(), numberedID(6, 99), boss, drop) }()
			waitQueued(s, 1)
		}
	}))
	s.db.NoSync = true
	put := func(org uuid.UUID, bucket string, n int) {
		write(t, s, org, func(tx *Tx) error {
			for i := range n {
				tx.put(bucket, fmt.Append(nil, i), nil)
			}
			return nil
		})
	}
	insert(t, s, orgB, person{Name: "b"})
	put(numberedID(6, 99), "x", maxTrashPerCommit/2)
	for i, n := range []int{maxTrashPerCommit, maxTrashPerCommit - 1, maxTrashPerCommit + 1, 1, 0, 2*maxTrashPerCommit - 2} {
		org := numberedID(6, i)
		put(org, "x", n)
		put(org, "y", 1)
		write(t, s, org, func(tx *Tx) error { tx.setSequence("empty", 1); tx.put("y", []byte("k"), nil); return nil })
	}
	for i := range 6 {
		write(t, s, numberedID(6, i), drop)
	}
	if err := s.EmptyTrash(t.Context()); err != nil {
		t.Fatal(err)
	}
	inTime(t, "the late one", func() {
		if err := <-late; err != nil {
			t.Error(err)
		}
	})
	if err := s.EmptyTrash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := everything(t, s); strings.Contains(all, "trash/") || trash[len(trash)-1] != 0 {
		t.Errorf("there is left %v", trash)
	}
	wantOrganizations(t, s, orgB)
	wantSound(t, s)
}
