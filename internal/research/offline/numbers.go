package offline

import (
	"slices"
	"strconv"
	"strings"

	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// numeric is a numeric field, the phrases that name it, and the words that may stand beside them in a question about it.
type numeric struct {
	field   string
	of      func(*catalog.Company) shape.Number
	phrases []string
	beside  map[string]bool
}

// besideAny are words that say nothing more in a question about a field.
var besideAny = set(`what which is are does do has have it its they their the a an this company business organization organisation firm account
	please currently now today of`)

var numerics = []*numeric{
	{"employee_count", func(c *catalog.Company) shape.Number { return positive(c.EmployeeCount) }, []string{
		"number of employees", "employee count", "employee headcount", "team members", "staff members", "company size", "team size", "head count",
		"employees", "employee", "headcount", "staff", "workforce", "workers", "personnel", "ftes", "fte", "people", "person",
	}, set("how many much big large number total in there work works working for at on employ employs employed size range with worldwide globally overall")},
	{"annual_revenue", func(c *catalog.Company) shape.Number { return positive(c.AnnualRevenue) }, []string{
		"annual revenue", "annual revenues", "yearly revenue", "annual turnover", "yearly turnover", "annual sales", "revenue", "revenues", "turnover",
	}, set("how much high large big in total make makes generate generates earn earns report reports with usd dollars eur euros year per range worldwide globally overall")},
	{"founded_year", func(c *catalog.Company) shape.Number { return positive(c.FoundedYear) }, []string{
		"founding year", "year founded", "founded year", "year of foundation", "year of establishment", "founded", "established",
	}, set("when in year what that been was were did")},
}

// positive leaves out 0, which stands for unknown in many tables.
func positive(n shape.Number) shape.Number {
	if n.Float <= 0 {
		return shape.Number{}
	}
	return n
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

// others tells whether words speak of others than the company and what it has: whom it works with or for, what each account brings in.
func others(ws []string) bool {
	for i, w := range ws {
		before, next := "", ""
		if i > 0 {
			before = ws[i-1]
		}
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		firm := before == "it" || before == "they" || subjects[before]
		switch w {
		case "work", "works", "working":
			if firm || next == "with" || next == "on" {
				return true
			}
		case "with":
			if i > 0 && !subjects[before] {
				return true
			}
		case "per":
			if next != "year" {
				return true
			}
		case "business":
			if before == "do" || next == "people" || next == "person" {
				return true
			}
		case "how":
			if !amounts[next] {
				return true
			}
		}
	}
	return false
}

var amounts = set("many much big large high")

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
