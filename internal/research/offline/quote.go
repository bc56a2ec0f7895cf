package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// quotes are the marks that begin a quotation, and those that end it.
var quotes = map[rune]string{'"': "\"", '“': "”\"", '„': "“”", '«': "»", '»': "«", '‘': "’", '\'': "'"}

// quote reads a quotation mark. What stands between two of them is quoted, whatever sentences it has; without an end, all up to
// the next empty line.
func (s *scanner) quote(r rune) {
	next, _ := utf8.DecodeRuneInString(s.text[s.at:])
	switch {
	case strings.ContainsRune(s.closes, r):
		if (r == '\'' || r == '’') && unicode.IsLetter(next) {
			return
		}
		s.closes = ""
	case s.closes != "":
		return
	case r == '\'':
		before, _ := utf8.DecodeLastRuneInString(s.text[:s.at-1])
		if s.at > 1 && !unicode.IsSpace(before) || !unicode.IsLetter(next) {
			s.join = stopped
			return
		}
		s.closes = quotes[r]
	default:
		if s.join = stopped; r == '’' {
			return
		}
		s.closes = quotes[r]
	}
	s.quoted, s.join = true, stopped
}

// line ends the sentence at a line break, unless it plainly goes on in the next line.
func (s *scanner) line(mark int) {
	next := strings.TrimLeft(s.text[s.at:min(len(s.text), s.at+64)], " \t\r")
	if strings.HasPrefix(next, "\n") {
		s.closes = ""
		s.finish(mark)
		return
	}
	before := strings.TrimRight(s.text[max(0, mark-64):mark], " \t\r")
	goesOn := strings.HasSuffix(before, ",") || strings.HasSuffix(before, ":")
	if n := len(s.tokens); n > s.from {
		last := s.tokens[n-1].word
		goesOn = goesOn || s.ends(mark) && (prepositions[last] || determiners[last] || separators[last])
	}
	if first, _ := utf8.DecodeRuneInString(next); next != "" && !unicode.IsLower(first) && !goesOn {
		s.finish(mark)
	}
}

// apart makes two words of we're.
func (s *scanner) apart() {
	t := &s.tokens[len(s.tokens)-1]
	t.word = strings.TrimSuffix(t.word, "'re")
	s.tokens = append(s.tokens, token{word: "are", start: t.start, end: t.end})
}
