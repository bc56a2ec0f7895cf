// Package duplicate finds records that may mean the same person or company. It compares only those that have something in
// common, such as a number or an account and a name, so that a search takes little longer than reading all records once. It is
// pure: its callers read the records.
package duplicate

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"

	"github.com/google/uuid"
)

const (
	// MinScore is the least score that a search knows of, and DefaultScore the one from which on pairs are shown. From
	// MergeScore on they can be merged without looking at each.
	MinScore, DefaultScore, MergeScore = 0.5, 0.8, 0.9
	// differentNames is the score of different names at one address.
	differentNames = 0.85
)

// Match is how likely two records are the same, and why. A score of 0 says that they are not.
type Match struct {
	Score   float64
	Reasons Reasons
}

// Rules are how records of a kind are compared.
type Rules[R any] struct {
	// Keys calls add for everything that records have in common which may be the same. What begins with Number is
	// a sign only if no others have it.
	Keys func(rec *R, add func(kind byte, values ...string))
	// Score compares two records. number says that a number which they share is a sign.
	Score func(a, b *R, number bool) Match
	// Compatible reports whether two records may be in one group.
	Compatible func(a, b *R) bool
	// Doubtful reports whether two compatible records have names that do not fit, so that somebody should look at them.
	Doubtful func(a, b *R) bool
	// Signature is equal for records that are compatible with the same others.
	Signature func(rec *R) string
}

// Number is the kind of the keys that several people may share, such as phone numbers.
const Number = 'p'

// Source reads the records.
type Source[R any] interface {
	// Each calls fn for all records in order of creation.
	Each(ctx context.Context, fn func(id uuid.UUID, rec *R)) error
	// Read returns records, and nil for one that does not exist any more.
	Read(ctx context.Context, ids ...uuid.UUID) ([]*R, error)
	// AreDifferent reports whether somebody has said that two records are not the same.
	AreDifferent(a, b uuid.UUID) bool
}

// pair is a pair of records that may be the same, by their places in the order of creation.
type pair struct {
	a, b uint32 // a is older
	Match
}

// Search is the result of comparing all records.
type Search[R any] struct {
	rules Rules[R]
	ids   []uuid.UUID
	pairs []pair // the best first
}

const (
	ordinalBits = 26 // of a key entry; the others are its hash
	// maxCompared is the number of records with one key that are all compared with each other. If more have it, each is
	// compared with those that are unlike the ones before.
	maxCompared = 64
)

// Find compares all records that have something in common.
func Find[R any](ctx context.Context, rules Rules[R], from Source[R]) (*Search[R], error) {
	s := &Search[R]{rules: rules}
	entries := map[bool][]uint64{} // by whether the key is a number
	seed := maphash.MakeSeed()
	var hash maphash.Hash
	hash.SetSeed(seed)
	err := from.Each(ctx, func(id uuid.UUID, rec *R) {
		ordinal := uint64(len(s.ids))
		if ordinal >= 1<<ordinalBits {
			return
		}
		s.ids = append(s.ids, id)
		rules.Keys(rec, func(kind byte, values ...string) {
			hash.Reset()
			_ = hash.WriteByte(kind)
			for _, v := range values {
				_, _ = hash.WriteString(v)
				_ = hash.WriteByte(0)
			}
			entries[kind == Number] = append(entries[kind == Number], hash.Sum64()>>ordinalBits<<ordinalBits|ordinal)
		})
	})
	if err != nil {
		return nil, err
	}
	for _, number := range []bool{false, true} {
		if err := s.compareBlocks(ctx, from, entries[number], number); err != nil {
			return nil, err
		}
		delete(entries, number)
	}
	return s, s.keepBest(ctx, from)
}

// compareBlocks compares the records that have a key in common.
func (s *Search[R]) compareBlocks(ctx context.Context, from Source[R], entries []uint64, number bool) error {
	slices.Sort(entries)
	entries = slices.Compact(entries)
	for start := 0; start < len(entries); {
		end := start + 1
		for end < len(entries) && entries[end]>>ordinalBits == entries[start]>>ordinalBits {
			end++
		}
		if end-start > 1 {
			if err := s.compareBlock(ctx, from, entries[start:end], number); err != nil {
				return err
			}
		}
		start = end
	}
	return nil
}

// loaded is a record with its ordinal, its position in Search.ids.
type loaded[R any] struct {
	ordinal uint32
	rec     *R
}

// read returns the records of a block.
func (s *Search[R]) read(ctx context.Context, from Source[R], entries []uint64) ([]loaded[R], error) {
	ids := make([]uuid.UUID, len(entries))
	for i, e := range entries {
		ids[i] = s.ids[ordinalOf(e)]
	}
	found, err := from.Read(ctx, ids...)
	recs := make([]loaded[R], 0, len(entries))
	for i, rec := range found {
		if rec != nil {
			recs = append(recs, loaded[R]{ordinalOf(entries[i]), rec})
		}
	}
	return recs, err
}

