package identity

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// credential is what a user signs in with, under the id of the user.
type credential struct {
	User     uuid.UUID `json:"user"`
	Address  string    `json:"address"`  // the key of the user's email address
	Password string    `json:"password"` // the hash
	// Link is the hash of the token of the one-time link that can be redeemed, if there is one.
	Link        []byte     `json:"link"`
	LinkExpires shape.Time `json:"link_expires"`
}

func newCredentials() *store.Table[credential] {
	return store.NewTable("credentials", []store.Unique[credential]{
		{Name: byAddress, Global: true, Of: func(c *credential) []byte {
			if c.Password == "" {
				return nil
			}
			return append(addressPrefix(c.Address), c.User[:]...)
		}},
		{Name: byLink, Global: true, Of: func(c *credential) []byte { return c.Link }},
	}, nil).Unlogged()
}

// The global keys of credentials. Users of several organizations may have the same address, so that key
// also contains the user.
const (
	byAddress = "address"
	byLink    = "link"
)

// addressPrefix returns what the keys of all users with an address begin with.
func addressPrefix(addressKey string) []byte {
	sum := sha256.Sum256([]byte(addressKey))
	return sum[:16]
}

// tokenBytes is the number of random bytes in the token of a session or a one-time link.
const tokenBytes = 32

func newToken() (string, error) {
	random := make([]byte, tokenBytes)
	_, err := rand.Read(random)
	return base64.RawURLEncoding.EncodeToString(random), err
}

func isToken(s string) bool { return len(s) == base64.RawURLEncoding.EncodedLen(tokenBytes) }

// credential returns the credential of a user, which is empty if there is none.
func (i *Identity) credential(tx *store.Tx, user uuid.UUID) (store.Doc[credential], error) {
	doc, err := i.credentials.Get(tx, user)
	if fault.CodeOf(err) == fault.NotFound {
		return store.Doc[credential]{}, nil
	}
	return doc, err
}

// changeCredential changes the credential of a user. It replaces a damaged one.
func (i *Identity) changeCredential(tx *store.Tx, user uuid.UUID, change func(*credential)) error {
	old, err := i.credential(tx, user)
	if store.IsDamagedRecord(err) {
		old, err = store.Doc[credential]{}, tx.DeleteDamaged(i.credentials.Name(), user)
	}
	if err != nil {
		return err
	}
	rec := old.Record
	rec.User = user
	change(&rec)
	if old.ID == uuid.Nil {
		_, err = i.credentials.Insert(tx, user, rec)
	} else {
		_, err = i.credentials.Update(tx, old, rec, nil)
	}
	return err
}

// Link is a one-time link. Its URL is the base of the service and the token.
type Link struct {
	Token     string
	ExpiresAt time.Time
}

// Invite makes a one-time link with which a user signs in and sets a password. An older link of the user
// is void.
func (i *Identity) Invite(tx *store.Tx, user uuid.UUID) (Link, error) {
	doc, err := i.Users.Get(tx, user)
	if err != nil {
		return Link{}, err
	}
	if !doc.Record.Active {
		return Link{}, fault.New(fault.UserInactive, "the user is deactivated; activate the user first")
	}
	token, err := newToken()
	if err != nil {
		return Link{}, err
	}
	link := Link{token, tx.Now().Add(i.sessionTimes.Invite)}
	return link, i.changeCredential(tx, user, func(c *credential) {
		c.Link, c.LinkExpires = hashKey(token), shape.At(link.ExpiresAt)
	})
}

// HashPassword checks a new password of a user and returns its hash. What the user is called and belongs to is no secret,
// and makes a password weak. client is as in Passwords.
func (i *Identity) HashPassword(ctx context.Context, p Principal, client, password string) (string, error) {
	var words []string
	err := i.store.View(p.Org, func(tx *store.Tx) error {
		user, err := i.Users.Get(tx, p.User)
		if err != nil {
			return err
		}
		org, err := i.Organizations.Get(tx, p.Org)
		words = []string{user.Record.Email, string(user.Record.FirstName), string(user.Record.LastName), string(org.Record.Name)}
		return err
	})
	if err != nil {
		return "", err
	}
	return i.Passwords.Hash(ctx, client, password, words...)
}

