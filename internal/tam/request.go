package tam

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// PreviewRequest describes a target market.
type PreviewRequest struct {
	RequestID                     uuid.UUID      `json:"request_id" rule:"required" doc:"Repeat it when you retry a request, to get the same Preview again."`
	CompanyFilters                CompanyFilters `json:"company_filters" rule:"required"`
	ContactFilters                ContactFilters `json:"contact_filters"`
	ExcludeCompaniesWithoutTitles bool           `json:"exclude_companies_without_titles" doc:"Exclude companies without a matching person."`
	TagIDs                        shape.IDs      `json:"tag_ids" rule:"maxlen=1000,named" doc:"Tags for imported Accounts, given by their ids or names."`
	ContactTagIDs                 shape.IDs      `json:"contact_tag_ids" rule:"maxlen=1000,named" doc:"Tags for imported Contacts, given by their ids or names."`
	TagExistingAccounts           bool           `json:"tag_existing_accounts" rule:"default=true" doc:"Also tag Accounts that exist already."`
	TagExistingContacts           bool           `json:"tag_existing_contacts" rule:"default=true" doc:"Also tag Contacts that exist already."`
	QualifierSignalID             uuid.NullUUID  `json:"qualifier_signal_id" doc:"An AI-filled field of accounts. Its researched answer decides which companies pass."`
	QualifierRule                 *QualifierRule `json:"qualifier_rule" doc:"Required together with qualifier_signal_id."`
	SearchInput                   *SearchInput   `json:"search_input"`
}

// CompanyFilters select companies. All given filters must match.
type CompanyFilters struct {
	AccountViewID  uuid.NullUUID   `json:"account_view_id" doc:"A view whose rules filter companies."`
	FilteringRules shape.Value     `json:"filtering_rules" rule:"component=Filters" doc:"The same filters as in a list of companies."`
	SearchingRule  *crm.SearchRule `json:"searching_rule" doc:"Each word must be the beginning of a word in the name, description, industry, sub_industry, keywords, technologies, website, country or location."`
}

// ContactFilters select people by title, seniority and country. Keywords match whole words of a
// title and ignore case.
type ContactFilters struct {
	IncludeKeywords []string   `json:"include_keywords" rule:"maxlen=1000" doc:"The title must contain at least one of them. A keyword of several words must occur as a phrase."`
	ExcludeKeywords []string   `json:"exclude_keywords" rule:"maxlen=1000" doc:"The title must contain none of them."`
	Seniority       shape.Text `json:"seniority" rule:"enum=Individual Contributor|Senior Individual Contributor|Manager|Senior Manager|Director|Senior Director|VP|SVP|EVP|C-Level|Founder"`
	Countries       []string   `json:"countries" rule:"maxlen=1000" doc:"The person's country must be one of them. Case is ignored."`
}

// QualifierRule decides which researched answers pass.
type QualifierRule struct {
	Operator string      `json:"operator" rule:"enum=equals|contains,default=equals" doc:"contains ignores case and requires a text or multi_select field."`
	Value    shape.Value `json:"value" rule:"required" doc:"A boolean, a number or a string, depending on the type of the field."`
}

// SearchInput are further search criteria. They apply in addition to the filters of the request.
type SearchInput struct {
	FilteringRules        shape.Value      `json:"filtering_rules" rule:"component=Filters"`
	TitleEnrichment       *TitleEnrichment `json:"title_enrichment" doc:"A condition that titles must satisfy in addition to the keywords."`
	SearchingRule         *crm.SearchRule  `json:"searching_rule"`
	GroupingRule          shape.Value      `json:"grouping_rule" rule:"component=GroupingRule" doc:"Companies with the same value of this field come together. Companies without a value come last."`
	SortingRules          shape.Value      `json:"sorting_rules" rule:"component=SortingRules" doc:"The order of the companies. The default is by name."`
	WithTitles            bool             `json:"with_titles" doc:"Exclude companies without a matching person."`
	TitleSearch           []string         `json:"title_search" rule:"maxlen=1000" doc:"The title must contain at least one of these keywords."`
	ExcludeCompaniesInTAM bool             `json:"exclude_companies_in_tam" doc:"Exclude companies that already exist as Accounts."`
	MaxCandidates         int              `json:"max_candidates" rule:"min=1,max=100000,default=10000" doc:"The maximum number of matching companies in the Preview. The first ones in the order are used."`
	QueryID               uuid.NullUUID    `json:"query_id" doc:"Stored and returned for the caller, without an effect."`
	AccountViewID         uuid.NullUUID    `json:"account_view_id"`
}

// TitleEnrichment is a condition on titles. It ignores case.
type TitleEnrichment struct {
	Condition string   `json:"condition" rule:"required,enum=is|contains|not_contains"`
	Criterias []string `json:"criterias" rule:"maxlen=1000" doc:"At least one must match. For not_contains, none may match."`
}

// resolved is what the ids of a request referred to when the request was made. Later changes do not
// affect the preparation.
type resolved struct {
	Views  []resolvedView `json:"views,omitempty"`
	Signal *Signal        `json:"signal,omitzero"`
	// Allowed are the allowed values of the signal's field.
	Allowed []string `json:"allowed,omitempty"`
	// Field is the field of a company that answers the signal's question, if one does.
	Field string `json:"field,omitempty"`
}

// resolvedView has the rules of a view, and the path in the request that refers to it.
type resolvedView struct {
	ID      uuid.UUID       `json:"id"`
	Path    string          `json:"path"`
	Filters shape.Value     `json:"filters"`
	Search  *crm.SearchRule `json:"search"`
}

// search returns the search input, or the defaults if the request has none.
func (r *PreviewRequest) search() SearchInput {
	if r.SearchInput != nil {
		return *r.SearchInput
	}
	return SearchInput{MaxCandidates: defaultMaxCandidates}
}

