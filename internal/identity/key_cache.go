package identity

import (
	"sync"

	"github.com/google/uuid"

	"prospector/store"
)

// maxKnownKeys limits the keys that a keyCache has.
const maxKnownKeys = 10_000

// knownKey is what a request needs to know about its API key.
type knownKey struct {
	key  store.Doc[Key]
	user store.Doc[User]
	org  store.Doc[Organization]
}

// keyCache keeps the decoded records of keys that were used. Each request compares them with the store and
// decodes only those that have changed, because decoding three records takes longer than the rest of
// admitting a request.
type keyCache struct {
	mu    sync.Mutex
	known map[uuid.UUID]knownKey
}

func (c *keyCache) get(id uuid.UUID) knownKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}

func (c *keyCache) put(id uuid.UUID, k knownKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxKnownKeys {
		c.known = map[uuid.UUID]knownKey{}
	}
	c.known[id] = k
}

// keyIn returns the records of a key as they are in a transaction.
func (i *Identity) keyIn(tx *store.Tx, id uuid.UUID) (knownKey, error) {
	was := i.known.get(id)
	key, err := reload(tx, i.Keys.Table, was.key, id)
	if err != nil {
		return knownKey{}, err
	}
	user, err := reload(tx, i.Users.Table, was.user, key.Record.UserID.UUID)
	if err != nil {
		return knownKey{}, err
	}
	org, err := reload(tx, i.Organizations.Table, was.org, tx.Org())
	now := knownKey{key, user, org}
	if err == nil && (key.Change != was.key.Change || user.Change != was.user.Change || org.Change != was.org.Change) {
		i.known.put(id, now)
	}
	return now, err
}

// reload reads a record. It does not decode the record if it is the one that was read before.
func reload[T any](tx *store.Tx, table *store.Table[T], was store.Doc[T], id uuid.UUID) (store.Doc[T], error) {
	if was.ID != id {
		return table.Get(tx, id)
	}
	return table.Reload(tx, was)
}
