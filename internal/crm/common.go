package crm

import (
	"strings"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Common holds the fields that accounts, contacts, opportunities, tasks and meetings share.
type Common struct {
	ExternalID shape.Text   `json:"external_id" label:"External ID" rule:"personal=id" doc:"The record's id in another system, unique within the entity."`
	Tags       shape.IDs    `json:"tags" rule:"ref=tags,maxlen=1000,edits,named" doc:"Tags, given by their ids or names."`
	Custom     shape.Custom `json:",embed"`
}

// MaxTags is the number of tags that a record may have.
var MaxTags = shape.Of[Common]().Field("tags").MaxLen

// Origin is the private part of a record that a TAM Import created.
type Origin struct {
	SourceID string `json:"source_id,omitzero" rule:"personal=id"` // the id in the catalog
	// DoubtfulOptOut is the import that opted a contact out because of a value that it could not read.
	DoubtfulOptOut uuid.UUID `json:"doubtful_opt_out,omitzero"`
}

// bySource is the secondary key that finds records by their source id.
const bySource = "source"

func sourceKey[T any](origin func(*T) *Origin) store.Key[T] {
	return store.TextKey(bySource, func(rec *T) string { return origin(rec).SourceID })
}

// FindBySource returns the oldest record of a kind that was imported from a row of the catalog.
func FindBySource[T any](tx *store.Tx, k *record.Kind[T], sourceID string) (uuid.UUID, bool, error) {
	id, found, err := k.Table.Oldest(tx, bySource, []byte(sourceID))
	if err != nil || found {
		return id, found, err
	}
	return k.FindMergedSource(tx, sourceID)
}

// FoldName returns a name in the form in which unique names are compared: in lower case, trimmed,
// with single spaces.
func FoldName(name string) string { return strings.Join(strings.Fields(shape.Fold(name)), " ") }
