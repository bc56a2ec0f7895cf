package rows

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"

	"prospector/internal/address"
)

// Email returns the first address in a cell such as "mailto:a@b", "Ann <a@b>" or "a@b; c@d", and the
// other addresses in it.
func Email(text string) (first string, others []string, ok bool) {
	text = strings.TrimFunc(strings.Map(visible, text), isBlank)
	if text = withoutMailto(text); address.IsEmail(text) {
		return text, nil, true
	}
	if a, err := mail.ParseAddress(text); err == nil && address.IsEmail(a.Address) {
		return a.Address, nil, true
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;|/<>()[]", r) }) {
		others = append(others, emailsIn(part)...)
	}
	if len(others) == 0 {
		return "", nil, false
	}
	unique := others[:0]
	for _, email := range others {
		if !slices.Contains(unique, email) {
			unique = append(unique, email)
		}
	}
	return unique[0], unique[1:], true
}

// emailsIn returns the addresses at the beginning of a text, also after a label such as "private:". In "ann lee@x.example"
// it finds none, because that is a mistyped address and not that of lee.
func emailsIn(text string) (emails []string) {
	for _, word := range strings.Fields(text) {
		email := withoutMailto(strings.Trim(word, `"'.:`))
		if address.IsEmail(email) && strings.Contains(address.DomainOf(email), ".") {
			emails = append(emails, email)
		} else if !strings.HasSuffix(word, ":") {
			break
		}
	}
	return emails
}

func withoutMailto(text string) string {
	if len(text) > 7 && strings.EqualFold(text[:7], "mailto:") {
		text, _, _ = strings.Cut(text[7:], "?")
	}
	return text
}

func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || visible(r) == -1 }

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
	full = strings.TrimFunc(strings.Map(visible, full), isBlank)
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
	for len(bare) > 0 && titles[foldWord(bare[0])] && (strings.HasSuffix(bare[0], ".") || len(bare) > 2 || isForm(bare[0])) {
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

// isForm reports whether a word is a title even without a dot and before a single name.
func isForm(w string) bool {
	switch foldWord(w) {
	case "herr", "frau", "mr", "mrs", "ms", "miss", "monsieur", "madame", "mme", "señor", "señora", "dr", "prof", "professor":
		return true
	}
	return false
}

func isDegree(w string) bool {
	switch foldWord(strings.Trim(w, ",")) {
	case "phd", "mba", "msc", "bsc", "llm":
		return true
	}
	return false
}
