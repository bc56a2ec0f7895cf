package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"prospector/internal/shape"
)

// join is what stands between a word and the one before it.
type join byte

const (
	spaced join = iota
	hyphened
	listed  // a comma or a slash
	stopped // other punctuation, also at the beginning of a text
)

// token is a word of a text, as it is compared and where it stands.
type token struct {
	word       string // folded, without a possessive 's
	start, end int
	join       join
	capital    bool // begins with a capital letter
	upper      bool // has no letter but capitals
	possessive bool
	slashed    bool // a slash stands before it
}

// sentence is a stretch of tokens that are read together.
type sentence struct {
	tokens     []token
	start, end int
	question   bool
	quoted     bool
}

// sentences splits a text. A point ends a sentence unless a small letter follows or an abbreviation stands before; so does an
// empty line, and a line break before anything but a small letter.
func sentences(text string) []sentence {
	s := scanner{text: text}
	s.tokens = make([]token, 0, len(text)/6+1)
	for s.at < len(text) {
		s.step()
	}
	s.finish(len(text))
	return s.done
}

// words are the tokens of a text, whatever sentences it has.
func words(text string) []token {
	var all []token
	for i, s := range sentences(text) {
		if i > 0 {
			s.tokens[0].join = stopped
		}
		all = append(all, s.tokens...)
	}
	return all
}

type scanner struct {
	text   string
	at     int
	join   join
	slash  bool
	quoted bool
	closes string // the marks that end the quotation at hand
	tokens []token
	from   int // the first token of the sentence that is being read
	done   []sentence
}

// step reads a word or one character between words.
func (s *scanner) step() {
	r, size := utf8.DecodeRuneInString(s.text[s.at:])
	if shape.InWord(r) || r == '.' && s.dotted() {
		s.word()
		return
	}
	mark := s.at
	s.at += size
	switch r {
	case ' ', '\t', '\r', 0xa0:
	case '-', '‐', '‑', '–':
		if s.join == spaced && mark > 0 && inWordAt(s.text, s.at) && s.ends(mark) {
			s.join = hyphened
		} else if !inWordAt(s.text, s.at) || !s.ends(mark) {
			s.join = stopped
		}
	case ',', '/', '、', '，':
		s.join, s.slash = max(s.join, listed), r == '/'
	case '&':
		s.add("&", mark, s.at)
	case '"', '“', '”', '„', '«', '»', '‘', '’', '\'':
		s.quote(r)
	case '.', '。':
		if r != '.' || s.ending() {
			s.finish(s.at)
		} else if !s.abbreviated() {
			s.join = stopped
		}
	case '!', '?', '…', '！', '？', '\u2028', '\u2029':
		s.finish(s.at)
		if n := len(s.done); n > 0 && (r == '?' || r == '？') && s.done[n-1].end == s.at {
			s.done[n-1].question = true
		}
	case '\n':
		s.line(mark)
	case '$', '€', '£', '+', '#', '~':
		if r == '~' {
			s.add("about", mark, s.at)
		}
	case '<', '>', '≤', '≥', '=':
		s.add(string(r), mark, s.at)
	default:
		if !unicode.IsSpace(r) {
			s.join = stopped
		}
	}
}

// ends tells whether the last word ended at a place.
func (s *scanner) ends(at int) bool {
	return len(s.tokens) > s.from && s.tokens[len(s.tokens)-1].end == at
}

// dotted tells whether the point at hand begins a word, as in .NET.
func (s *scanner) dotted() bool {
	if s.at > 0 {
		before, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
		if !unicode.IsSpace(before) && before != '(' && before != ',' && before != '/' {
			return false
		}
	}
	next, _ := utf8.DecodeRuneInString(s.text[s.at+1:])
	return unicode.IsLetter(next)
}

func inWordAt(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return shape.InWord(r)
}

