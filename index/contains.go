package index

import (
	"strings"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// Rules that search for a text in a long field are evaluated together, because each of them alone
// would walk the whole dictionary of the field or read the same records again.

// maxFoundBytes limits the memory of the results that an evaluator keeps for rules that it has not
// reached yet.
const maxFoundBytes = 16 << 20

// needleOf identifies a search for a text in a field.
type needleOf struct{ field, text string }

// needle returns what a rule searches for in a long field, and whether it may span several words. ok
// is false for other rules.
func needle(r *filter.Rule) (key needleOf, isPhrase, ok bool) {
	if r == nil || !r.Field.Long || !r.SearchesText() || len(r.Texts) == 0 {
		return needleOf{}, false, false
	}
	return needleOf{r.Field.Name, r.Texts[0]}, strings.ContainsFunc(r.Texts[0], isSeparator), true
}

// maxFound returns how many results an evaluator keeps.
func (e *evaluator) maxFound() int { return max(1, maxFoundBytes/(8*len(newSet(e.size))+1)) }

// addLongContaining adds the documents whose long text contains the operand of the rule. A long
// field has no column, but its words are terms. A needle without a separator can only be inside of a
// word, so the terms decide. For any other needle records are read.
func (e *evaluator) addLongContaining(r *filter.Rule, in, out docSet) {
	key, isPhrase, _ := needle(r)
	if !isPhrase {
		out.or(e.withWordContaining(key))
		return
	}
	if found, ok := e.phrases[key]; ok {
		out.or(found)
		return
	}
	e.readPhrases([]*filter.Rule{r}, in, func(_ int, doc uint32) { out.add(doc) })
}

// withWordContaining returns the documents with a word that contains the needle. It also searches
// for the needles that the rest of the plan has for the field. The result is read-only.
func (e *evaluator) withWordContaining(key needleOf) docSet {
	if found, ok := e.words[key]; ok {
		return found
	}
	needles := []string{key.text}
	seen := map[string]bool{key.text: true}
	eachRule(&e.plan.Filter, func(r *filter.Rule) {
		other, isPhrase, ok := needle(r)
		if ok && !isPhrase && other.field == key.field && !seen[other.text] && e.words[other] == nil && len(needles) < e.maxFound() {
			seen[other.text] = true
			needles = append(needles, other.text)
		}
	})
	if e.words == nil || len(e.words)+len(needles) > e.maxFound() {
		e.words = map[needleOf]docSet{}
	}
	sets := make([]docSet, len(needles))
	for i, text := range needles {
		sets[i] = newSet(e.size)
		e.words[needleOf{key.field, text}] = sets[i]
	}
	reader, search := e.reader(key.field), newNeedleSearch(needles)
	for it := reader.terms("", ""); ; {
		e.check()
		entry, err := it.Next()
		must(err)
		if entry == nil {
			return sets[0]
		}
		matches := search.in(entry.Term)
		if len(matches) == 0 {
			continue
		}
		docs := reader.postings(entry.Term)
		for _, n := range matches {
			docs.addTo(sets[n])
		}
	}
}

// eachRule calls fn for every rule of a filter.
func eachRule(f *filter.Filter, fn func(*filter.Rule)) {
	if f.Rule != nil {
		fn(f.Rule)
	}
	for i := range f.Filters {
		eachRule(&f.Filters[i], fn)
	}
}

// needleSearch finds which of many needles a text contains, in one pass over the text.
type needleSearch struct {
	needles []string
	byte1   [256][]int32       // needles of one byte
	byte2   map[uint16][]int32 // longer needles, by their first two bytes
	begins  [1 << 13]uint64    // for each two bytes, a bit: whether a needle begins with them

	found []int32
	last  []int // for each needle: the number of the text that it was last found in
	texts int
}

func newNeedleSearch(needles []string) *needleSearch {
	s := &needleSearch{needles: needles, byte2: map[uint16][]int32{}, last: make([]int, len(needles))}
	for i, needle := range needles {
		if len(needle) == 1 {
			s.byte1[needle[0]] = append(s.byte1[needle[0]], int32(i))
			continue
		}
		pair := uint16(needle[0])<<8 | uint16(needle[1])
		s.byte2[pair] = append(s.byte2[pair], int32(i))
		s.begins[pair>>6] |= 1 << (pair & 63)
	}
	return s
}

// in returns the needles that the text contains. The result is valid until the next call.
func (s *needleSearch) in(text string) []int32 {
	s.found = s.found[:0]
	s.texts++
	add := func(n int32) {
		if s.last[n] != s.texts {
			s.last[n] = s.texts
			s.found = append(s.found, n)
		}
	}
	for i := range len(text) {
		for _, n := range s.byte1[text[i]] {
			add(n)
		}
		if i+1 == len(text) {
			break
		}
		pair := uint16(text[i])<<8 | uint16(text[i+1])
		if s.begins[pair>>6]>>(pair&63)&1 == 0 {
			continue
		}
		for _, n := range s.byte2[pair] {
			if strings.HasPrefix(text[i:], s.needles[n]) {
				add(n)
			}
		}
	}
	return s.found
}

// findPhrases searches for the phrases of several filters at once, and keeps the results in
// e.phrases. They are complete for the documents of in, and therefore for filters inside of these.
func (e *evaluator) findPhrases(filters []*filter.Filter, in docSet) {
	var rules []*filter.Rule
	seen := map[needleOf]bool{}
	for _, f := range filters {
		for f.Rule == nil && len(f.Filters) == 1 {
			f = &f.Filters[0]
		}
		if key, isPhrase, ok := needle(f.Rule); ok && isPhrase && !seen[key] && e.phrases[key] == nil && len(rules) < e.maxFound() {
			seen[key] = true
			rules = append(rules, f.Rule)
		}
	}
	if len(rules) < 2 {
		return
	}
	sets := make([]docSet, len(rules))
	found := make(map[needleOf]docSet, len(rules))
	for i, r := range rules {
		sets[i] = newSet(e.size)
		found[needleOf{r.Field.Name, r.Texts[0]}] = sets[i]
	}
	e.readPhrases(rules, in, func(i int, doc uint32) { sets[i].add(doc) })
	e.phrases = found
}

// readPhrases reads the records of in that may contain the phrase of a rule, each once, and calls
// found for every rule and document that match.
func (e *evaluator) readPhrases(rules []*filter.Rule, in docSet, found func(rule int, doc uint32)) {
	candidates := make([]docSet, len(rules))
	any := newSet(e.size)
	for i, r := range rules {
		e.check()
		candidates[i] = e.phraseCandidates(r, in)
		any.or(candidates[i])
	}
	any.each(func(doc uint32) {
		e.check()
		row := e.row(doc)
		for i, r := range rules {
			if candidates[i].has(doc) && r.MatchContains(row.Value(r.Field)) {
				found(i, doc)
			}
		}
	})
}

// phraseCandidates returns the documents of in that have the inner words of a phrase and a word that
// begins with its last.
func (e *evaluator) phraseCandidates(r *filter.Rule, in docSet) docSet {
	f, phrase := r.Field, r.Texts[0]
	in = narrow(in, e.withValue(f))
	for rest := phrase[strings.IndexFunc(phrase, isSeparator):]; ; {
		start := strings.IndexFunc(rest, shape.InWord)
		if start < 0 {
			return in
		}
		rest = rest[start:]
		end := strings.IndexFunc(rest, isSeparator)
		if end < 0 {
			return narrow(in, e.withPrefix(f.Name, rest))
		}
		has := newSet(e.size)
		e.term(f.Name, rest[:end], has)
		in = narrow(in, has)
		rest = rest[end:]
	}
}

func isSeparator(r rune) bool { return !shape.InWord(r) }
