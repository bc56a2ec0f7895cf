package offline

import (
	"slices"
	"strings"

	"prospector/internal/research"
	"prospector/internal/shape"
)

// option is an allowed value, and how it is found that it is the company's.
type option struct {
	value string
	held  judge
}

// choice reads a question for values that are given: of an enum one, of a multi_select all that are the company's.
func choice(ts []token, allowed []string, several bool) reading {
	if yesIs, noIs, ok := choices(allowed); ok && !several {
		j := boolean(ts)
		return func(f *facts) research.Qualification {
			found := j(f)
			switch found.verdict {
			case yes:
				return found.answer(text(yesIs))
			case no:
				return found.answer(text(noIs))
			}
			return unanswered(found.reason)
		}
	}
	if needsToday(ts) {
		return nothing(today)
	}
	options, ok := optionsOf(ts, allowed)
	if !ok {
		return nothing(notUnderstood)
	}
	return func(f *facts) research.Qualification {
		var held []finding
		var values []shape.Value
		reason := notInCatalog
		for _, o := range options {
			found := o.held(f)
			switch {
			case found.verdict == yes:
				held, values = append(held, found), append(values, text(o.value))
			case found.reason == ambiguous:
				reason = ambiguous
			}
		}
		switch {
		case len(held) == 0:
			return unanswered(reason)
		case several:
			return together(held).answer(shape.Value{Kind: shape.List, Items: values})
		case len(held) > 1:
			return unanswered(ambiguous)
		}
		return held[0].answer(values[0])
	}
}

// together is several findings as one, whose evidence names each once.
func together(held []finding) finding {
	all := held[0]
	var evidence, sources []string
	for _, h := range held {
		if !slices.Contains(evidence, h.evidence) {
			evidence = append(evidence, h.evidence)
		}
		if !slices.Contains(sources, h.source) {
			sources = append(sources, h.source)
		}
		all.confidence = min(all.confidence, h.confidence)
	}
	all.evidence, all.source = strings.Join(evidence, "\n"), strings.Join(sources, " ")
	return all
}

// labels name what a company is.
var labels = phrases("business model", "company type", "type of company", "type of business", "kind of company", "kind of business", "category", "vertical")

// optionsOf finds out what a question is about, and so how each value is looked for; ok is false when that is unclear.
func optionsOf(ts []token, allowed []string) (options []option, ok bool) {
	ws := plain(ts)
	if slices.ContainsFunc(ws, func(w string) bool { return askNot[w] && w != "most" && w != "when" || strings.HasSuffix(w, "n't") }) {
		return nil, false
	}
	each := func(of func(value string, ts []token) judge) ([]option, bool) {
		for _, v := range allowed {
			ts := words(v)
			if len(ts) == 0 || len(ts) > 16 {
				continue
			}
			if j := of(v, ts); j != nil {
				options = append(options, option{v, j})
			}
		}
		return options, len(options) > 0
	}
	if n := numericAsked(ws); n != nil {
		return each(func(value string, _ []token) judge { return n.within(value) })
	}
	how := set("how kind type")
	switch field := fieldNamed(ws, how); field {
	case "industry", "sub_industry", "keywords":
		return each(func(_ string, v []token) judge { return fieldHas(field, v) })
	case "technologies":
		return each(func(_ string, v []token) judge { return func(f *facts) finding { return f.technology(v) } })
	case "country", "location":
		return each(func(_ string, v []token) judge {
			p, ok := placeOf(v)
			if !ok {
				return nil
			}
			return func(f *facts) finding { return f.inPlace(p) }
		})
	case "":
	default:
		return nil, false
	}
	if slices.ContainsFunc(labels, func(l []string) bool {
		at := phraseAt(ws, l)
		return at >= 0 && only(slices.Concat(ws[:at], ws[at+len(l):]), how)
	}) {
		return each(func(_ string, v []token) judge {
			st := statement{verb: "be", rest: v, firm: true}
			return st.judge()
		})
	}
	if st, ok := wanted(ts); ok {
		return each(func(_ string, v []token) judge { return st.of(v) })
	}
	return nil, false
}

// fieldHas judges whether a field has a value as its own, or as an entry.
func fieldHas(field string, v []token) judge {
	return func(f *facts) finding {
		for _, entry := range f.textOf(field) {
			if ws := f.words(entry); same(ws, v, true) || field != "keywords" && industryIs(ws, v) {
				return f.field(yes, field, entry)
			}
		}
		return unsure(notInCatalog)
	}
}

// within judges whether a numeric field lies in the range that a value is; nil when the value is none.
func (n *numeric) within(value string) judge {
	bounds, ok := rangeOf(value, n.field == "founded_year")
	if !ok || !n.sensible(bounds) {
		return nil
	}
	return func(f *facts) finding {
		if v := n.of(f.c); v.Valid && bounds.holds(v.Float) {
			return f.field(yes, n.field, literal(v.Float))
		}
		return unsure(notInCatalog)
	}
}

// wanted takes apart a question that asks with a verb for what is to follow it: which CRM does it use, who does it sell to.
func wanted(ts []token) (st statement, ok bool) {
	if !wh[ts[0].word] {
		return st, false
	}
	i := slices.IndexFunc(ts, func(t token) bool { return t.word == "does" || t.word == "do" || t.word == "is" || t.word == "are" })
	if i < 0 || slices.ContainsFunc(ts[:i], func(t token) bool {
		return companions[t.word] && !toolNouns[t.word] && t.word != "provider" && t.word != "vendor"
	}) {
		return st, false
	}
	is := ts[i].word == "is" || ts[i].word == "are"
	noun := ts[1:i]
	if i, ok = firm(ts, i+1); !ok {
		return st, false
	}
	i = skip(ts, i, asking)
	st.verb = wordAt(ts, i)
	st.rest = ts[min(i+1, len(ts)):]
	if is && st.verb == "using" {
		is, st.verb = false, "use"
	}
	if is {
		if st.verb != "certified" && st.verb != "compliant" && st.verb != "hiring" {
			return st, false
		}
		st.rest, st.verb = ts[i:], "be"
	}
	if st.verb == "have" || st.verb == "hold" {
		tools := slices.ContainsFunc(noun, func(t token) bool { return toolNouns[t.word] })
		certificates := slices.ContainsFunc(noun, func(t token) bool { return strings.HasPrefix(t.word, "certifi") })
		switch {
		case len(st.rest) > 0:
			return st, false
		case tools:
			st.verb = "use"
		case certificates:
			st.verb, st.rest = "be", words("certified to")
			st.rest[0].join = spaced
		}
	}
	return st, st.verb != "" && len(st.rest) <= 3 && !slices.ContainsFunc(st.rest, func(t token) bool { return t.join > hyphened || separators[t.word] })
}

var wh = set("what which who whom where how")

// of is the yes-or-no question whether an open one has a value as its answer.
func (st *statement) of(v []token) judge {
	v[0].join = spaced
	closed := statement{verb: st.verb, rest: slices.Concat(st.rest, v)}
	if tool, ok := closed.tool(); ok {
		return uses(tool, &closed)
	}
	asks := closed.asks()
	return func(f *facts) finding { return f.said(asks) }
}