// word reads a word: letters, digits and marks, with what may stand within (Node.js, R&D, don't, 1,200) and after (C++, 50%).
func (s *scanner) word() {
	start := s.at
	s.at++ // of a point; of a letter the loop reads on from within it
	for !utf8.RuneStart(byteAt(s.text, s.at)) {
		s.at++
	}
	for s.at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		if !shape.InWord(r) && !unicode.IsMark(r) && !s.within(r, size) {
			break
		}
		s.at += size
	}
	for s.at < len(s.text) && strings.IndexByte("+#%", s.text[s.at]) >= 0 {
		s.at++
	}
	if s.add(s.text[start:s.at], start, s.at); strings.HasSuffix(s.tokens[len(s.tokens)-1].word, "'re") {
		s.apart()
	}
	if s.at < len(s.text) && (s.text[s.at] == '\'' || strings.HasPrefix(s.text[s.at:], "’")) && s.text[s.at-1] == 's' {
		s.tokens[len(s.tokens)-1].possessive = true
	}
}

func byteAt(text string, at int) byte {
	if at < len(text) {
		return text[at]
	}
	return 0
}

// within tells whether a character that no word is made of stands within one.
func (s *scanner) within(r rune, size int) bool {
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	after, _ := utf8.DecodeRuneInString(s.text[s.at+size:])
	if !shape.InWord(before) && !unicode.IsMark(before) || !shape.InWord(after) {
		return false
	}
	switch r {
	case '\'', '’':
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	case '&':
		return unicode.IsUpper(before) && unicode.IsUpper(after)
	case ',', '/':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	case '.':
		return !unicode.IsUpper(after) || unicode.IsUpper(before) // else the space after a point is missing
	}
	return false
}

func (s *scanner) add(text string, start, end int) {
	t := token{word: text, start: start, end: end, join: s.join, slashed: s.slash}
	first, _ := utf8.DecodeRuneInString(text)
	t.capital = unicode.IsUpper(first)
	var lower, upper, foreign bool
	for i := 0; i < len(text); i++ {
		c := text[i]
		lower, upper, foreign = lower || 'a' <= c && c <= 'z', upper || 'A' <= c && c <= 'Z', foreign || c >= utf8.RuneSelf
	}
	t.upper = upper && !lower && !foreign
	if upper || foreign {
		t.word = shape.Fold(text)
	}
	if foreign {
		t.word = strings.ReplaceAll(t.word, "’", "'")
	}
	if cut, is := strings.CutSuffix(t.word, "'s"); is {
		t.word, t.possessive = cut, true
		t.upper = upper && text[:len(text)-1] == strings.ToUpper(text[:len(text)-1])
	}
	if upper && len(t.word) >= 3 && t.word[1] == '.' && strings.Count(t.word, ".")*2+1 == len(t.word) {
		t.word = strings.ReplaceAll(t.word, ".", "") // U.S.
	}
	if len(s.tokens) == s.from {
		t.join = stopped
	}
	s.tokens = append(s.tokens, t)
	s.join, s.slash = spaced, false
}

// ending tells whether the point just read ends a sentence.
func (s *scanner) ending() bool {
	rest := strings.TrimLeftFunc(s.text[s.at:min(len(s.text), s.at+64)], func(r rune) bool { return unicode.IsSpace(r) || r == ')' || r == '"' || r == '”' })
	first, _ := utf8.DecodeRuneInString(rest)
	if rest != "" && unicode.IsLower(first) {
		return false
	}
	return rest == "" || !s.abbreviated()
}

// abbreviated tells whether the point just read is that of an abbreviation.
func (s *scanner) abbreviated() bool {
	if !s.ends(s.at - 1) {
		return false
	}
	last := s.tokens[len(s.tokens)-1].word
	return abbreviations[last] || len(last) == 1 && last != "i" && !unicode.IsDigit(rune(last[0]))
}

// finish ends the sentence that is being read, if there is one.
func (s *scanner) finish(end int) {
	if len(s.tokens) > s.from {
		part := s.tokens[s.from:len(s.tokens):len(s.tokens)]
		s.done = append(s.done, sentence{tokens: part, start: part[0].start, end: end, quoted: s.quoted})
		s.from = len(s.tokens)
	}
	s.quoted, s.join = s.closes != "", stopped
}

// singular takes the ending of a plural off, in the simplest way.
func singular(w string) string {
	switch n := len(w); {
	case n <= 3 || w[n-1] != 's' || strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || strings.HasSuffix(w, "is"):
		return w
	case n > 4 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:n-2]
	default:
		return w[:n-1]
	}
}

// alike tells whether two words are the same but for a plural.
func alike(a, b string) bool { return a == b || singular(a) == singular(b) }
