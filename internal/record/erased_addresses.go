package record

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"

	"prospector/store"
)

// ErasedAddresses hashes the addresses of people who were erased, with a key of each organization. It also counts erasures,
// so that work in progress can start over.
type ErasedAddresses struct {
	parts *store.Parts
	count store.Counter
}

// The parts of an organization.
const (
	erasureKey     uint32 = iota // of the hashes
	unfinishedPart               // what is known of erasures that are not finished, by hash
)

// askedPart is the part of an operation that erases somebody.
const askedPart uint32 = 0

// ErasedAddressesName is the name of the parts and of the counter in the store.
const ErasedAddressesName = "erasures"

// NewErasedAddresses declares the addresses.
func NewErasedAddresses() *ErasedAddresses {
	return &ErasedAddresses{store.NewParts(ErasedAddressesName), store.NewCounter(ErasedAddressesName)}
}

// Count returns a number that changes with each erasure.
func (e *ErasedAddresses) Count(tx *store.Tx) uint64 { return e.count.Of(tx) }

// Find returns the hash of a canonical address, or "" if nobody was erased.
func (e *ErasedAddresses) Find(tx *store.Tx, address string) (string, error) {
	key, err := e.parts.Get(tx, tx.Org(), erasureKey)
	if err != nil || key == nil {
		return "", err
	}
	return hashWith(key, address), nil
}

// Add returns the hash of a canonical address, and counts an erasure.
func (e *ErasedAddresses) Add(tx *store.Tx, address string) (string, error) {
	key, err := e.parts.Get(tx, tx.Org(), erasureKey)
	if err != nil {
		return "", err
	}
	if key == nil {
		key = make([]byte, 32)
		_, _ = rand.Read(key)
		e.parts.Put(tx, tx.Org(), erasureKey, key)
	}
	e.count.Next(tx)
	return hashWith(key, address), nil
}

// Unfinished returns what SetUnfinished has kept for an erasure that was interrupted, or nil.
func (e *ErasedAddresses) Unfinished(tx *store.Tx, address string) ([]byte, error) {
	hash, err := e.Find(tx, address)
	if err != nil || hash == "" {
		return nil, err
	}
	all, err := e.unfinished(tx)
	return all[hash], err
}

// SetUnfinished keeps what is known of a person until the erasure is finished, so that it can be repeated when the records
// are gone already. Nil ends the erasure. Add must have been called for the address.
func (e *ErasedAddresses) SetUnfinished(tx *store.Tx, address string, known []byte) error {
	hash, err := e.Find(tx, address)
	if err != nil {
		return err
	}
	all, err := e.unfinished(tx)
	if err != nil {
		return err
	}
	if all[hash] = known; known == nil {
		delete(all, hash)
	}
	if len(all) == 0 {
		e.parts.Put(tx, tx.Org(), unfinishedPart, nil)
		return nil
	}
	stored, err := json.Marshal(all)
	if err == nil {
		e.parts.Put(tx, tx.Org(), unfinishedPart, stored)
	}
	return err
}

// SetAsked keeps whom an operation erases until it has ended. Nil forgets it.
func (e *ErasedAddresses) SetAsked(tx *store.Tx, operation uuid.UUID, asked []byte) {
	if asked != nil { // encoded, so that an erasure does not find itself
		asked = base64.StdEncoding.AppendEncode(nil, asked)
	}
	e.parts.Put(tx, operation, askedPart, asked)
}

// Asked returns what SetAsked has kept, or nil.
func (e *ErasedAddresses) Asked(tx *store.Tx, operation uuid.UUID) ([]byte, error) {
	stored, err := e.parts.Get(tx, operation, askedPart)
	if err != nil || stored == nil {
		return nil, err
	}
	return base64.StdEncoding.AppendDecode(nil, stored)
}

func (e *ErasedAddresses) unfinished(tx *store.Tx) (map[string][]byte, error) {
	all := map[string][]byte{}
	stored, err := e.parts.Get(tx, tx.Org(), unfinishedPart)
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &all)
	}
	return all, err
}

func hashWith(key []byte, address string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(address))
	return hex.EncodeToString(mac.Sum(nil))
}
