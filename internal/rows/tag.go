package rows

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// transliterations are the letters that do not consist of a letter and marks.
var transliterations = strings.NewReplacer(
	"ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "ẞ", "SS", "æ", "ae", "Æ", "Ae", "œ", "oe", "Œ", "Oe",
	"ø", "o", "Ø", "O", "å", "a", "Å", "A", "ł", "l", "Ł", "L", "đ", "d", "Đ", "D", "ð", "d", "Ð", "D", "þ", "th", "Þ", "Th", "ı", "i",
)

// Transliterate returns a text with letters from a to z, digits and single spaces: other letters become
// the nearest ones, and everything else a space.
func Transliterate(text string) string {
	text = norm.NFKD.String(transliterations.Replace(norm.NFC.String(text)))
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			return r
		case unicode.Is(unicode.Mn, r) || r == '\'' || r == '’':
			return -1
		}
		return ' '
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// foldedLetters are letters that have no decomposition.
var foldedLetters = strings.NewReplacer("ß", "ss", "ø", "o", "œ", "oe", "æ", "ae")

// foldHeader returns the name of a column for comparison: its letters and digits, without case and
// accents.
func foldHeader(name string) string {
	name = foldedLetters.Replace(strings.ToLower(norm.NFC.String(name)))
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, norm.NFKD.String(name))
}
