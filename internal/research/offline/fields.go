package offline

import (
	"slices"
	"strings"
)

// named fields are the fields of text, the phrases that name each, and the words that may stand beside them.
var namedFields = []struct {
	field   string
	phrases []string
	beside  map[string]bool
}{
	{"sub_industry", []string{"sub industry", "subindustry", "sub industries", "sub sector", "subsector"}, set("in operate operates belong belongs to work works active main primary")},
	{"industry", []string{"industry", "industries", "sector"}, set("in operate operates belong belongs to work works active main primary")},
	{"technologies", []string{"technologies", "technology stack", "tech stack", "technology"}, set("in use uses used run runs rely relies on with work works list by")},
	{"keywords", []string{"keywords"}, set("describe describes list")},
	{"country", []string{"country"}, set("in based located headquartered headquarters hq from at")},
	{"location", []string{"location", "city", "headquarters", "where"}, set("in based located headquartered headquarters hq from at where")},
	{"website", []string{"website", "web site", "domain", "homepage", "home page", "url", "web address"}, nil},
	{"linkedin_url", []string{"linkedin url", "linkedin page", "linkedin profile", "linkedin"}, nil},
	{"phone_number", []string{"phone number", "telephone number", "phone", "telephone"}, set("at")},
	{"description", []string{"description"}, nil},
	{"name", []string{"company name", "name"}, nil},
}

// fieldNamed is the field that words name, and nothing beside it that would make it another question; empty when they name none.
func fieldNamed(ws []string, beside map[string]bool) string {
	for _, f := range namedFields {
		for _, p := range f.phrases {
			phrase := strings.Fields(p)
			at := phraseAt(ws, phrase)
			if at < 0 {
				continue
			}
			if others(ws) {
				return ""
			}
			rest := slices.Concat(ws[:at], ws[at+len(phrase):])
			if !slices.ContainsFunc(rest, func(w string) bool { return !besideAny[w] && !f.beside[w] && !beside[w] }) {
				return f.field
			}
		}
	}
	return ""
}
