package identity

import (
	"bytes"
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

// KeyPrefix begins every API key.
const KeyPrefix = "pro_"

// keyBytes is how much of a key is random; in base64 it has 48 characters.
const keyBytes = 36

// Access is what a key may do.
type Access string

const (
	Read  Access = "read"  // reads, lists and whatever changes nothing
	Write Access = "write" // everything but administration
	Admin Access = "admin"
)

// Covers tells whether a key of this access may do what needs the other.
func (a Access) Covers(needed Access) bool {
	order := []Access{Read, Write, Admin}
	return slices.Index(order, a) >= slices.Index(order, needed)
}

// Key is an API key as it is shown: the key itself is not kept, only its hash.
type Key struct {
	record.Head
	Name          string        `json:"name" rule:"required,maxlen=255"`
	UserID        uuid.NullUUID `json:"user_id" rule:"ref=users" doc:"Whom the key acts for; whoever makes the key when absent."`
	Access        Access        `json:"access" rule:"default=write,enum=read|write|admin"`
	Active        bool          `json:"active" rule:"readonly"`
	ExpiresAt     shape.Time    `json:"expires_at"`
	DeactivatedAt shape.Time    `json:"deactivated_at" rule:"readonly"`
	LastUsedAt    shape.Time    `json:"last_used_at" rule:"readonly"`

	private struct {
		Hash []byte `json:"hash"`
	}
}

// Private is what is kept beside a key and never shown.
func (k *Key) Private() any { return &k.private }

func checkKey(tx *store.Tx, before, after *Key, p *fault.Problems) error {
	if before == nil && after.ExpiresAt.Valid() && !after.ExpiresAt.Std().After(tx.Now()) {
		p.Invalid("expires_at", "must be in the future")
	}
	return nil
}

// CreateKey makes a key from a draft and gives its plaintext, which cannot be had again. Without a user_id it acts for
// the transaction's user or, when there is none, for the organization's first.
func (i *Identity) CreateKey(tx *store.Tx, draft record.Draft[Key]) (store.Doc[Key], string, error) {
	maker := tx.Actor().User
	if maker == uuid.Nil {
		err := i.Users.Table.Scan(tx, func(u store.Doc[User]) (bool, error) {
			maker = u.ID
			return false, nil
		})
		if err != nil {
			return store.Doc[Key]{}, "", err
		}
	}
	if maker == uuid.Nil {
		return store.Doc[Key]{}, "", fault.New(fault.ValidationFailed, "the organization has no user yet; create one first")
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
			k.UserID = uuid.NullUUID{UUID: maker, Valid: true}
		}
	})
	return doc, key, err
}

// A key has 288 random bits: a fast hash is the right one.
func hashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// DeactivateKey ends a key at once and for good. Doing so again changes nothing.
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
	return i.shown(tx, doc)
}

// Key gives a key as it is shown.
func (i *Identity) Key(tx *store.Tx, id uuid.UUID) (store.Doc[Key], error) {
	doc, err := i.Keys.Get(tx, id)
	if err != nil {
		return doc, err
	}
	return i.shown(tx, doc)
}

// shown is a key with when it was last used, which is not kept in its record: a request must not cost a write.
func (i *Identity) shown(tx *store.Tx, doc store.Doc[Key]) (store.Doc[Key], error) {
	used, err := i.uses.last(tx, doc.ID)
	if err != nil {
		return doc, err
	}
	doc.Record.LastUsedAt = used
	doc.JSON, err = json.Marshal(&doc.Record)
	return doc, err
}

// Principal is whom a request comes from.
type Principal struct {
	Org       uuid.UUID
	Key       uuid.UUID
	User      uuid.UUID
	Access    Access
	RateLimit shape.Number // per minute, when the organization has its own
}

// Authenticate finds the principal of a key. Whatever is wrong with the key, the error is the same.
func (i *Identity) Authenticate(key string) (Principal, error) {
	denied := fault.New(fault.Unauthorized, "a valid API key is required")
	if !strings.HasPrefix(key, KeyPrefix) || len(key) != len(KeyPrefix)+base64.RawURLEncoding.EncodedLen(keyBytes) {
		return Principal{}, denied
	}
	org, id, found, err := i.store.Lookup(i.Keys.Entity, "hash", hashKey(key))
	if err != nil || !found {
		return Principal{}, orDenied(err, denied)
	}
	p := Principal{Org: org, Key: id}
	err = i.store.View(org, func(tx *store.Tx) error {
		k, err := i.Keys.Get(tx, id)
		if err != nil {
			return err
		}
		expires := k.Record.ExpiresAt
		if !bytes.Equal(k.Record.private.Hash, hashKey(key)) {
			return denied // the entry that led here is not what was written
		}
		if !k.Record.Active || expires.Valid() && !expires.Std().After(tx.Now()) {
			return denied
		}
		o, err := i.Organizations.Get(tx, org)
		p.User, p.Access = k.Record.UserID.UUID, k.Record.Access
		p.RateLimit = o.Record.Limits.RateLimitPerMinute
		return err
	})
	if err != nil {
		return Principal{}, orDenied(err, denied)
	}
	i.uses.note(p, i.store.Now())
	return p, nil
}

// orDenied keeps apart the faults of the store, which are not the caller's, from those of the key.
func orDenied(err error, denied *fault.Error) error {
	if err == nil || fault.CodeOf(err) == fault.NotFound {
		return denied
	}
	return err
}

// ListKeys gives the keys of the transaction's organization with when they were last used.
func (i *Identity) ListKeys(tx *store.Tx) ([]Key, error) {
	keys := []Key{}
	err := i.Keys.Table.Scan(tx, func(d store.Doc[Key]) (bool, error) {
		d, err := i.shown(tx, d)
		keys = append(keys, d.Record)
		return true, err
	})
	return keys, err
}