func ordinalOf(entry uint64) uint32 { return uint32(entry & (1<<ordinalBits - 1)) }

func (s *Search[R]) compareBlock(ctx context.Context, from Source[R], entries []uint64, number bool) error {
	isLarge := len(entries) > maxCompared
	var known []loaded[R] // those that the others are compared with
	signatures := map[string]bool{}
	var found []pair
	for len(entries) > 0 {
		n := min(len(entries), maxCompared)
		recs, err := s.read(ctx, from, entries[:n])
		if err != nil {
			return err
		}
		entries = entries[n:]
		for i := range recs {
			for j := range known {
				m := s.rules.Score(known[j].rec, recs[i].rec, number)
				if m.Score >= MinScore {
					found = append(found, pair{known[j].ordinal, recs[i].ordinal, m})
				}
				if number && !s.rules.Compatible(known[j].rec, recs[i].rec) {
					return nil // people of different names share the number
				}
			}
			if isLarge {
				if signature := s.rules.Signature(recs[i].rec); signatures[signature] || len(known) == maxCompared {
					continue
				} else {
					signatures[signature] = true
				}
			}
			known = append(known, recs[i])
		}
	}
	s.pairs = append(s.pairs, found...)
	return nil
}

// keepBest leaves the best of what was found for each pair, and what nobody has dismissed.
func (s *Search[R]) keepBest(ctx context.Context, from Source[R]) error {
	slices.SortFunc(s.pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b), cmp.Compare(y.Score, x.Score), cmp.Compare(x.Reasons, y.Reasons))
	})
	s.pairs = slices.CompactFunc(s.pairs, func(x, y pair) bool { return x.a == y.a && x.b == y.b })
	kept := s.pairs[:0]
	for _, p := range s.pairs {
		if !from.AreDifferent(s.ids[p.a], s.ids[p.b]) {
			kept = append(kept, p)
		}
	}
	s.pairs = slices.Clip(kept)
	if err := s.dropAmbiguous(ctx, from); err != nil {
		return err
	}
	slices.SortStableFunc(s.pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	return nil
}

// closeScores is how much better one of two possibilities must be, so that the other one does not count.
const closeScores = 0.1

// dropAmbiguous drops pairs with half a name that may mean two people: J. Smith is neither John nor Jane.
func (s *Search[R]) dropAmbiguous(ctx context.Context, from Source[R]) error {
	const none = ^uint32(0)
	next := make([]uint32, 0, 2*len(s.pairs)) // by 2*pair and side: the next pair of the same record
	last := map[uint32]uint32{}
	for i := range s.pairs {
		for side, ordinal := range []uint32{s.pairs[i].a, s.pairs[i].b} {
			before, has := last[ordinal]
			if !has {
				before = none
			}
			next = append(next, before)
			last[ordinal] = uint32(2*i + side)
		}
	}
	drop := map[int]bool{}
	for ordinal, first := range last {
		if next[first] == none {
			continue
		}
		var own []int
		isVague := false
		for at := first; at != none && len(own) < maxCompared; at = next[at] {
			own = append(own, int(at/2))
			isVague = isVague || s.pairs[at/2].Reasons.isVague()
		}
		if !isVague {
			continue
		}
		for _, i := range own {
			ambiguous, err := s.isAmbiguous(ctx, from, ordinal, i, own)
			if err != nil {
				return err
			}
			if ambiguous {
				drop[i] = true
			}
		}
	}
	kept := s.pairs[:0]
	for i, p := range s.pairs {
		if drop[i] {
			if p.Reasons&SameEmail == 0 {
				continue
			}
			p.Score = min(p.Score, differentNames)
		}
		kept = append(kept, p)
	}
	s.pairs = kept
	return nil
}

// isAmbiguous reports whether another pair of a record is about as good as the pair i, and means somebody else.
func (s *Search[R]) isAmbiguous(ctx context.Context, from Source[R], ordinal uint32, i int, own []int) (bool, error) {
	p := &s.pairs[i]
	if !p.Reasons.isVague() {
		return false, nil
	}
	others := []uuid.UUID{s.ids[p.other(ordinal)]}
	for _, j := range own {
		if q := &s.pairs[j]; j != i && q.Score >= p.Score-closeScores {
			others = append(others, s.ids[q.other(ordinal)])
		}
	}
	recs, err := from.Read(ctx, others...)
	if err != nil || recs[0] == nil {
		return false, err
	}
	return slices.ContainsFunc(recs[1:], func(theirs *R) bool {
		return theirs != nil && (!s.rules.Compatible(recs[0], theirs) || s.rules.Doubtful(recs[0], theirs))
	}), nil
}

func (p *pair) other(ordinal uint32) uint32 {
	if p.a == ordinal {
		return p.b
	}
	return p.a
}
