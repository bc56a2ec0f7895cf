package rows

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// factors are the abbreviations and words for powers of ten, in lower case.
var factors = map[string]float64{
	"k": 1e3, "tsd": 1e3, "tsd.": 1e3, "t": 1e3, "thousand": 1e3, "tausend": 1e3, "mille": 1e3, "mil": 1e3,
	"m": 1e6, "mm": 1e6, "mn": 1e6, "mio": 1e6, "mio.": 1e6, "mill": 1e6, "mill.": 1e6, "million": 1e6, "millions": 1e6,
	"millionen": 1e6, "millón": 1e6, "millon": 1e6, "millones": 1e6,
	"b": 1e9, "bn": 1e9, "mrd": 1e9, "mrd.": 1e9, "md": 1e9, "mds": 1e9, "milliarde": 1e9, "milliarden": 1e9, "milliard": 1e9, "milliards": 1e9, "billion": 1e9, "billions": 1e9,
}

// units are the words that may follow a number and say what it counts.
var units = map[string]bool{
	"€": true, "$": true, "£": true, "¥": true, "eur": true, "euro": true, "euros": true, "usd": true, "us$": true, "gbp": true, "chf": true, "fr.": true, "sfr.": true, "dollars": true,
	"employees": true, "employee": true, "people": true, "staff": true, "mitarbeiter": true, "mitarbeitende": true, "ma": true, "mitarb.": true,
	"employés": true, "salariés": true, "personnes": true, "empleados": true, "trabajadores": true, "personas": true, "p.a.": true, "de": true, "d'": true,
}

// vague are the words before a number that is not exact.
var vague = []string{"ca.", "ca", "circa", "approx.", "approx", "approximately", "about", "around", "over", "more than", "less than", "up to", "under", "ungefähr", "etwa", "rund", "über", "mehr als", "bis zu", "env.", "environ", "plus de", "aprox.", "unos", "más de", "mas de", "~", "≈", ">=", "<=", "≥", "≤", ">", "<", "+"}

// ranges separates the ends of a range, such as 51-200 or 51 bis 200.
var ranges = regexp.MustCompile(`^(.*?[0-9].*?)(?:\s*(?:-|–|—|‒|\.\.+|…)\s*|\s(?:to|bis|à|a)\s)([^-–—].*?[0-9].*|[0-9].*)$`)

// parseNumber returns a number as people write it: with separators, a currency, an abbreviation of
// thousands or millions, or as a range, of which it is the lower end.
func parseNumber(text string, s Style) (float64, bool) {
	text = strings.ToLower(strings.TrimSpace(strings.Map(visible, text)))
	if len(text) > 60 {
		return 0, false
	}
	text = strings.TrimSpace(strings.TrimSuffix(withoutVague(text), "+"))
	if m := ranges.FindStringSubmatch(text); m != nil {
		low, factor, ok := quantity(withoutVague(m[1]), s)
		high, upper, isRange := quantity(withoutVague(m[2]), s)
		if ok && isRange {
			if factor == 1 && low < high { // 1-10M
				factor = upper
			}
			return low * factor, true
		}
	}
	n, factor, ok := quantity(text, s)
	return n * factor, ok
}

// unitInName matches what a number counts at the end of the name of a column: (in 000s USD), in Tsd. €, [k€], Mio. EUR.
var unitInName = regexp.MustCompile(`(?i)^(.+?)[\s(\[,/-]+(?:in\s+|en\s+)?(?:(?:€|\$|£|eur|usd|us\$|gbp|chf)\s*)?('?000s?|tsd\.?|t|k|thousands?|tausend|mio\.?|m|mn|mm|millions?|millionen|millones|milliers|miles|mrd\.?|bn|billions?)?(?:\s*(?:de\s+|of\s+|d')?(?:€|\$|£|euros?|eur|usd|us\$|us dollars|dollars|gbp|chf))?[\s)\]]*$`)

