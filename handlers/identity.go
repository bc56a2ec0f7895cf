package handlers

import (
	"net/http"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"

	"github.com/google/uuid"
)

// Me is the user and organization of an API key or a session.
type Me struct {
	OrgID         uuid.UUID       `json:"org_id"`
	UserID        uuid.UUID       `json:"user_id"`
	UserEmail     string          `json:"user_email"`
	UserFirstName shape.Text      `json:"user_first_name"`
	UserLastName  shape.Text      `json:"user_last_name"`
	OrgName       string          `json:"org_name"`
	Access        identity.Access `json:"access" rule:"enum=read|write|admin" doc:"Of the API key or, in a session, of the user."`
}

// NewKey is an API key with its plaintext, which is shown only when the key is created.
type NewKey struct {
	identity.Key
	Plaintext string `json:"key" rule:"optional" doc:"The API key itself. Only this response contains it; a replay for the same Idempotency-Key does not."`

	version string
}

func (k NewKey) redact() (full, redacted any, version string) { return k, k.Key, k.version }

func (a *API) identityOperations() []Operation {
	id := a.Identity
	return []Operation{
		read(Operation{
			Name: "get_me", Method: http.MethodGet, Path: "/v1/me", Access: identity.Read,
			Summary: "Get the user and organization of the API key or session",
		}, func(c *call, tx *store.Tx, _ nothing) (Me, error) { return a.me(c, tx) }),
		read(Operation{
			Name: "get_organization", Method: http.MethodGet, Path: "/v1/organization", Access: identity.Read,
			Summary: "Get the organization of the API key, with its limits",
		}, func(c *call, tx *store.Tx, _ nothing) (store.Doc[identity.Organization], error) {
			return id.Organizations.Get(tx, tx.Org())
		}),
		write(Operation{
			Name: "update_organization", Method: http.MethodPatch, Path: "/v1/organization", Access: identity.Admin,
			Summary: "Update the settings of the organization",
		}, func(c *call, tx *store.Tx, in updateBody[identity.Organization]) (store.Doc[identity.Organization], error) {
			return id.Organizations.Update(tx, tx.Org(), ifMatch(c.request), in.body)
		}),
		read(Operation{
			Name: "list_users", Method: http.MethodGet, Path: "/v1/users", Access: identity.Read,
			Summary: "List all users of the organization on one page",
		}, func(c *call, tx *store.Tx, _ nothing) (readable[identity.User], error) {
			users, err := id.ListUsers(tx)
			return readable[identity.User]{users, id.Users.Table.Count(tx) - len(users)}, err
		}),
		write(Operation{
			Name: "create_user", Method: http.MethodPost, Path: "/v1/users",
			Access: identity.Admin, Status: http.StatusCreated,
			Summary: "Create a user",
		}, func(_ *call, tx *store.Tx, in createBody[identity.User]) (store.Doc[identity.User], error) {
			return id.Users.Create(tx, in.Draft)
		}),
		write(Operation{
			Name: "update_user", Method: http.MethodPatch, Path: "/v1/users/{id}", Access: identity.Admin,
			Summary: "Update a user", Codes: []fault.Code{fault.LastAdmin},
		}, byID(func(c *call, tx *store.Tx, user uuid.UUID, in updateBody[identity.User]) (store.Doc[identity.User], error) {
			return a.shownUser(tx)(id.Users.Update(tx, user, ifMatch(c.request), in.body))
		})),
		write(Operation{
			Name: "deactivate_user", Method: http.MethodPost, Path: "/v1/users/{id}/deactivate",
			Access:  identity.Admin,
			Summary: "Deactivate a user: the user's API keys and sessions stop working and the user's campaigns are held",
			Codes:   []fault.Code{fault.LastAdmin},
		}, byID(func(_ *call, tx *store.Tx, user uuid.UUID, _ nothing) (store.Doc[identity.User], error) {
			return a.shownUser(tx)(id.SetActive(tx, user, false))
		})),
		write(Operation{
			Name: "activate_user", Method: http.MethodPost, Path: "/v1/users/{id}/activate",
			Access:  identity.Admin,
			Summary: "Activate a user who was deactivated",
		}, byID(func(_ *call, tx *store.Tx, user uuid.UUID, _ nothing) (store.Doc[identity.User], error) {
			return a.shownUser(tx)(id.SetActive(tx, user, true))
		})),
		read(Operation{
			Name: "list_api_keys", Method: http.MethodGet, Path: "/v1/api-keys", Access: identity.Admin,
			Summary: "List all API keys of the organization on one page",
		}, func(c *call, tx *store.Tx, _ nothing) (readable[identity.Key], error) {
			keys, err := id.ListKeys(tx)
			return readable[identity.Key]{keys, id.Keys.Table.Count(tx) - len(keys)}, err
		}),
		write(Operation{
			Name: "create_api_key", Method: http.MethodPost, Path: "/v1/api-keys",
			Access: identity.Admin, Status: http.StatusCreated,
			Summary: "Create an API key; only this response contains its plaintext",
		}, func(_ *call, tx *store.Tx, in createBody[identity.Key]) (NewKey, error) {
			doc, plaintext, err := id.CreateKey(tx, in.Draft)
			return NewKey{Key: doc.Record, Plaintext: plaintext, version: doc.Version()}, err
		}),
		write(Operation{
			Name: "deactivate_api_key", Method: http.MethodPost, Path: "/v1/api-keys/{id}/deactivate",
			Access:  identity.Admin,
			Summary: "Deactivate an API key immediately and permanently",
		}, byID(func(_ *call, tx *store.Tx, key uuid.UUID, _ nothing) (store.Doc[identity.Key], error) {
			return id.DeactivateKey(tx, key)
		})),
	}
}

// me returns the user and organization of the caller.
func (a *API) me(c *call, tx *store.Tx) (Me, error) {
	org, err := a.Identity.Organizations.Get(tx, c.principal.Org)
	if err != nil {
		return Me{}, err
	}
	user, err := a.Identity.Users.Get(tx, c.principal.User)
	u := user.Record
	return Me{OrgID: org.ID, OrgName: org.Record.Name, UserID: u.ID, UserEmail: u.Email,
		UserFirstName: u.FirstName, UserLastName: u.LastName, Access: c.principal.Access}, err
}

// shownUser returns a function that adds what is not stored in a user to the result of a change.
func (a *API) shownUser(tx *store.Tx) func(store.Doc[identity.User], error) (store.Doc[identity.User], error) {
	return func(doc store.Doc[identity.User], err error) (store.Doc[identity.User], error) {
		if err != nil {
			return doc, err
		}
		return a.Identity.ShowUser(tx, doc)
	}
}

func withAccess(access identity.Access, o Operation) Operation {
	o.Access = access
	return o
}
