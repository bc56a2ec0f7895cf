package outreach

import (
	"crypto/sha256"
	"sync"

	"github.com/google/uuid"

	"prospector/internal/template"
	"prospector/store"
)

// maxCompiled is how many compiled templates are cached. Compiling one takes a fraction of a
// millisecond.
const maxCompiled = 256

// compiledCache caches compiled templates by their stored bytes and the footer of their emails. A
// version number would not do as a key: if the commit of a version fails, the next version with that
// number has another text.
type compiledCache struct {
	mu        sync.Mutex
	templates map[compiledKey]*template.Compiled
}

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
// fails with not_found if the
// template or the version does not exist.
func (o *Outreach) CompiledTemplate(tx *store.Tx, id uuid.UUID, version uint32) (*template.Compiled, error) {
	stored, err := o.storedVersion(tx, id, version)
	if err != nil {
		return nil, err
	}
	footer, err := o.footers.Of(tx)
	if err != nil {
		return nil, err
	}
	key := compiledKey{sha256.Sum256(stored.bytes), footer}
	cache := &o.compiled
	cache.mu.Lock()
	compiled := cache.templates[key]
	cache.mu.Unlock()
	if compiled != nil {
		return compiled, nil
	}
	content, err := o.decodeVersion(tx, id, stored)
	if err != nil {
		return nil, err
	}
	compiled = template.Compile(content, footer)
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.templates == nil || len(cache.templates) >= maxCompiled {
		cache.templates = map[compiledKey]*template.Compiled{}
	}
	cache.templates[key] = compiled
	return compiled, nil
}
