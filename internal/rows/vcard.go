package rows

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"mime/quotedprintable"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"prospector/internal/address"
)

// This file reads address books in vCard 2.1, 3.0 and 4.0. It does not use go-vcard, which knows neither quoted-printable
// nor the charsets of version 2.1, and so would need a second reader beside it. The UID of a card is left out: programs
// give a card another one whenever it is copied.

// cardColumns are the columns that cards have as a table.
var cardColumns = []string{
	"First Name", "Last Name", "Full Name", "Email", "Phone", "Job Title", "Company", "Department", "Website", "LinkedIn URL",
	"City", "Country", "Tags", "Notes",
}

// isCards reports whether a text starts with a card.
func isCards(start []byte) bool {
	const begin = "BEGIN:VCARD"
	start = bytes.TrimSpace(start)
	return len(start) >= len(begin) && bytes.EqualFold(start[:len(begin)], []byte(begin))
}

// property is a line of a card.
type property struct {
	name   string // in upper case
	types  []string
	pref   int      // 1 is the most preferred, 101 none
	values []string // the components, of which a plain value has one
}

var errNoEnd = errors.New("the card has no END:VCARD")

// nextCard reads the next card.
func (t *Reader) nextCard() (Row, error) {
	row, depth, isOld := Row{}, 0, false
	var card []property
	for {
		line, err := t.cardLine(isOld)
		switch {
		case err == io.EOF && depth > 0:
			row.Err = errNoEnd
			return row, nil
		case errors.Is(err, errLong):
			row.Err = err
			continue
		case err != nil:
			return row, err
		}
		switch text := strings.ToUpper(strings.Join(strings.Fields(string(line)), "")); {
		case text == "BEGIN:VCARD":
			if depth++; depth == 1 {
				row, card, isOld = Row{Line: t.line - 1}, nil, false
			}
			continue
		case text == "VERSION:2.1":
			isOld = true
		case text == "END:VCARD":
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 {
				if row.Err == nil {
					row.Cells = cellsOf(card)
					row.size = len(strings.Join(row.Cells, ""))
				}
				return row, nil
			}
			continue
		}
		if depth == 1 && len(card) < maxCells { // inside of a card may be that of an agent
			if p, is := t.property(line); is {
				card = append(card, p)
			}
		}
	}
}

// cardLine reads a line with those that continue it. In cards of version 2.1 lines are only broken before a space that
// belongs to the text.
func (t *Reader) cardLine(isOld bool) ([]byte, error) {
	line, err := t.readLine()
	if err != nil {
		return nil, err
	}
	line = bytes.TrimRight(bytes.Clone(line), "\r\n")
	head, _, _ := bytes.Cut(line, []byte(":"))
	isQuoted := bytes.Contains(bytes.ToUpper(head), []byte("QUOTED-PRINTABLE"))
	for {
		next, err := t.readLine()
		if err != nil { // and again for the next line
			if errors.Is(err, errLong) {
				t.long = true
				t.line--
			}
			return line, nil
		}
		bare := bytes.TrimRight(next, "\r\n")
		switch {
		case isQuoted && bytes.HasSuffix(line, []byte("=")):
			line = append(append(line, '\n'), bare...)
		case len(bare) > 1 && (bare[0] == ' ' || bare[0] == '\t') && isOld:
			line = append(line, bare...)
		case len(bare) > 1 && (bare[0] == ' ' || bare[0] == '\t'):
			line = append(line, bare[1:]...)
		default:
			t.back(bytes.Clone(next))
			return line, nil
		}
		if len(line) > maxRow {
			return nil, errLong
		}
	}
}

// wanted are the properties of which columns are made.
var wanted = map[string]bool{
	"N": true, "FN": true, "EMAIL": true, "TEL": true, "TITLE": true, "ROLE": true, "ORG": true, "URL": true, "ADR": true,
	"CATEGORIES": true, "NOTE": true, "X-SOCIALPROFILE": true, "X-LINKEDIN": true, "SOCIALPROFILE": true,
}

