package rows

import (
	"slices"
	"strings"

	"prospector/internal/shape"
)

// Inspection is what is known of a table before it is imported.
type Inspection struct {
	Encoding       string            `json:"encoding"`
	EncodingUnsure bool              `json:"encoding_unsure"` // another encoding is almost as probable
	Encodings      []string          `json:"encodings"`       // in which files can be read
	Delimiter      string            `json:"delimiter"`
	Sheets         []string          `json:"sheets"` // of a spreadsheet, the visible ones first
	Sheet          string            `json:"sheet"`  // the one that was read
	Columns        []InspectedColumn `json:"columns"`
	Mapping        map[string]string `json:"mapping"`
	CustomFields   []NeededField     `json:"custom_fields"`
	Questions      []Question        `json:"questions"` // about the rows that were read
}

// InspectedColumn is a column of a table. Field and Confidence are empty if it sets no field.
type InspectedColumn struct {
	Name       string     `json:"name"`
	Samples    []string   `json:"samples"`
	Field      string     `json:"field"`
	Confidence Confidence `json:"confidence"`
}

// NeededField is a custom field that a column could set if it existed.
type NeededField struct {
	Column   string     `json:"column"`
	Key      string     `json:"key"`
	Label    string     `json:"label"`
	DataType shape.Type `json:"data_type"`
}

const (
	maxSamples   = 5
	maxInspected = 1000 // columns
	// maxSampleText is the number of characters of the samples of each rank, which columns share.
	maxSampleText = 40_000
)

// Inspect describes the columns of a table. It takes what NewColumns takes, but a table without any field, too.
func Inspect[T targeting](t *Reader, mapping map[string]string, how Writing, fields Fields[T]) (Inspection, error) {
	c, err := recognizeColumns(t, mapping, how, fields)
	if err != nil {
		return Inspection{}, err
	}
	in := Inspection{
		Delimiter: t.Delimiter(), Encodings: Encodings(), Sheets: []string{}, Columns: []InspectedColumn{}, Mapping: map[string]string{}, CustomFields: []NeededField{},
	}
	sample := t.Sample()
	in.Questions = append([]Question{}, c.questions...)
	in.Encoding, in.EncodingUnsure = t.Encoding(), t.EncodingUnsure()
	if names, read := t.Sheets(); names != nil {
		in.Sheets, in.Sheet = names, read
	}
	places, values := c.assigned, c.values
	if c.columns == nil {
		places, values = c.sampledMembers(sample)
	}
	places = places[:min(len(places), maxInspected)]
	shown := min(maxShown, maxSampleText/max(1, len(places)))
	var none T
	needed := map[string]bool{}
	for i, p := range places {
		one := InspectedColumn{Name: p.name, Samples: distinct(values[i], shown)}
		if p.target != none {
			one.Field, one.Confidence = p.target.target().Column, p.confidence
			in.Mapping[p.name] = one.Field
		} else if c.ignored[p.name] && p.name != "" && len(values[i]) > 0 {
			if field := neededField(p.name, values[i]); field.Key != "" && !needed[field.Key] {
				needed[field.Key] = true
				in.CustomFields = append(in.CustomFields, field)
			}
		}
		in.Columns = append(in.Columns, one)
	}
	return in, nil
}

// sampledMembers returns the columns of JSON lines, with their values. Names in excess of what a header may have are
// left out.
func (c *Columns[T]) sampledMembers(sample []Row) (places []column[T], values [][]string) {
	index, size := map[string]int{}, 0
	for _, row := range sample {
		c.eachValue("", row.Object, func(path string, v shape.Value) {
			i, known := index[path]
			if !known {
				if i = len(places); i >= maxInspected || size+len(path) > maxHeader {
					return
				}
				size += len(path)
				index[path] = i
				places, values = append(places, *c.member(path)), append(values, nil)
			}
			if text := strings.TrimFunc(show(v), isBlank); text != "" {
				values[i] = append(values[i], text)
			}
		})
	}
	return places, values
}

// distinct returns the first different values, shortened to a number of characters.
func distinct(values []string, shown int) []string {
	list := []string{}
	for _, v := range values {
		if v = shortenTo(v, shown); !slices.Contains(list, v) {
			list = append(list, v)
		}
		if len(list) == maxSamples {
			break
		}
	}
	return list
}

// neededField returns the custom field that a column would need.
func neededField(name string, values []string) NeededField {
	label := strings.Join(strings.Fields(oneLine(listed([]string{name}))), " ")
	key := strings.TrimLeft(strings.ToLower(strings.ReplaceAll(Transliterate(name), " ", "_")), "_0123456789")
	key = strings.TrimRight(key[:min(len(key), 63)], "_")
	return NeededField{Column: name, Key: key, Label: label, DataType: typeOf(values)}
}

// typeOf guesses the type of a custom field by values.
func typeOf(values []string) shape.Type {
	all := func(is func(string) bool) bool {
		return !slices.ContainsFunc(values, func(v string) bool { return !is(v) })
	}
	isBool := func(v string) bool { _, ok := ParseBool(v); return ok }
	isDate := func(v string) bool { _, ok := parseDate(v, english); return ok }
	isNumber := func(v string) bool {
		isCode := len(v) > 1 && v[0] == '0' && v[1] != '.' && v[1] != ',' || v[0] == '+'
		_, ok := parseNumber(v, english)
		return ok && !isCode
	}
	switch {
	case all(isBool) && slices.ContainsFunc(values, func(v string) bool { return v != "0" && v != "1" }):
		return shape.TypeBoolean
	case all(isDate):
		return shape.TypeDate
	case all(isNumber):
		return shape.TypeNumber
	}
	return shape.TypeText
}
