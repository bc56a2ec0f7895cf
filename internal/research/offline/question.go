package offline

import (
	"regexp"
	"slices"
	"strings"
)

// questionMost is how long a question may be, in words.
const questionMost = 40

// asked gives the words of a question without what only asks for it.
func asked(text string) ([]token, bool) {
	if len(text) > 1000 {
		return nil, false
	}
	parts := sentences(dashes.ReplaceAllString(text, "$1-$2"))
	if len(parts) == 0 {
		return nil, false
	}
	for _, p := range parts[1:] {
		if slices.ContainsFunc(p.tokens, func(t token) bool { return !instructions[t.word] }) {
			return nil, false
		}
	}
	ts := parts[0].tokens
	for _, lead := range leads {
		if starts(ts, lead) {
			ts = ts[len(lead):]
		}
	}
	for _, tail := range tails {
		if n := len(ts) - len(tail); n > 0 && starts(ts[n:], tail) {
			ts = ts[:n]
		}
	}
	return ts, len(ts) > 0 && len(ts) <= questionMost
}

// dashes stand between the ends of a range.
var dashes = regexp.MustCompile(`(\d[kKmM]?)\s*[-–—−]\s*[$€£]?(\d)`)

// instructions may follow a question.
var instructions = set("answer reply respond return with yes no or true false please just a the number word one in")

var leads = phrases("please", "could you please", "can you please", "could you", "i would like to know if", "i would like to know whether", "i want to know if", "i want to know whether",
	"can you check if", "can you check whether", "can you tell me if", "can you tell me whether", "tell me if", "tell me whether", "tell us if", "tell us whether", "find out if",
	"find out whether", "check if", "check whether", "determine if", "determine whether", "whether", "can you tell me", "tell me", "tell us")

var tails = phrases("at the moment", "right now", "at present", "currently", "today", "now", "please")

func phrases(list ...string) (out [][]string) {
	for _, p := range list {
		out = append(out, strings.Fields(p))
	}
	return out
}

func starts(ts []token, phrase []string) bool {
	if len(ts) < len(phrase) {
		return false
	}
	for i, w := range phrase {
		if ts[i].word != w {
			return false
		}
	}
	return true
}

// firm skips the words for the company at i.
func firm(ts []token, i int) (next int, ok bool) {
	switch w := wordAt(ts, i); {
	case w == "it" || w == "they":
		return i + 1, true
	case (w == "the" || w == "this") && subjects[wordAt(ts, i+1)] && !ts[i+1].possessive:
		return i + 2, true
	case subjects[w] && i == 0 && !ts[i].possessive:
		return i + 1, true
	}
	return i, false
}

// seatAt is where the words after "is" begin that are not of the company itself: those for its headquarters, and any that no
// determiner makes another thing.
func seatAt(ts []token, i int) (next int, ok bool) {
	if w := wordAt(ts, i); w == "this" && (wordAt(ts, i+1) == "a" || wordAt(ts, i+1) == "an") {
		return i + 1, true
	}
	next = skip(ts, i, set("the its their"))
	if subjects[wordAt(ts, next)] && ts[next].possessive {
		next++
	}
	hq := wordAt(ts, next) == "headquarters" || wordAt(ts, next) == "hq"
	return next, hq || next == i
}

var asking = set("currently actively presently now already")

// statement is a yes-or-no question in its parts.
type statement struct {
	verb   string // in its base form; be
	past   bool
	rest   []token // without determiners and the noun for a company
	firm   bool
	joined bool // it asks for several things
	// article is that it asks for one of a kind, and not for a kind of company: "Is it a bank?"
	article bool
}

