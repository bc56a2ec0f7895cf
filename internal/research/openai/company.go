package openai

import (
	"math"
	"slices"
	"unicode/utf8"

	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// openAIDataMost is how many characters of a company are sent.
const maxCompanyLength = 8000

// openAIEntryMore is how many characters an entry of a list takes beside its own: quotes and a comma.
const entryOverhead = 3

// openAICut is what is sent of a company: all but its id, and of the longest fields only so much that all together have at most
// openAIDataMost characters.
func truncateCompany(c *catalog.Company) *catalog.Company {
	cut := *c
	cut.ID = ""
	texts := []*shape.Text{&cut.Website, &cut.Industry, &cut.SubIndustry, &cut.Description, &cut.Country, &cut.Location, &cut.LinkedinURL, &cut.PhoneNumber}
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
	most := fairShare(lengths, maxCompanyLength)
	cut.Name = truncate(cut.Name, most)
	for _, t := range texts {
		*t = shape.Text(truncate(string(*t), most))
	}
	for _, list := range lists {
		*list = truncateList(*list, most)
	}
	return &cut
}

// openAIShare is how long a part may be so that all together are no longer than most, if the longer ones are cut to it.
func fairShare(lengths []int, most int) int {
	slices.Sort(lengths)
	for i, length := range lengths {
		share := most / (len(lengths) - i)
		if length > share {
			return share
		}
		most -= length
	}
	return math.MaxInt
}

// openAIFirst is the beginning of a text, of at most so many characters; its end shows that something is missing.
func truncate(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n >= most {
			return s[:i] + "…"
		}
	}
	return ""
}

// openAIFirstOf is the beginning of a list likewise; nil when it is empty.
func truncateList(list []string, most int) []string {
	var first []string
	for _, entry := range list {
		room := most - entryOverhead
		if room <= 0 {
			break
		}
		entry = truncate(entry, room)
		first = append(first, entry)
		most = room - utf8.RuneCountInString(entry)
	}
	return first
}
