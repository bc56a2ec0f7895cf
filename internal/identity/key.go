package identity

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// KeyPrefix starts every API key.
const KeyPrefix = "pro_"

// keyBytes is the number of random bytes in a key. In base64 they have 48 characters.
const keyBytes = 36

// Access is the level of access of a key.
type Access string

const (
	Read  Access = "read"  // operations that change nothing
	Write Access = "write" // every operation except administration
	Admin Access = "admin" // every operation
)

// Covers reports whether a key with this access may perform operations that need the other.
func (a Access) Covers(needed Access) bool {
	order := []Access{Read, Write, Admin}
	return slices.Index(order, a) >= slices.Index(order, needed)
}

// Key is the record of an API key. The key itself is not stored, only its hash.
type Key struct {
	record.Head
	Name          string        `json:"name" rule:"required,maxlen=255,line"`
	UserID        uuid.NullUUID `json:"user_id" rule:"ref=users" doc:"The user that the key acts for. Defaults to the user of the key that creates it."`
	Access        Access        `json:"access" rule:"default=write,enum=read|write|admin"`
	Active        bool          `json:"active" rule:"readonly"`
	ExpiresAt     shape.Time    `json:"expires_at"`
	DeactivatedAt shape.Time    `json:"deactivated_at" rule:"readonly"`
	LastUsedAt    shape.Time    `json:"last_used_at" rule:"readonly"`

	private struct {
		Hash []byte `json:"hash"`
	}
}

// Private returns the part of the record that is stored but never returned by the API.
func (k *Key) Private() any { return &k.private }

func checkKey(tx *store.Tx, before, after *Key, p *fault.Problems) error {
	if before == nil && after.ExpiresAt.Valid() && !after.ExpiresAt.Std().After(tx.Now()) {
		p.Invalid("expires_at", "must be in the future")
	}
	return nil
}

// CreateKey creates a key from a draft and returns its plaintext, which cannot be retrieved again.
// A key without a user_id acts for the user of the transaction or, if there is none, for the first
// active user of the organization.
func (i *Identity) CreateKey(tx *store.Tx, draft record.Draft[Key]) (store.Doc[Key], string, error) {
	user := tx.Actor().User
	if user == uuid.Nil {
		err := i.Users.Table.Scan(tx, func(u store.Doc[User]) (bool, error) {
			if u.Record.Active {
				user = u.ID
			}
			return !u.Record.Active, nil
		})
		if err != nil {
			return store.Doc[Key]{}, "", err
		}
	}
	if user == uuid.Nil {
		return store.Doc[Key]{}, "", fault.New(fault.ValidationFailed, "the organization has no active users; create one first")
	}
	random := make([]byte, keyBytes)
	if _, err := rand.Read(random); err != nil {
		return store.Doc[Key]{}, "", err
	}
	key := KeyPrefix + base64.RawURLEncoding.EncodeToString(random)
	doc, err := i.Keys.CreateAs(tx, tx.NewID(), draft, func(k *Key) {
		k.Active = true
		k.private.Hash = hashKey(key)
		if !k.UserID.Valid {
			k.UserID = uuid.NullUUID{UUID: user, Valid: true}
		}
	})
	return doc, key, err
}

// hashKey returns the SHA-256 of a key. A key has 288 random bits, so a slow hash would add
// nothing.
func hashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// DeactivateKey deactivates a key immediately and permanently. It is idempotent.
func (i *Identity) DeactivateKey(tx *store.Tx, id uuid.UUID) (store.Doc[Key], error) {
	doc, err := i.Keys.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if rec := doc.Record; rec.Active {
		rec.Active, rec.DeactivatedAt = false, shape.At(tx.Now())
		if doc, err = i.Keys.Replace(tx, doc, rec); err != nil {
			return doc, err
		}
	}
	return i.withLastUse(tx, doc)
}

// Key returns the record of a key, including its last use.
func (i *Identity) Key(tx *store.Tx, id uuid.UUID) (store.Doc[Key], error) {
	doc, err := i.Keys.Get(tx, id)
	if err != nil {
		return doc, err
	}
	return i.withLastUse(tx, doc)
}

