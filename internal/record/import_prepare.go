package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// ImportBatch is a batch of rows that is ready to be written.
type ImportBatch struct {
	Rows  []rows.Row
	items []importItem
}

// After returns the batch without its first n rows, which are written.
func (b *ImportBatch) After(n int) *ImportBatch {
	return &ImportBatch{Rows: b.Rows[n:], items: b.items[n:]}
}

// importItem is a row on its way to a record.
type importItem struct {
	body    shape.Value // without references
	draft   any
	links   []link // references to single records
	lists   []list // references to many records
	cells   []rows.Cell[*target]
	dropped []rows.Dropped
	skip    string // why the row is skipped, or ""
}

// list is a cell with ids or names of records.
type list struct {
	*target
	column string
	names  shape.Value
	shown  []shape.Value // the names of the records whose ids names has, if the row has both
}

// Prepare converts rows. It does what takes long, so that Write, for which all writers wait, is short. It calls pause for
// each row.
func (im *Importer) Prepare(tx *store.Tx, table []rows.Row, pause func()) (*ImportBatch, error) {
	b := &ImportBatch{Rows: table, items: make([]importItem, len(table))}
	var custom *shape.Customs
	if im.kind.shape.HasCustom() {
		fields, err := im.kind.customs(tx, im.kind.Entity)
		if err != nil {
			return nil, err
		}
		custom = fields.Customs
	}
	links := map[string]*preparedLink{}
	for i := range table {
		pause()
		im.prepare(&b.items[i], &table[i], custom, links)
	}
	return b, nil
}

func (im *Importer) prepare(item *importItem, row *rows.Row, custom *shape.Customs, links map[string]*preparedLink) {
	if row.Err != nil {
		item.skip = row.Err.Error()
		return
	}
	item.cells, item.dropped = im.columns.Read(row)
	item.body = shape.Value{Kind: shape.Object, Members: make([]shape.Member, 0, len(item.cells)+1)}
	for i := range item.cells {
		im.nameSystem(&item.cells[i])
	}
	for _, c := range item.cells {
		switch {
		case c.Target.refers == nil:
			set(&item.body, c.Target.Member, c.Value)
		case c.Target.List && c.Target.by != "": // see nameLists
		case c.Target.List && c.Value.Kind == shape.List:
			item.lists = append(item.lists, list{c.Target, c.Column, c.Value, nil})
		case c.Target.List:
			item.drop(c.Column, c.Text, "must be a list")
		case c.Value.Kind != shape.String && c.Target.by == "":
			item.drop(c.Column, c.Text, "must be a string")
		default:
			item.link(c)
		}
	}
	item.nameLists()
	for i := range item.links {
		item.prepareLink(&item.links[i], links, im.columns.IsOwn())
	}
	im.decode(item, custom)
	if im.options.OnBadValue == SkipRow && item.skip == "" {
		item.skip = badValue(item.dropped)
	}
}

// nameLists adds the names in a row of an export to the ids of the same records.
func (item *importItem) nameLists() {
	for _, c := range item.cells {
		if !c.Target.List || c.Target.by == "" {
			continue
		}
		for i := range item.lists {
			if l := &item.lists[i]; l.field == c.Target.field && len(l.names.Items) == len(c.Value.Items) {
				l.shown = c.Value.Items
			}
		}
	}
}

// nameSystem adds the name of its system to an external id.
func (im *Importer) nameSystem(c *rows.Cell[*target]) {
	isID := c.Target.refers == nil && c.Target.Member == externalID || c.Target.refers != nil && c.Target.by == externalID
	if !isID || c.Value.Kind != shape.String || c.Value.Text == "" {
		return
	}
	system := rows.IDSystem(c.Column)
	switch im.options.IDSystem {
	case "":
	case NoIDSystem:
		return
	default:
		system = im.options.IDSystem
	}
	before := c.Value.Text
	if c.Value.Text = rows.SystemID(system, before); c.Value.Text != before {
		im.systems[c.Column] = rows.IDSystemOf(c.Value.Text)
	}
}

