package match

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed legal_forms.txt
var legalFormTable []byte

// legalForms returns the words of the legal forms, by their first word and by their last one. The longest are first.
var legalForms = sync.OnceValue(func() map[string][][]string {
	forms := map[string][][]string{}
	readTable(legalFormTable, func(line string) {
		form := companyWords(line)
		for _, at := range []string{"^" + form[0], "$" + form[len(form)-1]} {
			forms[at] = append(forms[at], form)
		}
	})
	for _, all := range forms {
		slices.SortStableFunc(all, func(a, b []string) int { return len(b) - len(a) })
	}
	return forms
})

// Company returns the name of a company in the form in which it is compared, without its legal form, and the legal form.
func Company(name string) (bare, form string) {
	words := companyWords(name)
	var found []string
	for len(words) > 1 {
		if f := legalFormOf(words, "$"+words[len(words)-1]); f != nil {
			words, found = words[:len(words)-len(f)], append(f[:len(f):len(f)], found...)
		} else if f := legalFormOf(words, "^"+words[0]); f != nil && len(found) == 0 {
			words, found = words[len(f):], f
		} else {
			break
		}
	}
	return strings.Join(words, " "), strings.Join(found, " ")
}

// legalFormOf returns the longest legal form at the end of a name, or at its beginning, which does not leave it empty.
func legalFormOf(words []string, at string) []string {
	for _, form := range legalForms()[at] {
		if len(form) >= len(words) {
			continue
		}
		if at[0] == '$' && slices.Equal(words[len(words)-len(form):], form) || at[0] == '^' && slices.Equal(words[:len(form)], form) {
			return form
		}
	}
	return nil
}

// conjunctions mean &.
var conjunctions = map[string]bool{"and": true, "und": true, "et": true, "y": true, "e": true, "og": true, "och": true, "en": true}

// companyWords returns the folded words of the name of a company. Dots and apostrophes belong to a word, so that S.A. is
// one.
func companyWords(name string) []string {
	name = strings.NewReplacer(".", "", "'", "", "&", " & ", "+", " & ").Replace(Fold(name))
	words := strings.FieldsFunc(name, func(r rune) bool {
		return r != '&' && r != '/' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	for i, w := range words {
		if conjunctions[w] && i > 0 && i < len(words)-1 {
			words[i] = "&"
		}
	}
	if len(words) > 1 && words[0] == "the" {
		words = words[1:]
	}
	return words
}