// withLastUse adds last_used_at to the record of a key. It is not stored in the record, because
// then every request would cause a write.
func (i *Identity) withLastUse(tx *store.Tx, doc store.Doc[Key]) (store.Doc[Key], error) {
	used, err := i.uses.last(tx, doc.ID)
	if err != nil {
		return doc, err
	}
	doc.Record.LastUsedAt = used
	doc.JSON, err = json.Marshal(&doc.Record)
	return doc, err
}

// Principal is the authenticated origin of a request: an API key or a session.
type Principal struct {
	Org       uuid.UUID
	Key       uuid.UUID // uuid.Nil for a session
	Session   uuid.UUID // uuid.Nil for an API key
	User      uuid.UUID
	Access    Access
	RateLimit shape.Number // requests per minute, if the organization has its own limit
}

// Authenticate returns the principal of a key. The error is the same for every invalid key.
func (i *Identity) Authenticate(key string) (Principal, error) {
	denied := fault.New(fault.Unauthorized, "a valid API key is required")
	if !strings.HasPrefix(key, KeyPrefix) || len(key) != len(KeyPrefix)+base64.RawURLEncoding.EncodedLen(keyBytes) {
		return Principal{}, denied
	}
	hash := hashKey(key)
	org, id, found, err := i.store.Lookup(i.Keys.Entity, "hash", hash)
	if err != nil || !found {
		return Principal{}, orDenied(err, denied)
	}
	p := Principal{Org: org, Key: id}
	err = i.store.View(org, func(tx *store.Tx) error {
		known, err := i.keyIn(tx, id)
		if err != nil {
			return err
		}
		k := &known.key.Record
		if !bytes.Equal(k.private.Hash, hash) {
			return denied // the lookup entry does not belong to this key
		}
		if !k.Active || !known.user.Record.Active || k.ExpiresAt.Valid() && !k.ExpiresAt.Std().After(tx.Now()) {
			return denied
		}
		p.User, p.Access = k.UserID.UUID, k.Access
		p.RateLimit = known.org.Record.Limits.RateLimitPerMinute
		return nil
	})
	if fault.CodeOf(err) == fault.NotFound {
		return Principal{}, i.whyMissing(p, hash, denied)
	}
	if err != nil {
		return Principal{}, err
	}
	i.uses.note(i.store.Now(), p.Org, p.Key)
	return p, nil
}

// whyMissing returns the error for a key whose record, or the record of its user, does not exist. It is denied if the
// key was deleted in the meantime, or if the operator has dropped all damaged records and the user is one of them.
// Otherwise the record is lost, and the key may be valid.
func (i *Identity) whyMissing(p Principal, hash []byte, denied *fault.Error) error {
	_, _, found, err := i.store.Lookup(i.Keys.Entity, "hash", hash)
	if err != nil || !found {
		return orDenied(err, denied)
	}
	hasRecord := false
	err = i.store.View(p.Org, func(tx *store.Tx) error {
		hasRecord = i.Keys.Table.Has(tx, p.Key)
		return nil
	})
	if err == nil && hasRecord && i.store.DamagedRecords() == 0 {
		return denied
	}
	return cmp.Or(err, store.MissingRecord(i.Keys.Entity, p.Key))
}

// orDenied returns denied for a key that does not exist, and err if the store failed.
func orDenied(err error, denied *fault.Error) error {
	if err == nil || fault.CodeOf(err) == fault.NotFound {
		return denied
	}
	return err
}

// ListKeys returns the keys of the transaction's organization, including their last use. It leaves out damaged
// ones.
func (i *Identity) ListKeys(tx *store.Tx) ([]Key, error) {
	keys := []Key{}
	err := i.Keys.Table.Scan(tx, func(d store.Doc[Key]) (bool, error) {
		d, err := i.withLastUse(tx, d)
		keys = append(keys, d.Record)
		return true, err
	})
	return keys, err
}
