package tam_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// refCRM contains the records of an organization that affect the selection.
type refCRM struct {
	domains, emails, profiles map[string]bool // of its Accounts and Contacts, normalized
	companies, people         map[string]bool // the source ids of its Accounts and Contacts
	suppressed                map[string]bool // emails and domains
	views                     map[string]map[string]any
	signals                   map[string]*refSignal // empty without a provider
}

// isSuppressed reports whether a domain or one of its parents is suppressed.
func (c *refCRM) isSuppressed(domain string) bool {
	for rest, more := domain, domain != ""; more; _, rest, more = strings.Cut(rest, ".") {
		if c.suppressed[rest] {
			return true
		}
	}
	return false
}

// refMember is a member as the reference computes it.
type refMember struct {
	person            bool
	source, company   string
	duplicate         bool
	existing          bool
	reason            string // by the preparation
	unresearched      bool
	qualified         any // nil without an answer
	qualification     map[string]any
	removed           bool // by the user
	data              map[string]any
	employer          *refMember
	people            []*refMember // of a company
	ordinal           int
	website, memberID string
}

func (m *refMember) kept() bool { return !m.duplicate && m.reason == "" }

func (m *refMember) importable() bool { return m.kept() && !m.unresearched }

func (m *refMember) selected() bool { return m.importable() && !m.removed }

// refSelection is a Preview as the reference computes it.
type refSelection struct {
	members    []*refMember
	candidates int // companies that are not duplicates
	signals    map[string]*refSignal
	researched []string // the companies to research
	asked      refAsked
}

