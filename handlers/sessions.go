package handlers

import (
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
)

// SignedIn is the access of operations that only a session can perform, whatever the access of its user.
const SignedIn identity.Access = "signed_in"

// The cookie that holds the token of a session. Under https its name has a prefix, with which browsers take it from this
// host only and under TLS only. Nothing but a cookie with that name is accepted then.
const (
	sessionCookie = "prospector_session"
	hostPrefix    = "__Host-"
)

// sessionRate is the number of requests per minute of a user's sessions.
const sessionRate = 600

// SessionBody is a request to sign in.
type SessionBody struct {
	Email          string        `json:"email" rule:"required,format=email"`
	Password       string        `json:"password" rule:"required,maxlen=256"`
	OrganizationID uuid.NullUUID `json:"organization_id" doc:"Required only if the address and the password belong to users of several organizations."`
}

// RedeemBody is a request to sign in with a one-time link.
type RedeemBody struct {
	Token    string     `json:"token" rule:"required,maxlen=64"`
	Password shape.Text `json:"password" rule:"maxlen=256" doc:"The password that the user signs in with from now on. It must have at least 10 characters and not be easy to guess."`
}

// MeBody changes the user of a session.
type MeBody struct {
	FirstName   shape.Text `json:"first_name"`
	LastName    shape.Text `json:"last_name"`
	Title       shape.Text `json:"title"`
	Password    shape.Text `json:"password" rule:"maxlen=256" doc:"The new password. It must have at least 10 characters and not be easy to guess. Other sessions of the user end."`
	OldPassword shape.Text `json:"old_password" rule:"maxlen=256" doc:"Required with password, unless the user has no password yet."`
}

// InviteLink is a link with which a user sets a password and signs in.
type InviteLink struct {
	URL       string     `json:"url" rule:"required" doc:"Valid once. A new link voids the older one."`
	ExpiresAt shape.Time `json:"expires_at" rule:"required"`
}

func (a *API) sessionOperations() []Operation {
	id := a.Identity
	return []Operation{
		withoutTx(Operation{
			Name: "create_session", Method: http.MethodPost, Path: "/v1/sessions", Status: http.StatusCreated,
			Summary: "Sign in with an email address and a password; the response sets a cookie",
			Codes:   append(signInCodes, fault.SeveralOrganizations),
		}, func(c *call, in SessionBody) (beganSession, error) {
			s, token, err := id.SignIn(c.request.Context(), identity.SignIn{
				Email: in.Email, Password: in.Password, Organization: in.OrganizationID, Client: a.client(c.request),
			}, c.actor())
			return c.began(s, token, err)
		}),
		withoutTx(Operation{
			Name: "redeem_session", Method: http.MethodPost, Path: "/v1/sessions/redeem", Status: http.StatusCreated,
			Summary: "Sign in with the token of a one-time link; the response sets a cookie",
			Codes:   signInCodes,
		}, func(c *call, in RedeemBody) (beganSession, error) {
			s, token, err := id.Redeem(c.request.Context(), in.Token, string(in.Password), a.client(c.request), c.actor())
			return c.began(s, token, err)
		}),
		read(Operation{
			Name: "list_sessions", Method: http.MethodGet, Path: "/v1/sessions", Access: SignedIn,
			Summary: "List the user's own sessions on one page",
		}, func(c *call, tx *store.Tx, _ nothing) (all[identity.Session], error) {
			sessions, err := id.Sessions(tx, c.principal.User)
			for i := range sessions {
				sessions[i].Current = sessions[i].ID == c.principal.Session
			}
			return sessions, err
		}),
		unversioned(write(Operation{
			Name: "delete_session", Method: http.MethodDelete, Path: "/v1/sessions/{id}", Access: SignedIn, Status: http.StatusNoContent,
			Summary: "End one of the user's own sessions",
		}, byID(func(c *call, tx *store.Tx, session uuid.UUID, _ nothing) (nothing, error) {
			return nothing{}, id.EndSession(tx, c.principal.User, session)
		}))),
		unversioned(write(Operation{
			Name: "delete_current_session", Method: http.MethodDelete, Path: "/v1/sessions/current", Access: SignedIn, Status: http.StatusNoContent,
			Summary: "Sign out: end the session of the request and clear its data in the browser",
		}, func(c *call, tx *store.Tx, _ nothing) (signedOut, error) {
			out := signedOut{cookie: c.cookie("", time.Unix(0, 0))}
			return out, id.EndSession(tx, c.principal.User, c.principal.Session)
		})),
		unversioned(writeWithLookup(Operation{
			Name: "update_me", Method: http.MethodPatch, Path: "/v1/me", Access: SignedIn,
			Summary: "Change the name and the password of the user of the session",
			Codes:   []fault.Code{fault.RateLimited},
		}, a.checkPasswordChange, a.updateMe)),
		read(Operation{
			Name: "get_preferences", Method: http.MethodGet, Path: "/v1/me/preferences", Access: SignedIn,
			Summary: "Get the preferences of the user of the session",
		}, func(c *call, tx *store.Tx, _ nothing) (identity.Preferences, error) {
			return id.PreferencesOf(tx, c.principal.User)
		}),
		unversioned(write(Operation{
			Name: "set_preferences", Method: http.MethodPut, Path: "/v1/me/preferences", Access: SignedIn,
			Summary: "Replace the preferences of the user of the session",
		}, func(c *call, tx *store.Tx, in identity.Preferences) (identity.Preferences, error) {
			return in, id.SetPreferences(tx, c.principal.User, in)
		})),
		write(Operation{
			Name: "invite_user", Method: http.MethodPost, Path: "/v1/users/{id}/invite", Access: identity.Admin,
			Summary: "Make a one-time link with which a user sets a password and signs in; an older link becomes void",
			Codes:   []fault.Code{fault.UserInactive},
		}, byID(func(_ *call, tx *store.Tx, user uuid.UUID, _ nothing) (newLink, error) {
			link, err := id.Invite(tx, user)
			return newLink{InviteLink{URL: a.WelcomeURL(link.Token), ExpiresAt: shape.At(link.ExpiresAt)}}, err
		})),
	}
}