// property reads a line.
func (t *Reader) property(line []byte) (p property, wants bool) {
	end, quoted := -1, false
	for i, b := range line {
		if b == '"' {
			quoted = !quoted
		}
		if b == ':' && !quoted {
			end = i
			break
		}
	}
	if end < 0 {
		return p, false
	}
	head, value := strings.Split(string(line[:end]), ";"), line[end+1:]
	p.name, p.pref = strings.ToUpper(head[0][strings.LastIndexByte(head[0], '.')+1:]), 101
	if !wanted[p.name] {
		return p, false
	}
	code, charset := "", ""
	for _, parameter := range head[1:] {
		name, text, has := strings.Cut(parameter, "=")
		if text = strings.Trim(text, `"`); !has {
			name, text = "TYPE", name
		}
		switch strings.ToUpper(name) {
		case "TYPE":
			for one := range strings.SplitSeq(strings.ToUpper(text), ",") {
				switch one {
				case "QUOTED-PRINTABLE", "BASE64", "B":
					code = one
				case "PREF":
					p.pref = 1
				default:
					p.types = append(p.types, one)
				}
			}
		case "PREF":
			if n, err := strconv.Atoi(text); err == nil {
				p.pref = n
			}
		case "ENCODING":
			code = strings.ToUpper(text)
		case "CHARSET":
			charset = text
		}
	}
	p.values = components(t.decodeValue(value, code, charset), p.name == "N" || p.name == "ORG" || p.name == "ADR")
	return p, true
}

// decodeValue returns a value as text.
func (t *Reader) decodeValue(value []byte, code, charset string) string {
	switch code {
	case "QUOTED-PRINTABLE":
		if plain, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(value))); err == nil {
			value = plain
		}
	case "BASE64", "B":
		if plain, err := base64.StdEncoding.DecodeString(string(value)); err == nil {
			value = plain
		}
	default:
		return string(value) // it was decoded with the file
	}
	if in, known := encodingNamed(charset); known || !utf8.Valid(value) {
		if !known {
			in, _ = encodingNamed(windows1252)
		}
		if plain, err := in.NewDecoder().Bytes(value); err == nil {
			value = plain
		}
	}
	return string(value)
}

// components divides a value at its semicolons and removes the backslashes before commas, semicolons and line breaks.
func components(text string, divided bool) []string {
	var list []string
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			if text[i] == 'n' || text[i] == 'N' {
				b.WriteByte('\n')
			} else if strings.IndexByte(`\,;:`, text[i]) >= 0 {
				b.WriteByte(text[i])
			} else {
				b.WriteString(text[i-1 : i+1])
			}
		case text[i] == ';' && divided:
			list = append(list, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(text[i])
		}
	}
	return append(list, strings.TrimSpace(b.String()))
}

// cellsOf returns the cells of a card.
func cellsOf(card []property) []string {
	slices.SortStableFunc(card, func(a, b property) int { return cmp.Or(cmp.Compare(a.pref, b.pref), cmp.Compare(a.rank(), b.rank())) })
	all := func(names ...string) (list []property) {
		for _, name := range names {
			for _, p := range card {
				if p.name == name && strings.Join(p.values, "") != "" {
					list = append(list, p)
				}
			}
		}
		return list
	}
	part := func(n int, names ...string) string {
		for _, p := range all(names...) {
			if n < len(p.values) && p.values[n] != "" {
				return p.values[n]
			}
		}
		return ""
	}
	var emails, phones, tags []string
	for _, p := range all("EMAIL") {
		emails = append(emails, p.values[0])
	}
	for _, p := range all("TEL") {
		if !p.hasType("FAX") && !p.hasType("PAGER") && !p.hasType("MODEM") {
			phones = append(phones, strings.TrimPrefix(p.values[0], "tel:"))
		}
	}
	for _, p := range all("CATEGORIES") {
		tags = append(tags, p.values[0])
	}
	website, linkedIn := "", ""
	for _, p := range all("X-LINKEDIN", "X-SOCIALPROFILE", "SOCIALPROFILE", "URL") {
		switch at := address.LinkedIn(p.values[0]); {
		case strings.Contains(at, "linkedin.com/"):
			linkedIn = cmp.Or(linkedIn, p.values[0])
		case p.name == "URL":
			website = cmp.Or(website, p.values[0])
		}
	}
	first, last, full, company := part(1, "N"), part(0, "N"), part(0, "FN"), part(0, "ORG")
	if first != "" || last != "" || full == company { // a card of a company has its name
		full = ""
	}
	return []string{
		first, last, full, strings.Join(emails, valuesApart), strings.Join(phones, valuesApart), cmp.Or(part(0, "TITLE"), part(0, "ROLE")),
		company, part(1, "ORG"), website, linkedIn, part(3, "ADR"), part(6, "ADR"), strings.Join(tags, ","), part(0, "NOTE"),
	}
}

func (p *property) hasType(kind string) bool { return slices.Contains(p.types, kind) }

// rank is the position of a property among those of its name, unless one is preferred: that of work, a mobile number, others.
func (p *property) rank() int {
	switch {
	case p.hasType("WORK"):
		return 0
	case p.hasType("CELL"):
		return 1
	}
	return 2
}
