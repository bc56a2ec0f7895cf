package offline

import (
	"slices"
	"strings"
)

// refer finds out for each sentence of the description what "it" at its beginning is.
func (f *facts) refer() {
	f.about, f.things = make([]bool, len(f.text)), make([]thing, len(f.text))
	about, thing := true, noThing
	for i, s := range f.text {
		f.about[i], f.things[i] = about, thing
		about, thing = f.leaves(s, about, thing)
	}
}

// leaves tells whether "it" is still the company after a sentence: the company must be its subject, called by its name or "it", and
// nobody else be named. Things that the sentence speaks of may be meant as well.
func (f *facts) leaves(s sentence, about bool, before thing) (firm bool, after thing) {
	ts := s.tokens
	next, many, ok := f.subject(ts, 0, about, false)
	if !ok || many || s.question || s.quoted || ts[0].word == "our" {
		return false, noThing
	}
	next = max(next, 1)
	excused := false
	for k := next; k < len(ts); k++ {
		t, before := ts[k], ts[k-1].word
		excused = t.capital && (placing[before] || excused && (t.join == listed || ts[k-1].capital || separators[before])) || excused && separators[t.word]
		if t.capital && !excused && !f.nobody(t) && (!t.upper || naming[before]) {
			return false, noThing
		}
		if (t.word == "a" || t.word == "an") && wordAt(ts, next) != "is" {
			after = ofName
			if ts[0].word == "it" {
				after = ofIt
			}
		}
	}
	if ts[0].word == "it" && !slices.ContainsFunc(ts, func(t token) bool { return ofFirms[t.word] }) {
		after = max(after, before)
	}
	return true, after
}

// thing is whether a thing that the sentence before speaks of may be "it".
type thing byte

const (
	noThing thing = iota
	// ofIt is one in a sentence about "it", which the next is about too unless it says what it is.
	ofIt
	ofName
)

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
	return ok // it goes on about the company
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
		if year, is := number(t.word); is && !past && len(t.word) == 4 && year >= 1900 && year < 2200 && (i == 0 || ts[i-1].word != "since") && ts[0].word != "founded" && ts[0].word != "established" {
			return true
		}
	}
	return false
}

var (
	unfinished = set("development review progress beta construction works preparation")
	times      = set("year month quarter week spring summer autumn fall winter")
)