// SetPassword stores the hash of a new password. It ends all sessions of the user but the given one, and
// voids a one-time link.
func (i *Identity) SetPassword(tx *store.Tx, user uuid.UUID, hash string, keep uuid.UUID) error {
	doc, err := i.Users.Get(tx, user)
	if err != nil {
		return err
	}
	err = i.changeCredential(tx, user, func(c *credential) {
		*c = credential{User: user, Address: address.Key(doc.Record.Email), Password: hash}
	})
	if err != nil {
		return err
	}
	return i.endSessions(tx, user, keep)
}

// findByPassword returns the active users, of all organizations or one, who have the address and the
// password.
func (i *Identity) findByPassword(ctx context.Context, in SignIn) (found []Principal, err error) {
	type candidate struct {
		Principal
		hash string
	}
	var candidates []candidate
	key := address.Key(in.Email)
	err = i.store.LookupPrefix(i.credentials.Name(), byAddress, addressPrefix(key), func(of, user uuid.UUID) {
		if !in.Organization.Valid || in.Organization.UUID == of {
			candidates = append(candidates, candidate{Principal: Principal{Org: of, User: user}})
		}
	})
	if err != nil {
		return nil, err
	}
	var damage error // it matters only if no other user matches
	for n := range candidates {
		c := &candidates[n]
		err := i.store.View(c.Org, func(tx *store.Tx) error {
			user, err := i.Users.Get(tx, c.User)
			if err != nil || !user.Record.Active || address.Key(user.Record.Email) != key {
				return err
			}
			cred, err := i.credential(tx, c.User)
			c.hash = cred.Record.Password
			return err
		})
		switch {
		case store.IsDamagedRecord(err):
			damage = err
		case err != nil && fault.CodeOf(err) != fault.NotFound:
			return nil, err
		}
	}
	if len(candidates) == 0 {
		candidates = []candidate{{}} // takes as long as a wrong password
	}
	for _, c := range candidates[:min(len(candidates), maxSameAddress)] {
		ok, err := i.Passwords.Matches(ctx, in.Client, c.hash, in.Password)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, c.Principal)
		}
	}
	if len(found) == 0 {
		return nil, damage
	}
	return found, nil
}

// maxSameAddress limits how many users with the same address a sign-in without organization_id compares.
const maxSameAddress = 20

// userOfLink returns the user whose one-time link has a token.
func (i *Identity) userOfLink(token string) (p Principal, err error) {
	denied := fault.New(fault.Unauthorized, "the link is invalid, was used or has expired; ask for a new one")
	if !isToken(token) {
		return p, denied
	}
	hash := hashKey(token)
	org, user, found, err := i.store.Lookup(i.credentials.Name(), byLink, hash)
	if err != nil || !found {
		return p, orDenied(err, denied)
	}
	err = i.store.View(org, func(tx *store.Tx) error {
		c, err := i.credential(tx, user)
		if err != nil {
			return err
		}
		u, err := i.Users.Get(tx, user)
		if err == nil && (!u.Record.Active || !c.Record.opens(hash, tx.Now())) {
			err = denied
		}
		return err
	})
	if err != nil {
		return p, orDenied(err, denied)
	}
	return Principal{Org: org, User: user}, nil
}

// opens reports whether the hash is that of a link that has not expired.
func (c *credential) opens(hash []byte, now time.Time) bool {
	return bytes.Equal(c.Link, hash) && c.LinkExpires.Std().After(now)
}

// CheckOldPassword returns an error unless the password is that of the user, or the user has none yet. client is
// as in Passwords.
func (i *Identity) CheckOldPassword(ctx context.Context, p Principal, client, password string) error {
	var hash string
	err := i.store.View(p.Org, func(tx *store.Tx) error {
		c, err := i.credential(tx, p.User)
		hash = c.Record.Password
		return err
	})
	if err != nil || hash == "" {
		return err
	}
	name := "user " + p.User.String()
	if err := i.throttle.begin(i.store.Now(), client, name); err != nil {
		return err
	}
	ok, err := i.Passwords.Matches(ctx, client, hash, password)
	switch {
	case fault.CodeOf(err) == fault.RateLimited:
		i.throttle.takeBack(i.store.Now(), client, name)
	case err != nil:
	case !ok:
		var problems fault.Problems
		problems.Invalid("old_password", "is not the current password")
		err = problems.Err()
	default:
		i.throttle.succeeded(name)
	}
	return err
}

// UnlistedTables returns the tables of credentials, sessions and preferences, which no list shows.
func (i *Identity) UnlistedTables() []store.ShapedTable {
	return []store.ShapedTable{i.credentials, i.sessions, i.preferences}
}
