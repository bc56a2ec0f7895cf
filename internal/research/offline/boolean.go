package offline

import (
	"slices"
	"strings"
)

// judge answers a yes-or-no question.
type judge func(*facts) finding

func never(reason string) judge { return func(*facts) finding { return unsure(reason) } }

// boolean reads a yes-or-no question.
func boolean(ts []token) judge {
	if needsToday(ts) {
		return never(today)
	}
	if j := comparison(ts); j != nil {
		return j
	}
	st, ok := stated(ts)
	if !ok {
		return never(notUnderstood)
	}
	if s, ok := st.seat(); ok {
		return s.judge(&st)
	}
	if what, ok := st.industry(); ok {
		return func(f *facts) finding { return f.kind(what, false) }
	}
	if st.joined {
		if st.verb != "be" {
			return never(notUnderstood)
		}
		return func(f *facts) finding {
			if found := f.kind(st.rest, !st.article); found.verdict != open {
				return found
			}
			return unsure(notUnderstood)
		}
	}
	if tool, ok := st.tool(); ok {
		return uses(tool, &st)
	}
	return st.judge()
}

// judge reads the fields that can say yes to a statement, and then the description.
func (st *statement) judge() judge {
	asks := st.asks()
	field := fieldNamed(plain(st.rest), nil)
	if field != "website" && field != "linkedin_url" && field != "phone_number" {
		field = ""
	}
	return func(f *facts) finding {
		found := unsure(notInCatalog)
		switch st.verb {
		case "be":
			if !st.deed() {
				found = f.kind(st.rest, !st.article)
			}
		case "offer", "provide":
			if provided[st.rest[len(st.rest)-1].word] {
				found = f.kind(st.rest, false)
			}
		case "sell":
			if soldTo(st.rest) != "" {
				found = f.keyword(soldTo(st.rest))
			}
		case "have":
			found = f.technology(st.rest)
			if field != "" && found.verdict == open && len(f.textOf(field)) > 0 {
				found = f.field(yes, field, f.textOf(field)[0])
			}
		}
		if found.verdict != open {
			return found
		}
		return f.said(asks)
	}
}

// asks are the forms of a statement: one that means the same is as good.
func (st *statement) asks() []*ask {
	asks := []*ask{st.ask()}
	if st.verb != "be" {
		return asks
	}
	n := len(st.rest)
	if models := map[string]string{"b2b": "businesses", "b2c": "consumers"}; n == 1 && models[st.rest[0].word] != "" {
		sells := statement{verb: "sell", rest: words("to " + models[st.rest[0].word])}
		return append(asks, sells.ask())
	}
	if last := st.rest[n-1].word; n > 1 && (last == "certified" || last == "compliant") {
		for _, preposition := range []string{"to", "with", "for", "against"} {
			other := statement{verb: "be", rest: slices.Concat(words(last+" "+preposition), st.rest[:n-1])}
			asks = append(asks, other.ask())
		}
	}
	if first := st.rest[0].word; n > 2 && (first == "certified" || first == "compliant") && prepositions[st.rest[1].word] {
		other := statement{verb: "be", rest: slices.Concat(st.rest[2:], words(first))}
		asks = append(asks, other.ask())
	}
	return asks
}

// soldTo is the keyword that says to whom a company sells.
func soldTo(rest []token) string {
	if len(rest) == 2 && rest[0].word == "to" {
		switch rest[1].word {
		case "businesses", "companies":
			return "b2b"
		case "consumers":
			return "b2c"
		}
	}
	return ""
}

// needsToday tells whether a question is about an age, which is another every year.
func needsToday(ts []token) bool {
	ws, _ := numbered(ts)
	for i, w := range ws {
		switch w {
		case "older", "younger", "ago", "age":
			return true
		case "old":
			return i > 0 && (ws[i-1] == "how" || ws[i-1] == "years" || ws[i-1] == "year")
		case "last", "past":
			if i+2 < len(ws) && ws[i+1] == "#" && (ws[i+2] == "years" || ws[i+2] == "months") {
				return true
			}
		}
	}
	return false
}

