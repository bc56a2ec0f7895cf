package offline

import (
	"slices"
	"strings"
)

// ask is what a yes-or-no question says of a company: that it does something, or that it is something.
type ask struct {
	forms map[string]form // of the verbs that say it
	rest  []token         // what follows the verb, without determiners
	firm  bool            // the rest was that of "a … company"
	// be is that it is something, direct that nothing may stand between the verb and the rest, own that it does it for itself.
	be, direct, own bool
	past            bool
	// article is that it was asked for one of a kind.
	article bool
	// attribute is that the rest may stand before another noun and still be said of the company.
	attribute bool
	// tool is that the rest is a technology, whose name may be that of something else, written small.
	tool bool
}

// form is a set of the forms that a word can be.
type form byte

const (
	formBase form = 1 << iota
	formS
	formIng
	formPast
	formAgent // a provider
	formBe    // is, are
)

// verdict is what one sentence says.
type verdict byte

const (
	open verdict = iota
	yes
	no
)

// says reads a sentence: yes and no only when its subject is the company, its verb one that is asked for, and what follows
// just what is asked for. at is the token that the reading begins with.
func (a *ask) says(f *facts, n int) (v verdict, at int) {
	s, itIsFirm := f.text[n], f.about[n]
	if s.question || s.quoted || s.end-s.start > evidenceMost || pending(s.tokens, a.past) {
		return open, 0
	}
	if it := f.things[n]; s.tokens[0].word == "it" && (it == ofName || it == ofIt && a.be) && !slices.ContainsFunc(a.rest, func(t token) bool { return ofFirms[t.word] }) {
		return open, 0
	}
	if a.tool && a.homonym(s.tokens) {
		return open, 0
	}
	doubted := 0
	for _, t := range s.tokens {
		if doubtful(t.word) {
			doubted++
		}
	}
	if doubted > 1 {
		return open, 0
	}
	for i := range s.tokens {
		next, many, ok := f.subject(s.tokens, i, itIsFirm, a.tool)
		if !ok || !f.led(s.tokens, i, itIsFirm) {
			continue
		}
		if v := a.predicate(s.tokens, next, many); v == no || v == yes && doubted == 0 {
			return v, i
		}
	}
	return open, 0
}

// homonym tells whether a technology may be another thing in a sentence: one written small, or in a list of no technologies.
func (a *ask) homonym(ts []token) bool {
	if len(a.rest) != 1 || !homonyms[a.rest[0].word] {
		return false
	}
	list, known := false, false
	for _, t := range ts {
		if t.word == a.rest[0].word && !t.capital {
			return true
		}
		list = list || separators[t.word] || t.join == listed
		known = known || techWords[t.word]
	}
	return list && !known
}

// predicate reads what is said of the subject before i; many is that it is of more than one, or the speaker.
func (a *ask) predicate(ts []token, i int, many bool) verdict {
	i = skip(ts, i, adverbs)
	w := wordAt(ts, i)
	finite := formS
	if many {
		finite = formBase
	}
	switch {
	case a.forms[w]&formBe != 0:
		if wordAt(ts, i+1) == "not" {
			return deny(a.matches(ts, i+2, true))
		}
		if a.matches(ts, skip(ts, i+1, asking), false) {
			return yes
		}
	case w == "isn't" || w == "aren't":
		if a.forms["is"] != 0 {
			return deny(a.matches(ts, i+1, true))
		}
		return a.progressive(ts, i+1, true)
	case w == "is" || w == "are":
		if wordAt(ts, i+1) == "not" {
			return a.progressive(ts, i+2, true)
		}
		return a.progressive(ts, skip(ts, i+1, adverbs), false)
	case (w == "does" || w == "do") && wordAt(ts, i+1) == "not":
		return deny(a.forms[wordAt(ts, i+2)]&formBase != 0 && a.matches(ts, i+3, true))
	case w == "doesn't" || w == "don't":
		return deny(a.forms[wordAt(ts, i+1)]&formBase != 0 && a.matches(ts, i+2, true))
	case w == "never":
		return deny(a.forms[wordAt(ts, i+1)]&(finite|formPast) != 0 && a.matches(ts, i+2, true))
	case (w == "has" || w == "have") && a.forms[wordAt(ts, i+1)]&formPast != 0:
		if a.matches(ts, i+2, false) {
			return yes
		}
	case a.forms[w]&(finite|formPast) != 0:
		if wordAt(ts, i+1) == "no" {
			return deny(a.matches(ts, i+2, true))
		}
		if a.tool {
			if next := wordAt(ts, i+1); w == "run" || w == "runs" {
				if next != "on" {
					return open
				}
				i++
			}
		}
		if a.matches(ts, i+1, false) {
			return yes
		}
	}
	return open
}

