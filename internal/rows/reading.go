package rows

import (
	"slices"
	"strings"
	"unicode/utf8"

	"prospector/internal/match"
	"prospector/internal/shape"
)

// Read returns the values of a row, and what was dropped. Empty cells, null and empty strings have no
// value: they leave a record unchanged.
func (c *Columns[T]) Read(row *Row) (cells []Cell[T], dropped []Dropped) {
	r := reading[T]{c: c}
	if c.columns == nil {
		c.eachValue("", row.Object, r.member)
		r.finish()
		return r.cells, r.dropped
	}
	r.cells = make([]Cell[T], 0, len(c.assigned))
	var none T
	for i := range c.assigned {
		if p := &c.assigned[i]; p.target != none && row.Cells[i] != "" {
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
				flag.target, flag.isAlternative = r.c.fields.Targets[optOutFlag], true
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
	if p.isAlternative {
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
	r.fillLocation()
	for _, f := range r.further {
		r.leave(f)
	}
}

// fillLocation takes the city of a row for its location if no column of the table says that.
func (r *reading[T]) fillLocation() {
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

// member adds a value of a JSON object.
func (r *reading[T]) member(path string, v shape.Value) {
	if r.c.objects[path] {
		if v.Kind != shape.Null {
			r.dropped = append(r.dropped, Dropped{Column: path, Value: show(v), Message: "must be an object"})
		}
		return
	}
	p := r.c.member(path)
	var none T
	isText := p.typ == shape.TypeText || p.typ == shape.TypeDate
	switch {
	case p.target == none || v.Kind == shape.Null || v.Kind == shape.String && v.Text == "":
	case (p.isFlag || p.isStatus) && v.Kind != shape.Bool:
		for _, text := range textsOf(v) {
			r.text(p, text, text)
		}
	case v.Kind == shape.String || v.Kind == shape.Num && isText:
		r.text(p, v.Text, v.Text)
	default:
		r.add(p, show(v), v)
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
