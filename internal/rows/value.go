package rows

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"prospector/internal/address"
	"prospector/internal/shape"
)

// Target is the field that a column sets.
type Target struct {
	Column string // the name of the field in mappings, such as "account_website"
	Member string // the member of the record that it sets, such as "scoring.heat_score"
	Field  shape.Field
	List   bool
	// Names says that the entries of a list are names that consist of letters from a to z, digits and
	// spaces, or ids.
	Names bool
	// OptOut says that every value but a no means yes: the date of an opt-out, or why.
	OptOut bool
	// Status says that only words such as unsubscribed mean yes, and everything else says nothing.
	Status bool

	thisYear   int
	manyPhones bool // a cell may have several numbers, because the records keep further ones
}

func (t *Target) target() *Target { return t }

// valuesApart separates the values in a cell of Google Contacts.
const valuesApart = " ::: "

// What is wrong with a value.
const (
	meansNothing = "means no value"
	notText      = "is not text in the encoding of the file"
	onlyFirst    = "is a further address; only the first is kept"
	onlyFirstOf  = "is a further value; only the first is kept"
	otherColumn  = "was left out: another column sets this field"
	notAddress   = "is not an email address"
	notLinkedIn  = "is not a LinkedIn URL"

	takenForOptOut = "is taken for an opt-out" // which is no loss
)

// fromText converts text, of a cell or a JSON string, to a value of the field. The value is absent if
// there is none. Other rules of the field are checked when the record is decoded.
func (t *Target) fromText(text string, s Style) (v shape.Value, dropped []Dropped) {
	drop := func(value, message string, notice bool) {
		dropped = append(dropped, Dropped{Value: value, Message: message, Notice: notice})
	}
	if !utf8.ValidString(text) {
		drop(text, notText, false)
		return v, dropped
	}
	if t.List {
		return t.list(text)
	}
	bare := strings.TrimFunc(text, isBlank)
	if i := slices.IndexFunc(t.Field.Enum, func(key string) bool { return key == text || strings.EqualFold(key, bare) }); i >= 0 {
		if slices.Contains(t.Field.Enum, text) {
			return str(text), nil
		}
		return str(t.Field.Enum[i]), nil
	}
	if t.Field.Type == shape.TypeText && !t.Field.Long && !strings.Contains(t.Field.Format, "email") {
		values := strings.Split(bare, valuesApart)
		if t.manyPhones && len(values) == 1 {
			values = phonesIn(bare)
		}
		for _, other := range values[1:] {
			drop(other, onlyFirstOf, true)
			text, bare = values[0], values[0]
		}
	}
	if inner, is := strings.CutPrefix(bare, `="`); is && strings.HasSuffix(inner, `"`) { // how spreadsheets are told not to read a number
		text = strings.TrimSuffix(inner, `"`)
		bare = strings.TrimFunc(text, isBlank)
	}
	switch {
	case bare == "":
		return v, nil
	case isNoValue(bare, t.Field.IsLine()):
		drop(text, meansNothing, true)
		return v, dropped
	case t.Field.Format == "email" || t.Field.Format == shape.SuppressedEmail && !t.Field.HasFormat(bare):
		first, others, ok := Email(bare)
		if !ok {
			drop(text, notAddress, false)
			return v, dropped
		}
		for _, other := range others {
			drop(other, onlyFirst, true)
		}
		return str(first), dropped
	}
	v, problem := t.read(text, bare, s)
	if problem != "" {
		drop(text, problem, problem == takenForOptOut)
	}
	return v, dropped
}

// read converts a text, which bare is without what surrounds it. problem is what is wrong with it.
func (t *Target) read(text, bare string, s Style) (v shape.Value, problem string) {
	switch t.Field.Type {
	case shape.TypeNumber:
		return t.readNumber(bare, s)
	case shape.TypeBoolean:
		if b, ok := ParseBool(bare); ok {
			return shape.Value{Kind: shape.Bool, True: b}, ""
		}
		if t.OptOut {
			return shape.Value{Kind: shape.Bool, True: true}, takenForOptOut
		}
		return v, "is not true or false"
	case shape.TypeDate:
		if date, ok := parseDate(bare, s); ok {
			return str(date), ""
		}
		return v, "is not a date such as 2026-03-01"
	case shape.TypeText:
		return t.readText(text, bare)
	}
	return str(bare), ""
}

func (t *Target) readNumber(bare string, s Style) (v shape.Value, problem string) {
	if t.Field.Integer && groupOrFraction.MatchString(bare) { // whole numbers have no decimals
		bare = strings.NewReplacer(".", "", ",", "").Replace(bare)
	}
	switch v = number(bare, s); {
	case v.Kind != shape.Num && t.Field.Integer:
		return shape.Value{}, "is not an integer"
	case v.Kind != shape.Num:
		return shape.Value{}, "is not a number"
	case t.isYear() && !t.isPossibleYear(v.Text):
		return shape.Value{}, "is not a year from 1500 to next year"
	}
	return v, ""
}

func (t *Target) readText(text, bare string) (v shape.Value, problem string) {
	format := t.Field.Format
	switch {
	case format == "website" || format == "domain" || format == shape.SuppressedDomain && !t.Field.HasFormat(bare):
		return str(website(bare)), ""
	case format != "":
		return str(bare), ""
	case strings.HasSuffix(t.Member, "linkedin_url") && !strings.Contains(strings.ToLower(bare), "linkedin."):
		return v, notLinkedIn
	case strings.HasSuffix(t.Member, "linkedin_url"):
		return str(bare), ""
	case t.isPhone() && cutShort.MatchString(bare):
		return v, "is a number that a spreadsheet has cut short"
	case t.isPhone() && !strings.ContainsFunc(bare, unicode.IsDigit):
		return v, "is not a phone number"
	case t.Field.IsLine():
		return str(oneLine(bare)), ""
	}
	return str(text), ""
}

