package shape

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// TextOf is a value as a table shows it: empty for none, the entries of a list with | between them.
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

// Quote returns an offending value for an error message: in quotes, cut at 60 characters. Do not pass
// secrets such as passwords or API keys.
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

// Words are the runs of letters and digits of a text, folded.
func Words(s string) []string {
	return strings.FieldsFunc(Fold(s), func(r rune) bool { return !InWord(r) })
}

// InWord tells the characters that words are made of.
func InWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
