package catalog

import (
	"strings"
	"unicode"

	"prospector/internal/shape"
)

// Phrases match whole words of a title and ignore case. A * in a phrase matches any words between
// its two halves.

// delegations introduce the title of somebody else. An "Assistant to the CEO" is not a CEO.
var delegations = phrases("assistant to", "secretary to", "adviser to", "advisor to", "support to", "reports to",
	"reporting to", "office of")

// seniorities maps phrases to seniorities. The first match wins. Higher seniorities come first,
// except that a longer phrase with a lower meaning ("product owner") comes before the word that it
// contains ("owner").
var seniorities = []struct {
	seniority string
	phrases   [][]string
}{
	{individual, phrases("executive assistant", "personal assistant", "ceo assistant", "ceo office", "cto office")},
	{seniorIndividual, phrases("senior * owner", "lead * owner", "principal * owner")},
	{individual, phrases("product owner", "process owner", "service owner", "system owner", "data owner")},
	{"Founder", phrases("founder", "cofounder", "founding partner", "owner", "proprietor")},
	{"C-Level", phrases("chief * officer", "ceo", "c e o", "cfo", "coo", "cto", "cio", "ciso", "cmo", "cro",
		"cpo", "chro", "cco", "cdo", "cso", "clo",
		"managing director", "managing partner", "geschäftsführer", "geschäftsführerin")},
	{"EVP", phrases("evp", "executive vp", "executive * vice president")},
	{"SVP", phrases("svp", "senior vp", "sr vp", "senior * vice president", "sr * vice president")},
	{"VP", phrases("vp", "v p", "avp", "vice president")},
	{"C-Level", phrases("president")},
	{"Senior Director", phrases("senior * director", "sr * director")},
	{"Director", phrases("director", "head", "chief of staff", "general manager")},
	{"Senior Manager", phrases("senior * manager", "sr * manager", "group manager")},
	{"Manager", phrases("manager", "team lead", "team leader", "supervisor", "foreman")},
	{seniorIndividual, phrases("senior", "sr", "lead", "principal", "staff", "chief", "architect", "expert",
		"distinguished", "fellow")},
}

const (
	individual       = "Individual Contributor" // the default for a title without a match
	seniorIndividual = "Senior Individual Contributor"
)

// phrases splits each phrase into its halves and surrounds every half with spaces, so that it
// matches whole words.
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

// seniorityOf derives the seniority from a title. It returns "" for an empty title.
func seniorityOf(title string) string {
	words := strings.FieldsFunc(shape.Fold(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return ""
	}
	text := " " + strings.Join(words, " ") + " "
	for _, phrase := range delegations {
		before, _, found := strings.Cut(text, phrase[0])
		if found {
			text = before + " "
		}
	}
	first := len(seniorities)
	for _, word := range words {
		for _, c := range phrasesByFirstWord[word] {
			if c.rank < first && hasHalves(text, c.phrase) {
				first = c.rank
			}
		}
	}
	if first == len(seniorities) {
		return individual
	}
	return seniorities[first].seniority
}

// rankedPhrase is a phrase and its index in seniorities.
type rankedPhrase struct {
	rank   int
	phrase []string
}

// phrasesByFirstWord indexes the phrases by their first word, so that only a few are compared with
// each title.
var phrasesByFirstWord = func() map[string][]rankedPhrase {
	all := map[string][]rankedPhrase{}
	for rank, s := range seniorities {
		for _, phrase := range s.phrases {
			word, _, _ := strings.Cut(strings.TrimSpace(phrase[0]), " ")
			all[word] = append(all[word], rankedPhrase{rank, phrase})
		}
	}
	return all
}()

// hasHalves reports whether a text contains the halves of a phrase in order.
func hasHalves(text string, phrase []string) bool {
	for _, half := range phrase {
		at := strings.Index(text, half)
		if at < 0 {
			return false
		}
		text = text[at+len(half)-1:]
	}
	return true
}
