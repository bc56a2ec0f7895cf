package outreach

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
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

// storedVersion returns the JSON of the content of a version of the template of a campaign or sequence: of the whole
// template if it is the current version. It is valid until the transaction ends.
func (o *Outreach) storedVersion(tx *store.Tx, id uuid.UUID, version uint32) ([]byte, error) {
	doc, state, err := o.currentVersion(tx, id)
	if err != nil || state.Version == version {
		return doc.JSON, err
	}
	saved, err := o.versions.Get(tx, id, version)
	if err == nil && saved == nil {
		err = o.lostTemplate(id, fault.ErrNotFound)
	}
	return saved, err
}

// currentVersion reads a template that a campaign or sequence has, without decoding it.
func (o *Outreach) currentVersion(tx *store.Tx, id uuid.UUID) (doc store.Doc[Template], state templateState, err error) {
	doc, private, err := o.Templates.Table.GetUndecoded(tx, id)
	if err != nil {
		return doc, state, o.lostTemplate(id, err)
	}
	return doc, state, json.Unmarshal(private, &state)
}

// lostTemplate returns the error of reading a template that a campaign or sequence has. If there is none, it was lost
// with a damaged page, because templates in use cannot be deleted.
func (o *Outreach) lostTemplate(id uuid.UUID, err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return store.MissingRecord(o.Templates.Table.Name(), id)
	}
	return err
}

// TemplateVersion returns the number of the current version of a template that a campaign or sequence has.
func (o *Outreach) TemplateVersion(tx *store.Tx, id uuid.UUID) (uint32, error) {
	_, state, err := o.currentVersion(tx, id)
	return state.Version, err
}
