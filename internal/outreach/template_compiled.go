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

// compiledCache caches compiled templates by the hash of their stored bytes. A version number would
// not do as a key: if the commit of a version fails, the next version with that number has another
// text.
type compiledCache struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*template.Compiled
}

// CompiledTemplate returns a version of a template, compiled. It fails with not_found if the
// template or the version does not exist.
func (o *Outreach) CompiledTemplate(tx *store.Tx, id uuid.UUID, version uint32) (*template.Compiled, error) {
	stored, err := o.storedVersion(tx, id, version)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(stored.bytes)
	cache := &o.compiled
	cache.mu.Lock()
	compiled := cache.byHash[hash]
	cache.mu.Unlock()
	if compiled != nil {
		return compiled, nil
	}
	content, err := o.decodeVersion(tx, id, stored)
	if err != nil {
		return nil, err
	}
	compiled = template.Compile(content)
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.byHash == nil || len(cache.byHash) >= maxCompiled {
		cache.byHash = map[[sha256.Size]byte]*template.Compiled{}
	}
	cache.byHash[hash] = compiled
	return compiled, nil
}
