package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// rebuilder writes the new file.
type rebuilder struct {
	db      *bolt.DB
	tx      *bolt.Tx
	walk    *pageWalk
	path    []string
	current *bolt.Bucket
	written int
	// touched are the buckets of which entries are missing, and pages the leaf pages that may have them.
	touched map[string][]string
	pages   map[uint64]bool
	torn    []tornEntry
	names   map[string]bool // of the buckets that organizations have
}

// tornEntry is an entry of a damaged page that does not match its checksum.
type tornEntry struct {
	path       []string
	key, value []byte
}

// at returns a bucket of the new file.
func (r *rebuilder) at(path []string) (b *bolt.Bucket, err error) {
	if r.tx != nil && r.written > compactTx {
		if err := r.tx.Commit(); err != nil {
			return nil, err
		}
		r.tx = nil
	}
	if r.tx == nil {
		if r.tx, err = r.db.Begin(true); err != nil {
			return nil, err
		}
		r.written, r.current = 0, nil
	}
	if r.current != nil && slices.Equal(path, r.path) {
		return r.current, nil
	}
	if b, err = r.tx.CreateBucketIfNotExists([]byte(path[0])); err != nil {
		return nil, err
	}
	for _, name := range path[1:] {
		if b, err = b.CreateBucketIfNotExists([]byte(name)); err != nil {
			return nil, err
		}
	}
	b.FillPercent = 0.9
	r.path, r.current = slices.Clone(path), b
	return b, nil
}

func (r *rebuilder) put(path []string, key, value []byte) error {
	b, err := r.at(path)
	if err != nil || len(key) > bolt.MaxKeySize {
		return err
	}
	r.written += len(key) + len(value)
	return b.Put(bytes.Clone(key), bytes.Clone(value))
}

func (r *rebuilder) bucket(path []string, sequence uint64, of trust) error {
	b, err := r.at(path)
	if err != nil {
		return err
	}
	if of != sound {
		r.touch(path)
	}
	if isSealed(path) {
		r.names[path[2]] = true
	}
	return b.SetSequence(sequence)
}

func (r *rebuilder) isKnown(name string) bool { return r.names[name] }

func (r *rebuilder) touch(path []string) { r.touched[strings.Join(path, "\x00")] = slices.Clone(path) }

func (r *rebuilder) entry(path []string, key, value []byte, page uint64, of trust) error {
	if of == sound || !isSealed(path) {
		return r.put(path, key, value)
	}
	r.touch(path) // salvage takes what matches its checksum
	r.pages[page] = true
	if of == torn && !matches(path, key, value) {
		r.torn = append(r.torn, tornEntry{slices.Clone(path), bytes.Clone(key), bytes.Clone(value)})
	}
	return nil
}

// finish makes counters consistent with the entries and stores the lost pages.
func (r *rebuilder) finish() (lost []LostPage, err error) {
	hasNewContent := false
	for i := range r.walk.problems {
		p := &r.walk.problems[i]
		if len(p.path) == 0 { // the list of free pages
			continue
		}
		hasNewContent = true
		if p.isWhole {
			continue
		}
		l, err := r.lostPage(p)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		if err := r.put([]string{string(lostBucket)}, numberKey(uint64(i)), body); err != nil {
			return nil, err
		}
		lost = append(lost, l)
	}
	meta := []string{string(metaBucket)}
	if err := r.put(meta, rebuiltKey, []byte{1}); err != nil {
		return nil, err
	}
	if hasNewContent { // indexes may contain what is gone
		epoch, err := uuid.NewRandom()
		if err != nil {
			return nil, err
		}
		if err := r.put(meta, epochKey, epoch[:]); err != nil {
			return nil, err
		}
	}
	if err := r.counters(); err != nil {
		return nil, err
	}
	err = r.tx.Commit()
	r.tx = nil
	return lost, err
}

func (r *rebuilder) lostPage(p *pageProblem) (l LostPage, err error) {
	l = LostPage{Page: p.page, Cause: p.cause.Error()}
	if len(p.path) > 1 && len(p.path[1]) == 16 {
		l.Organization = uuid.UUID([]byte(p.path[1]))
	}
	if len(p.path) != 2 {
		l.Bucket = p.path[len(p.path)-1]
	}
	if size := r.walk.meta.pageSize; p.page < r.walk.meta.pages {
		l.Raw = make([]byte, size)
		_, err = r.walk.file.ReadAt(l.Raw, int64(p.page)*int64(size))
	}
	return l, err
}

// counters corrects the last number of each change log, and counts a record more in tables whose bucket
// may be lost, so that their lists say that something is missing.
func (r *rebuilder) counters() error {
	orgs := r.tx.Bucket(orgsBucket)
	return orgs.ForEachBucket(func(org []byte) error {
		b := orgs.Bucket(org)
		for i := range r.walk.problems {
			p := &r.walk.problems[i]
			if p.isWhole || !isOrganization(p.path) || p.path[1] != string(org) {
				continue
			}
			for name := range r.names {
				if strings.HasSuffix(name, ".rec") {
					if err := countLost(b, []byte(name), p); err != nil {
						return err
					}
				}
			}
		}
		return b.ForEachBucket(func(name []byte) error {
			if table, isLog := strings.CutSuffix(string(name), logSuffix); isLog {
				return correctNumber(b.Bucket(name), b.Bucket([]byte(table+".rec")), r.isTouched(org, table))
			}
			return nil
		})
	})
}

// correctNumber raises the last number of a change log to that of its last entry and, if entries may be missing,
// to that of the last written record.
func correctNumber(log, rec *bolt.Bucket, mayLackEntries bool) error {
	last := uint64(0)
	if key, _ := log.Cursor().Last(); len(key) == 8 {
		last = binary.BigEndian.Uint64(key)
	}
	if rec != nil && mayLackEntries {
		_ = rec.ForEach(func(_, value []byte) error { // the function never fails
			if len(value) >= valueHead {
				if n := changeOf(value); n-last < maxMissingChanges {
					last = n
				}
			}
			return nil
		})
	}
	if last <= log.Sequence() {
		return nil
	}
	return log.SetSequence(last)
}

func (r *rebuilder) isTouched(org []byte, table string) bool {
	return slices.ContainsFunc([]string{".rec", logSuffix}, func(suffix string) bool {
		return r.touched[strings.Join([]string{string(orgsBucket), string(org), table + suffix}, "\x00")] != nil
	}) || r.touched[strings.Join([]string{string(orgsBucket), string(org)}, "\x00")] != nil
}

// countLost counts the records of a table whose bucket may have been on a lost page, and one more.
func countLost(org *bolt.Bucket, name []byte, p *pageProblem) error {
	if bytes.Compare(name, p.from) < 0 || p.to != nil && bytes.Compare(name, p.to) >= 0 {
		return nil
	}
	b := org.Bucket(name)
	switch {
	case b == nil:
		var err error
		if b, err = org.CreateBucket(name); err != nil {
			return err
		}
	case b.Sequence() > 0:
		return nil // it is known
	}
	return b.SetSequence(uint64(b.Stats().KeyN) + 1)
}
