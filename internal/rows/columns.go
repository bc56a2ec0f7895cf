package rows

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Target is the field that a column sets.
type Target struct {
	Column string // the name of the column
	Member string // the member of the record that it sets, such as "scoring.heat_score"
	Field  shape.Field
	List   bool
}

func (t *Target) target() *Target { return t }

type targeting interface {
	comparable
	target() *Target
}

// Fields describes the columns that tables of an entity can have.
type Fields[T any] struct {
	Entity  string
	Targets map[string]T // by column name
	// ReadOnly reports whether name is a field that tables cannot set, because the service sets it.
	ReadOnly func(name string) bool
}

// Columns maps the columns of a table to fields. T is *Target or embeds a Target.
type Columns[T targeting] struct {
	fields  Fields[T]
	renamed map[string]string // column name to field name
	mapped  map[string]bool   // the members that renamed columns set
	objects map[string]bool   // the paths of nested objects
	places  []T               // the targets of the columns of a CSV file; zero for ignored columns
	ignored map[string]bool
	warned  []string // the first ignored columns
}

// maxWarnings is the number of ignored columns that are reported by name.
const maxWarnings = 50

// NewColumns maps columns to fields. columns is nil for JSON lines, where each row has its own
// keys. renamed maps names of columns to names of fields. Columns that match no field are ignored
// and reported by Warnings.
func NewColumns[T targeting](columns []string, renamed map[string]string, fields Fields[T]) (*Columns[T], error) {
	c := &Columns[T]{
		fields: fields, renamed: renamed,
		mapped: map[string]bool{}, objects: map[string]bool{}, ignored: map[string]bool{},
	}
	for _, column := range slices.Sorted(maps.Keys(renamed)) {
		t, known := fields.Targets[renamed[column]]
		if !known {
			return nil, fmt.Errorf("column %q is mapped to %q, which is not an importable field of %s; use one of: %s",
				column, renamed[column], fields.Entity, strings.Join(slices.Sorted(maps.Keys(fields.Targets)), ", "))
		}
		if columns != nil && !slices.Contains(columns, column) {
			return nil, fmt.Errorf("column %q is mapped, but the file does not have it; its columns are: %s",
				column, listed(columns))
		}
		c.mapped[t.target().Member] = true
	}
	for _, t := range fields.Targets {
		if object, _, nested := strings.Cut(t.target().Member, "."); nested {
			c.objects[object] = true
		}
	}
	taken := map[string]string{}
	for _, column := range columns {
		t, is := c.find(column)
		c.places = append(c.places, t)
		if !is {
			continue
		}
		member := t.target().Member
		if other, twice := taken[member]; twice {
			return nil, fmt.Errorf("columns %q and %q both set %s", other, column, member)
		}
		taken[member] = column
	}
	if columns != nil && len(taken) == 0 {
		return nil, fmt.Errorf("no column is a field of %s: %s (rename columns with --map)",
			fields.Entity, listed(columns))
	}
	return c, nil
}

// listed joins names from a file, with unprintable characters replaced.
func listed(names []string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '\ufffd'
		}
		return r
	}, strings.Join(names, ", "))
}

// fieldName converts the name of a column to that of a field: "First Name" becomes first_name.
func fieldName(column string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(strings.ToLower(column)), "_"), "-", "_")
}

// find returns the target of a column, and remembers columns without one. A mapped column takes
// precedence over a column with the name of the field.
func (c *Columns[T]) find(column string) (t T, is bool) {
	if name, mapped := c.renamed[column]; mapped {
		return c.fields.Targets[name], true
	}
	t, is = c.fields.Targets[column]
	if !is {
		t, is = c.fields.Targets[fieldName(column)]
	}
	if is && !c.mapped[t.target().Member] {
		return t, true
	}
	if !c.ignored[column] {
		c.ignored[column] = true
		if len(c.warned) < maxWarnings {
			c.warned = append(c.warned, column)
		}
	}
	var none T
	return none, false
}

