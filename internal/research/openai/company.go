package openai

import (
	"math"
	"slices"
	"unicode/utf8"

	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// maxCompanyLength is how many characters of a company are sent.
const maxCompanyLength = 8000

// entryOverhead is how many characters an entry of a list takes in addition to its own: quotes and
// a comma.
const entryOverhead = 3

// truncateCompany returns a copy of a company for the prompt. It omits the id and truncates the
// longest fields, so that all fields together have at most maxCompanyLength characters.
func truncateCompany(c *catalog.Company) *catalog.Company {
	cut := *c
	cut.ID = ""
	texts := []*shape.Text{
		&cut.Website, &cut.Industry, &cut.SubIndustry, &cut.Description,
		&cut.Country, &cut.Location, &cut.LinkedinURL, &cut.PhoneNumber,
	}
	lists := []*[]string{&cut.Keywords, &cut.Technologies}

	lengths := []int{utf8.RuneCountInString(cut.Name)}
	for _, t := range texts {
		lengths = append(lengths, utf8.RuneCountInString(string(*t)))
	}
	for _, list := range lists {
		length := 0
		for _, entry := range *list {
			length += utf8.RuneCountInString(entry) + entryOverhead
		}
		lengths = append(lengths, length)
	}
	limit := fairShare(lengths, maxCompanyLength)
	cut.Name = truncate(cut.Name, limit)
	for _, t := range texts {
		*t = shape.Text(truncate(string(*t), limit))
	}
	for _, list := range lists {
		*list = truncateList(*list, limit)
	}
	return &cut
}

// fairShare returns the length to which the longer parts must be truncated so that all parts
// together have at most limit characters.
func fairShare(lengths []int, limit int) int {
	slices.Sort(lengths)
	for i, length := range lengths {
		share := limit / (len(lengths) - i)
		if length > share {
			return share
		}
		limit -= length
	}
	return math.MaxInt
}

// truncate returns at most limit characters of a text. An ellipsis at the end shows that something
// is missing.
func truncate(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n++; n >= limit {
			return s[:i] + "…"
		}
	}
	return ""
}

// truncateList truncates a list likewise. The result is nil if it is empty.
func truncateList(list []string, limit int) []string {
	var first []string
	for _, entry := range list {
		room := limit - entryOverhead
		if room <= 0 {
			break
		}
		entry = truncate(entry, room)
		first = append(first, entry)
		limit = room - utf8.RuneCountInString(entry)
	}
	return first
}
