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
	RequestID                     uuid.UUID      `json:"request_id" rule:"required" doc:"Keep it when repeating the same request: it answers the same Preview."`
	CompanyFilters                CompanyFilters `json:"company_filters" rule:"required"`
	ContactFilters                ContactFilters `json:"contact_filters"`
	ExcludeCompaniesWithoutTitles bool           `json:"exclude_companies_without_titles" doc:"Leave out companies of which no person is kept."`
	TagIDs                        shape.IDs      `json:"tag_ids" rule:"maxlen=1000" doc:"Tags for Accounts."`
	ContactTagIDs                 shape.IDs      `json:"contact_tag_ids" rule:"maxlen=1000" doc:"Tags for Contacts."`
	TagExistingAccounts           bool           `json:"tag_existing_accounts" rule:"default=true" doc:"Tag also the Accounts that are there already."`
	TagExistingContacts           bool           `json:"tag_existing_contacts" rule:"default=true" doc:"Tag also the Contacts that are there already."`
	QualifierSignalID             uuid.NullUUID  `json:"qualifier_signal_id" doc:"An AI-filled field of accounts, whose researched answer decides which companies pass."`
	QualifierRule                 *QualifierRule `json:"qualifier_rule" doc:"Required together with qualifier_signal_id."`
	SearchInput                   *SearchInput   `json:"search_input"`
}

// CompanyFilters select companies; all that are given must match.
type CompanyFilters struct {
	AccountViewID  uuid.NullUUID   `json:"account_view_id" doc:"A view whose rules are used as filters of companies."`
	FilteringRules shape.Value     `json:"filtering_rules" rule:"component=Filters" doc:"As the filters of a list of companies."`
	SearchingRule  *crm.SearchRule `json:"searching_rule" doc:"Words; each must begin some word of the name, description, industry, sub_industry, keywords, technologies, website, country or location."`
}

// ContactFilters select people by their titles and countries. Keywords are whole words of a title or phrases, without case.
type ContactFilters struct {
	IncludeKeywords []string   `json:"include_keywords" rule:"maxlen=1000" doc:"The title must have any of them: as whole words, one after the other where a keyword has several."`
	ExcludeKeywords []string   `json:"exclude_keywords" rule:"maxlen=1000" doc:"The title must have none of them."`
	Seniority       shape.Text `json:"seniority" rule:"enum=Individual Contributor|Senior Individual Contributor|Manager|Senior Manager|Director|Senior Director|VP|SVP|EVP|C-Level|Founder"`
	Countries       []string   `json:"countries" rule:"maxlen=1000" doc:"The person's country must be any of them, without case."`
}

// QualifierRule decides which researched answers pass.
type QualifierRule struct {
	Operator string      `json:"operator" rule:"enum=equals|contains,default=equals" doc:"contains ignores case, and is for text and multi_select."`
	Value    shape.Value `json:"value" rule:"required" doc:"A boolean, a number or a text, as the field has them."`
}

// SearchInput is the exact criteria of a search. They hold beside the filters: what is given in both must match both.
type SearchInput struct {
	FilteringRules        shape.Value      `json:"filtering_rules" rule:"component=Filters"`
	TitleEnrichment       *TitleEnrichment `json:"title_enrichment" doc:"A condition that titles must satisfy beside the keywords."`
	SearchingRule         *crm.SearchRule  `json:"searching_rule"`
	GroupingRule          shape.Value      `json:"grouping_rule" rule:"component=GroupingRule" doc:"Companies that have the same value of this field stand together, those without one last."`
	SortingRules          shape.Value      `json:"sorting_rules" rule:"component=SortingRules" doc:"The order of the companies, by name when there is none."`
	WithTitles            bool             `json:"with_titles" doc:"Leave out companies of which no person is kept."`
	TitleSearch           []string         `json:"title_search" rule:"maxlen=1000" doc:"Keywords of which the title must have any."`
	ExcludeCompaniesInTAM bool             `json:"exclude_companies_in_tam" doc:"Leave out companies that are Accounts already."`
	MaxCandidates         int              `json:"max_candidates" rule:"min=1,max=100000,default=10000" doc:"How many of the matching companies are looked at, the first in the order; the others are not in the Preview."`
	QueryID               uuid.NullUUID    `json:"query_id" doc:"Kept and answered, for the caller."`
	AccountViewID         uuid.NullUUID    `json:"account_view_id"`
}

