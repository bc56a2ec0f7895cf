// Package match decides whether two names, companies or phone numbers may mean the same, although they are written
// differently. Imports and the search for duplicates use it. What it knows of the world is in tables, the .txt files
// beside it, which anyone can extend. The package is pure: it knows no record, no store and no network.
package match

import (
	"bufio"
	"bytes"
	_ "embed"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Version changes whenever Fold or Person.Key changes. Stored keys that are made of them are then rebuilt.
const Version = "1 " + norm.Version

// letters are those that a decomposition does not reduce to the Latin alphabet.
var letters = map[rune]string{
	'æ': "a", 'œ': "o", 'ø': "o", 'ß': "ss", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h", 'ı': "i", 'ŋ': "n",
	'\u2019': "'", '\u2018': "'", '\u02bc': "'", '`': "'", '´': "'",
}

// Fold returns a text in the form in which it is compared: in lower case, without accents, with ß as ss, and with ä, æ
// and ae as a (ö, ø, œ, oe and ü, ue likewise). Other scripts stay as they are.
func Fold(text string) string {
	if text = strings.ToLower(text); !isASCII(text) {
		text = withoutAccents(text)
	}
	return withoutUmlauts(text)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func withoutAccents(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch latin, is := letters[r]; {
		case is:
			b.WriteString(latin)
		case r < '\u0300' || r > '\u036f':
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(strings.ToLower(b.String()))
}

// withoutUmlauts replaces ae, oe and ue by their first letter where they may stand for an umlaut: not behind a vowel or a
// q, as in Bauer, and not at the end of a word, as in Joe and Xue.
func withoutUmlauts(text string) string {
	if !strings.Contains(text, "ae") && !strings.Contains(text, "oe") && !strings.Contains(text, "ue") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		umlaut := text[i] == 'e' && i > 0 && strings.IndexByte("aou", text[i-1]) >= 0 &&
			i+1 < len(text) && isLetter(text[i+1]) && (i == 1 || strings.IndexByte("aeiouyq", text[i-2]) < 0)
		if !umlaut {
			out = append(out, text[i])
		}
	}
	return string(out)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= utf8.RuneSelf }

// words returns the folded words of a text. Hyphens and other signs separate words, apostrophes do not.
func words(text string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(Fold(text), "'", ""), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// readTable calls add for each line of a table. A line that begins with # is a comment.
func readTable(table []byte, add func(line string)) {
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			add(line)
		}
	}
}
