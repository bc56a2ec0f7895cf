package handlers

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
)

// SearchBody is a search in records of several kinds.
type SearchBody struct {
	Search   string   `json:"search" rule:"required,maxlen=200" doc:"Words to search for. Each must be the beginning of a word in the record's text fields, ignoring case."`
	Entities []string `json:"entities" rule:"nonempty,maxlen=8,enum=contacts|accounts|opportunities|audiences|campaigns|sequence-templates|tasks|meetings" doc:"The kinds of records to search. All of them if it is missing."`
	Limit    int      `json:"limit" rule:"min=1,max=20,default=5" doc:"The number of records of each kind."`
}

// SearchResult is what a search found of one kind of records.
type SearchResult struct {
	Entity     string        `json:"entity" rule:"enum=contacts|accounts|opportunities|audiences|campaigns|sequence-templates|tasks|meetings"`
	TotalCount int           `json:"total_count" doc:"The number of records that match. At most limit of them are in records."`
	Records    []FoundRecord `json:"records" doc:"In the default order of the list."`
}

// FoundRecord is a record that a search found.
type FoundRecord struct {
	ID     uuid.UUID `json:"id"`
	Name   string    `json:"name" doc:"The name or title of the record. The email address of a contact without a name."`
	Detail string    `json:"detail" doc:"What tells the record from others with its name, such as the title of a contact. May be empty."`
}

// searchOperation returns the search in all kinds that have a page in the console.
func (a *API) searchOperation() Operation {
	kinds := []*index.Kind{
		a.CRM.Contacts.List, a.CRM.Accounts.List, a.CRM.Opportunities.List, a.Outreach.Audiences.List, a.Outreach.Campaigns.List,
		a.Outreach.Templates.List, a.CRM.Tasks.List, a.CRM.Meetings.List,
	}
	return withoutTx(Operation{
		Name: "search", Method: http.MethodPost, Path: "/v1/search", Access: identity.Read,
		Summary: "Search records of several kinds at once",
		Codes:   []fault.Code{fault.InvalidFilter, fault.Timeout},
		example: []byte(`{"search": "anna", "entities": ["contacts", "accounts"], "limit": 5}`),
	}, func(c *call, in SearchBody) (all[SearchResult], error) {
		ctx, cancel := c.listContext()
		defer cancel()
		results := []SearchResult{}
		for _, kind := range kinds {
			if in.Entities != nil && !slices.Contains(in.Entities, kind.Entity) {
				continue
			}
			query := filter.ListBody{Search: in.Search, Page: 1, PageLimit: filter.PageLimit{PageSize: in.Limit}}
			err := a.Index.List(ctx, c.org(), kind, c.compileQuery(kind, query, fault.Problems{}), func(p index.Page) error {
				found, err := foundRecords(p.Records)
				results = append(results, SearchResult{kind.Entity, p.Total, found})
				return err
			})
			if err != nil {
				return nil, whileBuilding(err)
			}
		}
		return results, nil
	})
}

// foundRecords returns the names of records. It decodes the members that kinds of records have for that.
func foundRecords(records [][]byte) ([]FoundRecord, error) {
	found := make([]FoundRecord, len(records))
	for i, rec := range records {
		var r namedRecord
		if err := json.Unmarshal(rec, &r); err != nil {
			return nil, err
		}
		name := r.name()
		detail := cmp.Or(r.Title, r.Email, r.Website, r.Stage, r.Status)
		if detail == name { // a Task, or a contact of which only the address is known
			detail = r.Status
		}
		found[i] = FoundRecord{r.ID, name, detail}
	}
	return found, nil
}
