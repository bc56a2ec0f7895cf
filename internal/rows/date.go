package rows

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// order is the order of the day and the month in a date.
type order int

const (
	eitherOrder order = iota
	dayMonth
	monthDay
)

var (
	// threeNumbers matches 3.11.2025, 11/3/25 and 03-11-2025, with or without a time.
	threeNumbers = regexp.MustCompile(`^(\d{1,2})\s?([./-])\s?(\d{1,2})\s?[./-]\s?(\d{4}|\d{2})(?:[ ,T]+.*)?$`)
	// yearFirst matches 2025-11-03, 2025/11/3 and 20251103, with or without a time.
	yearFirst = regexp.MustCompile(`^(\d{4})([./-]?)(\d{1,2})[./-]?(\d{1,2})(?:[ T]+\d{1,2}:.*)?$`)
	// dayWord matches 3. November 2025, 3-Nov-25 and 3 de noviembre de 2025.
	dayWord = lazyRegexp(`^(?:\p{L}+\.?,? )?(\d{1,2})(?:\.|st|nd|rd|th|er|º)?[ -]+(?:de |d')?(\p{L}+)\.?,?[ -]+(?:de |del )?(\d{4}|\d{2})(?:[ ,]+\d{1,2}:.*)?$`)
	// wordDay matches November 3, 2025.
	wordDay = lazyRegexp(`^(?:\p{L}+\.?, )?(\p{L}+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?:[ ,]+\d{1,2}:.*)?$`)
)

// lazyRegexp compiles an expression when it is first used. \p{L} takes milliseconds, which commands that read no
// dates need not wait for.
func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// months are the beginnings of the names of months in English, German, French and Spanish, folded.
// Longer beginnings come before shorter ones that would match too.
var months = []struct {
	name  string
	month int
}{
	{"jan", 1}, {"jän", 1}, {"ene", 1}, {"feb", 2}, {"fev", 2}, {"fév", 2}, {"mar", 3}, {"mär", 3}, {"mrz", 3}, {"maerz", 3}, {"apr", 4}, {"avr", 4}, {"abr", 4}, {"mai", 5}, {"may", 5},
	{"juil", 7}, {"juin", 6}, {"jun", 6}, {"jul", 7}, {"aug", 8}, {"aou", 8}, {"aoû", 8}, {"ago", 8}, {"sep", 9}, {"set", 9}, {"oct", 10}, {"okt", 10}, {"nov", 11}, {"dec", 12}, {"dez", 12}, {"déc", 12}, {"dic", 12},
}

// orderIn returns the order that a date unmistakably has.
func orderIn(text string) order {
	m := threeNumbers.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return eitherOrder
	}
	first, _ := strconv.Atoi(m[1])
	second, _ := strconv.Atoi(m[3])
	switch {
	case m[2] == "." && second <= 12, first > 12 && second <= 12:
		return dayMonth
	case second > 12 && first <= 12:
		return monthDay
	}
	return eitherOrder
}

// groupOrFraction matches a number that is another one if its separator is that of decimals.
var groupOrFraction = regexp.MustCompile(`^[0-9]{1,3}[.,][0-9]{3}$`)

// isTwoDays reports whether a date is another day if its month comes first.
func isTwoDays(text string) bool {
	m := threeNumbers.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[2] == "." || m[1] == m[3] {
		return false
	}
	first, _ := strconv.Atoi(m[1])
	second, _ := strconv.Atoi(m[3])
	return first != second && first >= 1 && first <= 12 && second >= 1 && second <= 12
}

// parseDate returns a date as people write it in the form 2006-01-02. A time that follows it is dropped.
func parseDate(text string, s Style) (string, bool) {
	text = strings.Join(strings.Fields(strings.Map(visible, text)), " ")
	if date, ok := serial(text); ok {
		return date, true
	}
	if len(text) > 60 || !strings.ContainsAny(text, "0123456789") {
		return "", false
	}
	if m := yearFirst.FindStringSubmatch(text); m != nil && (m[2] != "" || len(m[3])+len(m[4]) == 4) {
		return date(m[1], m[3], m[4])
	}
	if m := threeNumbers.FindStringSubmatch(text); m != nil {
		isDay := s.DayFirst
		switch orderIn(text) {
		case dayMonth:
			isDay = true
		case monthDay:
			isDay = false
		}
		if isDay {
			return date(m[4], m[3], m[1])
		}
		return date(m[4], m[1], m[3])
	}
	if m := dayWord().FindStringSubmatch(text); m != nil {
		return date(m[3], monthNumber(m[2]), m[1])
	}
	if m := wordDay().FindStringSubmatch(text); m != nil {
		return date(m[3], monthNumber(m[1]), m[2])
	}
	return "", false
}

// serial returns the date that a spreadsheet counts as days since 1900, if it is from 1954 to 2119.
func serial(text string) (string, bool) {
	n, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if err != nil || len(text) < 5 || n < 20_000 || n > 80_000 || strings.ContainsAny(text, "eExX+_ ") {
		return "", false
	}
	date, ok := serialDate(math.Floor(n), false)
	return date, ok
}

func monthNumber(word string) string {
	word = strings.ToLower(word)
	i := slices.IndexFunc(months, func(m struct {
		name  string
		month int
	}) bool {
		return strings.HasPrefix(word, m.name)
	})
	if i < 0 {
		return "0"
	}
	return strconv.Itoa(months[i].month)
}

// date returns a day if it exists. Years of two digits are between 1950 and 2049.
func date(year, month, day string) (string, bool) {
	y, _ := strconv.Atoi(year)
	m, _ := strconv.Atoi(month)
	d, _ := strconv.Atoi(day)
	if len(year) == 2 {
		if y += 1900; y < 1950 {
			y += 100
		}
	}
	text := fmt.Sprintf("%04d-%02d-%02d", y, m, d)
	_, err := time.Parse(time.DateOnly, text)
	return text, err == nil
}