// TitleEnrichment is a condition on titles, without case.
type TitleEnrichment struct {
	Condition string   `json:"condition" rule:"required,enum=is|contains|not_contains"`
	Criterias []string `json:"criterias" rule:"maxlen=1000" doc:"Any of them; for not_contains none of them."`
}

// resolved is what a request named, as it was when the request was made: what is prepared later is what was asked for.
type resolved struct {
	Views  []heldView `json:"views,omitempty"`
	Signal *Signal    `json:"signal,omitzero"`
	// Allowed are the values that the field of the signal allows.
	Allowed []string `json:"allowed,omitempty"`
}

// heldView is the rules of a view, and where the request names it.
type heldView struct {
	ID      uuid.UUID       `json:"id"`
	Path    string          `json:"path"`
	Filters shape.Value     `json:"filters"`
	Search  *crm.SearchRule `json:"search"`
}

// search is the search input, or what is the same as none.
func (r *PreviewRequest) search() SearchInput {
	if r.SearchInput != nil {
		return *r.SearchInput
	}
	return SearchInput{MaxCandidates: maxCandidates}
}

// maxCandidates is how many companies a request is about that does not say.
const maxCandidates = 10_000

// Draft is a request decoded from a body. What is wrong with that is kept, to be reported with the rest.
type Draft struct {
	request  PreviewRequest
	body     shape.Value
	problems fault.Problems
}

// NewDraft decodes a body.
func NewDraft(body shape.Value) Draft {
	d := Draft{body: body}
	shape.Decode(body, &d.request, shape.Create, &d.problems)
	d.request.fill()
	return d
}

// check gives the request of a draft with what it names. All that is wrong with it is reported at once.
func (t *TAM) check(tx *store.Tx, d Draft) (*PreviewRequest, resolved, error) {
	p := d.problems
	named, err := t.resolve(tx, &d.request, d.body, &p)
	if err == nil {
		err = p.Err()
	}
	return &d.request, named, err
}

