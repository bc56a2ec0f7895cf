package identity

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// SessionTimes are how long sessions and one-time links are valid.
type SessionTimes struct {
	Idle     time.Duration // since the last request
	Lifetime time.Duration // since the sign-in
	Invite   time.Duration
}

// DefaultSessionTimes are in effect when nothing is set.
var DefaultSessionTimes = SessionTimes{Idle: 12 * time.Hour, Lifetime: 30 * 24 * time.Hour, Invite: 72 * time.Hour}

// Session is a user's sign-in to the console, as the user sees it.
type Session struct {
	ID            uuid.UUID  `json:"id" rule:"required"`
	CreatedAt     shape.Time `json:"created_at" rule:"required"`
	LastSeenAt    shape.Time `json:"last_seen_at" rule:"required"`
	ExpiresAt     shape.Time `json:"expires_at" rule:"required" doc:"When the session ends at the latest. It ends earlier if it is not used for sessions.idle."`
	IdleExpiresAt shape.Time `json:"idle_expires_at" rule:"required" doc:"When the session ends if it is not used before. Every request is a use."`
	Current       bool       `json:"current" doc:"Whether the request belongs to this session."`
}

// session is the stored form. The token itself is not stored, only its hash.
type session struct {
	User      uuid.UUID  `json:"user"`
	Hash      []byte     `json:"hash"`
	CreatedAt shape.Time `json:"created_at"`
	ExpiresAt shape.Time `json:"expires_at"`
}

func newSessions() *store.Table[session] {
	return store.NewTable("sessions",
		[]store.Unique[session]{{Name: "hash", Global: true, Of: func(s *session) []byte { return s.Hash }}},
		[]store.Key[session]{{Name: byUser, Of: func(_ *store.Tx, s *session) ([][]byte, error) {
			return [][]byte{s.User[:]}, nil
		}}}).Unlogged()
}

const byUser = "user"

// maxSessions limits the sessions of a user. A further sign-in ends the oldest.
const maxSessions = 50

// SignIn is a request to sign in.
type SignIn struct {
	Email        string
	Password     string
	Organization uuid.NullUUID // if the address belongs to users of several organizations
	Client       string        // the address of the client, to slow down guessing and floods
}

// SignIn begins a session for the user with an address and a password, and returns its token. The error
// for a wrong password and for an unknown address is the same.
func (i *Identity) SignIn(ctx context.Context, in SignIn, actor store.Actor) (Session, string, error) {
	name, client := "address "+address.Key(in.Email), "client "+in.Client
	if err := i.throttle.begin(i.store.Now(), in.Client, name, client); err != nil {
		return Session{}, "", err
	}
	found, err := i.findByPassword(ctx, in)
	switch {
	case fault.CodeOf(err) == fault.RateLimited: // the attempt has no result
		i.throttle.takeBack(i.store.Now(), in.Client, name, client)
		return Session{}, "", err
	case err != nil:
		return Session{}, "", err
	case len(found) == 0:
		return Session{}, "", fault.New(fault.Unauthorized, "the email address or the password is wrong")
	}
	i.throttle.succeeded(name, client)
	if err := i.oneOrganization(found); err != nil {
		return Session{}, "", err
	}
	return i.beginSession(ctx, found[0], actor, nil)
}

