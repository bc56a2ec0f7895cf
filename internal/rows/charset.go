package rows

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	utf16 "golang.org/x/text/encoding/unicode"
)

// The encodings of files.
const (
	utf8Text    = "utf-8"
	utf16LE     = "utf-16le"
	utf16BE     = "utf-16be"
	windows1252 = "windows-1252"
	latin1      = "iso-8859-1"
)

// charset is an encoding other than those of Unicode.
type charset struct {
	name     string
	encoding encoding.Encoding
	// prior is how much more probable the encoding is than others, before the text is looked at.
	prior float64
	// judge scores the characters that ASCII lacks.
	judge func(text []rune) (sum float64, n int)
}

// charsets are the encodings that a file is recognized in. Windows-1252 stands for ISO-8859-1 too.
var charsets = []charset{
	{windows1252, charmap.Windows1252, 0.5, inAlphabet(westernLetters)},
	{"windows-1250", charmap.Windows1250, 0, inAlphabet(centralLetters)},
	{"windows-1254", charmap.Windows1254, 0, inAlphabet(turkishLetters)},
	{"windows-1251", charmap.Windows1251, 0, inCyrillic},
	{"macintosh", charmap.Macintosh, 0, inAlphabet(westernLetters)},
	{"shift_jis", japanese.ShiftJIS, 0, inScript(japaneseRunes)},
	{"gb18030", simplifiedchinese.GB18030, 0, inScript(chineseRunes)},
	{"euc-kr", korean.EUCKR, 0, inScript(koreanRunes)},
}

// Encodings returns the names of the encodings that a file can be read in.
func Encodings() []string {
	names := []string{utf8Text, utf16LE, utf16BE, latin1}
	for _, c := range charsets {
		names = append(names, c.name)
	}
	return names
}

// encodingNamed returns an encoding other than UTF-8 by its name. It knows the names that other programs use, too.
func encodingNamed(name string) (encoding.Encoding, bool) {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case utf16LE: // those of htmlindex keep the byte-order mark
		return utf16.UTF16(utf16.LittleEndian, utf16.UseBOM), true
	case utf16BE:
		return utf16.UTF16(utf16.BigEndian, utf16.UseBOM), true
	case "macroman":
		name = "macintosh"
	case "gbk", "gb2312":
		name = "gb18030"
	case "cp932":
		name = "shift_jis"
	case "cp949":
		name = "euc-kr"
	}
	in, err := htmlindex.Get(name)
	return in, err == nil && in != utf16.UTF8 && in != encoding.Replacement // which reads nothing
}

const (
	// closeCall is how much the best encoding must be ahead of one that reads another text for the decision to be sure.
	closeCall = 0.35
	// fairText is the least that a character of a text scores.
	fairText = 0.3
)

// guess is a text as an encoding reads it.
type guess struct {
	charset
	text []rune
	sum  float64 // of the scores of its characters that ASCII lacks
	n    int     // how many these are
}

// lead returns how much more probable a guess is than another, for each character in which they differ.
func (g *guess) lead(other *guess) (lead float64, differ bool) {
	if len(g.text) != len(other.text) {
		return g.sum/float64(max(1, g.n)) - other.sum/float64(max(1, other.n)) + g.prior - other.prior, true
	}
	n := 0
	for i, r := range g.text {
		if r != other.text[i] {
			n++
		}
	}
	return (g.sum-other.sum)/float64(max(1, n)) + g.prior - other.prior, n > 0
}

// guessCharset decides the encoding of a text that is not Unicode. It is unsure if another encoding is almost as
// probable and would read other letters.
func guessCharset(raw []byte) (name string, unsure bool) {
	all := make([]guess, len(charsets))
	best := &all[0]
	for i, c := range charsets {
		decoded, _ := c.encoding.NewDecoder().Bytes(raw)
		all[i] = guess{charset: c, text: []rune(string(decoded))}
		all[i].sum, all[i].n = c.judge(all[i].text)
		if lead, differ := all[i].lead(best); differ && lead > 0 {
			best = &all[i]
		}
	}
	unsure = best.sum < fairText*float64(best.n)
	for i := range all {
		lead, differ := best.lead(&all[i])
		unsure = unsure || differ && lead < closeCall
	}
	return best.name, unsure
}

// What the characters of a text score. A letter of the language scores as much as it is frequent.
const (
	frequentLetter = 2.0
	rareLetter     = 1.0
	foreignLetter  = -1.5
	mark           = 1.0  // a quotation mark, a dash, a currency
	strange        = -1.0 // a symbol that texts rarely have
	impossible     = -3.0 // a capital within a word, a symbol between letters
	undefined      = -5.0
	mixed          = 1.0 // what letters of several languages score less
)

// marks are the symbols that texts of all kinds have.
const marks = "–—‘’‚“”„«»‹›…€£¥$°§®©™·•&½ \u00a0"

// inAlphabet judges a text in Latin letters. It scores as the best of the languages, or less as a text in several.
func inAlphabet(languages []alphabet) func([]rune) (float64, int) {
	return func(text []rune) (float64, int) {
		scores, n := make([]float64, len(languages)+1), 0
		for i, r := range text {
			if r < utf8.RuneSelf {
				continue
			}
			n++
			if s, is := byContext(text, i); is {
				for l := range scores {
					scores[l] += s
				}
				continue
			}
			r = unicode.ToLower(r)
			most := foreignLetter
			for l := range languages {
				s := languages[l].score(r)
				scores[l] += s
				most = max(most, s-mixed)
			}
			scores[len(languages)] += most
		}
		return slices.Max(scores), n
	}
}