// badValue returns why a row with dropped values is skipped, or "" if nothing was lost.
func badValue(dropped []rows.Dropped) string {
	for _, d := range dropped {
		if !d.Notice {
			return fmt.Sprintf("%s: %s %s", d.Column, shape.Quote(d.Value), d.Message)
		}
	}
	return ""
}

func (item *importItem) drop(column, value, message string) {
	item.dropped = append(item.dropped, rows.Dropped{Column: column, Value: value, Message: message})
}

// decode makes the draft of an item. Values that the record cannot have are dropped.
func (im *Importer) decode(item *importItem, custom *shape.Customs) {
	for {
		fresh := withoutID(item.body)
		if im.kind.shape.Field(sourceField) != nil {
			fresh.Members = append(fresh.Members, shape.Member{Key: sourceField, Value: shape.Value{Kind: shape.String, Text: fromTable}})
		}
		draft, p := im.kind.typed.draft(fresh)
		problems := *p
		if custom != nil {
			var into shape.Custom
			shape.DecodeCustom(item.body, &into, custom, &problems)
		}
		if item.draft = draft; !item.dropAll(problems.Details()) {
			return
		}
	}
}

// withoutID returns the body for the case that it creates a record.
func withoutID(body shape.Value) shape.Value {
	out := shape.Value{Kind: shape.Object, Members: make([]shape.Member, 0, len(body.Members)+3)}
	for _, m := range body.Members {
		if m.Key != "id" {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// dropAll removes the values with problems from the body, and reports whether there were any.
func (item *importItem) dropAll(problems []fault.Detail) (any bool) {
	before := len(item.dropped)
	defer func() { slices.Reverse(item.dropped[before:]) }()
	for _, d := range slices.Backward(problems) { // so that the positions in lists stay right
		member, at, isEntry := strings.Cut(strings.TrimSuffix(d.Path, "]"), "[")
		sets := func(c rows.Cell[*target]) bool { return c.Target.Member == member }
		if member == otherIDs && !slices.ContainsFunc(item.cells, sets) {
			member = externalID // see withFurtherID
		}
		i := slices.IndexFunc(item.cells, sets)
		if i < 0 {
			continue
		}
		c := &item.cells[i]
		value := c.Text
		v, has := take(&item.body, member)
		if !has {
			continue
		}
		any = true
		if n, err := strconv.Atoi(at); isEntry && err == nil && n < len(v.Items) && len(v.Items) > 1 {
			value = v.Items[n].Text
			v.Items = slices.Delete(slices.Clone(v.Items), n, n+1)
			set(&item.body, member, v)
		}
		item.drop(c.Column, value, reason(d.Message, value, v.Text))
	}
	return any
}

// reason returns a message without the value that it begins with.
func reason(message string, values ...string) string {
	for _, v := range values {
		for _, value := range []string{shape.Quote(v), v} {
			if rest, has := strings.CutPrefix(message, value+" "); has && v != "" {
				return rest
			}
		}
	}
	return message
}

// set adds a member to an object. A key with a dot sets a member of a nested object.
func set(object *shape.Value, key string, v shape.Value) {
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		object.Members = append(object.Members, shape.Member{Key: key, Value: v})
		return
	}
	for i := range object.Members {
		if object.Members[i].Key == outer {
			set(&object.Members[i].Value, inner, v)
			return
		}
	}
	within := shape.Value{Kind: shape.Object}
	set(&within, inner, v)
	object.Members = append(object.Members, shape.Member{Key: outer, Value: within})
}

// take removes a member from an object and returns it.
func take(object *shape.Value, key string) (v shape.Value, has bool) {
	outer, inner, nested := strings.Cut(key, ".")
	i := slices.IndexFunc(object.Members, func(m shape.Member) bool { return m.Key == outer })
	switch {
	case i < 0:
		return v, false
	case nested:
		return take(&object.Members[i].Value, inner)
	}
	v = object.Members[i].Value
	object.Members = slices.Delete(slices.Clone(object.Members), i, i+1)
	return v, true
}
