package research

import (
	"slices"
	"strings"
)

// refer finds out for each sentence of the description what "it" at its beginning is.
func (f *facts) refer() {
	f.about, f.things = make([]bool, len(f.text)), make([]bool, len(f.text))
	about, thing := true, false
	for i, s := range f.text {
		f.about[i], f.things[i] = about, thing
		about, thing = f.leaves(s, about)
	}
}

// leaves tells whether "it" is still the company after a sentence: the company must be its subject, called by its name or "it", and
// nobody else be named. thing is that it may also be a thing that the sentence speaks of.
func (f *facts) leaves(s sentence, about bool) (firm, thing bool) {
	ts := s.tokens
	next, many, ok := f.subject(ts, 0, about, false)
	if !ok || many || s.question || s.quoted || ts[0].word == "our" {
		return false, false
	}
	if next == 0 {
		if verb, _ := base(ts[0].word); !deeds[verb] && ts[0].word != "is" {
			return false, false
		}
		next = 1
	}
	excused := false
	for k := next; k < len(ts); k++ {
		t, before := ts[k], ts[k-1].word
		excused = t.capital && (placing[before] || excused && (t.join == listed || ts[k-1].capital || separators[before])) || excused && separators[t.word]
		if t.capital && !excused && !f.nobody(t) && (!t.upper || naming[before]) {
			return false, false
		}
		thing = thing || t.word == "a" || t.word == "an"
	}
	return true, thing && wordAt(ts, next) != "is"
}

// nobody tells whether a word with a capital names no other company: it is of the name, a place, or a model such as B2B.
func (f *facts) nobody(t token) bool {
	return nations[t.word] != "" || stateName(t.word) || regions[t.word] || strings.ContainsAny(t.word, "0123456789") ||
		slices.ContainsFunc(f.name, func(n token) bool { return n.word == t.word })
}

var (
	// placing stand before names of places.
	placing = set("in within from across throughout")
	regions = set("europe asia africa america eu emea dach")
	// naming stand before names of others.
	naming = set("by with of for include includes including like than and")
	// leadIns begin a sentence before its subject, and limit nothing that it says.
	leadIns = set("founded established today based headquartered located since")
	// ofFirms are what only a company is.
	ofFirms = set("hiring recruiting certified compliant owned part listed headquartered based located founded b2b b2c")
)

// led tells whether what stands before the subject at i leaves what is said of it as it is.
func (f *facts) led(ts []token, i int, itIsFirm bool) bool {
	if i == 0 || leadIns[ts[0].word] {
		return true
	}
	_, _, ok := f.subject(ts, 0, itIsFirm, false)
	return ok
}

// pending tells whether a sentence speaks of a time, or of what is not finished.
func pending(ts []token, past bool) bool {
	for i, t := range ts {
		next, after := wordAt(ts, i+1), wordAt(ts, i+2)
		switch t.word {
		case "in", "under":
			if unfinished[next] || next == "the" && unfinished[after] {
				return true
			}
		case "next":
			if times[next] {
				return true
			}
		case "progress", "coming":
			return true
		}
		if year, is := number(t.word); is && !past && len(t.word) == 4 && year >= 1900 && year < 2200 && i > 0 && dating[ts[i-1].word] && !leadIns[ts[0].word] {
			return true
		}
	}
	return false
}

var (
	unfinished = set("development review progress beta construction works preparation")
	times      = set("year month quarter week spring summer autumn fall winter")
	dating     = set("in by from until till starting january february march april may june july august september october november december")
)

// deeds are verbs that say what a company does.
var deeds = set(`make sell provide offer produce manufacture build create develop design operate run help supply distribute deliver enable serve specialise specialize
	publish rent lease repair install maintain clean grow brew bake print ship transport train teach invest lend insure advise consult organise organize manage
	import export trade process recycle host connect automate`)

// doing tells whether a sentence says what the company does now.
func (f *facts) doing(i int) bool {
	s := f.text[i]
	ts := s.tokens
	if s.question || s.quoted || pending(ts, false) || i+1 < len(f.text) && contradictions[f.text[i+1].tokens[0].word] {
		return false
	}
	for _, t := range ts {
		if doubtful(t.word) || beside[t.word] {
			return false
		}
	}
	for k := range ts {
		next, many, ok := f.subject(ts, k, f.about[i], false)
		if !ok || !f.led(ts, k, f.about[i]) {
			continue
		}
		next = skip(ts, next, adverbs)
		w := wordAt(ts, next)
		verb, is := base(w)
		if many {
			verb, is = w, true
		}
		if is && deeds[verb] && next+1 < len(ts) || (w == "is" || w == "are") && calls(ts[next+1:]) {
			return true
		}
	}
	return i == 0 && calls(ts)
}

// beside are what a company offers besides what it does.
var beside = set("trial trials discount discounts careers jobs internships vacancies positions cookies domain javascript")

// calls tells whether words name somebody by what he does: a leading provider of software, a software company.
func calls(ts []token) bool {
	for k, t := range ts {
		w := t.word
		switch {
		case k > 8 || prepositions[w] || k > 0 && t.join > hyphened || pronouns[w] || t.possessive:
			return false
		case agents[w] != "" && wordAt(ts, k+1) == "of":
			return true
		case headNouns[w] && k > 0 && !harmless[ts[k-1].word] && !determiners[ts[k-1].word]:
			end := k + 1
			return end == len(ts) || ts[end].join > hyphened || prepositions[ts[end].word] || strings.HasPrefix(ts[end].word, "th") || ts[end].word == "which"
		}
	}
	return false
}
