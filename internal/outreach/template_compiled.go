package outreach

import (
	"crypto/sha256"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/template"
	"prospector/store"
)

// compiledKey identifies a compiled template by its stored bytes and the footer of its emails. A version number
// would not do: if the commit of a version fails, the next version with that number has another text.
type compiledKey struct {
	hash   [sha256.Size]byte // of the stored bytes
	footer string
}

// readFooter returns the mail footer of the transaction's organization.
func (o *Outreach) readFooter(tx *store.Tx) (string, error) {
	doc, err := o.identity.Organizations.Get(tx, tx.Org())
	return doc.Record.MailFooter, err
}

// CompiledTemplate returns a version of a template, compiled with the organization's mail footer. It
// fails with not_found if the template or the version does not exist.
func (o *Outreach) CompiledTemplate(tx *store.Tx, id uuid.UUID, version uint32) (*template.Compiled, error) {
	stored, err := o.storedVersion(tx, id, version)
	if err != nil {
		return nil, err
	}
	footer, err := o.footers.Of(tx)
	if err != nil {
		return nil, err
	}
	key := compiledKey{sha256.Sum256(stored), footer}
	if compiled, known := o.compiled.get(key); known {
		return compiled, nil
	}
	content := new(template.Content)
	if err := json.Unmarshal(stored, content); err != nil {
		return nil, err
	}
	compiled := template.Compile(content, footer)
	o.compiled.put(key, compiled)
	return compiled, nil
}