// unversioned returns an operation on something that has no ETag, so that it ignores If-Match.
func unversioned(o Operation) Operation {
	o.honorsIfMatch = false
	return o
}

// signInCodes are the errors of operations that begin a session.
var signInCodes = []fault.Code{fault.ValidationFailed, fault.Unauthorized, fault.Forbidden, fault.RateLimited, fault.Damaged, fault.Unavailable}

// WelcomeURL returns the address of the console's page that redeems a token. The token is in the fragment,
// which browsers do not send.
func (a *API) WelcomeURL(token string) string { return a.LinkBase() + "/app/welcome#token=" + token }

// newLink is a link that a replay for the same Idempotency-Key does not contain.
type newLink struct{ InviteLink }

func (newLink) output() outputSource { return outputSource{typ: reflect.TypeFor[InviteLink]()} }

func (l newLink) redact() (full, redacted any, version string) {
	return l.InviteLink, InviteLink{ExpiresAt: l.ExpiresAt}, ""
}

// beganSession is a new session with its cookie.
type beganSession struct {
	identity.Session

	cookie *http.Cookie
}

func (c *call) began(s identity.Session, token string, err error) (beganSession, error) {
	if err != nil {
		if code := fault.CodeOf(err); code == fault.Unauthorized || code == fault.RateLimited {
			c.api.Log.Warn("sign-in failed", "request_id", c.requestID, "client", c.api.client(c.request), "code", code)
		}
		return beganSession{}, err
	}
	return beganSession{s, c.cookie(token, s.ExpiresAt.Std())}, nil
}

// cookie returns the session cookie. Scripts cannot read it, and no request from another site carries it.
func (c *call) cookie(token string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookieName(c.isSecure()), Value: token, Path: "/", Expires: expires, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: c.isSecure(),
	}
}

func sessionCookieName(secure bool) string {
	if secure {
		return hostPrefix + sessionCookie
	}
	return sessionCookie
}

func (beganSession) output() outputSource {
	return outputSource{typ: reflect.TypeFor[identity.Session]()}
}

func (b beganSession) header() http.Header { return http.Header{"Set-Cookie": {b.cookie.String()}} }

// signedOut is the response to a sign-out. It has no body.
type signedOut struct{ cookie *http.Cookie }

func (s signedOut) header() http.Header {
	return http.Header{"Set-Cookie": {s.cookie.String()}, "Clear-Site-Data": {`"cache", "storage"`}}
}

// checkPasswordChange checks the old password of a request to change it and returns the hash of the new
// one, or "" if the password stays.
func (a *API) checkPasswordChange(c *call, in updateBody[MeBody]) (hash string, err error) {
	var body MeBody
	var p fault.Problems
	shape.Decode(in.body, &body, shape.Update, &p)
	if err := p.Err(); err != nil || body.Password == "" {
		return "", err
	}
	ctx, client := c.request.Context(), a.client(c.request)
	if err := a.Identity.CheckOldPassword(ctx, c.principal, client, string(body.OldPassword)); err != nil {
		return "", err
	}
	return a.Identity.HashPassword(ctx, c.principal, client, string(body.Password))
}

func (a *API) updateMe(c *call, tx *store.Tx, in updateBody[MeBody], hash string) (Me, error) {
	names := in.body
	names.Members = slices.DeleteFunc(slices.Clone(names.Members), func(m shape.Member) bool {
		return m.Key == "password" || m.Key == "old_password"
	})
	if _, err := a.Identity.Users.Update(tx, c.principal.User, nil, names); err != nil {
		return Me{}, err
	}
	if hash != "" {
		if err := a.Identity.SetPassword(tx, c.principal.User, hash, c.principal.Session); err != nil {
			return Me{}, err
		}
	}
	return a.me(c, tx)
}
