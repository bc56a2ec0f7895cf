package crm

import (
	"cmp"
	"slices"

	"prospector/internal/address"
	"prospector/internal/record"
)

// Entity is the plural name of a kind that has Common fields, such as "contacts". Custom fields
// belong to an Entity.
type Entity string

// ObjectType is the singular name of a kind that has Common fields, such as "contact". Tags belong
// to an ObjectType.
type ObjectType string

// entities lists the kinds that have Common fields, in the order in which messages and the API
// document list them. Every kind that New adds with addEntity must be in this list.
var entities = []struct {
	entity Entity
	object ObjectType
}{
	{"accounts", "account"},
	{"contacts", "contact"},
	{"opportunities", "opportunity"},
	{"tasks", "task"},
	{"meetings", "meeting"},
}

// Values returns the allowed values.
func (Entity) Values() (values []string) {
	for _, e := range entities {
		values = append(values, string(e.entity))
	}
	return values
}

// Values returns the allowed values.
func (ObjectType) Values() (values []string) {
	for _, e := range entities {
		values = append(values, string(e.object))
	}
	return values
}

// addEntity adds a kind that has Common fields to the set. It panics if entities does not list it.
func addEntity[T any](c *CRM, r record.Rules[T]) *record.Kind[T] {
	if !slices.Contains(Entity("").Values(), r.Entity) || !slices.Contains(ObjectType("").Values(), r.Object) {
		panic("crm: " + r.Entity + " is missing from the list of entities")
	}
	r.Customs, r.History.KeepsValues = c.customs, true
	r.Trash, r.Undo = cmp.Or(r.Trash, &record.TrashRules[T]{}), cmp.Or(r.Undo, &record.UndoRules[T]{})
	return record.Add(c.set, r)
}

// matchFields returns, by entity, the fields beside external_id by which batches and imports find
// existing records, and the function that returns the canonical form of their values. A website on a
// shared host has none, so it finds nothing.
func matchFields(e Entity, hosts *address.Hosts) map[string]func(string) string {
	switch e {
	case "accounts":
		return map[string]func(string) string{"website": hosts.Key}
	case "contacts":
		return map[string]func(string) string{"email": address.Key, "linkedin_url": address.LinkedIn}
	}
	return nil
}

// MatchFields returns the fields by which batches and imports find existing records of an entity.
func MatchFields(e Entity) []string { return record.MatchFields(matchFields(e, nil)) }

// Source is the way in which a record was created.
type Source string

const (
	SourceAPI       Source = "api"
	SourceCSV       Source = "csv"
	SourceTAMImport Source = "tam_import"
	SourceDemo      Source = "demo"
)

// Values returns the allowed values.
func (Source) Values() []string {
	return []string{string(SourceAPI), string(SourceCSV), string(SourceTAMImport), string(SourceDemo)}
}
