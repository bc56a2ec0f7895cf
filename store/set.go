package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/google/uuid"
)

// Sets are sets of ids that belong to records, such as the members of an audience. They are stored
// in both directions: the ids of a record in order, and the records whose sets contain an id. They
// have no history and are deleted only explicitly.
//
// The ids of a set are stored in chunks. A chunk has the ids above its low and up to its bound. The
// bound is in its key, so that one seek finds the chunk of an id. The low of a chunk is the bound
// of the chunk before it, or nil for the first chunk. The last bound is the greatest possible id. A
// missing chunk is therefore detected. An empty set has no chunks.
type Sets struct {
	chunks string // record ‖ bound → low ‖ ids, ascending
	owners string // id ‖ record → nothing
}

// NewSets declares sets.
func NewSets(name string) *Sets { return &Sets{chunks: name + setSuffix, owners: name + ownerSuffix} }

const (
	maxChunk   = 512          // ids; a larger chunk is split
	minChunk   = maxChunk / 8 // a smaller chunk is merged with the next
	splitChunk = maxChunk * 3 / 4
)

var lastID = uuid.Max

// idChunk is a chunk of the set of an owner.
type idChunk struct {
	owner, low, bound uuid.UUID
	ids               []byte // concatenated
}

func (c *idChunk) len() int { return len(c.ids) / 16 }

func (c *idChunk) id(i int) uuid.UUID { return uuid.UUID(c.ids[16*i:]) }

// after returns how many of its ids are not above the id.
func (c *idChunk) after(id uuid.UUID) int {
	return sort.Search(c.len(), func(i int) bool { return bytes.Compare(c.ids[16*i:16*i+16], id[:]) > 0 })
}

func (c *idChunk) has(id uuid.UUID) bool {
	i := c.after(id)
	return i > 0 && c.id(i-1) == id
}

// open reads a chunk. An invalid chunk is ErrDamaged.
func (s *Sets) open(tx *Tx, key, v []byte) (c idChunk, err error) {
	damaged := func(what string) error {
		return tx.unreadable(s.chunks, key, fmt.Errorf("%x: %w: %s", key, ErrDamaged, what))
	}
	if len(key) != 32 {
		return c, damaged("invalid chunk key")
	}
	value, err := unseal(tx.placeSum(s.chunks, key), v)
	if err != nil {
		return c, tx.unreadable(s.chunks, key, fmt.Errorf("%x: %w", key, err))
	}
	if len(value) < 16 || len(value)%16 != 0 {
		return c, damaged("it does not consist of whole ids")
	}
	c = idChunk{owner: uuid.UUID(key), low: uuid.UUID(value), bound: uuid.UUID(key[16:]), ids: value[16:]}
	rest := value
	if c.low == uuid.Nil { // the first chunk, which may contain uuid.Nil
		rest = c.ids
	}
	for ; len(rest) > 16; rest = rest[16:] {
		a, b := binary.BigEndian.Uint64(rest), binary.BigEndian.Uint64(rest[16:])
		if a > b || a == b && bytes.Compare(rest[8:16], rest[24:32]) >= 0 {
			return c, damaged("its ids are out of order")
		}
	}
	if len(c.ids) > 0 && bytes.Compare(rest[:16], c.bound[:]) > 0 || CompareIDs(c.low, c.bound) >= 0 {
		return c, damaged("its ids are above its bound")
	}
	return c, nil
}

func (s *Sets) errMissing(tx *Tx, owner, near uuid.UUID) error {
	return tx.unreadable(s.chunks, owner[:], fmt.Errorf("%w: a chunk is missing at %s", ErrDamaged, near))
}

// each calls fn for the chunks of an owner, starting with the chunk of an id, until fn returns
// false. fn must not write chunks.
func (s *Sets) each(tx *Tx, owner, from uuid.UUID, fn func(idChunk) (more bool)) error {
	first, last := true, idChunk{}
	for key, v := range within(owner[:], tx.scan(s.chunks, PairKey(owner, from))) {
		c, err := s.open(tx, key, v)
		if err != nil {
			return err
		}
		if first && c.low != uuid.Nil && CompareIDs(from, c.low) <= 0 {
			return s.errMissing(tx, owner, from)
		} else if !first && c.low != last.bound {
			return s.errMissing(tx, owner, last.bound)
		}
		first, last = false, c
		if !fn(c) {
			return nil
		}
	}
	if last.bound == lastID {
		return nil
	}
	if !first {
		return s.errMissing(tx, owner, last.bound)
	}
	for range within(owner[:], tx.scan(s.chunks, owner[:])) { // there is no chunk for the id, so the set must be empty
		return s.errMissing(tx, owner, from)
	}
	return nil
}

