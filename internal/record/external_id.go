package record

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	// externalID is the field by which callers that sync from another system find their records.
	externalID = "external_id"
	// otherIDs are the ids that a record has in further systems. They find it, too. Not every kind has the field.
	otherIDs = "other_external_ids"
)

// externalIDs is the unique key of all external ids of a record.
func externalIDs[T any](k *kind) store.Unique[T] {
	text := k.textField(externalID)
	u := store.Unique[T]{
		Name: externalID,
		Of:   func(rec *T) []byte { return []byte(shape.Fold(text(rec))) },
		Taken: func(rec *T, key []byte, other uuid.UUID) error {
			path, id := externalID, text(rec)
			for i, one := range k.further(externalID, rec) {
				if shape.Fold(one) == string(key) {
					path, id = fmt.Sprintf("%s[%d]", otherIDs, i), one
				}
			}
			return fault.Taken(fault.ExternalIDTaken, path, other.String(), "%s is used by another record", shape.Quote(id))
		},
	}
	if k.shape.Field(otherIDs) != nil {
		u.More = func(rec *T) (keys [][]byte) {
			for _, id := range k.further(externalID, rec) {
				keys = append(keys, []byte(shape.Fold(id)))
			}
			return keys
		}
	}
	return u
}

// idsOf returns the external ids of a record, the first of which is external_id.
func (k *kind) idsOf(rec any) []string {
	return append([]string{k.textField(externalID)(rec)}, k.further(externalID, rec)...)
}

// StoredIDs returns the external ids of a stored record.
func StoredIDs(m *shape.Members) []string {
	others := m.Texts("other_external_ids")
	return append([]string{m.Text("external_id")}, others...)
}

// storedIDs reads the external ids of a record.
func (k *kind) storedIDs(tx *store.Tx, id uuid.UUID) ([]string, error) {
	_, public, err := tx.Reader(k.table.Name()).Public(id)
	stored := shape.NewMembers(string(public))
	return StoredIDs(&stored), err
}

// AreApart reports whether the external ids of two records tell them apart: none is the same, and two differ that are of one
// system or both of none.
func AreApart(a, b []string) bool {
	apart := false
	for _, x := range a {
		for _, y := range b {
			if x == "" || y == "" {
				continue
			}
			if isSameID(x, y) {
				return false
			}
			apart = apart || rows.IDSystemOf(x) == rows.IDSystemOf(y)
		}
	}
	return apart
}

func isSameID(a, b string) bool { return shape.Fold(a) == shape.Fold(b) }

// isSpelling reports whether an id is another with or without the name of its system.
func isSpelling(id, other string) bool {
	return slices.ContainsFunc(rows.OtherSpellings(id), func(spelling string) bool { return isSameID(spelling, other) })
}

// findByID finds the record with an external id, or the one that a record with it was merged into.
func (k *kind) findByID(tx *store.Tx, text string) (uuid.UUID, bool, error) {
	if id, found := k.table.Find(tx, externalID, []byte(shape.Fold(text))); found {
		return id, true, nil
	}
	return k.findMerged(tx, externalID, shape.Fold(text))
}

// findSpelled finds the record whose external id has the name of a system that text lacks, or lacks the one that text has. It
// must be the only one, and agree with rec in a name or an address.
func (k *kind) findSpelled(tx *store.Tx, text string, rec any) (uuid.UUID, bool, error) {
	if k.match.Identity == nil {
		return uuid.Nil, false, nil
	}
	var only uuid.UUID
	for _, spelling := range rows.OtherSpellings(text) {
		id, is, err := k.findByID(tx, spelling)
		if err != nil || is && only != uuid.Nil && id != only {
			return uuid.Nil, false, err
		}
		if is {
			only = id
		}
	}
	if only == uuid.Nil {
		return uuid.Nil, false, nil
	}
	agrees, _, err := k.agrees(tx, only, text, rec)
	return only, agrees, err
}

// agrees compares a stored record with one that may mean the same, for which the kind must have an Identity. why says what
// contradicts if they are about different ones, because an external id is that of the stored one.
func (k *kind) agrees(tx *store.Tx, id uuid.UUID, externalID string, rec any) (agrees bool, why string, err error) {
	stored, err := k.describe(tx, id)
	if err != nil {
		return false, "", err
	}
	row := k.match.Identity.Of(rec)
	agrees, differs := stored.Agrees(row)
	if differs && !agrees {
		why = conflict(externalID, stored, row)
	}
	return agrees, why, nil
}

// withoutKnownID returns the body of an update without its external_id if that leads to the record already: it is one of its
// further ids, that of a record that was merged into it, or its own with or without the name of the system. What is stored is
// not rewritten.
func (k *kind) withoutKnownID(tx *store.Tx, id uuid.UUID, ids []string, body shape.Value) (shape.Value, error) {
	given := body.Get(externalID)
	if given.Kind != shape.String || given.Text == "" || isSameID(given.Text, ids[0]) {
		return body, nil
	}
	isKnown := slices.ContainsFunc(ids, func(own string) bool { return isSameID(own, given.Text) || isSpelling(given.Text, own) })
	if !isKnown {
		survivor, found, err := k.findByID(tx, given.Text)
		if err != nil {
			return body, err
		}
		isKnown = found && survivor == id
	}
	if isKnown {
		take(&body, externalID)
	}
	return body, nil
}

// withFurtherID moves the external_id of a row to the further ones if the record has one of another system.
func (k *kind) withFurtherID(rec any, body *shape.Value) {
	given, stored := body.Get(externalID), k.textField(externalID)(rec)
	isOther := given.Kind == shape.String && given.Text != "" && stored != "" && rows.IDSystemOf(stored) != rows.IDSystemOf(given.Text)
	if !isOther || k.shape.Field(otherIDs) == nil {
		return
	}
	take(body, externalID)
	k.addFurther(body, otherIDs, given)
}

// exportedID returns the external id under which a record is known here that another installation, or another organization, exported
// with an id.
func exportedID(id string) string { return rows.SystemID("prospector", id) }

// withExportedID adds the id of an export to the external ids that a body gives a record. The first external id of a record is external_id.
func (k *kind) withExportedID(rec any, body *shape.Value, own string) {
	ids := k.idsOf(rec)
	switch {
	case own == "" || slices.ContainsFunc(ids, func(id string) bool { return isSameID(id, own) }):
	case ids[0] == "" && body.Get(externalID).Kind == shape.Absent:
		set(body, externalID, text(own))
	default:
		k.addFurther(body, otherIDs, text(own))
	}
}

// addFurther adds a value to a list of a body.
func (k *kind) addFurther(body *shape.Value, field string, v shape.Value) {
	list := shape.Value{Kind: shape.List, Items: []shape.Value{v}}
	if given, has := take(body, field); has {
		list.Items = append(list.Items, given.Items...)
	}
	set(body, field, list)
}