func (t *Target) isPhone() bool { return strings.HasSuffix(t.Member, "phone_number") }

// leastDigits are the digits that each of several phone numbers in a cell has at least. An extension has fewer.
const leastDigits = 6

// phonesIn returns the phone numbers in a cell, or the whole cell if a part of it is no number of its own.
func phonesIn(cell string) []string {
	parts := strings.FieldsFunc(strings.ReplaceAll(cell, " / ", ";"), func(r rune) bool { return strings.ContainsRune(";,|\r\n", r) })
	for i, part := range parts {
		digits := 0
		for _, r := range part {
			if unicode.IsDigit(r) {
				digits++
			}
		}
		if digits < leastDigits {
			return []string{cell}
		}
		parts[i] = strings.TrimSpace(part)
	}
	if len(parts) == 0 {
		return []string{cell}
	}
	return parts
}

// cutShort matches a number with an exponent, such as 4.91511E+12.
var cutShort = regexp.MustCompile(`^[0-9]+([.,][0-9]+)?[eE]\+?[0-9]+$`)

func (t *Target) isYear() bool { return t.Field.Integer && strings.HasSuffix(t.Member, "founded_year") }

// isPossibleYear reports whether something can have been founded in a year.
func (t *Target) isPossibleYear(text string) bool {
	year, err := strconv.ParseFloat(text, 64)
	return err == nil && year >= 1500 && (t.thisYear == 0 || year <= float64(t.thisYear+1))
}

func str(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }

// number converts the text of a number. Text that is not a number stays a string.
func number(text string, s Style) shape.Value {
	if jsonNumber.MatchString(text) && s.Unit == 0 && (!s.Comma || !strings.Contains(text, ".")) {
		return shape.Value{Kind: shape.Num, Text: text}
	}
	if n, ok := parseNumber(text, s); ok {
		return shape.Value{Kind: shape.Num, Text: strconv.FormatFloat(n, 'f', -1, 64)}
	}
	return str(text)
}

// oneLine replaces line breaks and other control characters by spaces.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, address.IsLineBreak) {
		return text
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || address.IsLineBreak(r) }), " ")
}

// website returns the first website in a cell, or the text if there is none.
func website(text string) string {
	if _, _, err := address.SplitWebsite(text); err == nil {
		return text
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;|<>()", r) }) {
		if _, _, err := address.SplitWebsite(part); err == nil && strings.Contains(part, ".") {
			return part
		}
	}
	return text
}

// list converts a cell that holds a list.
func (t *Target) list(text string) (v shape.Value, dropped []Dropped) {
	text = strings.ReplaceAll(text, valuesApart, ";")
	separators := "|;"
	if t.Names || !strings.ContainsAny(text, separators) && !t.allows(text) {
		separators = "|;,\n"
	}
	v = shape.Value{Kind: shape.List}
	for _, entry := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		one, notices := t.entry(entry)
		if dropped = append(dropped, notices...); one != "" {
			v.Items = append(v.Items, str(one))
		}
	}
	if len(v.Items) == 0 {
		return shape.Value{}, dropped
	}
	return v, dropped
}

// allows reports whether a text is an allowed value.
func (t *Target) allows(text string) bool {
	return slices.Contains(t.Field.Enum, text) || slices.Contains(t.Field.Enum, strings.TrimSpace(text))
}

// entry converts one entry of a list.
func (t *Target) entry(text string) (entry string, dropped []Dropped) {
	bare := strings.TrimFunc(text, isBlank)
	i := slices.IndexFunc(t.Field.Enum, func(key string) bool { return strings.EqualFold(key, bare) })
	switch {
	case bare == "" || t.Names && bare == "* myContacts": // what Google calls everybody
		return "", nil
	case slices.Contains(t.Field.Enum, text):
		return text, nil
	case i >= 0:
		return t.Field.Enum[i], nil
	case isNoValue(bare, false):
		return "", []Dropped{{Value: text, Message: meansNothing, Notice: true}}
	case !t.Names:
		return bare, nil
	}
	if entry = t.Name(bare); entry == "" {
		return "", []Dropped{{Value: text, Message: "has no letters that a tag can have"}}
	}
	return entry, nil
}

// Name returns the name of a tag as it can be stored. An id stays as it is.
func (t *Target) Name(text string) string {
	if _, err := shape.ParseID(text); err == nil {
		return text
	}
	return Transliterate(text)
}

// plainText converts the text of a file that this service wrote, which needs no interpretation.
func (t *Target) plainText(text string) shape.Value {
	if t.List {
		v := shape.Value{Kind: shape.List}
		for _, entry := range Split(text) {
			v.Items = append(v.Items, t.plainEntry(entry))
		}
		return v
	}
	v := t.plainEntry(text)
	switch t.Field.Type {
	case shape.TypeNumber:
		if jsonNumber.MatchString(v.Text) {
			v.Kind = shape.Num
		}
	case shape.TypeBoolean:
		if v.Text == "true" || v.Text == "false" {
			return shape.Value{Kind: shape.Bool, True: v.Text == "true"}
		}
	}
	return v
}

// plainEntry keeps free text as it is. Other values are trimmed, unless the field allows the value
// with its spaces.
func (t *Target) plainEntry(text string) shape.Value {
	isFree := t.Field.Type == shape.TypeText && t.Field.Format == ""
	if !isFree && !slices.Contains(t.Field.Enum, text) {
		text = strings.TrimSpace(text)
	}
	return str(text)
}
