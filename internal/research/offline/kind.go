package offline

import (
	"slices"
	"strings"
)

var (
	// provided are what a company of that industry does provide; of another it may only have to do with it.
	provided = set("software consulting")
	// heads are industries that stay what they are whatever stands before them.
	heads = set(`software hardware services consulting insurance furniture clothing apparel machinery retail manufacturing wholesale logistics construction education
		energy banking`)
	// bodies are what a company can be; as keywords they are mostly whom it works for, or what it is good at.
	bodies = set(`bank agency startup start-up enterprise customer client partner public private listed government nonprofit non-profit charity ngo school university college
		hospital clinic restaurant hotel airline retailer store shop family social remote growing small smb sme smes large global company business employer
		hiring recruiting brand subsidiary investor fund partnership free profitable certified accredited licensed regulated sustainable local`)
)

// kind judges by industry, sub_industry and, if they are asked for, keywords what a company is.
func (f *facts) kind(what []token, keywords bool) finding {
	for _, in := range []struct{ name, value string }{{"industry", string(f.c.Industry)}, {"sub_industry", string(f.c.SubIndustry)}} {
		if industryIs(f.words(in.value), what) {
			return f.field(yes, in.name, in.value)
		}
	}
	if !keywords || len(what) == 0 || body(what[len(what)-1].word) || bodies[strings.Join(plain(what), "-")] {
		return unsure(notInCatalog)
	}
	for _, k := range f.c.Keywords {
		if same(f.words(k), what, false) {
			return f.field(yes, "keywords", k)
		}
	}
	return unsure(notInCatalog)
}

// industryIs tells whether an industry is the one that is asked for. The last words will do where those before them only narrow
// it down.
func industryIs(value, what []token) bool {
	if n := len(value); n > 1 && value[n-1].word == "development" && value[n-2].word == "software" {
		value = value[:n-1]
	}
	from := len(value) - len(what)
	if len(what) == 0 || from < 0 || !same(value[from:], what, true) {
		return false
	}
	return from == 0 || heads[value[len(value)-1].word] && one(value)
}

// body tells whether a word says what somebody is rather than what he is in.
func body(w string) bool {
	return bodies[singular(w)] || bodies[w] || agents[w] != "" || strings.HasSuffix(w, "er") || strings.HasSuffix(w, "or")
}

// one tells whether an industry names one thing.
func one(value []token) bool {
	return !slices.ContainsFunc(value[1:], func(t token) bool {
		return separators[t.word] || t.join > hyphened || prepositions[t.word] || privative[t.word]
	}) && !doubtful(value[0].word)
}

func (f *facts) keyword(word string) finding {
	for _, k := range f.c.Keywords {
		if strings.EqualFold(strings.TrimSpace(k), word) {
			return f.field(yes, "keywords", k)
		}
	}
	return unsure(notInCatalog)
}
