package offline

import "slices"

var seated = set("based located headquartered situated domiciled")

// seat is a question for the place of a company.
type seat struct {
	place place
	words []token // of the place
	// yesOnly is that another country is no denial: a company may come from one and be in another.
	yesOnly bool
	// bare is that the statement was that it is in something, which may be an industry too.
	bare bool
}

// seat gives the place that a statement puts the company in.
func (st *statement) seat() (s seat, ok bool) {
	r := st.rest
	n := len(r)
	at := func(i int, w string) bool { return i < n-1 && r[i].word == w }
	hq := at(0, "headquarters") || at(0, "hq")
	switch {
	case st.verb == "have" && hq && at(1, "in"):
		s.words = r[2:]
	case st.verb != "be":
		return s, false
	case seated[r[0].word] && at(1, "in"), hq && at(1, "in"):
		s.words = r[2:]
	case at(0, "in") && !fieldOfWork[r[n-1].word]:
		s.words, s.bare = r[1:], true
	case at(0, "from"):
		s.words, s.yesOnly = r[1:], true
	case n > 1 && r[n-1].word == "based" && (r[n-1].join == hyphened || r[0].upper):
		s.words = r[:n-1]
	case n == 1 && r[0].upper && stateName(r[0].word):
		s.words, s.yesOnly = r, true
	case n == 1 && r[0].capital && nations[r[0].word] != "":
		s.words, s.yesOnly = words(nations[r[0].word]), true
	default:
		return s, false
	}
	s.place, ok = placeOf(s.words)
	return s, ok
}

// judge reads the fields, and the description where they say nothing or no.
func (s *seat) judge(st *statement) judge {
	var asks []*ask
	switch {
	case s.bare || st.rest[0].word == "from":
	case s.yesOnly:
		asks = st.asks()
	default:
		for _, participle := range []string{"based", "headquartered", "located"} {
			other := statement{verb: "be", rest: slices.Concat(words(participle+" in"), s.words)}
			asks = append(asks, other.ask())
		}
	}
	return func(f *facts) finding {
		found := f.inPlace(s.place)
		switch {
		case found.verdict == yes || found.reason == ambiguous:
			return found
		case found.verdict == no && s.yesOnly:
			if said := f.said(asks); said.verdict != yes {
				return said
			}
			return unsure(ambiguous)
		case found.verdict == no && f.mentions(s.place):
			return unsure(ambiguous)
		case found.verdict == no:
			return found
		case s.bare:
			return f.kind(s.words, false)
		}
		return f.said(asks)
	}
}

// mentions tells whether the description or the location speaks of a state.
func (f *facts) mentions(p place) bool {
	for _, text := range []string{string(f.c.Location), string(f.c.Description)} {
		for _, name := range stateNames[p.country] {
			if !hasFold(text, name[0].word) {
				continue
			}
			ts := f.words(text)
			for i := range ts {
				if i+len(name) <= len(ts) && same(ts[i:i+len(name)], name, false) && (name[0].word != "us" || ts[i].upper) {
					return true
				}
			}
		}
	}
	return false
}
