package offline

import (
	"slices"
	"strings"

	"prospector/internal/research"
	"prospector/internal/shape"
)

// numericAsked is the numeric field that a question asks for, if it asks for nothing else.
func numericAsked(ws []string) *numeric {
	if n, rest := numericIn(ws); n != nil && only(rest, n.beside) && !others(ws) {
		return n
	}
	return nil
}

// numberAsked reads a question for a number: that of a field, or how many of something the company has.
func numberAsked(ts []token) reading {
	if needsToday(ts) {
		return nothing(today)
	}
	if n := numericAsked(plain(ts)); n != nil {
		return func(f *facts) research.Qualification {
			v := n.of(f.c)
			if !v.Valid {
				return unanswered(notInCatalog)
			}
			return f.field(yes, n.field, literal(v.Float)).answer(shape.Value{Kind: shape.Num, Text: literal(v.Float)})
		}
	}
	c, ok := counted(ts)
	if !ok {
		return nothing(notUnderstood)
	}
	return c.read
}

// count is how many of something a company has, or does something to.
type count struct {
	ask ask // its rest is what is counted
}

// counted takes apart "how many … does it …".
func counted(ts []token) (c count, ok bool) {
	if !starts(ts, []string{"how", "many"}) {
		return c, false
	}
	i := slices.IndexFunc(ts, func(t token) bool { return t.word == "does" || t.word == "do" })
	if i < 3 {
		return c, false
	}
	next, ok := firm(ts, i+1)
	if next = skip(ts, next, asking); !ok || next != len(ts)-1 {
		return c, false
	}
	what := slices.Clone(ts[2:i])
	if slices.ContainsFunc(what, func(t token) bool {
		return askNot[t.word] || separators[t.word] || prepositions[t.word] || t.join > hyphened
	}) {
		return c, false
	}
	st := statement{verb: ts[next].word, rest: what}
	c.ask = *st.ask()
	if st.verb == "have" {
		for _, v := range []string{"operate", "run", "own"} {
			c.ask.forms[v] |= formBase
			c.ask.forms[present(v)] |= formS
		}
	}
	return c, true
}

func (c *count) read(f *facts) research.Qualification {
	found, value, reason := finding{}, 0.0, notInCatalog
	for i, s := range f.description() {
		if !c.ask.mentioned(s.tokens) {
			continue
		}
		n, at, ok := c.in(s, f, f.about[i])
		switch {
		case !ok:
			reason = ambiguous
		case found.verdict == yes && n != value:
			return unanswered(ambiguous)
		default:
			value = n
			found = finding{yes, cite(string(f.c.Description), s, s.tokens[at].start), catalogSource + "description", sureSentence, ""}
		}
	}
	if found.verdict != yes {
		return unanswered(reason)
	}
	return found.answer(shape.Value{Kind: shape.Num, Text: literal(value)})
}

// in finds the number directly behind the verb and before what is counted. Of a place or a time only it does not count.
func (c *count) in(s sentence, f *facts, itIsFirm bool) (value float64, at int, ok bool) {
	if s.question || s.quoted || pending(s.tokens, false) || slices.ContainsFunc(s.tokens, func(t token) bool { return doubtful(t.word) }) {
		return 0, 0, false
	}
	ts := s.tokens
	for i := range ts {
		next, many, is := f.subject(ts, i, itIsFirm, false)
		if !is || !f.led(ts, i, itIsFirm) {
			continue
		}
		next = skip(ts, next, adverbs)
		finite := formS
		if many {
			finite = formBase
		}
		if c.ask.forms[wordAt(ts, next)]&finite == 0 || next+2 >= len(ts) || ts[next+1].join != spaced {
			continue
		}
		n, isNumber := number(ts[next+1].word)
		first := next + 2
		if unit := unitWords[ts[first].word]; isNumber && unit > 0 {
			n, first = n*unit, first+1
		}
		end, found := c.ask.phrase(ts, first)
		if isNumber && found && first < len(ts) && ts[first].join == spaced && wholly(ts[end:]) {
			return n, i, true
		}
	}
	return 0, 0, false
}

// wholly tells whether nothing that follows limits what was counted.
func wholly(ts []token) bool {
	for i, t := range ts {
		if i == 0 && t.join == spaced && !prepositions[t.word] && !enders[t.word] {
			return false
		}
		if t.word == "daily" || t.word == "every" || t.word == "each" {
			return false
		}
		if !prepositions[t.word] && t.word != "and" && t.word != "or" {
			continue
		}
		if i+1 >= len(ts) {
			return false
		}
		if _, isNumber := number(ts[i+1].word); !isNumber && ts[i+1].word != "total" {
			return false
		}
	}
	return true
}

// textAsked reads a question for a text: that of a field, or what the company does.
func textAsked(ts []token) reading {
	if needsToday(ts) {
		return nothing(today)
	}
	ws := plain(ts)
	if n := numericAsked(ws); n != nil {
		return func(f *facts) research.Qualification {
			v := n.of(f.c)
			if !v.Valid {
				return unanswered(notInCatalog)
			}
			return f.field(yes, n.field, literal(v.Float)).answer(text(literal(v.Float)))
		}
	}
	if field := fieldNamed(ws, nil); field != "" {
		return func(f *facts) research.Qualification {
			field, values := field, f.textOf(field)
			if len(values) == 0 && field == "location" && !slices.Contains(ws, "city") && !slices.Contains(ws, "location") {
				field, values = "country", f.textOf("country")
			}
			if len(values) == 0 {
				return unanswered(notInCatalog)
			}
			joined := textMost(strings.Join(values, ", "))
			found := f.field(yes, field, joined)
			if field == "description" {
				found.evidence = cut(joined)
			}
			return found.answer(text(joined))
		}
	}
	if starts(ts, []string{"what", "does"}) || starts(ts, []string{"what", "do"}) {
		if next, ok := firm(ts, 2); ok && next == len(ts)-1 && ts[next].word == "do" {
			return (*facts).deed
		}
	}
	return nothing(notUnderstood)
}
