package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/store"
)

// Uses is what refers to a record.
type Uses struct {
	Total int   `json:"total" doc:"The sum of all counts."`
	Uses  []Use `json:"uses"`
}

// Use is one way in which records of an entity refer to a record.
type Use struct {
	Entity  string       `json:"entity" doc:"What the records are: accounts, contacts, audiences and so on."`
	Field   string       `json:"field" doc:"The field that refers to the record."`
	Count   int          `json:"count" doc:"The number of these records."`
	Records []UsedRecord `json:"records" doc:"The ten oldest of them."`
}

// UsedRecord is a record that refers to another one.
type UsedRecord struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// maxUsed is the number of records that a use names.
const maxUsed = 10

// useOperations returns the operations that tell what refers to a record.
func (a *API) useOperations() []Operation {
	c := a.CRM
	return []Operation{
		usesOperation(a, c.Tags, "", nil), usesOperation(a, c.Accounts, "", nil), usesOperation(a, c.Fields, "", nil),
		usesOperation(a, a.Outreach.Audiences, "", nil), usesOperation(a, a.Outreach.Templates, "", nil),
		usesOperation(a, c.Views, "", nil), usesOperation(a, c.Views, accountViewsPath, a.mustBeAccountView),
		usesOperation(a, a.Identity.Users, "", nil),
	}
}

// usesOperation tells what refers to the records of a kind. check, if given, may refuse a record.
func usesOperation[T any](a *API, k *record.Kind[T], path string, check func(*store.Tx, uuid.UUID) error) Operation {
	name, what := strings.ReplaceAll(k.Object, " ", "_"), k.WithArticle()
	if path == "" {
		path = "/v1/" + k.Entity
	} else {
		name, what = "account_view", "a view of accounts"
	}
	return read(Operation{
		Name: "get_" + name + "_uses", Method: http.MethodGet, Path: path + "/{id}/uses", Access: identity.Read,
		Summary: "Count and name the records that refer to " + what,
	}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (Uses, error) {
		if check != nil {
			if err := check(tx, id); err != nil {
				return Uses{}, err
			}
		}
		refs, err := k.Uses(tx, id)
		if err != nil {
			return Uses{}, err
		}
		if refs, err = a.withFilters(tx, k.Entity, id, refs); err != nil {
			return Uses{}, err
		}
		return usesOf(c, tx, refs)
	}))
}

// withFilters adds the audiences and views that name the record, and the campaigns of an audience.
func (a *API) withFilters(tx *store.Tx, entity string, id uuid.UUID, refs []record.Referrers) ([]record.Referrers, error) {
	o := a.Outreach
	audiences, views := record.Referrers{Kind: o.Audiences.List, Field: "filters"}, record.Referrers{Kind: a.CRM.Views.List, Field: "filtering_rules"}
	err := o.Audiences.Table.Scan(tx, func(doc store.Doc[outreach.Audience]) (bool, error) {
		if slices.ContainsFunc(refs, func(u record.Referrers) bool {
			return u.Kind.Entity == "contacts" && doc.Record.IsDynamic() && filter.Mentions(doc.Record.Filters, u.Field, u.Value)
		}) {
			audiences.IDs = append(audiences.IDs, doc.ID)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	err = a.CRM.Views.Table.Scan(tx, func(doc store.Doc[crm.View]) (bool, error) {
		if slices.ContainsFunc(refs, func(u record.Referrers) bool { return viewNames(&doc.Record, &u) }) {
			views.IDs = append(views.IDs, doc.ID)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if entity == "audiences" {
		campaigns, err := o.CampaignsWithAudience(tx, id, 0)
		if err != nil {
			return nil, err
		}
		refs = append(refs, record.Referrers{Kind: o.Campaigns.List, Field: "audiences", IDs: campaigns})
	}
	return append(refs, audiences, views), nil
}

// viewNames reports whether a view would change without what a use is about.
func viewNames(v *crm.View, u *record.Referrers) bool {
	if v.Entity != u.Kind.Entity {
		return false
	}
	isField := u.Value == ""
	sorts := slices.ContainsFunc(strings.Split(string(v.Sort), ","), func(s string) bool { return strings.TrimPrefix(s, "-") == u.Field })
	return filter.Mentions(v.FilteringRules, u.Field, u.Value) || isField && (sorts || slices.Contains(v.Columns, u.Field))
}

// usesOf counts and names the records of uses. Only an admin sees API keys.
func usesOf(c *call, tx *store.Tx, refs []record.Referrers) (Uses, error) {
	all := Uses{Uses: []Use{}}
	for _, ref := range refs {
		if len(ref.IDs) == 0 || ref.Kind.Entity == "api-keys" && c.principal.Access != identity.Admin {
			continue
		}
		slices.SortFunc(ref.IDs, store.CompareIDs)
		use := Use{Entity: ref.Kind.Entity, Field: ref.Field, Count: len(ref.IDs), Records: []UsedRecord{}}
		for _, id := range ref.IDs[:min(len(ref.IDs), maxUsed)] {
			name, err := recordName(tx, ref.Kind, id)
			if err != nil {
				return all, err
			}
			use.Records = append(use.Records, UsedRecord{id, name})
		}
		all.Total += use.Count
		all.Uses = append(all.Uses, use)
	}
	return all, nil
}
