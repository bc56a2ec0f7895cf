package shape

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// TextOf returns a value as a CSV cell: "" for no value, and list entries joined with |.
func TextOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case Number:
		if !v.Valid {
			return ""
		}
		return TextOf(v.Float)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case Time:
		if !v.Valid() {
			return ""
		}
		return v.String()
	case uuid.NullUUID:
		if !v.Valid {
			return ""
		}
		return v.UUID.String()
	case uuid.UUID:
		return v.String()
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String:
		return rv.String()
	case reflect.Slice:
		entries := make([]string, rv.Len())
		for i := range entries {
			entries[i] = TextOf(rv.Index(i).Interface())
		}
		return strings.Join(entries, "|")
	}
	return fmt.Sprint(v)
}

// maxQuoted is the number of characters of an offending value that a message shows.
const maxQuoted = 60

// Quote returns an offending value for an error message: in quotes, cut at 60 characters. Do not
// pass secrets such as passwords or API keys.
func Quote(s string) string { return strconv.Quote(cut(s)) }

func cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxQuoted {
			return s[:i] + "…"
		}
	}
	return s
}

// Words returns the runs of letters and digits in s, in folded form.
func Words(s string) []string {
	return strings.FieldsFunc(Fold(s), func(r rune) bool { return !InWord(r) })
}

// InWord reports whether r is a letter or a digit.
func InWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