// defaultMaxCandidates is the default of max_candidates.
const defaultMaxCandidates = 10_000

// Draft is a request that was decoded but not yet checked against the store. It keeps the problems
// of decoding, so that all problems are reported together.
type Draft struct {
	request  PreviewRequest
	body     shape.Value
	problems fault.Problems
}

// NewDraft decodes a body.
func NewDraft(body shape.Value) Draft {
	d := Draft{body: body}
	shape.Decode(body, &d.request, shape.Create, &d.problems)
	d.request.setDefaults()
	return d
}

// tagObjects are the objects that the tags of a request are for, by the key of their list.
var tagObjects = map[string]string{"tag_ids": "account", "contact_tag_ids": "contact"}

// withTagIDs returns a draft in which the names of tags are replaced by their ids. Names that no tag
// has remain problems of the draft.
func (t *TAM) withTagIDs(tx *store.Tx, d Draft) (Draft, error) {
	if d.problems.Count() == 0 { // a name is a problem until it is replaced
		return d, nil
	}
	body := d.body
	body.Members = slices.Clone(body.Members)
	for i, m := range body.Members {
		object, isTags := tagObjects[m.Key]
		if !isTags || len(m.Value.Items) > crm.MaxTags { // a longer list is refused
			continue
		}
		var err error
		body.Members[i].Value, err = filter.NamesToIDs(m.Value, func(name string) (uuid.UUID, bool, error) {
			return t.crm.Tags.FindNamed(tx, name, object)
		})
		if err != nil {
			return d, err
		}
	}
	return NewDraft(body), nil
}

// check returns the request of a draft and what its ids refer to. The error reports all problems of
// the request.
func (t *TAM) check(tx *store.Tx, d Draft) (*PreviewRequest, resolved, error) {
	p := d.problems
	named, err := t.resolve(tx, &d.request, d.body, &p)
	if err == nil {
		err = p.Err()
	}
	return &d.request, named, err
}

// resolve looks up the ids of a request and adds all problems to p.
func (t *TAM) resolve(tx *store.Tx, r *PreviewRequest, body shape.Value, p *fault.Problems) (resolved, error) {
	var named resolved
	in := r.search()
	for _, ref := range []struct {
		path string
		id   uuid.NullUUID
	}{{"company_filters.account_view_id", r.CompanyFilters.AccountViewID}, {"search_input.account_view_id", in.AccountViewID}} {
		if !ref.id.Valid {
			continue
		}
		view, err := t.crm.Views.Get(tx, ref.id.UUID)
		switch {
		case fault.CodeOf(err) == fault.NotFound, err == nil && !view.Record.IsOfAccounts():
			p.Invalid(ref.path, "does not exist")
		case err != nil:
			return named, err
		default:
			if t.fitsCompanies(&view.Record, ref.path, p) {
				rules := view.Record
				named.Views = append(named.Views, resolvedView{ref.id.UUID, ref.path, rules.FilteringRules, rules.SearchingRule})
			}
		}
	}
	for _, list := range []struct {
		key string
		ids shape.IDs
	}{{"tag_ids", r.TagIDs}, {"contact_tag_ids", r.ContactTagIDs}} {
		for _, id := range list.ids {
			why, err := t.crm.Tags.ReferenceProblem(tx, id, tagObjects[list.key])
			if err != nil {
				return named, err
			}
			if why != "" {
				at := slices.IndexFunc(body.Get(list.key).Items, func(v shape.Value) bool {
					return strings.EqualFold(v.Text, id.String())
				})
				p.Invalid(fmt.Sprintf("%s[%d]", list.key, at), "%s", why)
			}
		}
	}
	checkKeywords(body, "contact_filters", "include_keywords", p)
	checkKeywords(body, "contact_filters", "exclude_keywords", p)
	checkKeywords(body, "search_input", "title_search", p)
	filter.CompileSelection(t.catalog.CompanyList.Kind, filter.NoCustomFields, r.selection(named, p), p)
	return named, t.findQualifier(tx, r, &named, p)
}

// fitsCompanies reports whether the rules of a view can filter companies, and adds a problem for
// each rule that cannot.
func (t *TAM) fitsCompanies(view *crm.View, path string, p *fault.Problems) bool {
	var unfit fault.Problems
	filter.Check(t.catalog.CompanyList.Kind, filter.NoCustomFields, view.FilteringRules, "filtering_rules", &unfit)
	for _, d := range unfit.Details() {
		p.Add(fault.InvalidFilter, path, "the view %q has an unsuitable filter, %s: %s", view.Name, d.Path, d.Message)
	}
	return unfit.Count() == 0
}

// checkKeywords adds a problem for each keyword without a word. It checks the body, because
// decoding removes duplicates and the indexes would not match.
func checkKeywords(body shape.Value, object, key string, p *fault.Problems) {
	for i, v := range body.Get(object).Get(key).Items {
		if v.Kind == shape.String && v.Text != "" && len(shape.Words(v.Text)) == 0 {
			p.Invalid(fmt.Sprintf("%s.%s[%d]", object, key, i), "%s contains no letter or digit", shape.Quote(v.Text))
		}
	}
}

// setDefaults sets the defaults of the parts that are stored as they were given.
func (r *PreviewRequest) setDefaults() {
	r.CompanyFilters.FilteringRules = withOperators(r.CompanyFilters.FilteringRules)
	if in := r.SearchInput; in != nil {
		in.FilteringRules = withOperators(in.FilteringRules)
		if in.SortingRules.Kind == shape.Absent || in.SortingRules.Kind == shape.Null {
			in.SortingRules = shape.Value{Kind: shape.List}
		}
	}
}
