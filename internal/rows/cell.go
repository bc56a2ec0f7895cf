package rows

import (
	"slices"
	"strings"
	"unicode"
)

// formulaStarts are what spreadsheets take for the beginning of a formula, or skip before one. The apostrophe is among them
// so that whoever takes one away again knows that it was put there.
var formulaStarts = []rune{'=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n', '|', '%', '\''}

func beginsFormula(text string) bool {
	bare := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) && !slices.Contains(formulaStarts, r) })
	for _, first := range bare {
		return slices.Contains(formulaStarts, first)
	}
	return false
}

// Guard puts an apostrophe before a text that a spreadsheet would take for a formula, which keeps it a text.
func EscapeFormula(text string) string {
	if beginsFormula(text) {
		return "'" + text
	}
	return text
}

// Unguard takes away the apostrophe that Guard put before a text, or a spreadsheet for the same reason.
func UnescapeFormula(text string) string {
	if rest, has := strings.CutPrefix(text, "'"); has && beginsFormula(rest) {
		return rest
	}
	return text
}

// Split gives the entries of a cell that holds a list, with the spaces around them.
func Split(cell string) []string {
	entries := strings.FieldsFunc(cell, func(r rune) bool { return r == '|' || r == ';' })
	return slices.DeleteFunc(entries, func(entry string) bool { return strings.TrimSpace(entry) == "" })
}
