package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
)

// findGiven returns the record with the id of the row.
func (a *attempt) findGiven() (id uuid.UUID, exists bool, err error) {
	given := a.item.body.Get("id")
	if given.Kind == shape.Absent {
		return uuid.Nil, false, nil
	}
	if id, err := shape.ParseID(given.Text); err == nil {
		if a.kind.table.Has(a.tx, id) {
			return id, true, nil
		}
		if survivor, merged, err := a.kind.Survivor(a.tx, id); merged || err != nil {
			return id, false, cmp.Or(err, error(fault.New(fault.NotFound, "id: %s was merged into %s", id, survivor)))
		}
		if a.columns.IsOwn() && a.kind.shape.Field(otherIDs) != nil {
			a.exportedID = exportedID(given.Text)
			return a.kind.findByID(a.tx, a.exportedID)
		}
	}
	for _, c := range a.item.cells {
		if c.Target.Member == "id" {
			a.report(rows.Dropped{Column: c.Column, Value: c.Text, Message: "does not exist"})
		}
	}
	return uuid.Nil, false, nil
}

// find returns the record that the row means by its other values. rec is what the row would add.
func (a *attempt) find(rec any, links []linked) (id uuid.UUID, exists bool, err error) {
	for _, field := range a.match {
		for i, v := range append([]shape.Value{a.item.body.Get(field)}, a.item.body.Get(rows.Further(field)).Items...) {
			if v.Kind != shape.String || v.Text == "" || !a.mayFind(field, v.Text) || i > 0 && a.kind.match.isShared(v.Text) {
				continue
			}
			if field == externalID {
				id, exists, err = a.findByExternalID(v.Text, rec)
			} else {
				id, exists, err = a.findBy(field, v.Text, rec)
				a.fillsOnly = a.fillsOnly || exists && i > 0
			}
			if exists || err != nil {
				return id, exists, err
			}
		}
	}
	if !a.isAlike || a.item.namesUnknown(links) {
		return uuid.Nil, false, nil
	}
	id, of, err := a.kind.typed.alike(a.tx, rec)
	if of > 1 {
		for _, c := range a.item.cells {
			if nameFields[c.Target.Member] {
				a.report(severalAlike(a.kind, c, of))
				break
			}
		}
	}
	return id, of > 0, err
}

// nameFields are the fields with names by which Rules.Alike compares records.
var nameFields = map[string]bool{"name": true, "last_name": true}

// severalAlike says that more than one record has the name of a row.
func severalAlike(k *kind, c rows.Cell[*target], of int) rows.Dropped {
	message := fmt.Sprintf("is the name of %d %s; the one that has most in common with the row was taken", of, strings.ReplaceAll(k.Entity, "_", " "))
	return rows.Dropped{Column: c.Column, Value: c.Text, Message: message, Notice: true}
}

// isSure reports whether the caller has said by which field records are found, so that what it finds is believed.
func (a *attempt) isSure() bool { return len(a.match) == 1 || a.kind.match.Identity == nil }

// findByExternalID finds the record with an external id. One that is about somebody else is an error. An id with the name of a
// system also finds the one without it, and the other way round, if the rest agrees.
func (a *attempt) findByExternalID(text string, rec any) (uuid.UUID, bool, error) {
	id, exists, err := a.kind.findByID(a.tx, text)
	if exists {
		_, isOwn := a.kind.table.Find(a.tx, externalID, []byte(shape.Fold(text)))
		a.fillsOnly = !isOwn
	}
	if err != nil || exists && a.isSure() {
		return id, exists, err
	}
	if !exists {
		return a.kind.findSpelled(a.tx, text, rec)
	}
	_, why, err := a.kind.agrees(a.tx, id, text, rec)
	if why != "" {
		err = fault.New(fault.ValidationFailed, "%s", why)
	}
	return id, true, err
}

// findBy finds the record with a value in a match field that the row may be about. Of several it is the oldest one that fits, or
// else the oldest of which too little is known.
func (a *attempt) findBy(field, text string, rec any) (best uuid.UUID, found bool, err error) {
	if a.kind.table.Count(a.tx) == 0 || a.kind.match.Fields[field](text) == "" {
		return uuid.Nil, false, nil
	}
	ids, others, err := a.withValue(field, []byte(a.kind.match.Fields[field](text)))
	if err != nil {
		return uuid.Nil, false, err
	}
	defer func() { a.fillsOnly = found && slices.Contains(others, best) }()
	if a.isSure() {
		for _, id := range append(ids, others...) {
			if may, err := a.mayBe(id, field); may || err != nil {
				return id, may, err
			}
		}
		return uuid.Nil, false, nil
	}
	row, most := a.kind.match.Identity.Of(rec), Apart
	for _, id := range append(ids, others...) {
		may, err := a.mayBe(id, field)
		if err != nil {
			return uuid.Nil, false, err
		}
		if !may {
			continue
		}
		stored, err := a.kind.describe(a.tx, id)
		if err != nil {
			return uuid.Nil, false, err
		}
		if fit := stored.Fit(row, field, text); fit > most {
			best, most = id, fit
		}
	}
	return best, most > Apart, nil
}

// withValue returns the records with a value in a match field, the oldest first, and those that merely have it as a further one.
func (a *attempt) withValue(field string, value []byte) (ids, others []uuid.UUID, err error) {
	table := a.kind.table
	if ids, err = table.IDs(a.tx, MatchKey(field), value, maxAlike); err != nil || a.kind.match.Further[field] == "" {
		return ids, nil, err
	}
	others, err = table.IDs(a.tx, a.kind.match.Further[field], value, maxAlike)
	return ids, slices.DeleteFunc(others, func(id uuid.UUID) bool { return slices.Contains(ids, id) }), err
}

// further returns the further values of a match field that a record has.
func (k *kind) further(field string, rec any) []string {
	f := k.shape.Field(rows.Further(field))
	if f == nil {
		return nil
	}
	values, _ := f.Get(rec).([]string)
	return values
}

// namesUnknown reports whether a row names a record that it refers to, such as its account, which does not exist. Records of
// the same name without one are then not the same.
func (item *importItem) namesUnknown(links []linked) bool {
	for i, l := range links {
		named := item.links[i].id != nil || slices.ContainsFunc(item.links[i].by, func(c rows.Cell[*target]) bool { return c.Target.by == "name" || c.Target.by == externalID })
		if l.id == uuid.Nil && named {
			return true
		}
	}
	return false
}

// mayBe reports whether a record that was found by a field may be the one that the row means. With MatchAuto it is not
// if both have external ids that tell them apart.
func (a *attempt) mayBe(id uuid.UUID, field string) (bool, error) {
	own := append(a.item.body.Get(otherIDs).Texts(), a.item.body.Get(externalID).Text, a.exportedID)
	if field == externalID || len(a.match) == 1 || !slices.ContainsFunc(own, func(id string) bool { return id != "" }) {
		return true, nil
	}
	stored, err := a.kind.storedIDs(a.tx, id)
	return err == nil && !AreApart(stored, own), err
}

// mayFind reports whether a row finds records by a text.
func (a *attempt) mayFind(field, text string) bool {
	return a.kind.match.Identifies == nil || a.options.MatchOn == field || a.kind.match.Identifies(field, text)
}
