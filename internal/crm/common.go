package crm

import (
	"strings"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Common is what each of the five entities has beside its own fields.
type Common struct {
	ExternalID shape.Text   `json:"external_id" label:"External ID" doc:"The record's id in another system. No two records of an entity have the same."`
	Tags       shape.IDs    `json:"tags" rule:"ref=tags,maxlen=1000,edits"`
	Custom     shape.Custom `json:",embed"`
}

// MaxTags is the number of tags that a record may have.
var MaxTags = shape.Of[Common]().Field("tags").MaxLen

// Origin is where a record was taken over from, which it keeps to itself.
type Origin struct {
	SourceID string `json:"source_id,omitzero"` // its id in the catalogue
}

// bySource is the key under which records stand by their source id.
const bySource = "source"

func sourceKey[T any](origin func(*T) *Origin) store.Key[T] {
	return store.TextKey(bySource, func(rec *T) string { return origin(rec).SourceID })
}

// FromSource gives the oldest record of a kind that was taken over from a row of the catalogue.
func FindBySource[T any](tx *store.Tx, k *record.Kind[T], sourceID string) (uuid.UUID, bool, error) {
	return k.Table.Oldest(tx, bySource, []byte(sourceID))
}

// Emails, LinkedIn URLs and websites are compared in these forms, wherever they are. What has none is empty.

// FoldEmail is an email without case.
func FoldEmail(s string) string { return shape.Fold(s) }

// FoldLinkedIn is a LinkedIn URL without case, scheme, host prefix, query and trailing slash.
func FoldLinkedIn(s string) string {
	u := strings.TrimSpace(shape.Fold(s))
	if _, rest, has := strings.Cut(u, "//"); has {
		u = rest
	}
	if end := strings.IndexAny(u, "?#"); end >= 0 {
		u = u[:end]
	}
	u = strings.TrimRight(u, "/")
	host, path, _ := strings.Cut(u, "/")
	if host = strings.TrimPrefix(host, "www."); strings.HasSuffix(host, ".linkedin.com") {
		host = "linkedin.com" // that of a country, or for phones
	}
	if path == "" {
		return host
	}
	return host + "/" + path
}

// FoldDomain is the domain of a website.
func FoldDomain(s string) string {
	d, err := shape.Domain(s)
	if err != nil {
		return ""
	}
	return d
}

// FoldName is the form in which unique names are compared: without case, trimmed, with runs of spaces as one.
func FoldName(name string) string { return strings.Join(strings.Fields(shape.Fold(name)), " ") }
