package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Text is a text whose empty form is no value: it is answered as null.
type Text string

// Number is a number or no value.
type Number struct {
	Float float64
	Valid bool
}

// Date is a calendar day, "2006-01-02", or no value.
type Date string

// Time is a moment in UTC, to the millisecond, or no value.
type Time struct {
	milli int64
	valid bool
}

// IDs is a set of references in the order they were given. Its empty form is answered as [].
type IDs []uuid.UUID

// MaxNumber bounds the numbers of records: beyond it a float64 no longer holds every integer.
const MaxNumber = 1 << 53

const timeLayout = "2006-01-02T15:04:05.000Z"

var null = []byte("null")

func (t Text) MarshalJSON() ([]byte, error) { return quote(string(t)) }
func (d Date) MarshalJSON() ([]byte, error) { return quote(string(d)) }

// quote writes a text as JSON, none as null, and escapes nothing that need not be.
func quote(s string) ([]byte, error) {
	if s == "" {
		return null, nil
	}
	return jsontext.AppendQuote(nil, s)
}

func (t Time) MarshalJSON() ([]byte, error) {
	if !t.valid {
		return null, nil
	}
	return t.Std().AppendFormat(nil, `"`+timeLayout+`"`), nil
}

func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return null, nil
	}
	return json.Marshal(n.Float)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Number) UnmarshalJSON(b []byte) error {
	*n = Number{}
	if bytes.Equal(b, null) {
		return nil
	}
	n.Valid = true
	return json.Unmarshal(b, &n.Float)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Time) UnmarshalJSON(b []byte) error {
	*t = Time{}
	if bytes.Equal(b, null) {
		return nil
	}
	at, err := time.Parse(`"`+timeLayout+`"`, string(b))
	*t = At(at)
	return err
}

func (ids IDs) MarshalJSON() ([]byte, error) {
	if ids == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]uuid.UUID(ids))
}

// NumberOf is the number f.
func NumberOf(f float64) Number { return Number{Float: f, Valid: true} }

// At is the moment t, cut to milliseconds.
func At(t time.Time) Time { return Time{milli: t.UnixMilli(), valid: true} }

// Valid tells whether t is a moment at all.
func (t Time) Valid() bool { return t.valid }

// Milli is the moment in milliseconds since 1970.
func (t Time) Milli() int64 { return t.milli }

// Std is the moment as the standard library has it.
func (t Time) Std() time.Time { return time.UnixMilli(t.milli).UTC() }

func (t Time) String() string { return t.Std().Format(timeLayout) }

// ParseTime reads an RFC 3339 time of the years 0 to 9999 and cuts it to milliseconds.
func ParseTime(s string) (Time, error) {
	var at time.Time
	if err := at.UnmarshalText([]byte(s)); err != nil {
		return Time{}, errors.New("must be a time such as 2026-03-01T09:30:00Z")
	}
	if y := at.UTC().Year(); y < 0 || y > 9999 {
		return Time{}, errors.New("must be a time of the years 0 to 9999 in UTC")
	}
	return At(at), nil
}

// ParseDate reads a calendar day.
func ParseDate(s string) (Date, error) {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return "", errors.New("must be a date such as 2026-03-01")
	}
	return Date(s), nil
}

// ParseID reads a UUID in its usual form of 36 characters, the only one that the service answers.
func ParseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return uuid.Nil, errors.New("must be a UUID")
	}
	return id, nil
}

// ParseNumber reads the literal of a JSON number. One beyond every float64 is infinite; one beyond MaxNumber stays
// beyond it, also where its float64 would be MaxNumber itself.
func ParseNumber(literal string) float64 {
	f, _ := strconv.ParseFloat(literal, 64)
	if math.Abs(f) == MaxNumber {
		exact, ok := new(big.Rat).SetString(literal)
		if ok && exact.Abs(exact).Cmp(big.NewRat(MaxNumber, 1)) > 0 {
			return math.Nextafter(f, math.Inf(int(f)))
		}
	}
	if f == 0 {
		return 0 // also for -0, which JSON can write
	}
	return f
}

// Fold is the form in which texts are compared without case: lower-cased rune by rune.
func Fold(s string) string { return strings.ToLower(s) }