// resolve finds what a request names, and notes all that is wrong with it.
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
		case fault.CodeOf(err) == fault.NotFound:
			p.Invalid(ref.path, "does not exist")
		case err != nil:
			return named, err
		default:
			if t.fitsCompanies(&view.Record, ref.path, p) {
				named.Views = append(named.Views, heldView{ref.id.UUID, ref.path, view.Record.FilteringRules, view.Record.SearchingRule})
			}
		}
	}
	for _, list := range []struct {
		key, object string
		ids         shape.IDs
	}{{"tag_ids", "account", r.TagIDs}, {"contact_tag_ids", "contact", r.ContactTagIDs}} {
		for _, id := range list.ids {
			why, err := t.crm.Tags.ReferenceProblem(tx, id, list.object)
			if err != nil {
				return named, err
			}
			if why != "" {
				at := slices.IndexFunc(body.Get(list.key).Items, func(v shape.Value) bool { return strings.EqualFold(v.Text, id.String()) })
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

// fitsCompanies tells whether the rules of a view can be used for companies, and notes why not.
func (t *TAM) fitsCompanies(view *crm.AccountView, path string, p *fault.Problems) bool {
	var unfit fault.Problems
	filter.Check(t.catalog.CompanyList.Kind, filter.NoCustomFields, view.FilteringRules, "filtering_rules", &unfit)
	for _, d := range unfit.Details() {
		p.Add(fault.InvalidFilter, path, "names the view %q, whose %s %s", view.Name, d.Path, d.Message)
	}
	return unfit.Count() == 0
}

// checkKeywords notes keywords that have no word. It looks at the body: a request has each of them once.
func checkKeywords(body shape.Value, object, key string, p *fault.Problems) {
	for i, v := range body.Get(object).Get(key).Items {
		if v.Kind == shape.String && v.Text != "" && len(shape.Words(v.Text)) == 0 {
			p.Invalid(fmt.Sprintf("%s.%s[%d]", object, key, i), "must have a letter or a digit")
		}
	}
}

// fill fills in the defaults of what is kept as it was given.
func (r *PreviewRequest) fill() {
	r.CompanyFilters.FilteringRules = withOperators(r.CompanyFilters.FilteringRules)
	if in := r.SearchInput; in != nil {
		in.FilteringRules = withOperators(in.FilteringRules)
		if in.SortingRules.Kind == shape.Absent || in.SortingRules.Kind == shape.Null {
			in.SortingRules = shape.Value{Kind: shape.List}
		}
	}
}

// withOperators says "and" in every expression that does not say how its filters are joined.
func withOperators(filter shape.Value) shape.Value {
	switch filter.Kind {
	case shape.List:
		return shape.Value{Kind: shape.List, Items: eachWithOperators(filter.Items)}
	case shape.Object:
		isExpression := false
		out := shape.Value{Kind: shape.Object, Members: slices.Clone(filter.Members)}
		for i, m := range out.Members {
			if m.Key == "filters" && m.Value.Kind == shape.List {
				isExpression = true
				out.Members[i].Value.Items = eachWithOperators(m.Value.Items)
			}
		}
		if isExpression && filter.Get("operator").Kind == shape.Absent {
			out.Members = append(out.Members, shape.Member{Key: "operator", Value: shape.Value{Kind: shape.String, Text: "and"}})
		}
		return out
	}
	return filter
}

func eachWithOperators(items []shape.Value) []shape.Value {
	out := make([]shape.Value, len(items))
	for i, item := range items {
		out[i] = withOperators(item)
	}
	return out
}

// selection is the companies that the request is about. What is wrong with its sorting rules is noted.
func (r *PreviewRequest) selection(named resolved, p *fault.Problems) filter.Selection {
	in := r.search()
	s := filter.Selection{Filters: []filter.FilterAt{
		{Path: "company_filters.filtering_rules", Filter: r.CompanyFilters.FilteringRules},
		{Path: "search_input.filtering_rules", Filter: in.FilteringRules},
	}}
	searches := []*crm.SearchRule{r.CompanyFilters.SearchingRule, in.SearchingRule}
	for _, view := range named.Views {
		s.Filters = append(s.Filters, filter.FilterAt{Path: view.Path, Filter: view.Filters})
		searches = append(searches, view.Search)
	}
	for _, search := range searches {
		if search != nil {
			s.Words = append(s.Words, search.Value)
		}
	}
	s.Sort = sortRules(in.SortingRules, "search_input.sorting_rules", p)
	if field := groupingField(in.GroupingRule, "search_input.grouping_rule", p); field != "" {
		if len(s.Sort) == 0 { // else the groups alone would say how it is sorted
			s.Sort = []filter.SortAt{{Field: "name"}}
		}
		s.Sort = append([]filter.SortAt{{Path: "search_input.grouping_rule.field", Field: field}}, s.Sort...)
	}
	return s
}

// groupingField reads a grouping rule, { field }: companies that have the same value of it stand together.
func groupingField(given shape.Value, path string, p *fault.Problems) string {
	if given.Kind == shape.Absent || given.Kind == shape.Null {
		return ""
	}
	if given.Kind != shape.Object {
		p.Add(fault.InvalidSort, path, "must be an object")
		return ""
	}
	for _, m := range given.Members {
		if m.Key != "field" {
			p.Add(fault.InvalidSort, path+"."+m.Key, "unknown field")
		}
	}
	field := given.Get("field")
	if field.Kind != shape.String || field.Text == "" {
		p.Add(fault.InvalidSort, path+".field", "required, as a text")
		return ""
	}
	return field.Text
}

// sortRules reads sorting rules: { field, direction }, or the field as a text, with - before it for descending.
func sortRules(given shape.Value, path string, p *fault.Problems) []filter.SortAt {
	bad := func(at, format string, args ...any) { p.Add(fault.InvalidSort, at, format, args...) }
	if given.Kind != shape.List {
		if given.Kind != shape.Absent && given.Kind != shape.Null {
			bad(path, "must be a list")
		}
		return nil
	}
	var rules []filter.SortAt
	for i, item := range given.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		rule := filter.SortAt{Path: at}
		switch item.Kind {
		case shape.String:
			rule.Field, rule.Desc = strings.CutPrefix(item.Text, "-")
		case shape.Object:
			rule.Path = at + ".field"
			for _, m := range item.Members {
				switch {
				case m.Key != "field" && m.Key != "direction":
					bad(at+"."+m.Key, "unknown field")
				case m.Key == "direction" && m.Value.Text != "asc" && m.Value.Text != "desc":
					bad(at+".direction", "must be asc or desc")
				}
			}
			field := item.Get("field")
			if field.Kind != shape.String {
				bad(at+".field", "required, as a text")
				continue
			}
			rule.Field, rule.Desc = field.Text, item.Get("direction").Text == "desc"
		default:
			bad(at, "must be a field, or an object with field and direction")
			continue
		}
		rules = append(rules, rule)
	}
	return rules
}
