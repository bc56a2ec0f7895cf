package index

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// Number terms are in the order of the numbers and decode to the same number. Zero and negative
// zero have the same term.
func TestNumberTerms(t *testing.T) {
	r := rand.New(rand.NewPCG(72, 1))
	numbers := append(slices.Clone(nastyNumbers), math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, -5e-324)
	for _, n := range []float64{0, 1, -1} {
		numbers = append(numbers, math.Nextafter(n, math.Inf(1)))
	}
	for range 300 {
		numbers = append(numbers, math.Float64frombits(r.Uint64()), r.NormFloat64(), float64(r.IntN(100)-50))
	}
	numbers = slices.DeleteFunc(numbers, math.IsNaN)
	for _, a := range numbers {
		if got := termNumber(numberTerm(a)); got != a || a == 0 && math.Signbit(got) {
			t.Errorf("the term of %g is decoded as %g", a, got)
		}
		for _, b := range numbers {
			if cmp.Compare(a, b) != strings.Compare(numberTerm(a), numberTerm(b)) && a != b {
				t.Errorf("the terms of %g and %g are in the wrong order", a, b)
			}
			if (a == b) != (numberTerm(a) == numberTerm(b)) {
				t.Errorf("the terms of %g and %g are equal, or the numbers are", a, b)
			}
		}
	}
}

// Every text has its own term, and terms are in the order of the case-folded texts.
func TestTextTerms(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 1))
	texts := slices.Clone(nastyTexts)
	for range 150 {
		texts = append(texts, pick(r, nastyTexts)+pick(r, nastyTexts), strings.ToUpper(pick(r, nastyTexts)+"x"))
	}
	for _, a := range texts {
		if foldedText(textTerm(a)) != shape.Fold(a) {
			t.Errorf("%q folds to %q", a, foldedText(textTerm(a)))
		}
		for _, b := range texts {
			x, y := shape.Fold(a), shape.Fold(b)
			if x != y && strings.Compare(x, y) != strings.Compare(textTerm(a), textTerm(b)) {
				t.Errorf("%q and %q are not in the order of their folded texts", a, b)
			}
			if (a == b) != (textTerm(a) == textTerm(b)) {
				t.Errorf("%q and %q have the same term", a, b)
			}
			if (a == b) != (hashTerm(a) == hashTerm(b)) {
				t.Errorf("%q and %q have the same hash", a, b)
			}
		}
	}
}

// Prefixes end between letters, not inside of one.
func TestPrefixTerms(t *testing.T) {
	for word, want := range map[string][]string{
		"":     nil,
		"a":    {"a"},
		"ab":   {"a", "ab"},
		"abcd": {"a", "ab", "abc"},
		"日本語学": {"日", "日本", "日本語"},
		"äb":   {"ä", "äb"},
	} {
		var got []string
		eachPrefix(word, func(s string) { got = append(got, s) })
		if !slices.Equal(got, want) {
			t.Errorf("%q has the prefixes %q", word, got)
		}
		if isShort(word) != (len([]rune(word)) <= shortWord) {
			t.Errorf("%q is short: %t", word, isShort(word))
		}
	}
	for _, prefix := range nastyTexts[1:] {
		after := afterPrefix(prefix)
		for _, text := range nastyTexts {
			if strings.HasPrefix(text, prefix) != (text >= prefix && text < after) {
				t.Errorf("%q begins with %q, but is not between it and %q", text, prefix, after)
			}
		}
	}
}

// The signature of a kind depends on everything that its terms depend on.
func TestSignature(t *testing.T) {
	seen := map[uint64]string{things.signature(): "things"}
	for name, change := range map[string]func(f *filter.Field){
		"another key":  func(f *filter.Field) { f.Key += "x" },
		"another type": func(f *filter.Field) { f.Type = shape.TypeNumber },
		"long":         func(f *filter.Field) { f.Long = !f.Long },
		"grams":        func(f *filter.Field) { f.Grams = !f.Grams },
		"searched":     func(f *filter.Field) { f.Searched = !f.Searched },
	} {
		fields := *things.Kind
		fields.Fields = slices.Clone(fields.Fields)
		change(&fields.Fields[fieldPosition("name")])
		k := &Kind{Kind: &fields}
		if before, known := seen[k.signature()]; known {
			t.Errorf("%s has the signature of %s", name, before)
		}
		seen[k.signature()] = name
	}
}
