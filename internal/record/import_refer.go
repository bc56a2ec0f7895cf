package record

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/rows"
	"prospector/internal/shape"
)

// link is what a row says of a single record that it refers to, such as the account of a contact.
type link struct {
	field  string // the field that refers to it
	refers *kind
	id     *rows.Cell[*target]  // its id or name, or nil
	by     []rows.Cell[*target] // its fields
	body   shape.Value          // its fields
	draft  any                  // a record with these fields, or nil if it cannot be compared or created
	key    string               // equal for links with the same fields
}

// link adds a cell to the description of a record that the row refers to.
func (item *importItem) link(c rows.Cell[*target]) {
	at := slices.IndexFunc(item.links, func(l link) bool { return l.field == c.Target.field })
	if at < 0 {
		at = len(item.links)
		item.links = append(item.links, link{field: c.Target.field, refers: c.Target.refers, body: shape.Value{Kind: shape.Object}})
	}
	l := &item.links[at]
	if c.Target.by == "" {
		l.id = &c
		return
	}
	l.by = append(l.by, c)
	l.body.Members = append(l.body.Members, shape.Member{Key: c.Target.by, Value: c.Value})
}

// preparedLink is what prepareLink made of a description. Many rows have the same.
type preparedLink struct {
	body    shape.Value
	draft   any
	dropped []rows.Dropped
}

// prepareLink makes the draft of a record that the row refers to, without the values it cannot have.
func (item *importItem) prepareLink(l *link, known map[string]*preparedLink, isOwn bool) {
	var key strings.Builder
	key.WriteString(l.field)
	if isOwn && l.id != nil && isID(l.id.Value.Text) && l.refers.shape.Field(otherIDs) != nil {
		// It counts only if there is no record with the id.
		l.body.Members = append(l.body.Members, shape.Member{Key: externalID, Value: text(exportedID(l.id.Value.Text))})
		key.WriteString("\x00" + l.id.Value.Text)
	}
	if len(l.body.Members) == 0 {
		return
	}
	for _, c := range l.by {
		key.WriteString("\x00" + c.Target.by + "\x00" + c.Text)
	}
	l.key = key.String()
	p := known[l.key]
	if p == nil {
		p = l.prepare()
		known[l.key] = p
	}
	l.body, l.draft = p.body, p.draft
	item.dropped = append(item.dropped, p.dropped...)
}

func (l *link) prepare() *preparedLink {
	made := &preparedLink{body: l.body}
	source := shape.Member{Key: sourceField, Value: shape.Value{Kind: shape.String, Text: fromTable}}
	for l.refers.isAlike {
		body := made.body
		if l.refers.shape.Field(sourceField) != nil {
			body.Members = append(body.Members[:len(body.Members):len(body.Members)], source)
		}
		draft, p := l.refers.typed.draft(body)
		if p.Count() == 0 {
			made.draft = draft
			break
		}
		before := len(made.dropped)
		for _, d := range p.Details() {
			i := slices.IndexFunc(l.by, func(c rows.Cell[*target]) bool { return c.Target.by == d.Path })
			if _, has := take(&made.body, d.Path); has && i >= 0 {
				c := &l.by[i]
				made.dropped = append(made.dropped, rows.Dropped{Column: c.Column, Value: c.Text, Message: reason(d.Message, c.Text, c.Value.Text)})
			}
		}
		if len(made.dropped) == before { // it has no name
			break
		}
	}
	return made
}

// found are the records that a batch has referred to.
type found struct {
	links map[string]linked
	names map[string]uuid.UUID // of tags, by name and id
}

// linked is a record that a link has led to.
type linked struct {
	id    uuid.UUID
	notes []rows.Dropped // what is to be reported of the way to it
}

