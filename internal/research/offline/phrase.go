package offline

import (
	"slices"
	"strings"
)

// reach is how far behind its verb the rest is looked for.
const reach = 40

// matches tells whether the rest stands at i; when it is not denied, also behind other items of a list, behind the words that
// describe it, and behind an object of the verb.
func (a *ask) matches(ts []token, i int, denied bool) bool {
	if len(a.rest) == 0 {
		return false
	}
	if end, ok := a.phrase(ts, i); ok && (denied && closes(ts, end) || !denied && a.ends(ts, end)) {
		return true
	}
	if denied {
		return false
	}
	if first := a.rest[0]; prepositions[first.word] {
		if a.direct {
			return false
		}
		at, ok := object(ts, i, first.word)
		if !ok {
			return false
		}
		noun := *a
		noun.rest = a.rest[1:]
		return noun.matches(ts, at+1, false)
	}
	return a.listed(ts, i)
}

// object finds the preposition behind an object of a verb.
func object(ts []token, i int, preposition string) (int, bool) {
	for k := i; k < min(len(ts), i+6); k++ {
		switch w := ts[k].word; {
		case k > i && ts[k].join > hyphened:
			return 0, false
		case w == preposition:
			return k, true
		case prepositions[w], pronouns[w], separators[w], relays[w], strings.HasSuffix(w, "ing"), strings.HasSuffix(w, "ed"), pasts[w]:
			return 0, false
		}
	}
	return 0, false
}

// listed looks for the rest among the items of the list at i.
func (a *ask) listed(ts []token, i int) bool {
	item := i
	for k := i; k < min(len(ts), i+reach); k++ {
		t := ts[k]
		if k > i && t.join == stopped {
			return false
		}
		if k > i && t.join == listed {
			item = k
		}
		if end, ok := a.phrase(ts, k); ok && a.ends(ts, end) && (k == item || !a.tool && a.described(ts[item:k])) {
			return true
		}
		switch {
		case separators[t.word]:
			item = k + 1
		case (determiners[t.word] || t.word == "both") && k == item:
			item++
		case prepositions[t.word], pronouns[t.word], enders[t.word], privative[t.word], k > item && strings.HasSuffix(t.word, "ing"), t.possessive, doubtful(t.word):
			return false
		}
	}
	return false
}

// described tells whether the words before the rest leave it what it is.
func (a *ask) described(by []token) bool {
	whatever := subsective[a.rest[len(a.rest)-1].word]
	return !slices.ContainsFunc(by, func(t token) bool {
		_, isNumber := number(t.word)
		return !isNumber && !harmless[t.word] && (!whatever || plural(t.word))
	})
}

// plural tells whether a word looks like a plural that no other noun follows.
func plural(w string) bool {
	return strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !notPlural[w]
}

// phrase tells whether the rest stands at i, word for word but for plurals and determiners, and where it ends.
func (a *ask) phrase(ts []token, i int) (end int, ok bool) {
	for n, want := range a.rest {
		for n == 0 || want.join == spaced {
			if i >= len(ts) || !determiners[ts[i].word] || want.word == ts[i].word || i > 0 && n > 0 && ts[i].join > hyphened {
				break
			}
			i++
		}
		if i >= len(ts) {
			return 0, false
		}
		t := ts[i]
		switch {
		case !alike(t.word, want.word), n == 0 && t.join == hyphened, n > 0 && t.join > hyphened && t.join != want.join,
			want.upper && !t.upper && len(want.word) <= 3, a.tool && (want.word != t.word || want.capital && !t.capital || want.capital && !want.upper && t.upper && len(t.word) > 2), t.possessive:
			return 0, false
		}
		i++
	}
	return i, true
}

// ends tells whether what was looked for ends at i, so that no other word makes it something else.
func (a *ask) ends(ts []token, i int) bool {
	last := ts[i-1].word
	noun := a.noun(ts, i)
	named := noun > i
	if a.firm && !named && len(a.rest) == 1 && (strings.HasSuffix(last, "ing") || strings.HasSuffix(last, "ed")) {
		return false
	}
	i = noun
	if last == "hiring" || last == "recruiting" {
		return hires(ts[i:])
	}
	if i >= len(ts) {
		return true
	}
	if !plainly(ts[i:]) {
		return false
	}
	switch w := ts[i].word; {
	case ts[i].join == stopped:
		return true
	case ts[i].join == hyphened:
		return false
	case ts[i].join == listed, separators[w]:
		return a.tool && toolsEnd(ts, i) || !a.tool && (plural(last) && !compound(ts[i:]) || listEnds(ts, i))
	case a.be && !named && behind[w]: // open to ideas, private by design; but a bank in Berlin
		return a.article && seating[w]
	case a.own && w == "for", a.tool && w == "at", w == "of" && !named && wordAt(ts, i+1) != "all":
		return false
	default:
		return behind[w] || enders[w]
	}
}

