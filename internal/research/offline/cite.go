package offline

import (
	"strings"
	"unicode/utf8"
)

// evidenceMost is how many bytes of a text are cited at most.
const evidenceMost = 400

// cite gives a sentence as it stands; of a long one the part from where it was read.
func cite(text string, s sentence, from int) string {
	start := s.start
	if s.end-start > evidenceMost {
		start = from
	}
	return cut(strings.TrimSpace(text[start:s.end]))
}

// cut shortens a text to what is cited of it, between two characters.
func cut(text string) string {
	if len(text) <= evidenceMost {
		return text
	}
	end := evidenceMost
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