// resolve returns the references of an item as members of the record. What refers to nothing is
// reported.
func (a *attempt) resolve() (refs shape.Value, links []linked, err error) {
	item := a.item
	refs.Kind = shape.Object
	for i := range item.links {
		l, err := a.follow(&item.links[i])
		if err != nil {
			return refs, nil, err
		}
		if links = append(links, l); l.id != uuid.Nil {
			refs.Members = append(refs.Members, shape.Member{Key: item.links[i].field, Value: text(l.id.String())})
		}
	}
	lists := item.lists
	if a.tags != nil {
		names := shape.Value{Kind: shape.List}
		for _, name := range a.options.Tags {
			names.Items = append(names.Items, text(name))
		}
		lists = append(lists[:len(lists):len(lists)], list{a.tags, "tags", names, nil})
	}
	for _, l := range lists {
		ids := shape.Value{Kind: shape.List}
		for i, name := range l.names.Items {
			var shown shape.Value
			if i < len(l.shown) {
				shown = l.shown[i]
			}
			id, err := a.named(&l, name, shown)
			if err != nil {
				return refs, nil, err
			}
			if id != uuid.Nil {
				ids.Items = append(ids.Items, text(id.String()))
			}
		}
		if len(ids.Items) > 0 || len(l.names.Items) == 0 {
			addIDs(&refs, l.Member, ids)
		}
	}
	return refs, links, nil
}

// addIDs adds ids to those of a member. Those to add join those that replace all, if there are such.
func addIDs(refs *shape.Value, member string, ids shape.Value) {
	for i := range refs.Members {
		if m := &refs.Members[i]; m.Key == member || "add_"+m.Key == member {
			m.Value.Items = append(m.Value.Items, ids.Items...)
			return
		}
	}
	refs.Members = append(refs.Members, shape.Member{Key: member, Value: ids})
}

func text(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }

// follow finds the record that a link describes: by its id, its external id, another match field, or by what
// it is like. If there is none, it is created if that is allowed.
func (a *attempt) follow(l *link) (one linked, err error) {
	if l.id != nil {
		id, is, err := l.refers.byIDOrName(a.tx, l.id.Value.Text, a.kind.Object)
		if is || err != nil {
			return linked{id: id}, err
		}
		message := "is neither an id nor a known name"
		if id, err := shape.ParseID(l.id.Value.Text); err == nil {
			if survivor, merged, err := l.refers.Survivor(a.tx, id); merged || err != nil {
				return linked{id: survivor}, err
			}
			message = "does not exist"
		}
		missing := rows.Dropped{Column: l.id.Column, Value: l.id.Text, Message: message}
		if l.body.Get(externalID).Kind == shape.Absent {
			a.report(missing)
		} else {
			defer func() {
				if one.id == uuid.Nil && err == nil {
					a.report(missing)
				}
			}()
		}
	}
	if len(l.body.Members) == 0 {
		return linked{}, nil
	}
	key := l.refers.Entity + "\x00" + l.key
	one, is := a.known.links[key]
	if !is {
		if one, l, err = a.search(l); err != nil {
			return linked{}, err
		}
	}
	for _, note := range one.notes {
		a.report(note)
	}
	if is {
		return one, nil
	}
	if one.id == uuid.Nil {
		if l.draft == nil || !a.mayCreate(l.refers) {
			a.reportMissing(l)
			return linked{}, nil
		}
		if one.id, _, err = l.refers.typed.add(a.tx, l.draft); err != nil {
			return linked{}, err
		}
		a.dry.touch(l.refers, one.id)
	} else if err := a.fillLinked(l, one.id); err != nil {
		return linked{}, err
	}
	a.known.links[key] = one
	return one, nil
}

// fillLinked fills the empty fields of a record that a link describes, and changes none.
func (a *attempt) fillLinked(l *link, id uuid.UUID) error {
	if !l.refers.isAlike || len(l.body.Members) == 0 {
		return nil
	}
	changes, err := l.refers.typed.edit(a.tx, id, func(rec any) (shape.Value, error) {
		body, err := l.refers.withoutKnownID(a.tx, id, l.refers.idsOf(rec), l.body)
		if err == nil {
			l.refers.withFurtherID(rec, &body)
			l.refers.accumulate(rec, &body, func(rows.Dropped) {})
		}
		return l.refers.onlyEmpty(rec, body), err
	})
	if len(changes) > 0 {
		a.dry.touch(l.refers, id)
	}
	return err
}

