package outreach

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// keepVersion counts the versions of a template's content, and keeps the one that another takes the place of: whatever began with it
// goes on with it. The present one is in the template itself, so that each is stored once.
func (o *Outreach) keepVersion(tx *store.Tx, before, t *Template) error {
	if before == nil {
		t.state.Version = 1
		return nil
	}
	old, err := json.Marshal(&before.Content, json.Deterministic(true))
	if err != nil {
		return err
	}
	fresh, err := json.Marshal(&t.Content, json.Deterministic(true))
	if err != nil || bytes.Equal(old, fresh) {
		return err
	}
	o.versions.Put(tx, t.ID, before.state.Version, old)
	t.state.Version++
	return nil
}

// version reads the content that a template had in a version.
func (o *Outreach) version(tx *store.Tx, template uuid.UUID, n uint32) (*Content, error) {
	doc, err := o.Templates.Get(tx, template)
	if err == nil && doc.Record.state.Version == n {
		return &doc.Record.Content, nil
	}
	if err != nil {
		return nil, err
	}
	kept, err := o.versions.Get(tx, template, n)
	switch {
	case err != nil:
		return nil, err
	case kept == nil:
		return nil, fault.ErrNotFound
	}
	c := new(Content)
	return c, json.Unmarshal(kept, c)
}
