package rows

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// cellFormat is what matters of the number format of a cell.
type cellFormat struct {
	isDate bool
	zeros  int // the digits that a number has at least, as in 00000
}

// formatOf returns a format by its id, and its code unless it is one of those that every program knows.
func formatOf(id int, code string) cellFormat {
	isKnownDate := id >= 14 && id <= 17 || id == 22 || id >= 27 && id <= 31 || id == 36 || id >= 50 && id <= 54 || id == 57 || id == 58
	if code == "" {
		return cellFormat{isDate: isKnownDate}
	}
	if strings.Trim(code, "0") == "" && len(code) > 1 && len(code) < 20 {
		return cellFormat{zeros: len(code)}
	}
	return cellFormat{isDate: showsDay(code)}
}

// showsDay reports whether the code of a format, such as [$-407]d. mmmm yyyy, shows a day, and not only a time.
func showsDay(code string) bool {
	code, _, _ = strings.Cut(code, ";")
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"', '[': // a text, and a locale or a color
			end := byte('"')
			if code[i] == '[' {
				end = ']'
			}
			next := strings.IndexByte(code[i+1:], end)
			if next < 0 {
				return false
			}
			i += next + 1
		case '\\', '_', '*':
			i++
		case 'd', 'D', 'y', 'Y':
			return true
		}
	}
	return false
}

// show returns a number as text.
func (f cellFormat) show(text string, is1904 bool) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return text
	}
	if f.isDate {
		if date, ok := serialDate(n, is1904); ok {
			return date
		}
	}
	text = strconv.FormatFloat(n, 'f', -1, 64)
	if whole, fraction, _ := strings.Cut(text, "."); len(fraction) == 3 {
		return whole + "." + fraction + "0" // otherwise it could be a point between thousands
	} else if fraction == "" && f.zeros > len(text) {
		return strings.Repeat("0", f.zeros-len(text)) + text
	}
	return text
}

// maxSerial is the last day of 9999.
const maxSerial = 2958466

// serialDate returns the date and, if it has one, the time that spreadsheets count as days since 1900 or 1904.
func serialDate(n float64, is1904 bool) (string, bool) {
	if n < 0 || n >= maxSerial {
		return "", false
	}
	start := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case is1904:
		start = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case n < 60: // spreadsheets believe that 1900 was a leap year
		start = start.AddDate(0, 0, 1)
	}
	day, part := math.Modf(n)
	at := start.AddDate(0, 0, int(day)).Add(time.Duration(math.Round(part*86400)) * time.Second)
	if part == 0 {
		return at.Format(time.DateOnly), true
	}
	return at.Format(time.DateTime), true
}
