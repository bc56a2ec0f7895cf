package tam

import (
	"encoding/binary"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"

	"prospector/store"
)

// setKind identifies one of the sets of members that a Preview stores. Listing filters members by
// these sets, and exclusion looks members up in them without reading the members themselves.
type setKind int

const (
	people setKind = iota // all other members are companies
	existingMembers
	importableMembers
	qualifiedMembers
	unqualifiedMembers
	removedMembers  // by the user; the only set that changes after preparation
	reservedMembers // for whose records the Import has reserved balance; written when it is accepted
	setKinds
)

// A set is stored in pieces, so that a change writes only the piece it is in. A piece is a dense
// bitmap of little-endian 64-bit words with one bit for each member. Missing words at its end are
// zero.
const (
	pieceSize  = 1 << 16 // members
	pieceWords = pieceSize / 64
	maxPieces  = 1 << 8 // per set
)

// partNumber returns the number under which a piece of a set is stored.
func partNumber(kind setKind, piece int) uint32 { return uint32(int(kind)*maxPieces + piece) }

func decodePiece(stored []byte) *roaring.Bitmap {
	words := make([]uint64, len(stored)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(stored[8*i:])
	}
	return roaring.FromDense(words, false)
}

func encodeWords(words []uint64) []byte {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// memberSets are the sets of a Preview. Pieces are read from the store when they are first needed.
// A piece that cannot be read is treated as empty, and err is set: callers check err before they
// use a result.
type memberSets struct {
	tx      *store.Tx
	parts   *store.Parts
	preview uuid.UUID
	members int                        // of the Preview
	pieces  map[uint32]*roaring.Bitmap // by part number, with ordinals relative to the piece
	changed map[int]bool               // pieces of removedMembers that save must write
	err     error
}

func (t *TAM) memberSetsOf(tx *store.Tx, preview uuid.UUID, members int) *memberSets {
	return &memberSets{
		tx: tx, parts: t.memberSets, preview: preview, members: members,
		pieces: map[uint32]*roaring.Bitmap{}, changed: map[int]bool{},
	}
}

func (s *memberSets) piece(kind setKind, piece int) *roaring.Bitmap {
	n := partNumber(kind, piece)
	bitmap, ok := s.pieces[n]
	if !ok {
		stored, err := s.parts.Get(s.tx, s.preview, n)
		if err != nil {
			s.err = err
		}
		bitmap = decodePiece(stored)
		s.pieces[n] = bitmap
	}
	return bitmap
}

// has reports whether a member is in a set.
func (s *memberSets) has(kind setKind, ordinal int) bool {
	return s.piece(kind, ordinal/pieceSize).Contains(uint32(ordinal % pieceSize))
}

// isSelected reports whether a member is importable and was not removed by the user.
func (s *memberSets) isSelected(ordinal int) bool {
	return s.has(importableMembers, ordinal) && !s.has(removedMembers, ordinal)
}

// selected returns the selected members of one piece.
func (s *memberSets) selected(piece int) *roaring.Bitmap {
	return roaring.AndNot(s.piece(importableMembers, piece), s.piece(removedMembers, piece))
}

// whole returns the members of all pieces.
func (s *memberSets) whole(of func(piece int) *roaring.Bitmap) *roaring.Bitmap {
	all := roaring.New()
	for piece := 0; piece*pieceSize < s.members; piece++ {
		all.Or(roaring.AddOffset64(of(piece), int64(piece*pieceSize)))
	}
	return all
}

// remove adds a member to those that the user removed.
func (s *memberSets) remove(ordinal int) {
	piece := ordinal / pieceSize
	s.piece(removedMembers, piece).Add(uint32(ordinal % pieceSize))
	s.changed[piece] = true
}

// companyOf returns the company of a person: the last company before the person.
func (s *memberSets) companyOf(person int) int {
	company := person
	for company > 0 && s.has(people, company) {
		company--
	}
	return company
}

// endOf returns the ordinal after the last person of a company.
func (s *memberSets) endOf(company int) int {
	end := company + 1
	for end < s.members && s.has(people, end) {
		end++
	}
	return end
}

// save stores which members were removed.
func (s *memberSets) save() {
	for piece := range s.changed {
		n := partNumber(removedMembers, piece)
		s.parts.Put(s.tx, s.preview, n, encodeWords(s.pieces[n].ToDense()))
	}
}

// MemberFilter restricts a list of members. The zero value matches every member.
type MemberFilter struct {
	Kind        string
	Selected    *bool
	Existing    *bool
	IsQualified *bool
	Reason      string // of the exclusion
}

func (f MemberFilter) isEmpty() bool { return f == MemberFilter{} }

// matching returns the members of one piece that a filter matches.
func (s *memberSets) matching(f MemberFilter, piece int) *roaring.Bitmap {
	result := roaring.New()
	result.AddRange(0, uint64(min(pieceSize, s.members-piece*pieceSize)))
	restrict := func(want bool, set *roaring.Bitmap) {
		if want {
			result.And(set)
		} else {
			result.AndNot(set)
		}
	}
	if f.Kind != "" {
		restrict(f.Kind == kindPerson, s.piece(people, piece))
	}
	if f.Existing != nil {
		restrict(*f.Existing, s.piece(existingMembers, piece))
	}
	if f.IsQualified != nil && *f.IsQualified {
		restrict(true, s.piece(qualifiedMembers, piece))
	} else if f.IsQualified != nil {
		restrict(true, s.piece(unqualifiedMembers, piece))
	}
	if f.Selected != nil {
		restrict(*f.Selected, s.selected(piece))
	}
	if f.Reason != "" {
		restrict(false, s.selected(piece))
	}
	return result
}

// find returns the ordinals of at most limit members that a filter matches, after skipping the
// first from of them, and the number of all members that it matches.
func (s *memberSets) find(f MemberFilter, from, limit int) (ordinals []uint32, total int) {
	for piece := 0; piece*pieceSize < s.members; piece++ {
		matching := s.matching(f, piece)
		before := total
		total += int(matching.GetCardinality())
		if from >= total || len(ordinals) >= limit {
			continue
		}
		first, _ := matching.Select(uint32(max(0, from-before))) // exists, because from < total
		it := matching.Iterator()
		for it.AdvanceIfNeeded(first); it.HasNext() && len(ordinals) < limit; {
			ordinals = append(ordinals, uint32(piece*pieceSize)+it.Next())
		}
	}
	return ordinals, total
}

// newMemberSets are the sets of a Preview that is being prepared.
type newMemberSets [setKinds]roaring.Bitmap

func (s *newMemberSets) add(kind setKind, ordinal int) { s[kind].Add(uint32(ordinal)) }

// put stores the sets.
func (s *newMemberSets) put(tx *store.Tx, parts *store.Parts, preview uuid.UUID) {
	for kind := range s {
		putSet(tx, parts, preview, setKind(kind), &s[kind])
	}
}

// putSet stores a set of members.
func putSet(tx *store.Tx, parts *store.Parts, preview uuid.UUID, kind setKind, members *roaring.Bitmap) {
	piece := 0
	for words := range slices.Chunk(members.ToDense(), pieceWords) {
		parts.Put(tx, preview, partNumber(kind, piece), encodeWords(words))
		piece++
	}
}
