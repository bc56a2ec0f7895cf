package rows

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"prospector/internal/fault"
	"prospector/internal/match"
	"prospector/internal/shape"
)

type targeting interface {
	comparable
	target() *Target
}

// Fields describes the columns that tables of an entity can have.
type Fields[T any] struct {
	Entity  string
	Targets map[string]T // by name
	Own     map[string]T // further ones that only an export of this service has
	Year    int          // the present one: nothing is founded after the next
	// IsReadOnly reports whether name is a field that tables cannot set, because the service sets it. Such
	// columns are ignored without a warning.
	IsReadOnly func(name string) bool
}

// Columns maps the columns of a table to fields.
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
	places    []column[T]           // of CSV
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
	name       string
	target     T // zero if the column is ignored
	style      Style
	confidence Confidence
	rank       int        // lower is better if several columns set the field
	isShared   bool       // other columns of the table set the field too
	typ        shape.Type // of the field
	evidence   evidence
	isFlag     bool // the column sets optOutFlag
	isStatus   bool // it is an opt_out_status
	optOuts    optOuts
	unit       float64 // what its name says that its numbers count, such as 1000; 0 if it says nothing
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
// *fault.Error with the paths mapping, locale and date_order.
func NewColumns[T targeting](t *Reader, mapping map[string]string, how Writing, fields Fields[T]) (*Columns[T], error) {
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
		fields.Targets = joined(fields.Targets, fields.Own)
	}
	for _, target := range fields.Targets {
		target.target().thisYear = fields.Year
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
	if t.Columns == nil {
		for i := range sample {
			c.survey(&sample[i])
		}
		c.decide()
		return c, nil
	}
	c.place(sample)
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

// Read returns the values of a row, and what was dropped. Empty cells, null and empty strings have no
// value: they leave a record unchanged.
func (c *Columns[T]) Read(row *Row) (cells []Cell[T], dropped []Dropped) {
	r := reading[T]{c: c}
	if c.columns == nil {
		r.object("", row.Object)
		r.finish()
		return r.cells, r.dropped
	}
	r.cells = make([]Cell[T], 0, len(c.places))
	var none T
	for i := range c.places {
		if p := &c.places[i]; p.target != none && row.Cells[i] != "" {
			r.text(p, row.Cells[i], UnescapeFormula(row.Cells[i]))
		}
	}
	r.finish()
	return r.cells, r.dropped
}

// reading collects the values of a row.
type reading[T targeting] struct {
	c       *Columns[T]
	cells   []Cell[T]
	ranks   []int // of the columns that the cells come from
	dropped []Dropped
	full    *Cell[T] // the full name
	// fullRank is the rank of the column that the full name comes from.
	fullRank int
	further  []Cell[T] // values of columns that no cell has, in the order of their ranks
}

// furtherFields are the fields that take the values that are left over when several columns, or several values of one,
// could set a field.
var furtherFields = map[string]string{"email": "other_emails", "phone_number": "other_phones", externalID: "other_external_ids"}

// Further returns the field that takes the values of a field that are left over, or "".
func Further(field string) string { return furtherFields[field] }

// text adds the value of a text. raw is how the file has it.
func (r *reading[T]) text(p *column[T], raw, text string) {
	t := p.target.target()
	if t.Member == fullName {
		if r.full == nil || p.rank < r.fullRank && strings.TrimSpace(text) != "" {
			r.full, r.fullRank = &Cell[T]{Column: p.name, Text: text}, p.rank
		}
		return
	}
	if r.c.plain && !t.OptOut && !t.Status {
		if strings.TrimSpace(text) != "" {
			r.add(p, raw, t.plainText(text))
		}
		return
	}
	if t.Status || t.OptOut {
		_, isMapped := r.c.mapping[p.name]
		if v, decides := t.optOut(text, isMapped); decides {
			if v.Kind != shape.Absent {
				flag := *p
				flag.target, flag.isShared = r.c.fields.Targets[optOutFlag], true
				r.add(&flag, raw, v)
			}
			return
		}
	}
	v, dropped := t.fromText(text, p.style)
	for _, d := range dropped {
		d.Column = p.name
		if _, has := r.c.fields.Targets[furtherFields[t.Column]]; has && (d.Message == onlyFirst || d.Message == onlyFirstOf) {
			r.further = append(r.further, Cell[T]{Target: p.target, Column: p.name, Text: raw, Value: str(d.Value)})
			continue
		}
		r.dropped = append(r.dropped, d)
	}
	if v.Kind != shape.Absent {
		r.add(p, raw, v)
	}
}

// add adds a value. Of several columns the best has the word, and any of them that says yes.
func (r *reading[T]) add(p *column[T], raw string, v shape.Value) {
	cell := Cell[T]{Target: p.target, Column: p.name, Text: raw, Value: v, Doubtful: p.isFlag && v.True && p.isUnreadable(raw)}
	i := -1
	if p.isShared {
		i = slices.IndexFunc(r.cells, func(c Cell[T]) bool { return c.Target == p.target })
	}
	if i < 0 {
		r.cells, r.ranks = append(r.cells, cell), append(r.ranks, p.rank)
		return
	}
	isYes := v.Kind == shape.Bool && v.True && (!r.cells[i].Value.True || r.cells[i].Doubtful && !cell.Doubtful)
	isNo := v.Kind == shape.Bool && !v.True && r.cells[i].Value.True
	if p.rank < r.ranks[i] && !isNo || isYes {
		r.cells[i], cell, r.ranks[i] = cell, r.cells[i], p.rank
	}
	r.further = append(r.further, cell)
}

// finish adds what follows from all columns.
func (r *reading[T]) finish() {
	r.splitFullName()
	r.placeCity()
	for _, f := range r.further {
		r.leave(f)
	}
}

// placeCity takes the city of a row for its location if no column of the table says that.
func (r *reading[T]) placeCity() {
	city, hasCity := r.c.fields.Targets["city"]
	location, hasLocation := r.c.fields.Targets["location"]
	if !hasCity || !hasLocation || r.c.plain || r.c.sets[location] {
		return
	}
	if i := slices.IndexFunc(r.cells, func(c Cell[T]) bool { return c.Target == city }); i >= 0 {
		cell := r.cells[i]
		cell.Target = location
		r.cells = append(r.cells, cell)
	}
}

// leave adds a value that its field has no room for to the field for further ones, or reports it.
func (r *reading[T]) leave(f Cell[T]) {
	isSame := func(c Cell[T]) bool {
		return c.Target == f.Target && strings.EqualFold(show(c.Value), show(f.Value))
	}
	if f.Value.Kind == shape.Bool || slices.ContainsFunc(r.cells, isSame) {
		return
	}
	of := f.Target.target().Column
	t, has := r.c.fields.Targets[furtherFields[of]]
	if of == externalID { // ids of no system may be those of anything
		id := SystemID(IDSystem(f.Column), show(f.Value))
		f.Value, has = str(id), has && IDSystemOf(id) != ""
	}
	if !has {
		r.dropped = append(r.dropped, Dropped{Column: f.Column, Message: otherColumn, Notice: true})
		return
	}
	i := slices.IndexFunc(r.cells, func(c Cell[T]) bool { return c.Target == t })
	if i < 0 {
		r.cells = append(r.cells, Cell[T]{Target: t, Column: f.Column, Text: f.Text, Value: shape.Value{Kind: shape.List}})
		i = len(r.cells) - 1
	}
	list := &r.cells[i].Value
	if !slices.ContainsFunc(list.Items, func(v shape.Value) bool { return strings.EqualFold(v.Text, show(f.Value)) }) {
		list.Items = append(slices.Clone(list.Items), str(show(f.Value)))
	}
}

// splitFullName adds the first and last name in a full name, unless other columns have them.
func (r *reading[T]) splitFullName() {
	if r.full == nil {
		return
	}
	raw := r.full.Text
	bare := strings.TrimFunc(raw, isBlank)
	if bare == "" {
		return
	}
	if isNoValue(bare, true) || !utf8.ValidString(raw) {
		message := meansNothing
		if !utf8.ValidString(raw) {
			message = notText
		}
		r.dropped = append(r.dropped, Dropped{Column: r.full.Column, Value: raw, Message: message, Notice: message == meansNothing})
		return
	}
	first, last := match.SplitName(strings.Map(visible, bare))
	for _, part := range []struct{ field, text string }{{"first_name", first}, {"last_name", last}} {
		t := r.c.fields.Targets[part.field]
		if part.text != "" && !r.has(t) {
			r.cells = append(r.cells, Cell[T]{Target: t, Column: r.full.Column, Text: raw, Value: str(oneLine(part.text))})
		}
	}
}

func (r *reading[T]) has(t T) bool {
	return slices.ContainsFunc(r.cells, func(c Cell[T]) bool { return c.Target == t })
}

// object adds the members of a JSON object. Members of nested objects have a dotted path.
func (r *reading[T]) object(path string, object shape.Value) {
	for _, m := range object.Members {
		at := path + m.Key
		switch {
		case r.c.isNested(at, m.Value):
			r.object(at+".", m.Value)
			continue
		case r.c.objects[at]:
			if m.Value.Kind != shape.Null {
				r.dropped = append(r.dropped, Dropped{Column: at, Value: show(m.Value), Message: "must be an object"})
			}
			continue
		}
		p := r.c.member(at)
		var none T
		if p.target == none || m.Value.Kind == shape.Null || m.Value.Kind == shape.String && m.Value.Text == "" {
			continue
		}
		isText := p.typ == shape.TypeText || p.typ == shape.TypeDate
		switch {
		case (p.isFlag || p.isStatus) && m.Value.Kind != shape.Bool:
			for _, text := range textsOf(m.Value) {
				r.text(p, text, text)
			}
		case m.Value.Kind == shape.String || m.Value.Kind == shape.Num && isText:
			r.text(p, m.Value.Text, m.Value.Text)
		default:
			r.add(p, show(m.Value), m.Value)
		}
	}
}

// textsOf returns a value of a column of opt-outs as the texts that it consists of.
func textsOf(v shape.Value) []string {
	if v.Kind != shape.List {
		return []string{show(v)}
	}
	var texts []string
	for _, entry := range v.Items {
		if text := show(entry); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
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
	p := &column[T]{name: path, style: english, isShared: true}
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
