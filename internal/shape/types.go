package shape

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Text is a string whose empty form means no value. It is encoded as null.
type Text string

// Number is a number or no value.
type Number struct {
	Float float64
	Valid bool
}

// Date is a calendar day, "2006-01-02", or no value.
type Date string

// Time is a time in UTC with millisecond precision, or no value.
type Time struct {
	milli int64
	valid bool
}

// IDs is a set of references in the order in which they were given. Its nil form is encoded as [].
type IDs []uuid.UUID

// MaxNumber bounds the numbers in records. Beyond it, a float64 cannot represent every integer.
const MaxNumber = 1 << 53

const timeLayout = "2006-01-02T15:04:05.000Z"

// The store and the index use MarshalJSONTo and UnmarshalJSONFrom, because they spend most of their
// time encoding and decoding records. MarshalJSON and UnmarshalJSON do the same for the standard
// library.

func (t Text) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteToken(textToken(string(t))) }
func (d Date) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteToken(textToken(string(d))) }

func (t Time) MarshalJSONTo(e *jsontext.Encoder) error {
	if !t.valid {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteToken(jsontext.String(t.String()))
}

func (n Number) MarshalJSONTo(e *jsontext.Encoder) error {
	if !n.Valid {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteToken(jsontext.Float(n.Float))
}

func textToken(s string) jsontext.Token {
	if s == "" {
		return jsontext.Null
	}
	return jsontext.String(s)
}

func (t *Time) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	*t = Time{}
	if err != nil || token.Kind() == jsontext.KindNull {
		return err
	}
	at, err := time.Parse(timeLayout, token.String())
	*t = At(at)
	return err
}

func (n *Number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	*n = Number{}
	if err != nil || token.Kind() == jsontext.KindNull {
		return err
	}
	f, err := token.Float()
	*n = NumberOf(f)
	return err
}

func (t Text) MarshalJSON() ([]byte, error)    { return encode(t) }
func (d Date) MarshalJSON() ([]byte, error)    { return encode(d) }
func (t Time) MarshalJSON() ([]byte, error)    { return encode(t) }
func (n Number) MarshalJSON() ([]byte, error)  { return encode(n) }
func (t *Time) UnmarshalJSON(b []byte) error   { return json.Unmarshal(b, t) }
func (n *Number) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, n) }

func encode(v json.MarshalerTo) ([]byte, error) { return json.Marshal(v) }

func (ids IDs) MarshalJSON() ([]byte, error) {
	if ids == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]uuid.UUID(ids))
}

// NumberOf returns the number f.
func NumberOf(f float64) Number { return Number{Float: f, Valid: true} }

// At returns t truncated to milliseconds.
func At(t time.Time) Time { return Time{milli: t.UnixMilli(), valid: true} }

// Valid reports whether t has a value.
func (t Time) Valid() bool { return t.valid }

// Milli returns the time in milliseconds since 1970.
func (t Time) Milli() int64 { return t.milli }

// Std returns the time as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(t.milli).UTC() }

func (t Time) String() string { return string(t.AppendTo(nil)) }

// AppendTo appends the time as the API returns it. Formatting with a layout takes several times as
// long.
func (t Time) AppendTo(b []byte) []byte {
	std := t.Std()
	year, month, day := std.Date()
	if year < 0 || year > 9999 {
		return std.AppendFormat(b, timeLayout)
	}
	hour, minute, second := std.Clock()
	b = append(b, "0000-00-00T00:00:00.000Z"...)
	at := b[len(b)-24:]
	putDigits(at[0:4], year)
	putDigits(at[5:7], int(month))
	putDigits(at[8:10], day)
	putDigits(at[11:13], hour)
	putDigits(at[14:16], minute)
	putDigits(at[17:19], second)
	putDigits(at[20:23], std.Nanosecond()/1e6)
	return b
}

// putDigits writes n right-aligned over zeros.
func putDigits(zeros []byte, n int) {
	for at := len(zeros) - 1; n > 0; n, at = n/10, at-1 {
		zeros[at] = byte('0' + n%10)
	}
}

// ParseTime parses an RFC 3339 time in the years 0 to 9999 and truncates it to milliseconds.
func ParseTime(s string) (Time, error) {
	var at time.Time
	if err := at.UnmarshalText([]byte(s)); err != nil {
		return Time{}, fmt.Errorf("%s is not a time such as 2026-03-01T09:30:00Z", Quote(s))
	}
	if y := at.UTC().Year(); y < 0 || y > 9999 {
		return Time{}, errors.New("must be in the years 0 to 9999 in UTC")
	}
	return At(at), nil
}

// ParseDate parses a calendar day.
func ParseDate(s string) (Date, error) {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return "", fmt.Errorf("%s is not a date such as 2026-03-01", Quote(s))
	}
	return Date(s), nil
}

// ParseID parses a UUID in its form of 36 characters, the only one that the service uses.
func ParseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return uuid.Nil, fmt.Errorf("%s is not a UUID", Quote(s))
	}
	return id, nil
}

// ParseNumber parses a JSON number. A number too large for a float64 becomes infinite. A number
// beyond MaxNumber stays beyond it, even if it would round to MaxNumber.
func ParseNumber(literal string) float64 {
	f, _ := strconv.ParseFloat(literal, 64)
	if math.Abs(f) == MaxNumber {
		// Longer literals are not parsed exactly: they could be sent to waste time.
		exact, ok := new(big.Rat), len(literal) <= 100
		if ok {
			exact, ok = exact.SetString(literal)
		}
		if !ok || exact.Abs(exact).Cmp(big.NewRat(MaxNumber, 1)) > 0 {
			return math.Nextafter(f, math.Inf(int(f)))
		}
	}
	if f == 0 {
		return 0 // also for -0
	}
	return f
}

// Fold returns s in lower case, rune by rune, for comparisons that ignore case.
func Fold(s string) string { return strings.ToLower(s) }
