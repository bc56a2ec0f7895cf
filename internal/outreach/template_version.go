package outreach

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/template"
	"prospector/store"
)

// Each change of a template's content makes a new version. Sequences continue with the version that
// they started with. The current version is stored in the template, the previous ones beside it, so
// that each is stored once.

// saveVersion numbers the content of a template that is being written, and saves the content that
// it replaces.
func (o *Outreach) saveVersion(tx *store.Tx, before, t *Template) error {
	if before == nil {
		t.state.Version = 1
		return nil
	}
	previous, err := json.Marshal(&before.Content, json.Deterministic(true))
	if err != nil {
		return err
	}
	current, err := json.Marshal(&t.Content, json.Deterministic(true))
	if err != nil || bytes.Equal(previous, current) {
		return err
	}
	o.versions.Put(tx, t.ID, before.state.Version, previous)
	t.state.Version++
	return nil
}

// storedVersion is a version of a template's content as it is stored.
type storedVersion struct {
	isCurrent bool
	bytes     []byte // the whole record if isCurrent, else the content; valid until the transaction ends
}

// storedVersion reads a version of the template of a campaign or sequence without decoding it.
func (o *Outreach) storedVersion(tx *store.Tx, id uuid.UUID, version uint32) (storedVersion, error) {
	doc, private, err := o.Templates.Table.GetUndecoded(tx, id)
	if err != nil {
		return storedVersion{}, o.lostTemplate(id, err)
	}
	var state templateState
	if err := json.Unmarshal(private, &state); err != nil {
		return storedVersion{}, err
	}
	if state.Version == version {
		return storedVersion{true, doc.JSON}, nil
	}
	saved, err := o.versions.Get(tx, id, version)
	if err == nil && saved == nil {
		err = o.lostTemplate(id, fault.ErrNotFound)
	}
	return storedVersion{false, saved}, err
}

// lostTemplate returns the error of reading a template that a campaign or sequence has. If there is none, it was lost
// with a damaged page, because templates in use cannot be deleted.
func (o *Outreach) lostTemplate(id uuid.UUID, err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return store.MissingRecord(o.Templates.Table.Name(), id)
	}
	return err
}

// decodeVersion decodes a version of the template with an id.
func (o *Outreach) decodeVersion(tx *store.Tx, id uuid.UUID, v storedVersion) (*template.Content, error) {
	if v.isCurrent {
		doc, err := o.Templates.Get(tx, id)
		return &doc.Record.Content, err
	}
	c := new(template.Content)
	return c, json.Unmarshal(v.bytes, c)
}

// TemplateVersion returns the number of the current version of a template that a campaign or sequence has.
func (o *Outreach) TemplateVersion(tx *store.Tx, id uuid.UUID) (uint32, error) {
	_, private, err := o.Templates.Table.GetUndecoded(tx, id)
	if err != nil {
		return 0, o.lostTemplate(id, err)
	}
	var state templateState
	err = json.Unmarshal(private, &state)
	return state.Version, err
}
