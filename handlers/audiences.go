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
	return append([]Operation{
		writeWithLookup(Operation{
			Name: "create_audience", Method: http.MethodPost, Path: "/v1/audiences",
			Access: identity.Write, Status: http.StatusCreated,
			Codes:   []fault.Code{fault.AudienceNameTaken, fault.InvalidFilter},
			Summary: "Create an audience with its initial contacts, or a dynamic one with filters",
			example: []byte(`{"name": "Operations", "type": "dynamic", "filters": [{"field": "title", "condition": "contains", "value": "operations"}]}`),
		}, func(c *call, in createBody[outreach.Audience]) ([]uuid.UUID, error) {
			rec, p := in.Open()
			if p.Err() != nil || !rec.IsDynamic() {
				return nil, nil
			}
			return o.Matching(c.request.Context(), c.org(), &rec)
		}, func(_ *call, tx *store.Tx, in createBody[outreach.Audience], matching []uuid.UUID) (store.Doc[outreach.Audience], error) {
			doc, err := o.CreateAudience(tx, in.Draft)
			if err != nil {
				return doc, err
			}
			return o.ApplyNewFilters(tx, doc, matching)
		}),
		getOperation(k),
		a.updateAudience(),
		listOperation(k),
		historyOperation(k),
		listSome[crm.Contact](Operation{
			Name: "list_audience_contacts", Path: contacts + "/list",
			Summary: "List the contacts of an audience, with filters, search and sorting",
		}, a.CRM.Contacts.List, (*call).org, func(c *call, all index.Query) (index.Query, error) {
			id, err := c.pathID(0)
			return func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
				plan, err := all(tx, cs)
				if err != nil {
					return nil, err
				}
				return o.OnlyMembers(tx, id, plan)
			}, err
		}),
		writeWithLookup(Operation{
			Name: "add_audience_contacts", Method: http.MethodPost, Path: contacts + "/add", Access: identity.Write,
			Codes:   []fault.Code{fault.AudienceArchived, fault.AudienceDynamic, fault.InvalidFilter},
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
			Access: identity.Write, Codes: []fault.Code{fault.AudienceDynamic},
			Summary: "Remove contacts from an audience; contacts that are not in it are ignored",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in RemoveContactsBody) (outreach.Removed, error) {
			return o.RemoveContacts(tx, id, in.ContactIDs)
		})),
	}, trashOperations(a, k, []fault.Code{fault.InUse}, []fault.Code{fault.AudienceNameTaken, fault.InvalidFilter})...)
}

// changedFilters are the contacts that the new filters of a dynamic audience match.
type changedFilters struct {
	matching []uuid.UUID
	changed  bool
}

// updateAudience updates an audience, and the number of its contacts if that changes with its filters.
func (a *API) updateAudience() Operation {
	o := a.Outreach
	update := updateOperation(o.Audiences, "update_audience", "/v1/audiences/{id}", fault.AudienceNameTaken, fault.InvalidFilter)
	return writeWithLookup(Operation{
		Name: update.Name, Method: update.Method, Path: update.Path, Access: update.Access, Codes: update.Codes, Summary: update.Summary,
		example: []byte(`{"name": "Robotics, operations"}`),
	}, func(c *call, in updateBody[outreach.Audience]) (found changedFilters, err error) {
		id, err := c.pathID(0)
		if err != nil {
			return found, err
		}
		var changed *outreach.Audience
		err = a.Store.View(c.org(), func(tx *store.Tx) (err error) {
			changed, err = o.AudienceWithNewFilters(tx, id, in.body)
			return err
		})
		if err != nil || changed == nil {
			return found, err
		}
		found.changed = true
		found.matching, err = o.Matching(c.request.Context(), c.org(), changed)
		return found, err
	}, func(c *call, tx *store.Tx, in updateBody[outreach.Audience], found changedFilters) (doc store.Doc[outreach.Audience], err error) {
		id, err := c.pathID(0)
		if err == nil {
			doc, err = o.Audiences.Update(tx, id, ifMatch(c.request), in.body)
		}
		if err != nil || !found.changed {
			return doc, err
		}
		return o.ApplyNewFilters(tx, doc, found.matching)
	})
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
	if !c.selects("contact_ids", body.ContactIDs, body.Search, &p) || p.Err() != nil {
		return chosenContacts{ids: body.ContactIDs}, p.Err()
	}
	ids, err := c.selectAll(a.CRM.Contacts.List, body.Filters, body.Search, math.MaxInt)
	return chosenContacts{ids, true}, err
}