// oneOrganization returns an error with the organizations of the users, if they are several.
func (i *Identity) oneOrganization(users []Principal) error {
	several := fault.New(fault.SeveralOrganizations, "organization_id: the address and the password belong to users of several organizations; choose one")
	seen := map[uuid.UUID]bool{}
	for _, p := range users {
		if seen[p.Org] {
			continue
		}
		seen[p.Org] = true
		err := i.store.View(p.Org, func(tx *store.Tx) error {
			org, err := i.Organizations.Get(tx, p.Org)
			if fault.CodeOf(err) == fault.NotFound {
				err = store.MissingRecord(i.Organizations.Table.Name(), p.Org)
			}
			several.Details = append(several.Details, fault.Detail{Path: "organization_id", Message: org.Record.Name, ID: p.Org.String()})
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(seen) > 1 {
		return several
	}
	return nil
}

// Redeem begins a session with the token of a one-time link, which is void then. If a password is given,
// it becomes the user's.
func (i *Identity) Redeem(ctx context.Context, token, password, client string, actor store.Actor) (Session, string, error) {
	name := "client " + client
	if err := i.throttle.begin(i.store.Now(), client, name); err != nil {
		return Session{}, "", err
	}
	p, err := i.userOfLink(token)
	if err != nil {
		return Session{}, "", err
	}
	i.throttle.takeBack(i.store.Now(), client, name)
	hash := ""
	if password != "" {
		if hash, err = i.HashPassword(ctx, p, client, password); err != nil {
			return Session{}, "", err
		}
	}
	return i.beginSession(ctx, p, actor, func(tx *store.Tx) error {
		c, err := i.credential(tx, p.User)
		if err != nil {
			return err
		}
		if !c.Record.opens(hashKey(token), tx.Now()) {
			return fault.New(fault.Unauthorized, "the link was used in the meantime")
		}
		if hash != "" {
			return i.SetPassword(tx, p.User, hash, uuid.Nil)
		}
		return i.changeCredential(tx, p.User, func(c *credential) { c.Link = nil })
	})
}

// beginSession stores a new session. It calls first in the same transaction, unless it is nil.
func (i *Identity) beginSession(
	ctx context.Context, p Principal, actor store.Actor, first func(*store.Tx) error,
) (s Session, token string, err error) {
	if token, err = newToken(); err != nil {
		return s, "", err
	}
	actor.User = p.User
	err = i.store.Update(ctx, p.Org, actor, func(tx *store.Tx) error {
		if first != nil {
			if err := first(tx); err != nil {
				return err
			}
		}
		if err := i.endStale(tx, p.User); err != nil {
			return err
		}
		rec := session{
			User: p.User, Hash: hashKey(token), CreatedAt: shape.At(tx.Now()), ExpiresAt: shape.At(tx.Now().Add(i.sessionTimes.Lifetime)),
		}
		doc, err := i.sessions.Insert(tx, tx.NewID(), rec)
		s = i.public(doc, rec.CreatedAt)
		s.Current = true
		return err
	})
	if err == nil {
		i.uses.note(i.store.Now(), p.Org, s.ID, p.User)
	}
	return s, token, err
}

// AuthenticateSession returns the principal of a session. The error is the same for every invalid token.
func (i *Identity) AuthenticateSession(token string) (Principal, error) {
	denied := fault.New(fault.Unauthorized, "the session has ended; sign in again")
	if !isToken(token) {
		return Principal{}, denied
	}
	hash := hashKey(token)
	org, id, found, err := i.store.Lookup(i.sessions.Name(), "hash", hash)
	if err != nil || !found {
		return Principal{}, orDenied(err, denied)
	}
	p := Principal{Org: org, Session: id}
	err = i.store.View(org, func(tx *store.Tx) error {
		s, err := i.sessions.Get(tx, id)
		if err != nil {
			return err
		}
		public, err := i.show(tx, s)
		if err != nil {
			return err
		}
		if !bytes.Equal(s.Record.Hash, hash) || hasEnded(public, tx.Now()) {
			return denied
		}
		user, err := i.Users.Get(tx, s.Record.User)
		if err == nil && !user.Record.Active {
			err = denied
		}
		p.User, p.Access = s.Record.User, user.Record.Access
		return err
	})
	if err != nil {
		return Principal{}, orDenied(err, denied)
	}
	i.uses.note(i.store.Now(), org, id, p.User)
	return p, nil
}

// show returns a session as its user sees it.
func (i *Identity) show(tx *store.Tx, d store.Doc[session]) (Session, error) {
	seen, err := i.uses.last(tx, d.ID)
	if !seen.Valid() {
		seen = d.Record.CreatedAt
	}
	return i.public(d, seen), err
}

// public returns a session that was last used at a time.
func (i *Identity) public(d store.Doc[session], seen shape.Time) Session {
	s := Session{ID: d.ID, CreatedAt: d.Record.CreatedAt, LastSeenAt: seen, ExpiresAt: d.Record.ExpiresAt, IdleExpiresAt: d.Record.ExpiresAt}
	if idle := shape.At(seen.Std().Add(i.sessionTimes.Idle)); idle.Std().Before(s.ExpiresAt.Std()) {
		s.IdleExpiresAt = idle
	}
	return s
}

func hasEnded(s Session, now time.Time) bool { return !s.IdleExpiresAt.Std().After(now) }

// Sessions returns the sessions of a user that have not ended, oldest first.
func (i *Identity) Sessions(tx *store.Tx, user uuid.UUID) ([]Session, error) {
	ids, err := i.sessions.IDs(tx, byUser, user[:], 0)
	if err != nil {
		return nil, err
	}
	shown := []Session{}
	for _, id := range ids {
		d, err := i.sessions.Get(tx, id)
		if err != nil {
			return nil, err
		}
		s, err := i.show(tx, d)
		if err != nil {
			return nil, err
		}
		if !hasEnded(s, tx.Now()) {
			shown = append(shown, s)
		}
	}
	return shown, nil
}

// EndSession ends a session of a user.
func (i *Identity) EndSession(tx *store.Tx, user, id uuid.UUID) error {
	d, err := i.sessions.Get(tx, id)
	if err != nil {
		return err
	}
	if d.Record.User != user {
		return fault.ErrNotFound
	}
	if err := i.sessions.Delete(tx, d); err != nil {
		return err
	}
	return i.uses.delete(tx, id)
}

// endSessions ends all sessions of a user but one.
func (i *Identity) endSessions(tx *store.Tx, user, keep uuid.UUID) error {
	ids, err := i.sessions.IDs(tx, byUser, user[:], 0)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id == keep {
			continue
		}
		if err := i.EndSession(tx, user, id); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	return nil
}

// endStale removes the sessions of a user that have ended, and the oldest if there are too many.
func (i *Identity) endStale(tx *store.Tx, user uuid.UUID) error {
	valid, err := i.Sessions(tx, user)
	if err != nil {
		return err
	}
	keep := map[uuid.UUID]bool{}
	for _, s := range valid[max(0, len(valid)-maxSessions+1):] {
		keep[s.ID] = true
	}
	ids, err := i.sessions.IDs(tx, byUser, user[:], 0)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !keep[id] {
			if err := store.ExceptDamaged(i.EndSession(tx, user, id)); err != nil {
				return err
			}
		}
	}
	return nil
}