// progressive reads what follows "is": hiring engineers, a provider of software, built on Kubernetes.
func (a *ask) progressive(ts []token, i int, denied bool) verdict {
	w := wordAt(ts, i)
	found := a.forms[w]&formIng != 0 && a.matches(ts, i+1, denied)
	if a.tool && (w == "built" || w == "powered") && (wordAt(ts, i+1) == "on" || wordAt(ts, i+1) == "with" || wordAt(ts, i+1) == "by") {
		found = a.matches(ts, i+2, denied)
	}
	for k := i; !found && !denied && k < min(len(ts), i+6); k++ {
		if w := ts[k].word; prepositions[w] || pronouns[w] || k > i && ts[k].join > hyphened {
			break
		} else if a.forms[w]&formAgent != 0 && wordAt(ts, k+1) == "of" {
			found = a.matches(ts, k+2, false)
		}
	}
	switch {
	case !found:
		return open
	case denied:
		return no
	}
	return yes
}

func deny(found bool) verdict {
	if found {
		return no
	}
	return open
}

func wordAt(ts []token, i int) string {
	if i < len(ts) && (i == 0 || ts[i].join <= hyphened) {
		return ts[i].word
	}
	return ""
}

func skip(ts []token, i int, which map[string]bool) int {
	for i < len(ts) && which[ts[i].word] {
		i++
	}
	return i
}

// subject tells whether the company is what a clause that begins at i speaks of, and where its verb may begin. The pronoun "it" is
// the company only at the beginning of a sentence, and where the text so far was about nothing else.
func (f *facts) subject(ts []token, i int, itIsFirm, tool bool) (next int, many, ok bool) {
	if i > 0 && ts[i].join != listed && !separators[ts[i-1].word] {
		return 0, false, false
	}
	switch w := ts[i].word; {
	case i == 0 && w == "it" && itIsFirm:
		return 1, false, true
	case w == "we":
		return i + 1, true, true
	case (w == "our" || (w == "the" || w == "this") && itIsFirm) && firms[wordAt(ts, i+1)] && !ts[i+1].possessive && (w == "our" || wordAt(ts, i+1) != "business"):
		return i + 2, false, true
	case tool && (w == "our" || w == "its" && i == 0 && itIsFirm) && stack[wordAt(ts, i+1)] && !ts[i+1].possessive:
		return i + 2, strings.HasSuffix(ts[i+1].word, "s"), true
	}
	if n := len(f.name); n > 0 && i+n <= len(ts) {
		for k, want := range f.name {
			if ts[i+k].word != want.word || ts[i+k].capital != want.capital {
				return f.implied(ts, i)
			}
		}
		if next = i + n; !ts[next-1].possessive {
			for next < len(ts) && legalForms[ts[next].word] && ts[next].capital && (!parents[ts[next].word] || hasFold(f.c.Name, ts[next].word)) {
				next++
			}
			return next, false, true
		}
	}
	return f.implied(ts, i)
}

// implied is that a sentence begins with its verb, as in "Sells shoes."
func (f *facts) implied(ts []token, i int) (next int, many, ok bool) {
	if i > 0 || len(ts) < 2 {
		return 0, false, false
	}
	verb, is := base(ts[0].word)
	return 0, false, is && deeds[verb] || ts[0].word == "is"
}
