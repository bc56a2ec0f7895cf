package research

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"prospector/internal/shape"
	"prospector/internal/tam"
)

// numeric is a numeric field, the phrases that name it, and the words that may stand beside them in a question about it.
type numeric struct {
	field   string
	of      func(*tam.Company) shape.Number
	phrases []string
	beside  map[string]bool
}

// besideAny are words that say nothing more in a question about a field.
var besideAny = set(`what which is are was were does do did has have it its they their the a an this company business organization organisation firm account
	please tell me us currently now today of`)

var numerics = []*numeric{
	{"employee_count", func(c *tam.Company) shape.Number { return c.EmployeeCount }, []string{
		"number of employees", "employee count", "employee headcount", "team members", "staff members", "company size", "team size", "head count",
		"employees", "employee", "headcount", "staff", "workforce", "workers", "personnel", "ftes", "fte", "people", "person",
	}, set("how many much big large number total in there work works working for at on employ employs employed size with")},
	{"annual_revenue", func(c *tam.Company) shape.Number { return c.AnnualRevenue }, []string{
		"annual revenue", "annual revenues", "yearly revenue", "annual turnover", "yearly turnover", "annual sales", "revenue", "revenues", "turnover",
	}, set("how much high large big in total make makes generate generates earn earns report reports with usd dollars eur euros year per")},
	{"founded_year", func(c *tam.Company) shape.Number { return c.FoundedYear }, []string{
		"founding year", "year founded", "founded year", "year of foundation", "year of establishment", "founded", "established",
	}, set("when in year what that been")},
}

// numericIn finds the one numeric field that words name, and gives what else they say.
func numericIn(ws []string) (*numeric, []string) {
	for _, n := range numerics {
		for _, p := range n.phrases {
			if at := phraseAt(ws, strings.Fields(p)); at >= 0 {
				return n, slices.Concat(ws[:at], ws[at+len(strings.Fields(p)):])
			}
		}
	}
	return nil, ws
}

func phraseAt(ws, phrase []string) int {
	for i := 0; i+len(phrase) <= len(ws); i++ {
		if slices.Equal(ws[i:i+len(phrase)], phrase) {
			return i
		}
	}
	return -1
}

// only tells whether all words are among those that may stand beside the name of a field.
func only(ws []string, beside map[string]bool) bool {
	return !slices.ContainsFunc(ws, func(w string) bool { return !besideAny[w] && !beside[w] })
}

// number reads 200, 1,200, 1.5, 5k, 5M, 1.5bn and small numbers in words. A form that other countries read otherwise is none.
func number(w string) (float64, bool) {
	if i := slices.Index(numberWords, w); i >= 0 {
		return float64(i + 1), true
	}
	digits := strings.TrimRight(w, "abcdefghijklmnopqrstuvwxyz")
	unit, ok := units[w[len(digits):]]
	if digits == "" || !ok {
		return 0, false
	}
	whole, fraction, dotted := strings.Cut(digits, ".")
	if dotted && (fraction == "" || len(fraction) == 3 && unit == 1) {
		return 0, false
	}
	if groups := strings.Split(whole, ","); len(groups) > 1 {
		for i, g := range groups {
			if i > 0 && len(g) != 3 || i == 0 && (g == "" || len(g) > 3) {
				return 0, false
			}
		}
		whole = strings.Join(groups, "")
	}
	if strings.Trim(whole+fraction, "0123456789") != "" || whole == "" || len(whole)+len(fraction) > 15 {
		return 0, false
	}
	if dotted {
		whole += "." + fraction
	}
	f, err := strconv.ParseFloat(whole, 64)
	return f * unit, err == nil
}

var (
	numberWords = strings.Fields("one two three four five six seven eight nine ten eleven twelve")
	units       = map[string]float64{"": 1, "k": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "bn": 1e9, "b": 1e9}
	unitWords   = map[string]float64{"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "k": 1e3, "m": 1e6, "bn": 1e9, "mn": 1e6}
)

// span is a range of numbers, ends included where they are not said to be open.
type span struct {
	low, high         float64
	lowOpen, highOpen bool
	bare              bool // a number alone, which may mean at least, about or exactly
}

func (s span) holds(f float64) bool {
	return (f > s.low || f == s.low && !s.lowOpen) && (f < s.high || f == s.high && !s.highOpen)
}

// comparisons are how a question bounds a number; # stands for one, and the first that fits counts. Those below the year's
// line are of years alone.
var comparisons = []struct {
	words string
	span  func(a, b float64) span
}{
	{"between # and #", inside}, {"from # to #", inside}, {"# to #", inside}, {"# - #", inside},
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
func decade(a, _ float64) span   { return span{low: a, high: a + 9} }
func someBare(a, _ float64) span { return span{low: a, high: a, bare: true} }

// numbered gives the words of a text with # for each number, and the numbers.
func numbered(tokens []token) (ws []string, numbers []float64) {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		w, plus := strings.CutSuffix(t.word, "+")
		f, ok := number(w)
		mark := "#"
		if years, is := strings.CutSuffix(w, "s"); !ok && is && len(years) == 4 {
			f, ok = number(years)
			mark = "#s"
		}
		if !ok {
			ws = append(ws, t.word)
			continue
		}
		if i+1 < len(tokens) && tokens[i+1].join == spaced {
			if unit := unitWords[tokens[i+1].word]; unit > 0 {
				f *= unit
				i++
			}
		}
		if plus {
			mark = "#+"
		}
		if t.join == hyphened && len(ws) > 0 && ws[len(ws)-1] == "#" {
			ws = append(ws, "-")
		}
		ws, numbers = append(ws, mark), append(numbers, f)
	}
	return ws, numbers
}

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
func rangeOf(value string) (span, bool) {
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
		if numbers[0] *= commonUnit(tokens[i].word, tokens[i+1:]); numbers[0] > numbers[1] {
			return span{}, false
		}
	}
	n, rest := numericIn(ws)
	s, rest, ok := compared(rest, numbers, n != nil && n.field == "founded_year")
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