// comparison reads a question that bounds a numeric field; nil when it does not.
func comparison(ts []token) judge {
	ws, numbers := numbered(ts)
	n, rest := numericIn(ws)
	if n == nil || len(numbers) == 0 {
		return nil
	}
	if at := phraseAt(rest, []string{"the", "year", "#"}); at >= 0 && n.field == "founded_year" {
		rest = slices.Delete(slices.Clone(rest), at, at+2)
	}
	bounds, rest, ok := compared(rest, numbers, n.field == "founded_year")
	if !ok {
		return nil
	}
	if !only(rest, n.beside) || others(ws) {
		if bounds.bare {
			return nil
		}
		return never(notUnderstood)
	}
	wide := bounds // as it is when the first number has the unit of the second: between 1 and 10 million
	if len(numbers) == 2 {
		wide.low *= unitShared(ts)
	}
	switch {
	case wide.low > wide.high:
		wide = bounds
	case n.field == "annual_revenue": // nobody means one dollar
		bounds = wide
	}
	if !n.sensible(bounds) {
		return never(notUnderstood)
	}
	return func(f *facts) finding {
		value := n.of(f.c)
		switch {
		case !value.Valid:
			return unsure(notInCatalog)
		case bounds.holds(value.Float) != wide.holds(value.Float):
			return unsure(ambiguous)
		case bounds.holds(value.Float):
			return f.field(yes, n.field, literal(value.Float))
		case bounds.bare:
			return unsure(ambiguous)
		}
		return f.field(no, n.field, literal(value.Float))
	}
}

var fieldOfWork = set("industry sector space market field business")

// industry gives the industry that a statement puts the company in.
func (st *statement) industry() ([]token, bool) {
	r := st.rest
	if n := len(r); n > 2 && r[0].word == "in" && fieldOfWork[r[n-1].word] && (st.verb == "be" || st.verb == "operate" || st.verb == "work") {
		return r[1 : n-1], true
	}
	return nil, false
}

// tool gives the technology that a statement says the company uses.
func (st *statement) tool() ([]token, bool) {
	r := st.rest
	switch {
	case st.past:
	case (st.verb == "run" || st.verb == "rely") && r[0].word == "on" && len(r) > 1:
		return r[1:], true
	case st.verb == "be" && len(r) > 1 && (r[0].word == "using" || r[0].word == "on"):
		return r[1:], true
	case st.verb == "use" || st.verb == "run" || st.verb == "utilise" || st.verb == "utilize" || st.verb == "leverage":
		return r, true
	case st.verb == "be" && len(r) > 2 && (r[0].word == "built" || r[0].word == "powered") && prepositions[r[1].word]:
		return r[2:], true
	}
	return nil, false
}

// uses judges by the technologies, and then by what the description says to be used.
func uses(tool []token, st *statement) judge {
	use := statement{verb: "use", rest: tool}
	a := use.ask()
	a.tool = true
	asks := []*ask{a}
	if st.verb == "run" && st.rest[0].word != "on" { // what is used may be somebody else's
		asks = []*ask{st.ask()}
	}
	return func(f *facts) finding {
		if found := f.technology(tool); found.verdict == yes {
			return found
		}
		return f.said(asks)
	}
}

// plain are the words of tokens.
func plain(ts []token) []string {
	ws := make([]string, len(ts))
	for i, t := range ts {
		ws[i] = t.word
	}
	return ws
}

// choices reads yes and no as the values of a field; ok when they are among its values and nothing else that could be meant is.
func choices(allowed []string) (yesIs, noIs string, ok bool) {
	for _, v := range allowed {
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "yes", "true":
			yesIs = v
		case "no", "false":
			noIs = v
		case "unknown", "unclear", "n/a", "not sure":
		default:
			return "", "", false
		}
	}
	return yesIs, noIs, yesIs != "" && noIs != ""
}
