package apptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
)

// kinds are the types of the records that Record makes, by entity.
var kinds = map[string]reflect.Type{
	"accounts": reflect.TypeFor[crm.Account](), "contacts": reflect.TypeFor[crm.Contact](), "opportunities": reflect.TypeFor[crm.Opportunity](),
	"tasks": reflect.TypeFor[crm.Task](), "meetings": reflect.TypeFor[crm.Meeting](), "suppressions": reflect.TypeFor[crm.Suppression](),
}

// Fields returns the fields of an entity, also those inside of others.
func Fields(entity string) []shape.Field { return shape.OfType(kinds[entity]).Flat() }

// Record returns a whole record of an entity as JSON for Response.Is: the given members, and what a new record has in
// the others. A test that compares whole records so need not know each field. Any id and times match unless they are
// given. It panics if the entity has no such member.
func Record(entity, members string) string {
	object, err := shape.ParseObject([]byte("{}"))
	if err != nil {
		panic(err)
	}
	var ignored fault.Problems // of required members
	record := reflect.New(kinds[entity])
	shape.Decode(object, record.Interface(), shape.Create, &ignored)
	encoded, err := jsonv2.Marshal(record.Interface())
	if err != nil {
		panic(err)
	}
	all := Object(string(encoded))
	maps.Copy(all, map[string]any{"id": "<id>", "created_at": "<time>", "updated_at": "<time>"})
	for name, value := range Object(members) {
		if _, has := all[name]; !has && !strings.HasPrefix(name, "custom_field_") {
			panic(fmt.Sprintf("%s have no %s: %v", entity, name, slices.Sorted(maps.Keys(all))))
		}
		all[name] = value
	}
	encoded, err = json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// RecordAnswer returns the response with a record, as Record makes it.
func RecordAnswer(entity, members string) string {
	return `{"data": ` + Record(entity, members) + `, "meta": {"timestamp": "<time>"}}`
}
