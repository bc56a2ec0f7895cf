package rows

import (
	"slices"
	"strings"
	"unicode"
)

// formulaStarts are the characters that spreadsheets treat as the start of a formula, or skip
// before one. The apostrophe is included, so that UnescapeFormula can tell an added apostrophe from
// an original one.
var formulaStarts = []rune{'=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n', '|', '%', '\''}

func beginsFormula(text string) bool {
	isPlainSpace := func(r rune) bool { return unicode.IsSpace(r) && !slices.Contains(formulaStarts, r) }
	bare := strings.TrimLeftFunc(text, isPlainSpace)
	for _, first := range bare {
		return slices.Contains(formulaStarts, first)
	}
	return false
}

// EscapeFormula puts an apostrophe before a text that a spreadsheet would run as a formula.
func EscapeFormula(text string) string {
	if beginsFormula(text) {
		return "'" + text
	}
	return text
}

// UnescapeFormula removes the apostrophe that EscapeFormula, or a spreadsheet, put before a text.
func UnescapeFormula(text string) string {
	if rest, has := strings.CutPrefix(text, "'"); has && beginsFormula(rest) {
		return rest
	}
	return text
}

// Split returns the entries of a cell that holds a list. It keeps spaces around entries.
func Split(cell string) []string {
	entries := strings.FieldsFunc(cell, func(r rune) bool { return r == '|' || r == ';' })
	return slices.DeleteFunc(entries, func(entry string) bool { return strings.TrimSpace(entry) == "" })
}
