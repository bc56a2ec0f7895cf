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

// MarshalJSONTo and UnmarshalJSONFrom are for the store and the index, whose time goes into reading and writing
// records; MarshalJSON and UnmarshalJSON say the same to the standard library.

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

func (t Time) String() string { return string(t.AppendTo(nil)) }

// AppendTo appends the moment as it is answered. Formatting by a layout takes several times as long.
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

// putDigits writes a number over the zeros in which it ends.
func putDigits(zeros []byte, n int) {
	for at := len(zeros) - 1; n > 0; n, at = n/10, at-1 {
		zeros[at] = byte('0' + n%10)
	}
}

// ParseTime reads an RFC 3339 time of the years 0 to 9999 and cuts it to milliseconds.
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

// ParseDate reads a calendar day.
func ParseDate(s string) (Date, error) {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return "", fmt.Errorf("%s is not a date such as 2026-03-01", Quote(s))
	}
	return Date(s), nil
}

// ParseID reads a UUID in its usual form of 36 characters, the only one that the service answers.
func ParseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return uuid.Nil, fmt.Errorf("%s is not a UUID", Quote(s))
	}
	return id, nil
}

// ParseNumber reads the literal of a JSON number. One beyond every float64 is infinite; one beyond MaxNumber stays
// beyond it, also where its float64 would be MaxNumber itself.
func ParseNumber(literal string) float64 {
	f, _ := strconv.ParseFloat(literal, 64)
	if math.Abs(f) == MaxNumber {
		// Nobody writes 2^53 in more characters than these but to keep us busy.
		exact, ok := new(big.Rat), len(literal) <= 100
		if ok {
			exact, ok = exact.SetString(literal)
		}
		if !ok || exact.Abs(exact).Cmp(big.NewRat(MaxNumber, 1)) > 0 {
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