// search finds the record that a link describes. If its external id belongs to another one, that is left out of the link that
// is returned.
func (a *attempt) search(l *link) (one linked, rest *link, err error) {
	isFound := false
	if v := l.body.Get(externalID); v.Kind == shape.String {
		if one.id, isFound, err = l.refers.findByID(a.tx, v.Text); err == nil && !isFound && l.draft != nil {
			one.id, isFound, err = l.refers.findSpelled(a.tx, v.Text, l.refers.typed.record(l.draft))
		}
		if err != nil {
			return one, l, err
		}
		if isFound && l.draft != nil && l.refers.match.Identity != nil {
			_, why, err := l.refers.agrees(a.tx, one.id, v.Text, l.refers.typed.record(l.draft))
			if err != nil {
				return one, l, err
			}
			if why != "" {
				l, one.id, isFound = l.without(externalID, why, &one.notes), uuid.Nil, false
			}
		}
	}
	for _, field := range l.refers.MatchFields() {
		if v := l.body.Get(field); !isFound && field != externalID && v.Kind == shape.String {
			if one.id, isFound, err = l.refers.Find(a.tx, field, v.Text); err != nil {
				return one, l, err
			}
		}
	}
	if isFound || l.draft == nil {
		return one, l, nil
	}
	var of int
	if one.id, of, err = l.refers.typed.alike(a.tx, l.refers.typed.record(l.draft)); of > 1 {
		for _, c := range l.by {
			if nameFields[c.Target.by] {
				one.notes = append(one.notes, severalAlike(l.refers, c, of))
			}
		}
	}
	return one, l, err
}

// without returns a link without the value of a field, and notes why.
func (l *link) without(field, why string, notes *[]rows.Dropped) *link {
	rest := *l
	take(&rest.body, field)
	p := rest.prepare()
	rest.body, rest.draft = p.body, p.draft
	for _, c := range l.by {
		if c.Target.by == field {
			*notes = append(*notes, rows.Dropped{Column: c.Column, Value: c.Text, Message: why})
		}
	}
	return &rest
}

// reportMissing reports the values by which no record was found.
func (a *attempt) reportMissing(l *link) {
	one := strings.ReplaceAll(l.refers.Object, "_", " ")
	for _, c := range l.by {
		if c.Target.by == "name" || slices.Contains(l.refers.MatchFields(), c.Target.by) {
			a.report(rows.Dropped{Column: c.Column, Value: c.Text, Message: "belongs to no " + one + "; create_missing can create it"})
			return
		}
	}
}

// named returns the id of a record in a list, such as a tag. If name is the id of a record that does not exist here, shown is
// its name. It is created if that is allowed.
func (a *attempt) named(l *list, name, shown shape.Value) (uuid.UUID, error) {
	if name.Kind != shape.String {
		a.report(rows.Dropped{Column: l.column, Value: name.Text, Message: "must be a string"})
		return uuid.Nil, nil
	}
	key := l.refers.Entity + "\x00" + name.Text
	if id, is := a.known.names[key]; is {
		return id, nil
	}
	id, is, err := l.refers.byIDOrName(a.tx, name.Text, a.kind.Object)
	if err != nil {
		return uuid.Nil, err
	}
	if !is && isID(name.Text) && shown.Kind == shape.String && shown.Text != "" && !isID(shown.Text) {
		return a.named(l, shown, shape.Value{})
	}
	if !is {
		if (l.refers.names == nil || l.refers.names.New == nil) || !a.mayCreate(l.refers) || isID(name.Text) {
			message := "is not the name of a " + l.refers.Object + "; create_missing can create it"
			if isID(name.Text) {
				message = "does not exist"
			}
			a.report(rows.Dropped{Column: l.column, Value: name.Text, Message: message})
			return uuid.Nil, nil
		}
		draft, p := l.refers.typed.draft(l.refers.names.New(name.Text, a.kind.Object))
		if p.Count() > 0 {
			a.report(rows.Dropped{Column: l.column, Value: name.Text, Message: reason(p.Details()[0].Message, name.Text)})
			return uuid.Nil, nil
		}
		if id, _, err = l.refers.typed.add(a.tx, draft); err != nil {
			return uuid.Nil, err
		}
		a.dry.touch(l.refers, id)
	}
	a.known.names[key] = id
	return id, nil
}

func isID(text string) bool {
	_, err := shape.ParseID(text)
	return err == nil
}
