package index

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// A record in bleve is a set of terms in these fields, where <name> is filter.Field.Name:
//
//	<name>         text, enum key or reference: textTerm; long text: its words; number, date, time, boolean: numberTerm
//	<name>~canon   text that is compared in canonical form: that form, if it is not the case-folded text
//	<name>~hash    long text: a hash of it
//	<name>~gram    text with the grams rule: every three bytes of the case-folded text
//	~has           the names of the fields that have a value
//	<group>~word   the words of short texts that have more than shortWord letters
//	<group>~begin  the prefixes of all words, of one to shortWord letters
//
// Words are grouped by the queries that search them: the group is ~s for texts that selections
// search, ~m for lists that selections search, and empty for other texts. Each custom field is a
// group of its own, so that the words of a deleted field are not found any more. So is each
// confidential field, which not every caller may search.
const (
	canonSuffix = "~canon"
	hashSuffix  = "~hash"
	gramSuffix  = "~gram"
	hasField    = "~has"
	wordField   = "~word"
	prefixField = "~begin"
	idField     = "_id" // reserved by bleve

	searchedTexts = "~s"
	searchedLists = "~m"
)

// termsFormat must be incremented when the terms of a record change. Indexes with another format
// are rebuilt.
const termsFormat = 2

// shortWord is the most letters that a word prefix may have to be a term of its own. A search for
// one letter would otherwise scan a large part of the dictionary.
const shortWord = 3

// gramLen is the length of a gram in bytes.
const gramLen = 3

// wordGroup returns the group that the words of a field belong to.
func wordGroup(f *filter.Field) string {
	switch {
	case f.Custom, f.Confidential:
		return f.Name
	case f.Searched && f.Type == shape.TypeMulti:
		return searchedLists
	case f.Searched:
		return searchedTexts
	}
	return ""
}

// textTerm returns the term of a text: the case-folded text and, if that differs, a NUL and the
// text itself, or its canonical form. No text contains NUL, so every text has its own term, and terms
// are in the order of the folded texts.
func textTerm(s string) string { return foldedTerm(s, shape.Fold(s)) }

func foldedTerm(s, folded string) string {
	if folded != s {
		return folded + "\x00" + s
	}
	return s
}

// foldedText returns the case-folded text of a text term.
func foldedText(term string) string {
	folded, _, _ := strings.Cut(term, "\x00")
	return folded
}

// numberTerm returns the term of a number. Terms are in the order of the numbers.
func numberTerm(f float64) string { return string(binary.BigEndian.AppendUint64(nil, orderedBits(f))) }

// orderedBits returns an integer for a number, in the order of the numbers.
func orderedBits(f float64) uint64 {
	if f == 0 {
		f = 0 // negative zero equals zero
	}
	n := math.Float64bits(f)
	if n>>63 != 0 {
		return ^n
	}
	return n | 1<<63
}

// termNumber returns the number of a number term.
func termNumber(term string) float64 {
	n := binary.BigEndian.Uint64([]byte(term))
	if n>>63 != 0 {
		n &^= 1 << 63
	} else {
		n = ^n
	}
	return math.Float64frombits(n)
}

// hashTerm returns the term of a text that is too long to be a term itself.
func hashTerm(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(sum[:16])
}

// eachPrefix calls fn with the first one to shortWord letters of a word.
func eachPrefix(word string, fn func(string)) {
	for i, n := 0, 0; n < shortWord && i < len(word); n++ {
		_, size := utf8.DecodeRuneInString(word[i:])
		i += size
		fn(word[:i])
	}
}

// isShort reports whether a word has at most shortWord letters.
func isShort(word string) bool { return utf8.RuneCountInString(word) <= shortWord }
