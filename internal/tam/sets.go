package tam

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// setKind names one of the sets of members that are kept with a Preview: what the listing of members filters by, and what
// exclusion needs to know of members without reading them.
type setKind int

const (
	people setKind = iota // the others are companies
	existingRows
	importableRows
	qualifiedRows
	unqualifiedRows
	removedRows // by the user; the only one that changes
	setKinds
)

// A set is kept in pieces, so that a change writes the piece that it is in.
const (
	pieceBits  = 1 << 16
	pieceWords = pieceBits / 64
	pieceMost  = 1 << 8 // how many pieces a set may have
)

func pieceNumber(kind setKind, piece int) uint32 { return uint32(int(kind)*pieceMost + piece) }

// sets are the sets of a Preview, read from the store as far as they are asked for. When one cannot be read it seems to be
// empty, and err says so.
type sets struct {
	tx      *store.Tx
	parts   *store.Parts
	preview uuid.UUID
	members int
	pieces  map[uint32][]uint64
	err     error
}

func (t *TAM) setsOf(tx *store.Tx, preview uuid.UUID, members int) *sets {
	return &sets{tx: tx, parts: t.sets, preview: preview, members: members, pieces: map[uint32][]uint64{}}
}

// piece gives the words of a piece, which may be changed. A piece that is not stored is empty.
func (s *sets) piece(kind setKind, piece int) []uint64 {
	n := pieceNumber(kind, piece)
	if words, read := s.pieces[n]; read {
		return words
	}
	stored, err := s.parts.Get(s.tx, s.preview, n)
	if err != nil {
		s.err = err
	}
	words := make([]uint64, s.wordsIn(piece))
	for i := range min(len(words), len(stored)/8) {
		words[i] = binary.LittleEndian.Uint64(stored[i*8:])
	}
	s.pieces[n] = words
	return words
}

func (s *sets) wordsIn(piece int) int { return (min(pieceBits, s.members-piece*pieceBits) + 63) / 64 }

// has tells whether a member is in a set.
func (s *sets) has(kind setKind, ordinal int) bool {
	at := ordinal % pieceBits
	return s.piece(kind, ordinal/pieceBits)[at/64]>>(at%64)&1 != 0
}

// selected tells whether a member is importable and was not removed.
func (s *sets) selected(ordinal int) bool {
	return s.has(importableRows, ordinal) && !s.has(removedRows, ordinal)
}

// remove puts a member among those that the user removed.
func (s *sets) remove(ordinal int) {
	at := ordinal % pieceBits
	s.piece(removedRows, ordinal/pieceBits)[at/64] |= 1 << (at % 64)
}

// companyOf gives the company of a person: the last one before. It looks at 64 members at once: a company may have many.
func (s *sets) companyOf(person int) int {
	for at := person; at >= 0; at = at/64*64 - 1 {
		companies := ^s.peopleAmong(at)
		companies <<= 63 - at%64 // without those behind it
		if companies != 0 {
			return at - bits.LeadingZeros64(companies)
		}
	}
	return 0
}

// endOf gives the member behind the people of a company.
func (s *sets) endOf(company int) int {
	for at := company + 1; at < s.members; at = (at/64 + 1) * 64 {
		companies := ^s.peopleAmong(at)
		companies >>= at % 64 // without those before it
		if companies != 0 {
			return min(s.members, at+bits.TrailingZeros64(companies))
		}
	}
	return s.members
}

// peopleAmong tells which of the 64 members around one are people.
func (s *sets) peopleAmong(ordinal int) uint64 {
	return s.piece(people, ordinal/pieceBits)[ordinal%pieceBits/64]
}

// save writes down which members were removed.
func (s *sets) save() {
	for piece := 0; piece*pieceBits < s.members; piece++ {
		n := pieceNumber(removedRows, piece)
		if words, read := s.pieces[n]; read {
			s.parts.Put(s.tx, s.preview, n, encodeWords(words))
		}
	}
}

func encodeWords(words []uint64) []byte {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// MemberFilter is what the listing of members filters by; nil is anything.
type MemberFilter struct {
	Kind        string
	Selected    *bool
	Existing    *bool
	IsQualified *bool
}

func (f MemberFilter) isEmpty() bool { return f == MemberFilter{} }

// matching gives the words of a piece of the members that a filter matches.
func (s *sets) matching(f MemberFilter, piece int) []uint64 {
	out := make([]uint64, s.wordsIn(piece))
	for i := range out {
		out[i] = ^uint64(0)
	}
	if rest := s.members - piece*pieceBits; rest < len(out)*64 {
		out[len(out)-1] >>= len(out)*64 - rest
	}
	narrow := func(words []uint64, want bool) {
		for i, w := range words {
			if !want {
				w = ^w
			}
			out[i] &= w
		}
	}
	if f.Kind != "" {
		narrow(s.piece(people, piece), f.Kind == kindPerson)
	}
	if f.Existing != nil {
		narrow(s.piece(existingRows, piece), *f.Existing)
	}
	if f.IsQualified != nil && *f.IsQualified {
		narrow(s.piece(qualifiedRows, piece), true)
	} else if f.IsQualified != nil {
		narrow(s.piece(unqualifiedRows, piece), true)
	}
	if f.Selected != nil {
		selected := slices.Clone(s.piece(importableRows, piece))
		for i, w := range s.piece(removedRows, piece) {
			selected[i] &^= w
		}
		narrow(selected, *f.Selected)
	}
	return out
}

// find gives the ordinals of the members from the given place on that a filter matches, at most so many, and how many it
// matches in all.
func (s *sets) find(f MemberFilter, from, most int) (ordinals []uint32, total int) {
	for piece := 0; piece*pieceBits < s.members; piece++ {
		for i, w := range s.matching(f, piece) {
			first := total // how many come before those of the word
			total += bits.OnesCount64(w)
			for ; w != 0 && total > from && len(ordinals) < most; w &= w - 1 {
				if first >= from {
					ordinals = append(ordinals, uint32(piece*pieceBits+i*64+bits.TrailingZeros64(w)))
				}
				first++
			}
		}
	}
	return ordinals, total
}

// newSets are the sets of a Preview that is being prepared, in memory.
type newSets [setKinds][]uint64

func (s *newSets) add(kind setKind, ordinal int) {
	for len(s[kind]) <= ordinal/64 {
		s[kind] = append(s[kind], 0)
	}
	s[kind][ordinal/64] |= 1 << (ordinal % 64)
}

// put writes them down.
func (s *newSets) put(tx *store.Tx, parts *store.Parts, preview uuid.UUID) {
	for kind, words := range s {
		for piece := 0; len(words) > 0; piece++ {
			n := min(len(words), pieceWords)
			parts.Put(tx, preview, pieceNumber(setKind(kind), piece), encodeWords(words[:n]))
			words = words[n:]
		}
	}
}
