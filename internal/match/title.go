package match

import (
	"slices"
	"strings"
)

// titles are forms of address and degrees that are not part of a name, folded without dots.
var titles = wordSet(`dr drs prof professor mr mrs ms miss mx sir dame herr hr frau fr mag magister ing dipl dipl-ing dipl-kfm dipl-kff
	dipl-inf dipl-volksw dipl-wirtsch-ing rer nat med jur phil habil hc h c m mme mlle monsieur madame mademoiselle sr sra srta señor señora don doña lic ra univ`)

// suffixes follow a name and are not part of it.
var suffixes = wordSet(`phd md mba msc bsc ma ba llm ll m jr jnr sr ii iii iv esq cpa cfa pmp mci`)

// particles begin a last name of several words.
var particles = wordSet(`von vom zu zum zur van der den ten ter te de del della delle di da dal dos das do du des d' la le los las el al bin ibn ben af av y e san santa saint st`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

func foldWord(w string) string { return strings.ToLower(strings.ReplaceAll(w, ".", "")) }

// SplitName divides a full name into first and last name. It understands "Last, First", leaves out
// titles and degrees, and keeps the particles of a last name with it. A single word is a last name.
func SplitName(full string) (first, last string) {
	full = strings.TrimSpace(full)
	if i := strings.IndexAny(full, "(["); i > 0 { // (he/him), (Sales)
		full = full[:i]
	}
	if family, given, has := strings.Cut(full, ","); has {
		words := withoutTitles(strings.Fields(given))
		isName := slices.ContainsFunc(words, func(w string) bool { return !suffixes[foldWord(strings.Trim(w, ","))] })
		if isName && len(words) < 5 {
			return strings.Join(words, " "), strings.Join(withoutTitles(strings.Fields(family)), " ")
		}
		full = family // Ann Lee, PhD
	}
	words := withoutTitles(strings.Fields(full))
	switch len(words) {
	case 0:
		return "", ""
	case 1:
		return "", words[0]
	}
	at := len(words) - 1
	for i := 1; i < at; i++ {
		if particles[foldWord(words[i])] {
			at = i
		}
	}
	return strings.Join(words[:at], " "), strings.Join(words[at:], " ")
}

// withoutTitles removes titles before and degrees after a name, unless nothing would be left.
func withoutTitles(words []string) []string {
	bare := words
	for len(bare) > 0 && titles[foldWord(bare[0])] && (strings.HasSuffix(bare[0], ".") || len(bare) > 2 || forms[foldWord(bare[0])]) {
		bare = bare[1:]
	}
	for len(bare) > 2 && suffixes[foldWord(strings.Trim(bare[len(bare)-1], ","))] {
		bare = bare[:len(bare)-1]
	}
	if len(bare) > 1 && isDegree(bare[len(bare)-1]) {
		bare = bare[:len(bare)-1]
	}
	if len(bare) == 0 && len(words) > 0 && !titles[foldWord(words[len(words)-1])] {
		return words
	}
	return bare
}

// forms are titles even without a dot and before a single name.
var forms = wordSet(`herr frau mr mrs ms miss monsieur madame mme señor señora dr prof professor`)

var degrees = wordSet(`phd mba msc bsc llm`)

func isDegree(w string) bool { return degrees[foldWord(strings.Trim(w, ","))] }

// IsTitle reports whether a word is a form of address or a degree, and not a name.
func IsTitle(word string) bool {
	w := foldWord(strings.Trim(word, ","))
	return titles[w] || suffixes[w]
}
