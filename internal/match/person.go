package match

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Person is the name of a person in the form in which it is compared.
type Person struct {
	first, last []string // folded words
	generation  string   // jr, sr, ii, iii, iv or ""
}

// NewPerson returns a name in the form in which it is compared: folded, without titles, degrees and the particles of the
// last name. Either part may be empty.
func NewPerson(first, last string) Person {
	var p Person
	p.first, p.last = p.part(first), p.part(last)
	if bare := withoutParticles(p.last); len(bare) > 0 {
		p.last = bare
	}
	return p
}

// part returns the words of a part of a name, without titles.
func (p *Person) part(text string) []string {
	fields := strings.Fields(text)
	if len(fields) > 1 || len(fields) == 1 && IsTitle(fields[0]) && !isInitial(fields[0]) {
		bare := fields
		for len(bare) > 1 {
			word := foldWord(strings.Trim(bare[len(bare)-1], ","))
			if generations[word] != "" && (word != "v" && word != "i") {
				p.generation = generations[word]
			} else if !isDegree(word) {
				break
			}
			bare = bare[:len(bare)-1]
		}
		text = strings.Join(withoutTitles(bare), " ")
	}
	return words(text)
}

// isInitial reports whether a word is a letter with or without a dot.
func isInitial(w string) bool { return utf8.RuneCountInString(strings.TrimSuffix(w, ".")) == 1 }

// generations tell namesakes of a family apart.
var generations = map[string]string{"jr": "jr", "jnr": "jr", "junior": "jr", "sr": "sr", "snr": "sr", "senior": "sr", "ii": "ii", "iii": "iii", "iv": "iv"}

func withoutParticles(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return particles[w] })
}

// IsEmpty reports whether nothing is known of a name.
func (p *Person) IsEmpty() bool { return len(p.first)+len(p.last) == 0 }

// IsFull reports whether a name has a first and a last name.
func (p *Person) IsFull() bool { return len(p.first) > 0 && len(p.last) > 0 }

// Key returns what is equal for equal full names, also if first and last name are swapped. It is "" for half a name.
func (p *Person) Key() string {
	if !p.IsFull() {
		return ""
	}
	first, last := strings.Join(p.first, ""), strings.Join(p.last, "")
	if first > last {
		first, last = last, first
	}
	return first + " " + last
}

// Words returns the first and the last names, folded.
func (p *Person) Words() (first, last []string) { return p.first, p.last }

// Likeness is how alike two parts of names are. From the second on, the same person may have both.
type Likeness uint8

const (
	Different Likeness = iota
	Missing            // one of them is unknown
	Initial            // "J." and John
	Typo               // one letter differs
	Nickname           // Bob and Robert
	Half               // one is a part of the other: Anna and Anna-Maria
	Equal
)

// Names is how alike two names are.
type Names struct {
	First, Last Likeness
	Swapped     bool // the first name of one is the last name of the other
}

// Compatible reports whether the same person may have both names.
func (n Names) Compatible() bool { return n.First != Different && n.Last != Different }

// Compare compares two names. Names of different generations, such as jr and sr, are different.
func Compare(a, b *Person) Names {
	if a.generation != "" && b.generation != "" && a.generation != b.generation {
		return Names{}
	}
	n := Names{First: compareParts(a.first, b.first, true), Last: compareParts(a.last, b.last, false)}
	if n.Compatible() {
		return n
	}
	crossed := Names{First: compareParts(a.first, b.last, true), Last: compareParts(a.last, b.first, true), Swapped: true}
	isSure := crossed.First == Equal || crossed.Last == Equal
	if crossed.Compatible() && isSure && crossed.First != Initial && crossed.Last != Initial {
		return crossed
	}
	return n
}

// compareParts compares two parts of names. A short one that has words of the long one is a half of it.
func compareParts(a, b []string, isFirst bool) Likeness {
	if len(a) == 0 || len(b) == 0 {
		return Missing
	}
	if slices.Equal(a, b) || len(a) != len(b) && strings.Join(a, "") == strings.Join(b, "") {
		return Equal
	}
	if isFirst {
		if nick := compareWords(strings.Join(a, ""), strings.Join(b, ""), true); nick == Nickname {
			return nick
		}
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if like := initials(a, b); isFirst && like {
		return Initial
	}
	worst := Equal
	if len(a) < len(b) {
		worst = Half
	}
	next := 0
	for _, word := range a {
		best := Different
		for i := next; i <= len(b)-1; i++ {
			if like := compareWords(word, b[i], isFirst); like > best {
				best, next = like, i+1
			}
			if len(a) == len(b) { // each word has its place
				next = i + 1
				break
			}
		}
		if best == Different {
			return Different
		}
		worst = min(worst, best)
	}
	return worst
}

// initials reports whether a is a word of the initials of b: JP and Jean-Pierre.
func initials(a, b []string) bool {
	if len(a) != 1 || len(b) < 2 || len(a[0]) != len(b) {
		return false
	}
	for i := range b {
		if b[i][0] != a[0][i] {
			return false
		}
	}
	return true
}

// minTypo is the number of letters from which on a word with another letter may be a typo.
const minTypo = 5

// compareWords compares two words of names.
func compareWords(a, b string, isFirst bool) Likeness {
	if a == b {
		return Equal
	}
	if na, nb := utf8.RuneCountInString(a), utf8.RuneCountInString(b); na == 1 || nb == 1 {
		ra, _ := utf8.DecodeRuneInString(a)
		rb, _ := utf8.DecodeRuneInString(b)
		if ra == rb {
			return Initial
		}
		return Different
	} else if isFirst && areNicknames(a, b) {
		return Nickname
	} else if na >= minTypo && nb >= minTypo && isTypo(a, b) && !(isFirst && areNames(a, b)) {
		return Typo
	}
	return Different
}

// isTypo reports whether two words differ by one letter that was added, left out or replaced, or by two neighbours that
// changed places.
func isTypo(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	switch {
	case len(x) < len(y):
		return slices.Equal(x[i:], y[i+1:])
	case slices.Equal(x[i+1:], y[i+1:]):
		return true
	}
	return i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i] && slices.Equal(x[i+2:], y[i+2:])
}

// areNames reports whether two first names that differ by a letter are names of their own, and not one with a typo: both
// are known, as Jana and Jan are, or the last letter makes the other gender, as in Daniel and Daniela.
func areNames(a, b string) bool {
	names := nicknames()
	if len(names[a]) > 0 && len(names[b]) > 0 {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	last, of := b[len(b)-1], a[len(a)-1]
	if len(a) == len(b) {
		return a[:len(a)-1] == b[:len(b)-1] && strings.IndexByte("aeio", last) >= 0 && strings.IndexByte("aeio", of) >= 0
	}
	return strings.HasPrefix(b, a) && strings.IndexByte("aeos", last) >= 0
}

//go:embed nicknames.txt
var nicknameTable []byte

// nicknames returns the lines of the table of nicknames in which each name is.
var nicknames = sync.OnceValue(func() map[string][]int {
	lines, n := map[string][]int{}, 0
	readTable(nicknameTable, func(line string) {
		for _, name := range strings.Fields(line) {
			if name = strings.Join(words(name), ""); !slices.Contains(lines[name], n) {
				lines[name] = append(lines[name], n)
			}
		}
		n++
	})
	return lines
})

func areNicknames(a, b string) bool {
	names := nicknames()
	of := names[b]
	return len(of) > 0 && slices.ContainsFunc(names[a], func(line int) bool { return slices.Contains(of, line) })
}
