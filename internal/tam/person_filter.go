package tam

import (
	"slices"
	"strings"

	"prospector/internal/shape"
)

// personFilter decides which people of a company become members.
type personFilter struct {
	include, exclude, search [][]string // keywords, split into words
	enrichment               *TitleEnrichment
	criterias                []string // of the enrichment, folded
	seniority                string
	countries                map[string]bool // folded
}

func newPersonFilter(r *PreviewRequest) *personFilter {
	in := r.search()
	f := &personFilter{
		include: splitKeywords(r.ContactFilters.IncludeKeywords), exclude: splitKeywords(r.ContactFilters.ExcludeKeywords),
		search: splitKeywords(in.TitleSearch), seniority: string(r.ContactFilters.Seniority),
	}
	if e := in.TitleEnrichment; e != nil && len(e.Criterias) > 0 {
		f.enrichment = e
		for _, c := range e.Criterias {
			f.criterias = append(f.criterias, shape.Fold(c))
		}
	}
	for _, country := range r.ContactFilters.Countries {
		if f.countries == nil {
			f.countries = map[string]bool{}
		}
		f.countries[shape.Fold(country)] = true
	}
	return f
}

func splitKeywords(keywords []string) [][]string {
	var list [][]string
	for _, keyword := range keywords {
		list = append(list, shape.Words(keyword))
	}
	return list
}

// match reports whether a person satisfies all conditions.
func (f *personFilter) match(p *sourcePerson) bool {
	if f.seniority != "" && p.seniority != f.seniority || f.countries != nil && !f.countries[shape.Fold(p.country)] {
		return false
	}
	if f.include == nil && f.exclude == nil && f.search == nil && f.enrichment == nil {
		return true
	}
	words := shape.Words(p.title)
	return (f.include == nil || hasAny(words, f.include)) && !hasAny(words, f.exclude) &&
		(f.search == nil || hasAny(words, f.search)) && f.matchEnrichment(p.title)
}

func hasAny(words []string, keywords [][]string) bool {
	return slices.ContainsFunc(keywords, func(keyword []string) bool { return hasPhrase(words, keyword) })
}

// hasPhrase reports whether the words of a phrase occur one after the other.
func hasPhrase(words, phrase []string) bool {
	for ; len(words) >= len(phrase); words = words[1:] {
		if slices.Equal(words[:len(phrase)], phrase) {
			return true
		}
	}
	return false
}

func (f *personFilter) matchEnrichment(title string) bool {
	if f.enrichment == nil {
		return true
	}
	folded := shape.Fold(title)
	switch contains := func(c string) bool { return strings.Contains(folded, c) }; f.enrichment.Condition {
	case "is":
		return slices.Contains(f.criterias, folded)
	case "contains":
		return slices.ContainsFunc(f.criterias, contains)
	default:
		return !slices.ContainsFunc(f.criterias, contains)
	}
}