// alphabet are the letters of a language that ASCII lacks.
type alphabet struct{ frequent, rare string }

func (a *alphabet) score(r rune) float64 {
	switch {
	case strings.ContainsRune(a.frequent, r):
		return frequentLetter
	case strings.ContainsRune(a.rare, r):
		return rareLetter
	}
	return foreignLetter
}

// byContext scores a character that is no letter, or a letter that cannot be where it is.
func byContext(text []rune, i int) (score float64, decided bool) {
	r := text[i]
	var before, behind rune
	if i > 0 {
		before = text[i-1]
	}
	if i+1 < len(text) {
		behind = text[i+1]
	}
	isWithin := unicode.IsLetter(before) && unicode.IsLetter(behind)
	switch {
	case r == utf8.RuneError && i+2 < len(text), unicode.IsControl(r):
		return undefined, true
	case r == '’' && isWithin:
		return mark, true
	case !unicode.IsLetter(r) && isWithin:
		return impossible, true
	case !unicode.IsLetter(r) && strings.ContainsRune(marks, r):
		return mark, true
	case !unicode.IsLetter(r), r == 'ª', r == 'º', r == 'µ', r == 'ƒ':
		return strange, true
	case unicode.IsUpper(r) && unicode.IsLower(before), unicode.IsLower(r) && unicode.IsUpper(behind):
		return impossible, true
	case !unicode.IsLetter(before) && !unicode.IsLetter(behind) && !strings.ContainsRune("àáâéèóò", unicode.ToLower(r)):
		return strange, true // a word of one letter
	case i > 1 && before >= utf8.RuneSelf && text[i-2] >= utf8.RuneSelf && unicode.IsLetter(before) && unicode.IsLetter(text[i-2]):
		return impossible, true // three in a row
	}
	return 0, false
}

// inCyrillic judges a text in Cyrillic letters, which stand together.
func inCyrillic(text []rune) (sum float64, n int) {
	for i, r := range text {
		if r < utf8.RuneSelf {
			continue
		}
		n++
		isNear := func(j int) bool { return j >= 0 && j < len(text) && unicode.Is(unicode.Cyrillic, text[j]) }
		switch {
		case !unicode.Is(unicode.Cyrillic, r):
			s, is := byContext(text, i)
			if !is {
				s = foreignLetter
			}
			sum += s
		case isNear(i-1) && unicode.IsUpper(r) && unicode.IsLower(text[i-1]), !isNear(i-1) && !isNear(i+1):
			sum += impossible
		default:
			sum += russian.score(unicode.ToLower(r))
		}
	}
	return sum, n
}

// inScript judges a text in a script whose characters have several bytes.
func inScript(score func(r rune) float64) func([]rune) (float64, int) {
	return func(text []rune) (sum float64, n int) {
		for i, r := range text {
			if r < utf8.RuneSelf {
				continue
			}
			n++
			isLower := func(j int) bool { return j >= 0 && j < len(text) && text[j] >= 'a' && text[j] <= 'z' }
			switch {
			case r == utf8.RuneError && i+1 == len(text): // cut off by the window
			case r == utf8.RuneError:
				sum += undefined
			case isLower(i-1) || isLower(i+1):
				sum += impossible
			default:
				sum += score(r)
			}
		}
		return sum, n
	}
}

func japaneseRunes(r rune) float64 {
	switch {
	case unicode.In(r, unicode.Hiragana, unicode.Katakana) && (r < 0xff00):
		return frequentLetter
	case r >= 0xff61 && r <= 0xff9f: // katakana of one byte, which any text seems to have
		return strange
	case unicode.Is(unicode.Han, r):
		return hanScore(r, japanese.ShiftJIS, 0x88, 0x97)
	}
	return wideScore(r)
}

func chineseRunes(r rune) float64 {
	if unicode.Is(unicode.Han, r) {
		return hanScore(r, simplifiedchinese.GB18030, 0xb0, 0xd7)
	}
	return wideScore(r)
}

func koreanRunes(r rune) float64 {
	code, err := korean.EUCKR.NewEncoder().String(string(r))
	if err == nil && len(code) == 2 && code[0] >= 0xb0 && code[0] <= 0xc8 && code[1] >= 0xa1 {
		return frequentLetter + 0.4 // Chinese has some of these codes too
	}
	return wideScore(r)
}

// wideScore scores a character that is no letter of the script.
func wideScore(r rune) float64 {
	if r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff5e || r == '·' || r == '・' {
		return mark
	}
	return foreignLetter
}

// hanScore scores a Chinese character: the frequent ones have their codes together.
func hanScore(r rune, in encoding.Encoding, first, last byte) float64 {
	code, err := in.NewEncoder().String(string(r))
	switch {
	case err != nil || len(code) != 2 || code[1] < 0x40:
		return foreignLetter
	case code[0] >= first && code[0] <= last && (in != simplifiedchinese.GB18030 || code[1] >= 0xa1):
		return frequentLetter
	case in != simplifiedchinese.GB18030 || code[1] >= 0xa1 && code[0] > last && code[0] <= 0xf7:
		return rareLetter / 2
	}
	return foreignLetter
}