// Warnings describes the columns ignored so far.
func (c *Columns[T]) Warnings() []string {
	list := []string{}
	for _, column := range c.warned {
		_, mapped := c.fields.Targets[fieldName(column)]
		switch {
		case column == "":
			list = append(list, "a column without a name was ignored")
		case mapped:
			list = append(list, fmt.Sprintf("column %q was ignored: another column is mapped to this field", column))
		case c.fields.ReadOnly != nil && c.fields.ReadOnly(fieldName(column)):
			list = append(list, fmt.Sprintf("column %q was ignored: the field is read-only", column))
		default:
			list = append(list, fmt.Sprintf("column %q was ignored: %s have no such field", column, c.fields.Entity))
		}
	}
	if more := len(c.ignored) - len(c.warned); more > 0 {
		list = append(list, fmt.Sprintf("%d more columns were ignored", more))
	}
	return list
}

// Each calls give with each value of a row and its target. It skips empty cells, null and empty
// strings, which leave a record unchanged.
func (c *Columns[T]) Each(row *Row, p *fault.Problems, give func(T, shape.Value)) {
	if c.places == nil {
		var given []string
		c.members("", row.Object, &given, p, give)
		return
	}
	var none T
	for i, t := range c.places {
		if t == none {
			continue
		}
		if cell := row.Cells[i]; strings.TrimSpace(cell) != "" {
			give(t, t.target().cell(cell))
		}
	}
}

// members calls give with the members of a JSON object. Members of nested objects have a dotted
// path.
func (c *Columns[T]) members(
	path string, object shape.Value, given *[]string, p *fault.Problems, give func(T, shape.Value),
) {
	for _, m := range object.Members {
		at := path + m.Key
		switch {
		case c.objects[at] && m.Value.Kind == shape.Object:
			c.members(at+".", m.Value, given, p, give)
			continue
		case c.objects[at]:
			if m.Value.Kind != shape.Null {
				p.Invalid(at, "must be an object")
			}
			continue
		}
		t, is := c.find(at)
		if !is || m.Value.Kind == shape.Null || m.Value.Kind == shape.String && m.Value.Text == "" {
			continue
		}
		member := t.target().Member
		if slices.Contains(*given, member) {
			p.Invalid(member, "given twice")
			continue
		}
		*given = append(*given, member)
		give(t, t.target().value(m.Value))
	}
}

// cell converts a cell to the JSON value that the field expects.
func (t *Target) cell(cell string) shape.Value {
	cell = UnescapeFormula(cell)
	if t.List {
		return t.Entries(cell)
	}
	return t.value(t.text(cell))
}

// Entries converts a cell that holds a list.
func (t *Target) Entries(cell string) shape.Value {
	entries := shape.Value{Kind: shape.List}
	for _, entry := range Split(cell) {
		entries.Items = append(entries.Items, t.text(entry))
	}
	return entries
}

// text converts the text of a cell. Free text is kept as it is. Other values are trimmed, unless
// the field allows the value with its spaces.
func (t *Target) text(s string) shape.Value {
	free := t.Field.Type == shape.TypeText && t.Field.Format == ""
	if !free && !slices.Contains(t.Field.Enum, s) {
		s = strings.TrimSpace(s)
	}
	return shape.Value{Kind: shape.String, Text: s}
}

var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	booleans   = map[string]bool{"true": true, "yes": true, "1": true, "false": false, "no": false, "0": false}
)

// value converts a string to a number or a boolean if the field expects one. A string that is
// neither is returned unchanged, and decoding the record reports it.
func (t *Target) value(v shape.Value) shape.Value {
	if v.Kind != shape.String {
		return v
	}
	switch t.Field.Type {
	case shape.TypeNumber:
		if jsonNumber.MatchString(v.Text) {
			v.Kind = shape.Num
		}
	case shape.TypeBoolean:
		if b, ok := booleans[strings.ToLower(v.Text)]; ok {
			return shape.Value{Kind: shape.Bool, True: b}
		}
	}
	return v
}
