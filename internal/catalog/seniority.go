package catalog

import (
	"strings"
	"unicode"

	"prospector/internal/shape"
)

// The words of titles below are whole words without case; between the two halves of a phrase with a * there may be others.

// others begin what a title says of somebody else: an "Assistant to the CEO" is none.
var others = phrases("assistant to", "secretary to", "adviser to", "advisor to", "support to", "reports to", "reporting to", "office of")

// seniorities are what titles say; the first that fits wins, so that the higher of two come first, and what means less than a word
// in it before that word.
var seniorities = []struct {
	seniority string
	phrases   [][]string
}{
	{individual, phrases("executive assistant", "personal assistant", "ceo assistant", "ceo office", "cto office")},
	{seniorIndividual, phrases("senior * owner", "lead * owner", "principal * owner")},
	{individual, phrases("product owner", "process owner", "service owner", "system owner", "data owner")},
	{"Founder", phrases("founder", "cofounder", "founding partner", "owner", "proprietor")},
	{"C-Level", phrases("chief * officer", "ceo", "c e o", "cfo", "coo", "cto", "cio", "ciso", "cmo", "cro", "cpo", "chro", "cco", "cdo", "cso", "clo",
		"managing director", "managing partner", "geschäftsführer", "geschäftsführerin")},
	{"EVP", phrases("evp", "executive vp", "executive * vice president")},
	{"SVP", phrases("svp", "senior vp", "sr vp", "senior * vice president", "sr * vice president")},
	{"VP", phrases("vp", "v p", "avp", "vice president")},
	{"C-Level", phrases("president")},
	{"Senior Director", phrases("senior * director", "sr * director")},
	{"Director", phrases("director", "head", "chief of staff", "general manager")},
	{"Senior Manager", phrases("senior * manager", "sr * manager", "group manager")},
	{"Manager", phrases("manager", "team lead", "team leader", "supervisor", "foreman")},
	{seniorIndividual, phrases("senior", "sr", "lead", "principal", "staff", "chief", "architect", "expert", "distinguished", "fellow")},
}

const (
	individual       = "Individual Contributor" // also of whose title says nothing else
	seniorIndividual = "Senior Individual Contributor"
)

// phrases are the halves of each, with the spaces around them.
func phrases(list ...string) [][]string {
	var all [][]string
	for _, phrase := range list {
		var halves []string
		for half := range strings.SplitSeq(phrase, " * ") {
			halves = append(halves, " "+half+" ")
		}
		all = append(all, halves)
	}
	return all
}

// seniorityOf is what a title says of the seniority; empty for no title.
func seniorityOf(title string) string {
	words := strings.FieldsFunc(shape.Fold(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return ""
	}
	text := " " + strings.Join(words, " ") + " "
	for _, other := range others {
		before, _, found := strings.Cut(text, other[0])
		if found {
			text = before + " "
		}
	}
	first := len(seniorities)
	for _, word := range words {
		for _, c := range candidates[word] {
			if c.rank < first && has(text, c.phrase) {
				first = c.rank
			}
		}
	}
	if first == len(seniorities) {
		return individual
	}
	return seniorities[first].seniority
}

// candidate is a phrase, and its place among the seniorities.
type candidate struct {
	rank   int
	phrase []string
}

// candidates are the phrases by the words that they begin with: of all there are, few can be in a title.
var candidates = func() map[string][]candidate {
	all := map[string][]candidate{}
	for rank, s := range seniorities {
		for _, phrase := range s.phrases {
			word, _, _ := strings.Cut(strings.TrimSpace(phrase[0]), " ")
			all[word] = append(all[word], candidate{rank, phrase})
		}
	}
	return all
}()

// has tells whether a text has the halves of a phrase, one behind the other.
func has(text string, phrase []string) bool {
	for _, half := range phrase {
		at := strings.Index(text, half)
		if at < 0 {
			return false
		}
		text = text[at+len(half)-1:]
	}
	return true
}
