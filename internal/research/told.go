package research

import (
	"slices"

	"prospector/internal/shape"
	"prospector/internal/tam"
)

// textMost cuts a text to what a field holds.
func textMost(s string) string {
	if n := []rune(s); len(n) > shape.TextMax {
		return string(n[:shape.TextMax])
	}
	return s
}

// told is a question for a text that a sentence may be the answer to.
type told struct {
	all  ask             // its rest are the words that count
	ask  ask             // the same without the verb
	verb map[string]bool // the forms of the verb that a question has, if it has one
}

// toldOf takes apart a question for a text, whose words that count are given.
func toldOf(ts, content []token) told {
	t := told{all: ask{rest: content}, ask: ask{rest: content}}
	for i := 1; i < len(ts); i++ {
		next, ok := firm(ts, i)
		if !ok || !auxiliary[ts[i-1].word] || next >= len(ts) {
			continue
		}
		verb := ts[next].word
		t.verb = map[string]bool{verb: true}
		if ts[i-1].word == "does" || ts[i-1].word == "do" {
			st := statement{verb: verb}
			for w, f := range st.ask().forms {
				t.verb[w] = f&(formBase|formS) != 0
			}
		}
		t.ask.rest = slices.DeleteFunc(slices.Clone(content), func(c token) bool { return c.start == ts[next].start })
		return t
	}
	return t
}

var auxiliary = set("does do did is are was were has have")

// in tells whether a sentence answers: the company is its subject and its verb that of the question, or its subject is what was
// asked for.
func (t *told) in(f *facts, i int) bool {
	s := f.text[i]
	ts := s.tokens
	if s.question || s.quoted || slices.ContainsFunc(ts, func(t token) bool { return doubtful(t.word) }) {
		return false
	}
	if len(t.verb) > 0 {
		next, _, ok := f.subject(ts, 0, f.about[i], true)
		if !ok {
			return false
		}
		next = skip(ts, skip(ts, skip(ts, next, adverbs), auxiliary), adverbs)
		return t.verb[wordAt(ts, next)] && (len(t.ask.rest) == 0 || t.ask.mentioned(ts))
	}
	at := 0
	if w := ts[0].word; w == "our" || w == "its" && f.about[i] || w == "the" {
		at = 1
	}
	end, ok := t.ask.phrase(ts, at)
	return ok && equating[wordAt(ts, end)]
}

var equating = set("is are was include includes start starts range")

// sentence answers with the one sentence that says what a question asks for.
func (f *facts) sentence(t *told) tam.Qualification {
	found, reason := -1, notInCatalogue
	for i := range f.description() {
		switch {
		case !t.in(f, i):
			if t.all.mentioned(f.text[i].tokens) {
				reason = ambiguous
			}
		case found >= 0:
			return unanswered(ambiguous)
		default:
			found = i
		}
	}
	if found < 0 {
		return unanswered(reason)
	}
	return f.cited(found)
}

// deed answers with the first sentence that says what the company does.
func (f *facts) deed() tam.Qualification {
	for i := range f.description() {
		if f.doing(i) {
			return f.cited(i)
		}
	}
	return unanswered(notInCatalogue)
}

func (f *facts) cited(i int) tam.Qualification {
	s := f.text[i]
	cited := cite(string(f.c.Description), s, s.start)
	return finding{yes, cited, catalogSource + "description", sureSentence, ""}.answer(text(cited))
}
