package handlers

import (
	"math"
	"net/http"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// AddContactsBody selects the contacts to add to an audience, by their ids or with a query.
type AddContactsBody struct {
	ContactIDs shape.IDs   `json:"contact_ids" rule:"maxlen=10000" doc:"The contacts to add. Alternatively, give filters or search to add all matching contacts."`
	Filters    shape.Value `json:"filters" rule:"component=Filters"`
	Search     string      `json:"search" doc:"Search words, as in a list of contacts."`
}

// RemoveContactsBody selects the contacts to remove from an audience.
type RemoveContactsBody struct {
	ContactIDs shape.IDs `json:"contact_ids" rule:"required,maxlen=10000"`
}

// audienceOperations returns the operations on audiences and their members.
func (a *API) audienceOperations() []Operation {
	o := a.Outreach
	k := o.Audiences
	const contacts = "/v1/audiences/{id}/contacts"
	return []Operation{
		write(Operation{
			Name: "create_audience", Method: http.MethodPost, Path: "/v1/audiences",
			Access: identity.Write, Status: http.StatusCreated,
			Codes: []fault.Code{fault.AudienceNameTaken}, Summary: "Create an audience with its initial contacts",
		}, func(_ *call, tx *store.Tx, in createBody[outreach.Audience]) (store.Doc[outreach.Audience], error) {
			return o.CreateAudience(tx, in.Draft)
		}),
		getOperation(k),
		updateOperation(k, "update_audience", "/v1/audiences/{id}", fault.AudienceNameTaken),
		deleteOperation(k, fault.InUse),
		listOperation(k),
		listWithin[crm.Contact](Operation{
			Name: "list_audience_contacts", Path: contacts + "/list",
			Summary: "List the contacts of an audience, with filters, search and sorting",
		}, a.CRM.Contacts.List, (*call).org, func(c *call, all index.Query) (index.Query, error) {
			id, err := c.pathID(0)
			return restrictTo(all, func(tx *store.Tx) ([]uuid.UUID, error) { return o.Members(tx, id) }), err
		}),
		writeWithLookup(Operation{
			Name: "add_audience_contacts", Method: http.MethodPost, Path: contacts + "/add", Access: identity.Write,
			Codes:   []fault.Code{fault.AudienceArchived, fault.InvalidFilter},
			Summary: "Add contacts to an audience: up to 10,000 by id, or all that match a query",
			example: []byte(`{"filters": [{"field": "title", "condition": "contains", "value": "operations"}]}`),
		}, a.chosen, func(c *call, tx *store.Tx, _ createBody[AddContactsBody], chosen chosenContacts) (outreach.Added, error) {
			id, err := c.pathID(0)
			if err != nil {
				return outreach.Added{}, err
			}
			if chosen.found {
				return o.AddFound(tx, id, chosen.ids)
			}
			return o.AddContacts(tx, id, chosen.ids)
		}),
		write(Operation{
			Name: "remove_audience_contacts", Method: http.MethodPost, Path: contacts + "/remove",
			Access:  identity.Write,
			Summary: "Remove contacts from an audience; contacts that are not in it are ignored",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in RemoveContactsBody) (outreach.Removed, error) {
			return o.RemoveContacts(tx, id, in.ContactIDs)
		})),
	}
}

// chosenContacts are the contacts that a request selects.
type chosenContacts struct {
	ids   []uuid.UUID
	found bool // by a query, so that all of them exist
}

// chosen returns the contacts that the body selects. It refuses a body with both ids and a query, and
// a body with neither.
func (a *API) chosen(c *call, in createBody[AddContactsBody]) (chosenContacts, error) {
	body, p := in.Open()
	given := func(key string) bool {
		return c.body.Get(key).Kind != shape.Absent && c.body.Get(key).Kind != shape.Null
	}
	named, described := given("contact_ids"), given("filters") || len(shape.Words(body.Search)) > 0
	switch {
	case named && described:
		p.Invalid("contact_ids", "must not be combined with filters or search")
	case named && len(body.ContactIDs) == 0 && !p.Has("contact_ids"):
		p.Invalid("contact_ids", "must not be empty")
	case !named && !described && !p.Has("search"):
		p.Invalid("contact_ids", "required, unless filters or search is given")
	}
	if named || !described {
		return chosenContacts{ids: body.ContactIDs}, p.Err()
	}
	k := a.CRM.Contacts.List
	query := filter.ListBody{Filters: body.Filters, Search: body.Search}
	ids, _, err := a.Index.Select(c.request.Context(), c.org(), k, c.compileQuery(k, query, p), math.MaxInt)
	return chosenContacts{ids, true}, err
}
