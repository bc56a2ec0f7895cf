package rows

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// Style is how the numbers and dates of a column are written.
type Style struct {
	Comma    bool // the decimal separator is a comma, as in 1.250,50
	DayFirst bool // 03/11/2025 is in November
	// Unit is what numbers count that do not say so, such as 1000, or 0.
	Unit float64
}

// english writes 1,250.50 and, where nothing says otherwise, the month first.
var english = Style{}

var (
	// pointLanguages write a decimal point, and other languages a comma, except in pointRegions.
	pointLanguages = []string{"en", "zh", "ja", "ko", "th", "he", "hi"}
	pointRegions   = []string{"CH", "LI", "MX", "GT", "HN", "NI", "SV", "PA", "PE", "PR", "DO", "US", "GB", "IE", "AU", "NZ"}
	// monthRegions write the month first, as English does where no region is given.
	monthRegions = []string{"US", "PH", "PR"}
)

// ParseLocale returns the style of a locale such as "de", "en" or "en-GB".
func ParseLocale(locale string) (Style, error) {
	tag, err := language.Parse(locale)
	base, confidence := tag.Base()
	if err != nil || confidence == language.No {
		return Style{}, fmt.Errorf("%q is not a locale such as de, en-GB or fr", locale)
	}
	region := ""
	if r, confidence := tag.Region(); confidence == language.Exact {
		region = r.String()
	}
	isPoint := slices.Contains(pointLanguages, base.String()) || slices.Contains(pointRegions, region)
	isMonth := slices.Contains(monthRegions, region) || base.String() == "en" && region == ""
	return Style{Comma: !isPoint, DayFirst: !isMonth}, nil
}

// decimalIn returns the decimal separator that a number unmistakably has, or 0.
func decimalIn(text string) byte {
	digits := strings.TrimFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) > 30 || strings.ContainsFunc(digits, func(r rune) bool {
		return (r < '0' || r > '9') && r != '.' && r != ',' && r != ' ' && r != '\u00a0' && r != '\''
	}) {
		return 0
	}
	points, commas := strings.Count(digits, "."), strings.Count(digits, ",")
	last := strings.LastIndexAny(digits, ".,")
	switch {
	case points > 0 && commas > 0:
		return digits[last]
	case points > 1:
		return ','
	case commas > 1:
		return '.'
	case last > 0 && len(digits)-last-1 != 3:
		return digits[last]
	}
	return 0
}