// find returns the chunk that an id belongs to. For an empty set it returns one without ids.
func (s *Sets) find(tx *Tx, owner, id uuid.UUID) (idChunk, error) {
	c := idChunk{owner: owner, bound: lastID}
	err := s.each(tx, owner, id, func(found idChunk) bool { c = found; return false })
	return c, err
}

// put writes a changed chunk. It splits a chunk that is too large and merges one that is too small
// with the next, unless that is damaged.
func (s *Sets) put(tx *Tx, c idChunk) error {
	n := c.len()
	if n < minChunk {
		switch {
		case c.bound != lastID:
			next, err := s.behind(tx, c)
			if IsDamagedRecord(err) { // it stays apart
				s.write(tx, c)
				return nil
			}
			if err != nil {
				return err
			}
			tx.delete(s.chunks, PairKey(c.owner, c.bound))
			next.low, next.ids = c.low, slices.Concat(c.ids, next.ids)
			return s.put(tx, next)
		case n == 0 && c.low == uuid.Nil:
			tx.delete(s.chunks, PairKey(c.owner, c.bound))
			return nil
		}
	}
	pieces := 1
	if n > maxChunk {
		pieces = (n + splitChunk - 1) / splitChunk
	}
	for ; pieces > 1; pieces-- {
		cut := c.len() / pieces
		piece := c
		piece.bound, piece.ids = c.id(cut-1), c.ids[:16*cut]
		s.write(tx, piece)
		c.low, c.ids = piece.bound, c.ids[16*cut:]
	}
	s.write(tx, c)
	return nil
}

// behind returns the chunk after one that is not the last.
func (s *Sets) behind(tx *Tx, c idChunk) (next idChunk, err error) {
	from := append(PairKey(c.owner, c.bound), 0)
	for key, v := range within(c.owner[:], tx.scan(s.chunks, from)) {
		next, err = s.open(tx, key, v)
		break
	}
	if err == nil && next.low != c.bound {
		err = s.errMissing(tx, c.owner, c.bound)
	}
	return next, err
}

func (s *Sets) write(tx *Tx, c idChunk) {
	key := PairKey(c.owner, c.bound)
	tx.putSealed(s.chunks, key, slices.Concat(c.low[:], c.ids))
}

// Add adds ids, in any order, to the set of a record. It returns the ids that were not in it, in
// order.
func (s *Sets) Add(tx *Tx, owner uuid.UUID, ids []uuid.UUID) (added []uuid.UUID, err error) {
	added, err = s.change(tx, owner, ids, true, func(c *idChunk, ids, added []uuid.UUID) []uuid.UUID {
		all := make([]byte, 0, len(c.ids)+16*len(ids))
		at := 0
		for _, id := range ids {
			i := at + (&idChunk{ids: c.ids[16*at:]}).after(id)
			all, at = append(all, c.ids[16*at:16*i]...), i
			if i == 0 || c.id(i-1) != id {
				all, added = append(all, id[:]...), append(added, id)
			}
		}
		c.ids = append(all, c.ids[16*at:]...)
		return added
	})
	if err == nil {
		s.own(tx, owner, added, []byte{})
	}
	return added, err
}

// Remove removes ids, in any order, from the set of a record. It returns the ids that were in it,
// in order.
func (s *Sets) Remove(tx *Tx, owner uuid.UUID, ids []uuid.UUID) (removed []uuid.UUID, err error) {
	removed, err = s.change(tx, owner, ids, false, func(c *idChunk, ids, removed []uuid.UUID) []uuid.UUID {
		left := make([]byte, 0, len(c.ids))
		at := 0
		for _, id := range ids {
			if i := at + (&idChunk{ids: c.ids[16*at:]}).after(id); i > at && c.id(i-1) == id {
				left, at = append(left, c.ids[16*at:16*(i-1)]...), i
				removed = append(removed, id)
			}
		}
		c.ids = append(left, c.ids[16*at:]...)
		return removed
	})
	if err == nil {
		s.own(tx, owner, removed, nil)
	}
	return removed, err
}

