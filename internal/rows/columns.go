package rows

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

type targeting interface {
	comparable
	target() *Target
}

// Fields describes the columns that tables of an entity can have.
type Fields[T any] struct {
	Entity   string
	Targets  map[string]T // by name
	Exported map[string]T // further ones that only an export of this service has
	Year     int          // the present one: nothing is founded after the next
	// IsReadOnly reports whether name is a field that tables cannot set, because the service sets it. Such
	// columns are ignored without a warning.
	IsReadOnly func(name string) bool
}

// Columns maps the columns of a table to fields. NewColumns recognizes them by the first rows. A caller that wants each
// column read in one way from the first row to the last calls Survey before it calls Read for the rows.
type Columns[T targeting] struct {
	fields    Fields[T]
	mapping   map[string]string
	names     *names
	plain     bool   // the service wrote the table
	locale    *Style // nil if every column decides
	dateOrder string // dayFirst, monthFirst, or empty if every column decides
	delimiter byte
	questions []Question
	readings  []string // how values were read
	surveyed  int      // rows
	columns   []string
	assigned  []column[T]           // of CSV
	values    [][]string            // of CSV, in the sample
	members   map[string]*column[T] // of JSON, by path
	paths     []string              // of members
	mapped    map[string]bool       // the members that the mapping sets
	sets      map[T]bool            // what the columns so far set
	objects   map[string]bool       // the paths of nested objects
	ignored   map[string]bool
	warned    []string // the first ignored columns
	sheets    []string // of a spreadsheet
	sheet     string   // the one that is read
}

// column is a column of a table.
type column[T any] struct {
	name          string
	target        T // zero if the column is ignored
	style         Style
	confidence    Confidence
	rank          int        // lower is better if several columns set the field
	isAlternative bool       // other columns of the table set the field too
	typ           shape.Type // of the field
	evidence      evidence
	isFlag        bool // the column sets optOutFlag
	isStatus      bool // it is an opt_out_status
	optOuts       optOuts
	unit          float64 // what its name says that its numbers count, such as 1000; 0 if it says nothing
}

// Cell is a value of a row.
type Cell[T any] struct {
	Target T
	Column string
	Text   string // as the file has it
	Value  shape.Value
	// Doubtful says that the value is an opt-out only because it is there and could not be read.
	Doubtful bool
}

// maxWarnings is the number of ignored columns that are reported by name.
const maxWarnings = 50

// Writing is how the values of a table are written.
type Writing struct {
	// Locale decides about numbers and dates. If it is empty, every column decides.
	Locale string
	// DateOrder is dmy or mdy. If it is empty, Locale decides, or every column.
	DateOrder string
}

// NewColumns maps the columns of a table to fields. mapping maps names of columns to names of fields,
// or to "" if a column is to be ignored. Other columns are recognized by their names, in several languages,
// and by their content. Columns that match no field are ignored and reported by Warnings. Errors are a
// *fault.Error with the paths mapping, which a CSV file without any field has, too, locale and date_order.
func NewColumns[T targeting](t *Reader, mapping map[string]string, how Writing, fields Fields[T]) (*Columns[T], error) {
	c, err := recognizeColumns(t, mapping, how, fields)
	if err == nil {
		err = c.check()
	}
	return c, err
}

func recognizeColumns[T targeting](t *Reader, mapping map[string]string, how Writing, fields Fields[T]) (*Columns[T], error) {
	c := &Columns[T]{
		mapping: mapping, dateOrder: how.DateOrder, delimiter: t.comma, columns: t.Columns,
		members: map[string]*column[T]{}, mapped: map[string]bool{}, sets: map[T]bool{}, objects: map[string]bool{}, ignored: map[string]bool{},
	}
	if !slices.Contains([]string{"", dayFirst, monthFirst}, how.DateOrder) {
		return nil, invalid("date_order", "%q is not one of: dmy, mdy", shorten(how.DateOrder))
	}
	if how.Locale != "" {
		style, err := ParseLocale(how.Locale)
		if err != nil {
			return nil, invalid("locale", "%v", err)
		}
		c.locale = &style
	}
	sample, keys := t.Sample(), t.Columns
	if keys == nil && len(sample) > 0 {
		keys = keysOf(sample[0].Object)
	}
	if c.plain = isOwnExport(keys); c.plain {
		fields.Targets = maps.Clone(fields.Targets)
		maps.Copy(fields.Targets, fields.Exported)
	}
	for name, target := range fields.Targets {
		t := target.target()
		_, hasFurther := fields.Targets[furtherFields[name]]
		t.thisYear, t.manyPhones = fields.Year, hasFurther && t.isPhone()
	}
	c.fields, c.names = fields, namesOf(fields)
	if err := c.checkMapping(); err != nil {
		return nil, err
	}
	c.sheets, c.sheet = t.Sheets()
	for _, one := range fields.Targets {
		if object, _, nested := strings.Cut(one.target().Member, "."); nested {
			c.objects[object] = true
		}
	}
	if t.Columns != nil {
		c.assign(sample)
	}
	for i := range sample {
		c.survey(&sample[i])
	}
	c.decide()
	return c, nil
}

// IsOwn reports whether this service exported the table.
func (c *Columns[T]) IsOwn() bool { return c.plain }

// Target returns the field with a name, or a zero T.
func (c *Columns[T]) Target(field string) T { return c.fields.Targets[field] }

func invalid(path, format string, args ...any) error {
	var p fault.Problems
	p.Invalid(path, format, args...)
	return p.Err()
}