// stated takes a yes-or-no question apart. Not understood are those that deny or limit what they ask for.
func stated(ts []token) (st statement, ok bool) {
	i := 0
	switch w := ts[0].word; w {
	case "does", "do", "did":
		if i, ok = firm(ts, 1); !ok {
			return st, false
		}
		i = skip(ts, i, asking)
		st.verb, st.past = wordAt(ts, i), w == "did"
	case "is", "are":
		if i, ok = firm(ts, 1); !ok {
			if i, ok = seatAt(ts, 1); !ok {
				return st, false
			}
		}
		st.verb, i = "be", i-1
	case "has", "have":
		st.verb = "have"
		if i, ok = firm(ts, 1); !ok {
			i = 1
		}
		i = skip(ts, i, asking)
		if w := wordAt(ts, i); strings.HasSuffix(w, "ed") {
			st.verb, st.past = unpast(w), true
		} else {
			i--
		}
	default:
		i, _ = firm(ts, 0)
		i = skip(ts, i, asking)
		w := wordAt(ts, i)
		if w == "is" || w == "are" {
			st.verb = "be"
		} else if seated[w] && wordAt(ts, i+1) == "in" {
			st.verb, i = "be", i-1
		} else if st.verb, ok = base(w); !ok && ts[0].word != "they" {
			return st, false
		}
	}
	if st.verb == "" || i+1 >= len(ts) && st.verb != "be" || determiners[st.verb] || prepositions[st.verb] || askNot[st.verb] {
		return st, false
	}
	i = min(i+1, len(ts))
	if st.verb == "be" {
		i = skip(ts, i, asking)
	}
	for k, t := range ts[i:] {
		if askNot[t.word] || strings.HasSuffix(t.word, "n't") || t.join == stopped && k > 0 {
			return st, false
		}
		if separators[t.word] || t.join == listed {
			st.joined = true
		}
		if !determiners[t.word] || k > 0 && t.word == "a" && k == len(ts)-i-1 { // Series A
			st.rest = append(st.rest, t)
		}
	}
	if n := len(st.rest); st.verb == "be" && n > 1 && kindNouns[st.rest[n-1].word] && (st.rest[n-1].word != "business" || !ofBusiness[st.rest[n-2].word]) {
		st.rest, st.firm = st.rest[:n-1], true
	}
	st.article = !st.firm && (wordAt(ts, i) == "a" || wordAt(ts, i) == "an")
	return st, len(st.rest) > 0 && len(st.rest) <= 16
}

// deed tells whether a statement with "is" says what a company is doing: hiring.
func (st *statement) deed() bool {
	return !st.firm && !st.article && len(st.rest) == 1 && strings.HasSuffix(st.rest[0].word, "ing")
}

func unpast(w string) string {
	stem := strings.TrimSuffix(w, "ed")
	switch n := len(stem); {
	case n > 0 && strings.HasSuffix(stem, "i"):
		return stem[:n-1] + "y"
	case n > 1 && (strings.HasSuffix(stem, "s") || strings.HasSuffix(stem, "v") || strings.HasSuffix(stem, "c") || strings.HasSuffix(stem, "g") || strings.HasSuffix(stem, "z")):
		return stem + "e"
	case n > 2 && stem[n-1] == stem[n-2] && stem[n-1] != 's' && stem[n-1] != 'l':
		return stem[:n-1]
	}
	return stem
}

// ask makes the form of a statement that sentences are read by.
func (st *statement) ask() *ask {
	a := &ask{forms: map[string]form{}, rest: st.rest, firm: st.firm, article: st.article}
	if st.verb == "be" {
		a.forms["is"], a.forms["are"], a.be, a.direct = formBe, formBe, true, true
		a.attribute = attributes[strings.Join(plain(st.rest), "-")]
		return a
	}
	verbs := senses[st.verb]
	if verbs == nil {
		verbs = []string{st.verb}
	}
	if st.verb == "have" && len(st.rest) > 0 && offered[st.rest[len(st.rest)-1].word] {
		verbs = []string{"have", "offer"}
	}
	a.past = st.past
	a.direct = st.verb == "run" || st.verb == "rely" || st.verb == "trade"
	a.own = st.verb == "hire" || st.verb == "recruit" || st.verb == "raise" || st.verb == "have"
	for _, v := range verbs {
		if st.past {
			for _, w := range past(v) {
				a.forms[w] |= formPast
			}
			continue
		}
		a.forms[v] |= formBase
		a.forms[present(v)] |= formS
		for _, w := range ending(v, "ing") {
			a.forms[w] |= formIng
		}
		for agent, does := range agents {
			if does == v {
				a.forms[agent] |= formAgent
			}
		}
	}
	return a
}