// change calls alter for each chunk that some of the ids belong to. alter changes the chunk and
// appends the ids that made a difference to changed. If the chunk of an id is damaged, the id makes a difference unless
// the other direction has it, or lacks it, already. A repair restores the chunk from there.
func (s *Sets) change(
	tx *Tx, owner uuid.UUID, ids []uuid.UUID, adds bool, alter func(c *idChunk, ids, changed []uuid.UUID) []uuid.UUID,
) (changed []uuid.UUID, err error) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, CompareIDs)
	ids = slices.Compact(ids)
	changed = make([]uuid.UUID, 0, len(ids))
	for len(ids) > 0 {
		c, err := s.find(tx, owner, ids[0])
		if IsDamagedRecord(err) {
			if has := tx.get(s.owners, PairKey(ids[0], owner)) != nil; has != adds {
				changed = append(changed, ids[0])
			}
			ids = ids[1:]
			continue
		}
		if err != nil {
			return nil, err
		}
		n := sort.Search(len(ids), func(i int) bool { return CompareIDs(ids[i], c.bound) > 0 })
		before := len(changed)
		changed = alter(&c, ids[:n], changed)
		if len(changed) > before {
			if err := s.put(tx, c); err != nil {
				return nil, err
			}
		}
		ids = ids[n:]
	}
	return changed, nil
}

// own records that the owner has the sorted ids or, if value is nil, that it does not.
func (s *Sets) own(tx *Tx, owner uuid.UUID, ids []uuid.UUID, value []byte) {
	for _, id := range ids {
		tx.set(s.owners, PairKey(id, owner), value)
	}
}

// Has reports whether an id is in the set of a record.
func (s *Sets) Has(tx *Tx, owner, id uuid.UUID) (bool, error) {
	c, err := s.find(tx, owner, id)
	return err == nil && c.has(id), err
}

// All returns the set of a record in order.
func (s *Sets) All(tx *Tx, owner uuid.UUID) ([]uuid.UUID, error) {
	var chunks []idChunk
	n := 0
	err := s.each(tx, owner, uuid.Nil, func(c idChunk) bool {
		chunks, n = append(chunks, c), n+c.len()
		return true
	})
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, 0, n)
	for _, c := range chunks {
		ids = c.appendTo(ids, 0, n)
	}
	return ids, nil
}

// Count returns the number of ids in the set of a record.
func (s *Sets) Count(tx *Tx, owner uuid.UUID) (n int, err error) {
	err = s.each(tx, owner, uuid.Nil, func(c idChunk) bool {
		n += c.len()
		return true
	})
	return n, err
}

// appendTo appends the chunk's ids from index i on, until there are limit ids.
func (c *idChunk) appendTo(ids []uuid.UUID, i, limit int) []uuid.UUID {
	for b := c.ids[16*i:]; len(b) >= 16 && len(ids) < limit; b = b[16:] {
		ids = append(ids, uuid.UUID(b[:16]))
	}
	return ids
}

// After returns up to limit ids of a record's set that are above an id, in order.
func (s *Sets) After(tx *Tx, owner, after uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	err = s.each(tx, owner, after, func(c idChunk) bool {
		ids = c.appendTo(ids, c.after(after), limit)
		return len(ids) < limit
	})
	return ids, err
}

// Owners returns the records whose sets contain the id, in order.
func (s *Sets) Owners(tx *Tx, id uuid.UUID) (owners []uuid.UUID, err error) {
	for key := range within(id[:], tx.scan(s.owners, id[:])) {
		if len(key) != 32 {
			return owners, fmt.Errorf("%s %x: %w: invalid key", s.owners, key, ErrDamaged)
		}
		owners = append(owners, uuid.UUID(key[16:]))
	}
	return owners, nil
}

// Drop removes up to limit ids from the set of a record and reports whether there are more. If the set is damaged, it
// removes all of them, and reads the sets of all records to find them.
func (s *Sets) Drop(tx *Tx, owner uuid.UUID, limit int) (more bool, err error) {
	var ids []uuid.UUID
	err = s.each(tx, owner, uuid.Nil, func(c idChunk) bool {
		ids = c.appendTo(ids, 0, limit+1)
		return len(ids) <= limit
	})
	if IsDamagedRecord(err) {
		isChunk := func(key, _ []byte) bool { return bytes.HasPrefix(key, owner[:]) }
		isOwn := func(key, _ []byte) bool { return len(key) == 32 && bytes.HasSuffix(key, owner[:]) }
		tx.deleteWhere(s.chunks, isChunk)
		tx.deleteWhere(s.owners, isOwn)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	more = len(ids) > limit
	_, err = s.Remove(tx, owner, ids[:min(limit, len(ids))])
	return more, err
}