// unitOf returns what the name of a column says that its numbers count, and the name without it.
func unitOf(name string) (unit float64, rest string) {
	m := unitInName.FindStringSubmatch(name)
	if m == nil {
		return 0, name
	}
	switch word := strings.ToLower(m[2]); word {
	case "":
		return 1, m[1]
	case "000", "000s", "'000", "'000s", "milliers", "miles", "thousands":
		return 1e3, m[1]
	default:
		return factors[word], m[1]
	}
}

func withoutVague(text string) string {
	for _, word := range vague {
		if rest, has := strings.CutPrefix(text, word); has {
			return strings.TrimSpace(rest)
		}
	}
	return text
}

// quantity returns one number and the power of ten that follows it.
func quantity(text string, s Style) (n, factor float64, ok bool) {
	start := strings.IndexAny(text, "0123456789")
	if start < 0 {
		return 0, 0, false
	}
	negative := false
	before := strings.TrimSpace(text[:start])
	if rest, has := strings.CutSuffix(before, "-"); has {
		negative, before = true, strings.TrimSpace(rest)
	} else if rest, has := strings.CutPrefix(before, "-"); has { // -$5
		negative, before = true, strings.TrimSpace(rest)
	}
	if before != "" && !units[before] {
		return 0, 0, false
	}
	end := start
	for end < len(text) && strings.IndexByte("0123456789., '", text[end]) >= 0 {
		end++
	}
	if exponent := regexpExponent.FindString(text[end:]); exponent != "" {
		end += len(exponent)
	}
	literal, after := strings.TrimRight(text[start:end], " '"), text[end:]
	if strings.HasSuffix(literal, ".") || strings.HasSuffix(literal, ",") {
		literal = literal[:len(literal)-1]
	}
	factor = 1
	for i, word := range strings.Fields(strings.TrimSuffix(after, "+")) {
		f, isFactor := factors[word]
		switch {
		case isFactor && i == 0:
			factor = f
		case isFactor && f == 1e6 && factor == 1e3: // mil millones
			factor = 1e9
		case !units[word] && !isGluedUnit(word, &factor, i):
			return 0, 0, false
		}
	}
	if factor == 1 && s.Unit > 0 {
		factor = s.Unit
	}
	n, ok = plainNumber(literal, s)
	if negative {
		n = -n
	}
	return n, factor, ok && !math.IsInf(n*factor, 0)
}

// isGluedUnit reports whether a word is a factor and a unit in one, such as m€ or k$.
func isGluedUnit(word string, factor *float64, at int) bool {
	for unit := range units {
		if rest, has := strings.CutSuffix(word, unit); has && at == 0 {
			if f, is := factors[rest]; is {
				*factor = f
				return true
			}
		}
	}
	return false
}

var regexpExponent = regexp.MustCompile(`^e[+-]?[0-9]+`)

// plainNumber parses digits with separators.
func plainNumber(literal string, s Style) (float64, bool) {
	literal = strings.NewReplacer(" ", "", "'", "").Replace(literal)
	decimal, group := ".", ","
	if s.Comma {
		decimal, group = ",", "."
	}
	switch found := decimalIn(literal); {
	case found == ',':
		decimal, group = ",", "."
	case found == '.':
		decimal, group = ".", ","
	}
	whole, fraction, _ := strings.Cut(literal, decimal)
	if strings.Contains(fraction, group) || !isGrouped(whole, group) {
		return 0, false
	}
	literal = strings.ReplaceAll(whole, group, "")
	if fraction != "" {
		literal += "." + fraction
	}
	n, err := strconv.ParseFloat(literal, 64)
	return n, err == nil
}

// isGrouped reports whether every separator is followed by three digits, as in 1,250 and 1,25,000.
func isGrouped(whole, group string) bool {
	parts := strings.Split(whole, group)
	for i, part := range parts[1:] {
		if len(part) != 3 && !(len(part) == 2 && i < len(parts)-2) {
			return false
		}
	}
	return parts[0] != ""
}
