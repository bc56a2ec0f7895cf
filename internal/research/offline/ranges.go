package offline

import (
	"math"
	"slices"
	"strings"
)

// span is a range of numbers, ends included where they are not said to be open.
type span struct {
	low, high         float64
	lowOpen, highOpen bool
	decade            bool
	bare              bool // a number alone, which may mean at least, about or exactly
}

func (s span) holds(f float64) bool {
	return (f > s.low || f == s.low && !s.lowOpen) && (f < s.high || f == s.high && !s.highOpen)
}

// sensible tells whether a range can be meant as it is written: not turned round, a year of four digits, a revenue not in millions
// that were left out.
func (n *numeric) sensible(s span) bool {
	ends := []float64{s.low, s.high}
	ends = slices.DeleteFunc(ends, func(f float64) bool { return math.IsInf(f, 0) })
	switch n.field {
	case "annual_revenue":
		if slices.Max(ends) < 1000 {
			return false
		}
	case "founded_year":
		if slices.Min(ends) < 1000 || slices.Max(ends) > 2999 || s.decade && math.Mod(s.low, 100) == 0 {
			return false
		}
	}
	return s.low <= s.high
}

// comparisons are how a question bounds a number; # stands for one, and the first that fits counts. Those below the year's
// line are of years alone.
var comparisons = []struct {
	words string
	span  func(a, b float64) span
}{
	{"between # and #", inside}, {"between # - #", inside}, {"from # to #", inside}, {"# to #", inside}, {"# - #", inside},
	{"no fewer than #", atLeast}, {"no less than #", atLeast}, {"not less than #", atLeast}, {"not fewer than #", atLeast}, {"at least #", atLeast},
	{"a minimum of #", atLeast}, {"# or more", atLeast}, {"# or above", atLeast}, {"#+", atLeast}, {"> = #", atLeast}, {"≥ #", atLeast},
	{"no more than #", atMost}, {"not more than #", atMost}, {"at most #", atMost}, {"up to #", atMost}, {"a maximum of #", atMost}, {"# or fewer", atMost},
	{"# or less", atMost}, {"< = #", atMost}, {"≤ #", atMost},
	{"more than #", over}, {"over #", over}, {"greater than #", over}, {"above #", over}, {"larger than #", over}, {"bigger than #", over}, {"exceed #", over},
	{"exceeds #", over}, {"exceeding #", over}, {"in excess of #", over}, {"> #", over},
	{"less than #", below}, {"fewer than #", below}, {"under #", below}, {"below #", below}, {"smaller than #", below}, {"< #", below},
	{"exactly #", exactly}, {"equal to #", exactly},
	{yearsFromHere, nil},
	{"in or after #", atLeast}, {"since #", atLeast}, {"# or later", atLeast}, {"no earlier than #", atLeast},
	{"in or before #", atMost}, {"# or earlier", atMost}, {"no later than #", atMost},
	{"after #", over}, {"later than #", over}, {"before #", below}, {"earlier than #", below}, {"prior to #", below},
	{"in the #s", decade}, {"in #", exactly},
}

const yearsFromHere = ""

func inside(a, b float64) span   { return span{low: a, high: b} }
func atLeast(a, _ float64) span  { return span{low: a, high: math.Inf(1)} }
func atMost(a, _ float64) span   { return span{low: math.Inf(-1), high: a} }
func over(a, _ float64) span     { return span{low: a, high: math.Inf(1), lowOpen: true} }
func below(a, _ float64) span    { return span{low: math.Inf(-1), high: a, highOpen: true} }
func exactly(a, _ float64) span  { return span{low: a, high: a} }
func decade(a, _ float64) span   { return span{low: a, high: a + 9, decade: true} }
func someBare(a, _ float64) span { return span{low: a, high: a, bare: true} }

// compared finds the comparison that words make, and gives what else they say. years lets those of years in.
func compared(ws []string, numbers []float64, years bool) (span, []string, bool) {
	for _, c := range comparisons {
		if c.words == yearsFromHere {
			if years {
				continue
			}
			break
		}
		pattern := strings.Fields(c.words)
		at := phraseAt(ws, pattern)
		if at < 0 {
			continue
		}
		rest := slices.Concat(ws[:at], ws[at+len(pattern):])
		return c.span(numbers[0], numbers[len(numbers)-1]), rest, strings.Count(c.words, "#") == len(numbers)
	}
	if at := slices.Index(ws, "#"); at >= 0 && len(numbers) == 1 {
		return someBare(numbers[0], 0), slices.Concat(ws[:at], ws[at+1:]), true
	}
	return span{}, ws, false
}

// rangeOf reads an allowed value as a range: 1-50, 51–200, 201+, <10, under 50, 1,000 or more, $1M-$10M, Small (1-50).
func rangeOf(value string, years bool) (span, bool) {
	for _, dash := range []string{"–", "—", "−", " - ", " – ", " — "} {
		value = strings.ReplaceAll(value, dash, "-")
	}
	if _, inner, is := strings.Cut(value, "("); is {
		inner, _, _ = strings.Cut(inner, ")")
		if strings.ContainsAny(inner, "0123456789") {
			value = inner
		}
	}
	if label, after, is := strings.Cut(value, ":"); is && !strings.ContainsAny(label, "0123456789") {
		value = after
	}
	value = strings.NewReplacer("-", " - ", "$", "", "€", "", "£", "").Replace(value)
	tokens := words(value)
	ws, numbers := numbered(tokens)
	if i := phraseAt(ws, []string{"#", "#"}); i >= 0 && len(numbers) == 2 && strings.Contains(value, " - ") {
		ws = slices.Insert(ws, i+1, "-")
	}
	if unit := unitShared(tokens); len(numbers) == 2 && numbers[0]*unit < numbers[1] {
		numbers[0] *= unit
	}
	n, rest := numericIn(ws)
	s, rest, ok := compared(rest, numbers, years || n != nil && n.field == "founded_year")
	return s, ok && s.low <= s.high && only(rest, nil)
}

// commonUnit is the unit that the first number of a range takes from the second, as in 1-10M.
func commonUnit(first string, second []token) float64 {
	if strings.Trim(first, "0123456789.") != "" {
		return 1
	}
	digits := strings.TrimRight(second[0].word, "abcdefghijklmnopqrstuvwxyz")
	if unit := units[second[0].word[len(digits):]]; unit > 1 {
		return unit
	}
	if len(second) > 1 && unitWords[second[1].word] > 0 {
		return unitWords[second[1].word]
	}
	return 1
}

// unitShared is the unit that the first of two numbers may take from the second, 1 when it takes none.
func unitShared(ts []token) float64 {
	at := func(t token) bool { _, is := number(t.word); return is }
	first := slices.IndexFunc(ts, at)
	if first < 0 || first+1 >= len(ts) || unitWords[ts[first+1].word] > 0 {
		return 1
	}
	second := slices.IndexFunc(ts[first+1:], at)
	if second < 0 {
		return 1
	}
	return commonUnit(ts[first].word, ts[first+1+second:])
}
