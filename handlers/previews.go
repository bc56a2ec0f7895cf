package handlers

import (
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/internal/tam"
	"prospector/store"
)

// MemberPageQuery selects a page of the members of a Preview.
type MemberPageQuery struct {
	CurrentPage int `json:"current_page" rule:"min=1,default=1" doc:"The number of the page, starting at 1."`
	filter.PageLimit
}

// MemberQuery selects members of a Preview.
type MemberQuery struct {
	MemberPageQuery
	Kind        string `json:"kind" rule:"enum=company|person" doc:"Only members of this kind."`
	Selected    *bool  `json:"selected" doc:"Only members that are selected (true) or not selected (false)."`
	Existing    *bool  `json:"existing" doc:"Only members that are already Accounts or Contacts (true) or not (false)."`
	IsQualified *bool  `json:"is_qualified" doc:"Only members with this research verdict."`
	Reason      string `json:"reason" rule:"enum=ALREADY_IN_TAM|SUPPRESSED|NO_MATCHING_TITLES|QUALIFIER_NOT_MATCHED|QUALIFIER_FAILED|EXCLUDED_BY_USER" doc:"Only members that are excluded for this reason: exclusion_reason or, if it is null, preparation_exclusion_reason."`
}

// previewRequest is the body of a request for a Preview.
type previewRequest struct{ tam.Draft }

func (previewRequest) source() schemaSource { return inputOf[tam.PreviewRequest]() }
func (r *previewRequest) set(v shape.Value) { r.Draft = tam.NewDraft(v) }

// preview is an encoded Preview with a page of its members.
type preview struct{ tam.Answer }

func (preview) RecordType() reflect.Type   { return reflect.TypeFor[tam.PreviewAnswer]() }
func (p preview) Public() ([]byte, string) { return p.JSON, p.Version }

// prepared is a Preview that this request created, or the existing one with the same request_id.
type prepared struct {
	preview
	created bool
}

func (p prepared) status() int {
	if p.created {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// members is a page of the members of a Preview.
type members struct{ preview }

func (members) RecordType() reflect.Type { return reflect.TypeFor[tam.PreviewMembers]() }

// requestExample is an example request for the documentation.
const requestExample = `{"request_id": "c2a1f0de-58b3-4a0b-8d0e-6a1f5c8f2b77",
	"company_filters": {"filtering_rules": {"filters": [{"field": "country", "condition": "is", "value": "Germany"}]}},
	"contact_filters": {"include_keywords": ["vp", "head of"]}}`

// previewOperations returns the operations on Previews.
func (a *API) previewOperations() []Operation {
	const path = "/v1/tam/preview/{preview_id}"
	requestCodes := []fault.Code{fault.InvalidFilter, fault.InvalidSort}
	previews := list[tam.Preview](Operation{
		Name: "list_tam_previews", Path: "/v1/tam/previews/list", Summary: "List Previews, without their members",
	}, a.TAM.PreviewList)
	return []Operation{
		withoutTx(Operation{
			Name: "estimate_tam_preview", Method: http.MethodPost, Path: "/v1/tam/preview/estimate",
			Access: identity.Read, Codes: requestCodes,
			example: []byte(requestExample),
			Summary: "Estimate the maximum research cost of a Preview, one unit per matching company; nothing " +
				"is created or charged",
		}, func(c *call, in previewRequest) (tam.Estimate, error) {
			return a.TAM.Estimate(c.request.Context(), c.principal.Org, in.Draft)
		}),
		write(Operation{
			Name: "prepare_tam_preview", Method: http.MethodPost, Path: "/v1/tam/preview",
			Access: identity.Write, Status: http.StatusAccepted,
			Codes: append(requestCodes, fault.RequestIDReused), example: []byte(requestExample),
			Summary: "Prepare a Preview of the matching companies and people; a known request_id returns its " +
				"existing Preview",
		}, func(_ *call, tx *store.Tx, in previewRequest) (prepared, error) {
			doc, created, err := a.TAM.Prepare(tx, in.Draft)
			if err != nil {
				return prepared{}, err
			}
			p, err := a.preview(tx, doc.ID, nil)
			return prepared{p, created}, err
		}),
		read(Operation{
			Name: "get_tam_import_preview", Method: http.MethodGet, Path: path, Access: identity.Read,
			Summary: "Get a Preview with a page of its members",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in MemberPageQuery) (preview, error) {
			response, err := a.TAM.Read(tx, id, tam.PageQuery{Page: in.CurrentPage, Size: in.PageSize}, nil)
			return preview{response}, err
		})),
		read(Operation{
			Name: "list_tam_preview_members", Method: http.MethodGet, Path: path + "/members", Access: identity.Read,
			Summary: "List the members of a Preview",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in MemberQuery) (members, error) {
			filter := tam.MemberFilter{Kind: in.Kind, Selected: in.Selected, Existing: in.Existing, IsQualified: in.IsQualified, Reason: in.Reason}
			response, err := a.TAM.ReadMembers(tx, id, tam.PageQuery{Page: in.CurrentPage, Size: in.PageSize, Filter: filter})
			return members{preview{response}}, err
		})),
		write(Operation{
			Name: "exclude_tam_preview_members", Method: http.MethodPost, Path: path + "/exclude",
			Access:  identity.Write,
			Codes:   []fault.Code{fault.PreviewNotReady, fault.ImportAccepted},
			example: []byte(`{"company_websites": ["acme.example"]}`),
			Summary: "Exclude members from a Preview; excluding a company excludes its people, and unknown " +
				"members are reported",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in tam.ExcludeBody) (preview, error) {
			done, err := a.TAM.Exclude(tx, id, in)
			if err != nil {
				return preview{}, err
			}
			return a.preview(tx, id, &done)
		})),
		write(Operation{
			Name: "cancel_tam_preview", Method: http.MethodPost, Path: path + "/cancel", Access: identity.Write,
			Codes: []fault.Code{fault.PreviewNotPreparing}, Summary: "Cancel the preparation of a Preview",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (preview, error) {
			if err := a.TAM.Cancel(tx, id); err != nil {
				return preview{}, err
			}
			return a.preview(tx, id, nil)
		})),
		write(Operation{
			Name: "delete_tam_preview", Method: http.MethodDelete, Path: path,
			Access: identity.Write, Status: http.StatusNoContent,
			Codes:   []fault.Code{fault.ImportAccepted},
			Summary: "Delete a Preview and its members, unless its Import is running",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (nothing, error) {
			return nothing{}, a.TAM.Delete(tx, id, ifMatch(c.request))
		})),
		previews,
	}
}

// preview returns a Preview with the first page of its members.
func (a *API) preview(tx *store.Tx, id uuid.UUID, done *tam.Exclusion) (preview, error) {
	response, err := a.TAM.Read(tx, id, tam.PageQuery{Page: 1, Size: filter.DefaultPageSize}, done)
	return preview{response}, err
}