// checkMapping reports a mapping that the table or the entity does not have.
func (c *Columns[T]) checkMapping() error {
	for _, column := range slices.Sorted(maps.Keys(c.mapping)) {
		field := c.mapping[column]
		t, known := c.fields.Targets[field]
		switch {
		case c.columns != nil && !slices.Contains(c.columns, column):
			return invalid("mapping", "column %q is mapped, but the file does not have it; its columns are: %s",
				column, listed(c.columns))
		case field == "":
			continue
		case !known:
			return invalid("mapping", "column %q is mapped to %q, which is not an importable field of %s; use one of: %s",
				column, field, c.fields.Entity, strings.Join(slices.Sorted(maps.Keys(c.fields.Targets)), ", "))
		}
		c.mapped[t.target().Column] = true
	}
	return nil
}

// isOwnExport reports whether columns are those of a table that this service exported.
func isOwnExport(columns []string) bool {
	for _, name := range []string{"id", "created_at", "updated_at"} {
		if !slices.Contains(columns, name) {
			return false
		}
	}
	return true
}

func keysOf(object shape.Value) (keys []string) {
	for _, m := range object.Members {
		keys = append(keys, m.Key)
	}
	return keys
}

// maxListed is the number of characters of names from a file that an error lists.
const maxListed = 4000

// listed joins names from a file, shortened, with unprintable characters replaced.
func listed(names []string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '\ufffd'
		}
		return r
	}, shortenTo(strings.Join(names, ", "), maxListed))
}

// ignore remembers a column that sets nothing.
func (c *Columns[T]) ignore(name string) {
	field, mapped := c.mapping[name]
	isOurs := c.fields.IsReadOnly != nil && c.fields.IsReadOnly(fieldName(name))
	if mapped && field == "" || isOurs || c.ignored[name] {
		return
	}
	c.ignored[name] = true
	if len(c.warned) < maxWarnings {
		c.warned = append(c.warned, name)
	}
}

// fieldName converts the name of a column to that of a field: "First Name" becomes first_name.
func fieldName(column string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(strings.ToLower(column)), "_"), "-", "_")
}

// Warnings describes the columns ignored so far.
func (c *Columns[T]) Warnings() []string {
	list := []string{}
	if others := slices.DeleteFunc(slices.Clone(c.sheets), func(s string) bool { return s == c.sheet }); len(others) > 0 {
		list = append(list, fmt.Sprintf("only the sheet %q was read; the file also has: %s", shorten(c.sheet), listed(others)))
	}
	list = append(list, c.readings...)
	for _, p := range c.all() {
		switch {
		case p.isStatus:
			list = append(list, fmt.Sprintf("column %q was read for opt-outs only", shorten(p.name)))
		case p.confidence == Guessed:
			list = append(list, fmt.Sprintf("column %q was read as %s because of its values", shorten(p.name), p.target.target().Column))
		}
	}
	for _, name := range c.warned {
		shown := shorten(name)
		switch {
		case slices.ContainsFunc(c.questions, func(q Question) bool { return q.Column == askedName(name) }):
		case name == "":
			list = append(list, "a column without a name was ignored")
		case c.names.find(name) != nil:
			list = append(list, fmt.Sprintf("column %q was ignored: another column sets this field", shown))
		default:
			list = append(list, fmt.Sprintf("column %q was ignored: %s have no such field", shown, c.fields.Entity))
		}
	}
	if more := len(c.ignored) - len(c.warned); more > 0 {
		list = append(list, fmt.Sprintf("%d more columns were ignored", more))
	}
	return list
}

// eachValue calls fn for each value of a JSON object. Members of nested objects have a dotted path.
func (c *Columns[T]) eachValue(path string, object shape.Value, fn func(path string, v shape.Value)) {
	for _, m := range object.Members {
		if at := path + m.Key; c.isNested(at, m.Value) {
			c.eachValue(at+".", m.Value, fn)
		} else {
			fn(at, m.Value)
		}
	}
}

// isNested reports whether the members of a value have columns of their own. Other programs nest what they like.
func (c *Columns[T]) isNested(path string, v shape.Value) bool {
	_, mapped := c.mapping[path]
	return v.Kind == shape.Object && (c.objects[path] || !c.plain && !mapped && !c.names.fields[path])
}

// member returns the column of a path in JSON lines.
func (c *Columns[T]) member(path string) *column[T] {
	if p, known := c.members[path]; known {
		return p
	}
	p := &column[T]{name: path, style: english, isAlternative: true}
	if c.locale != nil {
		p.style = *c.locale
	}
	if c.dateOrder != "" {
		p.style.DayFirst = c.dateOrder == dayFirst
	}
	if field, mapped := c.mapping[path]; mapped {
		p.target, p.confidence, p.rank = c.fields.Targets[field], Exact, c.names.rank(path, field)
	} else if found := c.names.find(path); found != nil && !c.mapped[found.field] && (!c.plain || found.rank == 0 || c.isOptOut(found.field)) {
		p.target, p.confidence, p.rank = c.fields.Targets[found.field], confidenceOf(found.rank), found.rank
	}
	var none T
	if p.target == none {
		c.ignore(path)
	} else {
		c.noteTarget(p)
	}
	if len(c.members) < 10_000 { // every line may have other keys
		c.members[path] = p
		c.paths = append(c.paths, path)
	}
	return p
}

// show returns a JSON value as text.
func show(v shape.Value) string {
	switch v.Kind {
	case shape.String, shape.Num:
		return v.Text
	case shape.Bool:
		return fmt.Sprint(v.True)
	case shape.List:
		var entries []string
		for _, entry := range v.Items {
			entries = append(entries, show(entry))
		}
		return strings.Join(entries, ", ")
	case shape.Object:
		return "{…}"
	}
	return ""
}