// refCompany returns the registrable domain of a website. All the websites of a world are below
// .example.
func refCompany(website string) string {
	labels := strings.Split(website, ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}

// refSelect computes the selection of a request, step by step.
func refSelect(companies, people []refRow, crm *refCRM, request map[string]any) *refSelection {
	search, _ := request["search_input"].(map[string]any)
	s := &refSelection{signals: crm.signals}
	rows := refCompanies(companies, crm, request, search)

	var kept []*refMember
	firsts := map[string]bool{}
	for _, row := range rows {
		m := &refMember{source: row.text("id"), company: row.text("id"), website: row.text("website"), data: row}
		kept = append(kept, m)
		company := refCompany(m.website)
		m.existing = crm.domains[company] || crm.companies[m.source]
		m.duplicate = company != "" && firsts[company]
		firsts[company] = true
		switch {
		case m.duplicate:
			continue
		case m.existing && search["exclude_companies_in_tam"] == true:
			m.reason = "ALREADY_IN_TAM"
		case crm.isSuppressed(m.website):
			m.reason = "SUPPRESSED"
		}
		s.candidates++
	}

	staff := map[string][]refRow{}
	for _, p := range people {
		staff[p.text("company_id")] = append(staff[p.text("company_id")], p)
	}
	seen := map[string]bool{}
	wantsTitles := request["exclude_companies_without_titles"] == true || search["with_titles"] == true
	for _, c := range kept {
		if c.kept() {
			c.employ(staff[c.source], crm, request, search, seen)
			hasKept := slices.ContainsFunc(c.people, (*refMember).kept)
			if wantsTitles && !hasKept {
				c.reason = "NO_MATCHING_TITLES"
			}
		}
		if signal, wanted := request["qualifier_signal_id"].(string); wanted && c.kept() {
			s.research(c, crm.signals[signal], request["qualifier_rule"].(map[string]any))
		}
		s.members = append(append(s.members, c), c.people...)
	}
	for i, m := range s.members {
		m.ordinal = i
	}
	return s
}

// refCompanies returns the candidates in order.
func refCompanies(companies []refRow, crm *refCRM, request, search map[string]any) []refRow {
	filters := request["company_filters"].(map[string]any)
	places := []map[string]any{filters, search}
	for _, place := range places[:2] {
		if id, ok := place["account_view_id"].(string); ok {
			places = append(places, crm.views[id])
		}
	}
	var rows []refRow
	for _, row := range companies {
		matches := true
		for _, place := range places {
			words, _ := place["searching_rule"].(map[string]any)
			matches = matches && refMatch(place["filtering_rules"], row) && (words == nil || refFinds(words["value"].(string), row))
		}
		if matches {
			rows = append(rows, row)
		}
	}
	keys := refOrder(search)
	if keys[len(keys)-1].desc { // ids that differ only in case, in either order of creation
		slices.Reverse(rows)
	}
	slices.SortStableFunc(rows, func(a, b refRow) int { return refCompare(keys, a, b) })
	most := 10_000
	if n, ok := search["max_candidates"].(float64); ok {
		most = int(n)
	}
	return rows[:min(most, len(rows))]
}

// employ adds the matching people of a company. seen contains the people that the Preview already
// has, by email and profile.
func (c *refMember) employ(staff []refRow, crm *refCRM, request, search map[string]any, seen map[string]bool) {
	staff = slices.Clone(staff)
	slices.SortFunc(staff, func(a, b refRow) int {
		return cmp.Or(refByText(a.text("id"), b.text("id")), cmp.Compare(a.text("id"), b.text("id")))
	})
	for _, row := range staff {
		if !refWanted(row, request, search) {
			continue
		}
		p := &refMember{person: true, source: row.text("id"), company: c.source, employer: c, data: maps.Clone(row)}
		p.data["company_name"] = c.data["name"]
		email, profile := refLower(row.text("email")), refProfile(row.text("linkedin_url"))
		p.duplicate = email != "" && seen[email] || profile != "" && seen[profile]
		if !p.duplicate {
			seen[email], seen[profile] = true, true
		}
		p.existing = crm.emails[email] || crm.profiles[profile] || crm.people[p.source]
		_, domain, _ := strings.Cut(email, "@")
		if !p.duplicate && (crm.suppressed[email] || crm.isSuppressed(domain)) {
			p.reason = "SUPPRESSED"
		}
		c.people = append(c.people, p)
	}
}

// refProfile normalizes a LinkedIn URL: without case, scheme, host prefix, query and trailing
// slash.
func refProfile(url string) string {
	url, _, _ = strings.Cut(refLower(url), "?")
	if _, rest, has := strings.Cut(url, "://"); has {
		url = rest
	}
	return strings.TrimSuffix(strings.TrimPrefix(url, "www."), "/")
}

// refWanted reports whether the filters of people match.
func refWanted(row refRow, request, search map[string]any) bool {
	f, _ := request["contact_filters"].(map[string]any)
	title := row.text("title")
	has := func(keyword any) bool { return refPhrase(title, keyword.(string)) }
	for _, list := range []any{f["include_keywords"], search["title_search"]} {
		if words, _ := list.([]any); len(words) > 0 && !slices.ContainsFunc(words, has) {
			return false
		}
	}
	if words, _ := f["exclude_keywords"].([]any); slices.ContainsFunc(words, has) {
		return false
	}
	if seniority := f["seniority"]; seniority != nil && row["seniority"] != seniority {
		return false
	}
	if countries, _ := f["countries"].([]any); len(countries) > 0 {
		here := func(c any) bool {
			return row["country"] != nil && refLower(row.text("country")) == refLower(c.(string))
		}
		if !slices.ContainsFunc(countries, here) {
			return false
		}
	}
	enrichment, _ := search["title_enrichment"].(map[string]any)
	if enrichment == nil {
		return true
	}
	fits := slices.ContainsFunc(enrichment["criterias"].([]any), func(c any) bool {
		if enrichment["condition"] == "is" {
			return refLower(title) == refLower(c.(string))
		}
		return strings.Contains(refLower(title), refLower(c.(string)))
	})
	return fits != (enrichment["condition"] == "not_contains")
}

// refPhrase reports whether a title contains the words of a keyword consecutively.
func refPhrase(title, keyword string) bool {
	words, phrase := refWords(title), refWords(keyword)
	for i := range words {
		if i+len(phrase) <= len(words) && slices.Equal(words[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}
