package offline

import (
	"strings"

	"prospector/internal/research"
	"prospector/internal/shape"
)

// textMost cuts a text to what a field holds.
func textMost(s string) string {
	if n := []rune(s); len(n) > shape.MaxText {
		return string(n[:shape.MaxText])
	}
	return s
}

// deed answers with the first sentence that says what the company does.
func (f *facts) deed() research.Qualification {
	for i := range f.description() {
		if f.doing(i) {
			return f.cited(i)
		}
	}
	return unanswered(notInCatalog)
}

func (f *facts) cited(i int) research.Qualification {
	s := f.text[i]
	cited := cite(string(f.c.Description), s, s.start)
	return finding{yes, cited, catalogSource + "description", sureSentence, ""}.answer(text(cited))
}

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
	return false
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
