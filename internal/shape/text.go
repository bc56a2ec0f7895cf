package shape

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

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
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		entries := make([]string, list.Len())
		for i := range entries {
			entries[i] = TextOf(list.Index(i).Interface())
		}
		return strings.Join(entries, "|")
	}
	return fmt.Sprint(v)
}
