package offline

import (
	"slices"
	"strings"

	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// facts is a company as it is read: its fields, and its description once somebody looks at it.
type facts struct {
	c    *catalog.Company
	name []token // without its legal form
	read bool
	text []sentence
	// vocabulary is every word of the description, in the singular. It is there once a question has many forms to look for.
	vocabulary map[string]bool
	asked      int
	tokens     map[string][]token // of fields
	// about says of each sentence whether "it" at its beginning is the company, things whether it may be a thing as well.
	about  []bool
	things []thing
}

// finding is what the facts say to a yes-or-no question, or why they say nothing.
type finding struct {
	verdict    verdict
	evidence   string
	source     string
	confidence float64
	reason     string
}

// How sure an answer is: a field says it, or a sentence of the description.
const (
	sureField    = 1
	sureSentence = 0.7
)

const catalogSource = "catalog:"

func unsure(reason string) finding { return finding{reason: reason} }

func (f *facts) field(v verdict, name, value string) finding {
	return finding{verdict: v, evidence: name + ": " + cut(value), source: catalogSource + name, confidence: sureField}
}

// description reads the description.
func (f *facts) description() []sentence {
	if f.read {
		return f.text
	}
	f.read = true
	f.text = sentences(string(f.c.Description))
	f.name = words(f.c.Name)
	for len(f.name) > 1 && legalForms[f.name[len(f.name)-1].word] {
		f.name = f.name[:len(f.name)-1]
	}
	f.refer()
	return f.text
}

// said looks for a sentence that says yes or no to one of several forms of a question. Sentences that have the words and say
// neither make it ambiguous, and so do sentences of both kinds.
func (f *facts) said(asks []*ask) finding {
	found, mere, doubted := unsure(notInCatalog), false, false
	if !f.read && !slices.ContainsFunc(asks, func(a *ask) bool { return a.maybeIn(string(f.c.Description)) }) {
		return found
	}
	text := f.description()
	if f.asked += len(asks); f.asked > vocabularyFrom {
		if asks = f.possible(asks); len(asks) == 0 {
			return found
		}
	}
	for i, s := range text {
		for _, a := range asks {
			if !a.mentioned(s.tokens) {
				continue
			}
			v, at := a.says(f, i)
			if i+1 < len(text) && (contradictions[text[i+1].tokens[0].word] || v == no && a.goesOn(text[i+1].tokens)) {
				v = open
			}
			mere = mere || v == open
			doubted = doubted || v == open && slices.ContainsFunc(s.tokens, func(t token) bool { return doubtful(t.word) })
			switch {
			case v == open && found.verdict == open:
				found.reason = ambiguous
			case v == open || v == found.verdict:
			case found.verdict != open:
				return unsure(ambiguous)
			default:
				found = finding{v, cite(string(f.c.Description), s, s.tokens[at].start), catalogSource + "description", sureSentence, ""}
			}
		}
	}
	if found.verdict != open && (doubted || found.verdict == no && mere) {
		return unsure(ambiguous)
	}
	return found
}

// goesOn tells whether a sentence says with the same verb what a denial before it left to say.
func (a *ask) goesOn(ts []token) bool {
	return !a.be && slices.ContainsFunc(ts[:min(len(ts), 4)], func(t token) bool { return a.forms[t.word] != 0 })
}

// maybeIn tells whether it is worth to read a text: whether the letters of the long words are all there.
func (a *ask) maybeIn(text string) bool {
	for _, want := range a.rest {
		stem := strings.TrimSuffix(singular(want.word), "y")
		if len(stem) > 3 && !want.upper && !strings.ContainsFunc(stem, func(r rune) bool { return r < '0' || r > 'z' }) && !hasFold(text, stem) {
			return false
		}
	}
	return true
}

// hasFold tells whether a text has some ASCII letters, in whatever case.
func hasFold(text, letters string) bool {
	for i := 0; i+len(letters) <= len(text); i++ {
		if text[i]|0x20 == letters[0] && strings.EqualFold(text[i:i+len(letters)], letters) {
			return true
		}
	}
	return false
}

// vocabularyFrom is from how many forms on it is worth to collect the words of the description.
const vocabularyFrom = 16

// possible are the forms whose words the description has.
func (f *facts) possible(asks []*ask) (some []*ask) {
	if f.vocabulary == nil {
		f.vocabulary = map[string]bool{}
		for _, s := range f.text {
			for _, t := range s.tokens {
				f.vocabulary[singular(t.word)] = true
			}
		}
	}
	for _, a := range asks {
		if !slices.ContainsFunc(a.rest, func(t token) bool { return !prepositions[t.word] && !f.vocabulary[singular(t.word)] }) {
			some = append(some, a)
		}
	}
	return some
}

// words are the tokens of a field's value or entry.
func (f *facts) words(value string) []token {
	ts, known := f.tokens[value]
	if !known {
		if f.tokens == nil {
			f.tokens = map[string][]token{}
		}
		ts = words(value)
		f.tokens[value] = ts
	}
	return ts
}

// mentioned tells whether a sentence has all words that count.
func (a *ask) mentioned(ts []token) bool {
	for _, want := range a.rest {
		if prepositions[want.word] {
			continue
		}
		if !slices.ContainsFunc(ts, func(t token) bool { return alike(t.word, want.word) }) {
			return false
		}
	}
	return len(a.rest) > 0
}

// same tells whether two texts have the same words, or the same but for plurals.
func same(a, b []token, plurals bool) bool {
	return slices.EqualFunc(a, b, func(x, y token) bool { return x.word == y.word || plurals && alike(x.word, y.word) })
}

// values of the fields that a text is asked for.
func (f *facts) textOf(field string) []string {
	c := f.c
	one := func(t shape.Text) []string {
		if strings.TrimSpace(string(t)) == "" {
			return nil
		}
		return []string{string(t)}
	}
	switch field {
	case "name":
		return one(shape.Text(c.Name))
	case "website":
		return one(c.Website)
	case "industry":
		return one(c.Industry)
	case "sub_industry":
		return one(c.SubIndustry)
	case "keywords":
		return c.Keywords
	case "technologies":
		return c.Technologies
	case "country":
		return one(c.Country)
	case "location":
		return one(c.Location)
	case "linkedin_url":
		return one(c.LinkedinURL)
	case "phone_number":
		return one(c.PhoneNumber)
	}
	return one(c.Description)
}
