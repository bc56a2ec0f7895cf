package tam

import (
	"slices"
	"strings"

	"prospector/internal/shape"
)

// personFilter decides which people of the companies are members.
type personFilter struct {
	include, exclude, search [][]string // keywords, as their words
	enrichment               *TitleEnrichment
	criterias                []string // of the enrichment, folded
	seniority                string
	countries                map[string]bool // folded
}

func newPersonFilter(r *PreviewRequest) *personFilter {
	in := r.search()
	f := &personFilter{
		include: keywords(r.ContactFilters.IncludeKeywords), exclude: keywords(r.ContactFilters.ExcludeKeywords), search: keywords(in.TitleSearch),
		seniority: string(r.ContactFilters.Seniority),
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

func keywords(texts []string) [][]string {
	var list [][]string
	for _, text := range texts {
		list = append(list, shape.Words(text))
	}
	return list
}

// match decides on a person.
func (f *personFilter) match(p *sourcePerson) bool {
	if f.seniority != "" && p.seniority != f.seniority || f.countries != nil && !f.countries[shape.Fold(p.country)] {
		return false
	}
	if f.include == nil && f.exclude == nil && f.search == nil && f.enrichment == nil {
		return true
	}
	words := shape.Words(p.title)
	return (f.include == nil || hasAny(words, f.include)) && !hasAny(words, f.exclude) &&
		(f.search == nil || hasAny(words, f.search)) && f.enriched(p.title)
}

func hasAny(words []string, keywords [][]string) bool {
	return slices.ContainsFunc(keywords, func(keyword []string) bool { return hasPhrase(words, keyword) })
}

// hasPhrase tells whether the words of a phrase stand one after the other.
func hasPhrase(words, phrase []string) bool {
	for ; len(words) >= len(phrase); words = words[1:] {
		if slices.Equal(words[:len(phrase)], phrase) {
			return true
		}
	}
	return false
}

func (f *personFilter) enriched(title string) bool {
	if f.enrichment == nil {
		return true
	}
	folded := shape.Fold(title)
	switch within := func(c string) bool { return strings.Contains(folded, c) }; f.enrichment.Condition {
	case "is":
		return slices.Contains(f.criterias, folded)
	case "contains":
		return slices.ContainsFunc(f.criterias, within)
	default:
		return !slices.ContainsFunc(f.criterias, within)
	}
}