// plainly tells whether what follows adds places, times, and people that it is for, and nothing that may take it back: no clause but
// another about the company, no aside, and in brackets only names such as B2B.
func plainly(ts []token) bool {
	purpose := false
	for i, t := range ts {
		aside := t.join == listed && prepositions[t.word]
		clause := i > 0 && separators[ts[i-1].word] || t.join == listed
		switch {
		case clause && (t.word == "we" || t.word == "it"):
			return true
		case t.join == stopped:
			return !slices.ContainsFunc(ts[i:], func(t token) bool { return !t.upper && !separators[t.word] })
		case turns[t.word], pronouns[t.word], aside, purpose && t.word == "to": // for children to play with
			return false
		}
		purpose = purpose || t.word == "for"
	}
	return true
}

// compound tells whether an item of a list describes its last word with a plural: tablets cases.
func compound(ts []token) bool {
	for i := 1; i < len(ts); i++ {
		if ts[i].join == spaced && plural(ts[i-1].word) && !separators[ts[i].word] && !prepositions[ts[i].word] && !enders[ts[i].word] {
			return true
		}
	}
	return false
}

// noun is behind the noun that what was looked for describes, if it is one for a company.
func (a *ask) noun(ts []token, i int) int {
	for k := i; k < min(len(ts), i+3); k++ {
		w := ts[k].word
		switch {
		case ts[k].join != spaced || ts[k].possessive || prepositions[w] || separators[w] || enders[w] || k > i && !a.attribute:
			return i
		case k == i && a.firm && firmNouns[w], a.attribute && headNouns[w] && (k+1 >= len(ts) || ts[k+1].join != spaced || prepositions[ts[k+1].word] || enders[ts[k+1].word]):
			return k + 1
		case firmNouns[w]:
			return i
		}
	}
	return i
}

// hires tells whether words behind "is hiring" say whom or where, and not that hiring is a business.
func hires(ts []token) bool {
	if slices.ContainsFunc(ts, func(t token) bool { return t.word == "for" || t.word == "from" }) {
		return false
	}
	for k, t := range ts {
		switch {
		case k == 0 && t.join == stopped:
			return true
		case t.possessive || t.join > hyphened:
			return false
		case roles[t.word]:
			next := wordAt(ts, k+1)
			return next == "" || prepositions[next] || enders[next] || separators[next]
		case prepositions[t.word] || enders[t.word]:
			return k == 0
		case k > 2:
			return false
		}
	}
	return len(ts) == 0
}

// toolsEnd tells whether a list of technologies is one, and not a list of what describes the noun at its end.
func toolsEnd(ts []token, i int) bool {
	last := ts[i-1]
	for _, t := range ts[i:] {
		if prepositions[t.word] || enders[t.word] || t.join == stopped {
			break
		}
		last = t
	}
	return last.capital || strings.ContainsAny(last.word, "0123456789.+#") || !ts[i-1].capital
}

// listEnds tells whether the items that follow in a list are words of their own: in "food and beverage equipment" the food is not
// what is made.
func listEnds(ts []token, i int) bool {
	for i < len(ts) {
		for i < len(ts) && separators[ts[i].word] {
			i++
		}
		from := i
		for i < len(ts) && !separators[ts[i].word] && (i == from || ts[i].join == spaced || ts[i].join == hyphened) && !prepositions[ts[i].word] && !enders[ts[i].word] {
			if i == from && (pronouns[ts[i].word] || strings.HasSuffix(ts[i].word, "ing")) {
				return true
			}
			i++
		}
		if i-from > 1 {
			return false
		}
		if i == from || i >= len(ts) || ts[i].join != listed && !separators[ts[i].word] {
			return true
		}
	}
	return true
}

// closes tells whether a denial ends at i, so that it is not of a part only.
func closes(ts []token, i int) bool {
	if i < len(ts) && firmNouns[ts[i].word] && ts[i].join == spaced {
		i++
	}
	if i >= len(ts) {
		return true
	}
	if ts[i].word == "or" {
		return !slices.ContainsFunc(ts[i:], func(t token) bool { return prepositions[t.word] || t.join > listed })
	}
	for _, tail := range []string{"at the moment", "at present", "right now", "currently", "today", "now", "at all", "yet", "anymore", "any more"} {
		ws := strings.Fields(tail)
		if i+len(ws) != len(ts) {
			continue
		}
		for n, w := range ws {
			if ts[i+n].word != w || ts[i+n].join != spaced {
				break
			} else if n == len(ws)-1 {
				return true
			}
		}
	}
	return false
}
