package tam

import (
	"encoding/binary"
	"math/bits"

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
type memberSets struct {
	tx      *store.Tx
	parts   *store.Parts
	preview uuid.UUID
	members int
	pieces  map[uint32][]byte // those that were read
	changed map[int]bool      // which of the pieces of those removed are copies
	err     error
}

func (t *TAM) memberSetsOf(tx *store.Tx, preview uuid.UUID, members int) *memberSets {
	return &memberSets{tx: tx, parts: t.memberSets, preview: preview, members: members, pieces: map[uint32][]byte{}, changed: map[int]bool{}}
}

// piece gives a piece of a set, as it is stored: a bit for each member. What it lacks at its end are members that are not in it.
func (s *memberSets) piece(kind setKind, piece int) []byte {
	n := pieceNumber(kind, piece)
	stored, read := s.pieces[n]
	if !read {
		var err error
		if stored, err = s.parts.Get(s.tx, s.preview, n); err != nil {
			s.err = err
		}
		s.pieces[n] = stored
	}
	return stored
}

// word gives 64 members of a piece.
func word(piece []byte, i int) uint64 {
	if len(piece) < (i+1)*8 {
		return 0
	}
	return binary.LittleEndian.Uint64(piece[i*8:])
}

func (s *memberSets) wordsIn(piece int) int {
	return (min(pieceBits, s.members-piece*pieceBits) + 63) / 64
}

// has tells whether a member is in a set.
func (s *memberSets) has(kind setKind, ordinal int) bool {
	at := ordinal % pieceBits
	return word(s.piece(kind, ordinal/pieceBits), at/64)>>(at%64)&1 != 0
}

// selected tells whether a member is importable and was not removed.
func (s *memberSets) selected(ordinal int) bool {
	return s.has(importableRows, ordinal) && !s.has(removedRows, ordinal)
}

// remove puts a member among those that the user removed.
func (s *memberSets) remove(ordinal int) {
	piece, at := ordinal/pieceBits, ordinal%pieceBits
	removed := s.piece(removedRows, piece)
	if !s.changed[piece] { // the bytes are the store's
		removed = append(make([]byte, 0, 8*s.wordsIn(piece)), removed...)[:8*s.wordsIn(piece)]
		s.pieces[pieceNumber(removedRows, piece)], s.changed[piece] = removed, true
	}
	removed[at/8] |= 1 << (at % 8) // little-endian words are bytes in order
}

// companyOf gives the company of a person: the last one before. It looks at 64 members at once: a company may have many.
func (s *memberSets) companyOf(person int) int {
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
func (s *memberSets) endOf(company int) int {
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
func (s *memberSets) peopleAmong(ordinal int) uint64 {
	return word(s.piece(people, ordinal/pieceBits), ordinal%pieceBits/64)
}

// save writes down which members were removed.
func (s *memberSets) save() {
	for piece := range s.changed {
		n := pieceNumber(removedRows, piece)
		s.parts.Put(s.tx, s.preview, n, s.pieces[n])
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
func (s *memberSets) matching(f MemberFilter, piece int) []uint64 {
	out := make([]uint64, s.wordsIn(piece))
	for i := range out {
		out[i] = ^uint64(0)
	}
	if rest := s.members - piece*pieceBits; rest < len(out)*64 {
		out[len(out)-1] >>= len(out)*64 - rest
	}
	narrow := func(want bool, in func(i int) uint64) {
		for i := range out {
			if want {
				out[i] &= in(i)
			} else {
				out[i] &^= in(i)
			}
		}
	}
	of := func(kind setKind) func(i int) uint64 {
		stored := s.piece(kind, piece)
		return func(i int) uint64 { return word(stored, i) }
	}
	if f.Kind != "" {
		narrow(f.Kind == kindPerson, of(people))
	}
	if f.Existing != nil {
		narrow(*f.Existing, of(existingRows))
	}
	if f.IsQualified != nil && *f.IsQualified {
		narrow(true, of(qualifiedRows))
	} else if f.IsQualified != nil {
		narrow(true, of(unqualifiedRows))
	}
	if f.Selected != nil {
		importable, removed := of(importableRows), of(removedRows)
		narrow(*f.Selected, func(i int) uint64 { return importable(i) &^ removed(i) })
	}
	return out
}

// find gives the ordinals of the members from the given place on that a filter matches, at most so many, and how many it
// matches in all.
func (s *memberSets) find(f MemberFilter, from, most int) (ordinals []uint32, total int) {
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

// newMemberSets are the sets of a Preview that is being prepared, in memory.
type newMemberSets [setKinds][]uint64

func (s *newMemberSets) add(kind setKind, ordinal int) {
	for len(s[kind]) <= ordinal/64 {
		s[kind] = append(s[kind], 0)
	}
	s[kind][ordinal/64] |= 1 << (ordinal % 64)
}

// put writes them down.
func (s *newMemberSets) put(tx *store.Tx, parts *store.Parts, preview uuid.UUID) {
	for kind, words := range s {
		for piece := 0; len(words) > 0; piece++ {
			n := min(len(words), pieceWords)
			parts.Put(tx, preview, pieceNumber(setKind(kind), piece), encodeWords(words[:n]))
			words = words[n:]
		}
	}
}
