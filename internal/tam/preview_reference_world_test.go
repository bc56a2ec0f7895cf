package tam_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// refWorld is a random catalog with few distinct values, so that every rule has an effect.
type refWorld struct {
	*rand.Rand
	companies, people []refRow
	domains, slugs    []string
}

var (
	refNames        = []string{"Acme", "acme", "Zeta Works", "zeta-works 9", "Élan", "élan vital", "Beta", "10 Dots", "9 Dots"}
	refIndustries   = []string{"Software", "software", "Retail", "Bio Tech"}
	refLands        = []string{"Norway", "norway", "Chile", "New Zealand"}
	refPlaces       = []string{"Oslo", "Santiago", "Oslo North"}
	refWordLists    = []string{"cloud", "Cloud", "big data", "r&d", "go"}
	refDescriptions = []string{"Makes cloud tools for retail.", "Big data; oslo", "MVP makers\nand go-to-market", "Élan and dots 10"}
	refTitles       = []string{"VP Sales", "vp, sales", "MVP Engineer", "VP of Sales", "Head of R&D", "CEO", "ceo & founder", "Sales Manager", "Manager, sales vp", "Élan Lead"}
	refKeywords     = []string{"vp", "Sales", "vp sales", "R&D", "ceo", "manager", "mvp", "of", "élan", "Founder", "sale", "head of r"}
	refRanks        = []string{"VP", "C-Level", "Manager", "Founder"}
	refSearches     = []string{"acme", "Clo", "dots 10", "oslo norw", "élan", "r d", "soft", "zeta-works", "big data", "example", "", "--", "nowhere"}
	refNeedles      = []string{"ac", "O", "s n", "1", "zeta w", "É", "-", "data", "example", "d1"}
)

func refWorldOf(r *rand.Rand, companies, people int) *refWorld {
	w := &refWorld{Rand: r}
	for i := range max(4, companies) {
		d := fmt.Sprintf("d%d.example", i/3)
		w.domains = append(w.domains, []string{d, "eu." + d, "x" + d}[i%3])
	}
	for i := range max(4, people*2/3) {
		w.slugs = append(w.slugs, fmt.Sprintf("s%d", i))
	}
	ids := map[string]bool{}
	for range companies {
		c := refRow{
			"id": w.id(ids, companies), "name": w.pick(refNames), "website": w.maybe(w.pick(w.domains)), "industry": w.maybe(w.pick(refIndustries)),
			"sub_industry": w.maybe(w.pick(refIndustries)), "description": w.maybe(w.pick(refDescriptions)), "country": w.maybe(w.pick(refLands)),
			"location": w.maybe(w.pick(refPlaces)), "linkedin_url": w.maybe("https://linkedin.com/company/" + w.pick(w.slugs)), "phone_number": w.maybe("+47 " + w.pick(w.slugs)),
			"employee_count": w.maybe(float64(w.IntN(5) * 10)), "annual_revenue": w.maybe(float64(w.IntN(9)-2) / 4), "founded_year": w.maybe(float64(1990 + w.IntN(4))),
			"keywords": w.some(refWordLists), "technologies": w.some(refWordLists),
		}
		w.companies = append(w.companies, c)
	}
	ids = map[string]bool{}
	for range people {
		employer := any(w.pickRow(w.companies).text("id"))
		if w.IntN(12) == 0 {
			employer = w.maybe("nobody's")
		}
		w.people = append(w.people, refRow{
			"id": w.id(ids, people), "company_id": employer, "first_name": w.maybe("Ada"), "last_name": w.maybe("Marsh"), "title": w.maybe(w.pick(refTitles)),
			"seniority": w.maybe(w.pick(refRanks)), "department": w.maybe("Sales"), "email": w.maybe(w.email()), "phone_number": w.maybe("1"),
			"linkedin_url": w.maybe(w.profile()), "country": w.maybe(w.pick(refLands)), "location": w.maybe(w.pick(refPlaces)),
		})
	}
	return w
}

func (w *refWorld) pick(list []string) string { return list[w.IntN(len(list))] }

func (w *refWorld) pickRow(list []refRow) refRow { return list[w.IntN(len(list))] }

func (w *refWorld) chance(oneIn int) bool { return w.IntN(oneIn) == 0 }

func (w *refWorld) mixed(s string) string { return []string{s, strings.ToUpper(s)}[w.IntN(2)] }

func (w *refWorld) someOf(n int, list []string) any { return w.list(1+w.IntN(n), list) }

// email returns an address in random case. There are as many addresses as profiles, so that people
// share both.
func (w *refWorld) email() string {
	i := w.IntN(len(w.slugs))
	return w.mixed("p"+w.slugs[i]) + "@" + w.mixed(w.domains[i%len(w.domains)])
}

func (w *refWorld) maybe(v any) any {
	if w.chance(6) {
		return nil
	}
	return v
}

// some returns a list of up to two distinct words.
func (w *refWorld) some(words []string) any {
	i, n := w.IntN(len(words)-1), w.IntN(3)
	list := []any{}
	for _, word := range words[i : i+n%3] {
		list = append(list, word)
	}
	return list
}

func (w *refWorld) list(n int, of []string) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = w.pick(of)
	}
	return list
}

// profile returns a LinkedIn URL in one of its spellings.
func (w *refWorld) profile() string {
	return fmt.Sprintf(w.pick([]string{"https://www.linkedin.com/in/%s/", "http://linkedin.com/in/%s?a=B", "LinkedIn.com/IN/%s", "www.linkedin.com/in/%s"}), w.pick(w.slugs))
}

// id returns an unused id. The order of ids differs with and without case, and from the order of
// numbers.
func (w *refWorld) id(taken map[string]bool, n int) string {
	for {
		id := fmt.Sprintf(w.pick([]string{"%d", "B%d", "a%d", "A%d", "é%d", "a %d"}), w.IntN(n))
		if !taken[id] {
			taken[id] = true
			return id
		}
	}
}

// load inserts the world into the catalog.
func (w *refWorld) load(app *apptest.App) {
	var companies []catalog.Company
	var people []catalog.Person
	refRecode(w.companies, &companies)
	refRecode(w.people, &people)
	app.Catalog(companies, people)
}

func refRecode(from, to any) {
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		panic(err)
	}
}

// crm creates Accounts, Contacts, suppressions and views in an organization.
func (w *refWorld) crm(o *apptest.Org) *refCRM {
	c := &refCRM{domains: map[string]bool{}, emails: map[string]bool{}, profiles: map[string]bool{}, suppressed: map[string]bool{}, views: map[string]map[string]any{}}
	var accounts, contacts []any
	for range len(w.domains) / 6 {
		domain := w.pick(w.domains)
		c.domains[refCompany(domain)] = true
		accounts = append(accounts, map[string]any{"name": "Known", "website": "HTTPS://www." + domain + "/about"})
	}
	for i := range min(len(w.people)/6, 1000) {
		p := w.pickRow(w.people)
		contact := map[string]any{"first_name": "Known", "last_name": fmt.Sprint(i)}
		if email := p.text("email"); email != "" && w.chance(2) {
			contact["email"], c.emails[refLower(email)] = w.mixed(email), true
		} else if profile := p.text("linkedin_url"); profile != "" {
			contact["linkedin_url"], c.profiles[refProfile(profile)] = w.mixed("https://www."+refProfile(profile)), true
		}
		contacts = append(contacts, contact)
	}
	o.Write.Post("/v1/accounts/batch", map[string]any{"records": accounts}).Is(200)
	o.Write.Post("/v1/contacts/batch", map[string]any{"records": contacts}).Is(200)
	for i := range 6 {
		what, value := "domain", w.pick(w.domains)
		if i%2 == 0 {
			if what, value = "email", w.pickRow(w.people).text("email"); value == "" {
				continue
			}
		}
		c.suppressed[refLower(value)] = true
		o.Admin.Post("/v1/suppressions", map[string]any{what: w.mixed(value)})
	}
	for i := range 4 {
		view := map[string]any{"name": fmt.Sprint("View ", i), "filtering_rules": w.maybe(w.tree(2, true))}
		if w.chance(3) {
			view["searching_rule"] = map[string]any{"value": w.pick(refSearches)}
		}
		if rule, _ := view["searching_rule"].(map[string]any); rule["value"] == "" {
			delete(view, "searching_rule")
		}
		c.views[o.Write.Post("/v1/account-views", view).Is(201).ID()] = view
	}
	return c
}

// request returns a random request for a Preview.
func (w *refWorld) request(views, signals []string, crm *refCRM) map[string]any {
	request := map[string]any{"request_id": uuid.New(), "company_filters": w.place(views)}
	if w.chance(2) {
		f := map[string]any{"seniority": nil}
		w.give(f, 2, "include_keywords", func() any { return w.list(w.IntN(4), refKeywords) })
		w.give(f, 4, "exclude_keywords", func() any { return w.list(w.IntN(2), refKeywords) })
		w.give(f, 5, "seniority", func() any { return w.pick(refRanks) })
		w.give(f, 4, "countries", func() any { return w.list(w.IntN(3), refLands) })
		request["contact_filters"] = f
	}
	w.give(request, 4, "exclude_companies_without_titles", func() any { return w.chance(2) })
	w.give(request, 6, "tag_existing_accounts", func() any { return w.chance(2) })
	if w.chance(2) {
		signal := w.pick(signals)
		request["qualifier_signal_id"], request["qualifier_rule"] = signal, w.qualifierRule(crm.signals[signal])
	}
	if w.chance(3) {
		return request
	}
	in := w.place(views)
	w.give(in, 4, "title_search", func() any { return w.list(w.IntN(4), refKeywords) })
	w.give(in, 4, "title_enrichment", func() any {
		return map[string]any{"condition": w.pick([]string{"is", "contains", "not_contains"}), "criterias": w.someOf(3, append(refTitles, refNeedles...))}
	})
	sortable := append(refShortTexts, refNumbers...)
	w.give(in, 3, "grouping_rule", func() any { return map[string]any{"field": w.pick(sortable)} })
	w.give(in, 2, "sorting_rules", func() any {
		rules := []any{}
		for i, field := range w.Perm(len(sortable))[:w.IntN(4)] {
			name := sortable[field]
			rules = append(rules, []any{name, "-" + name, map[string]any{"field": name, "direction": "asc"}, map[string]any{"field": name, "direction": "desc"}}[(i+w.IntN(4))%4])
		}
		return rules
	})
	w.give(in, 5, "with_titles", func() any { return w.chance(2) })
	w.give(in, 3, "exclude_companies_in_tam", func() any { return w.chance(2) })
	w.give(in, 3, "max_candidates", func() any { return 1 + w.IntN(len(w.companies)) })
	w.give(in, 6, "query_id", func() any { return uuid.New() })
	request["search_input"] = in
	return request
}

func (w *refWorld) give(to map[string]any, oneIn int, key string, value func() any) {
	if w.chance(oneIn) {
		to[key] = value()
	}
}

// place returns a random selection of companies: a view, filters and a search.
func (w *refWorld) place(views []string) map[string]any {
	place := map[string]any{}
	w.give(place, 5, "account_view_id", func() any { return w.pick(views) })
	w.give(place, 3, "filtering_rules", func() any { return w.tree(3, false) })
	w.give(place, 5, "searching_rule", func() any { return map[string]any{"value": w.pick(refSearches[:10])} })
	return place
}

// tree returns a random filter tree. One for accounts only has fields that accounts have too.
func (w *refWorld) tree(depth int, accounts bool) map[string]any {
	filters := []any{}
	for range w.IntN(4) {
		if depth > 0 && w.chance(3) {
			filters = append(filters, w.tree(depth-1, accounts))
		} else {
			filters = append(filters, w.rule(accounts))
		}
	}
	tree := map[string]any{"filters": filters}
	w.give(tree, 2, "operator", func() any { return w.pick([]string{"or", "or", "and"}) })
	return tree
}

func (w *refWorld) rule(accounts bool) map[string]any {
	row := w.pickRow(w.companies)
	field, conditions, value := w.pick(refTexts), []string{"is", "is_not", "equals", "contains", "not_contains"}, any(nil)
	if accounts {
		field = w.pick([]string{"name", "website", "industry", "country", "location", "description"})
	}
	switch {
	case w.chance(3):
		field, conditions = w.pick(refNumbers), []string{"is", "is_not", "equals", "greater_than", "less_than", "at_least", "at_most"}
	case !accounts && w.chance(4):
		field, conditions = w.pick(refMultis), []string{"is", "is_not", "contains", "not_contains"}
	}
	rule := map[string]any{"field": field, "condition": w.pick(conditions)}
	if value = row[field]; w.chance(8) || value == nil {
		rule["condition"] = w.pick([]string{"is_empty", "is_not_empty"})
		return rule
	}
	isList := rule["condition"] == "is" || rule["condition"] == "is_not"
	switch v := value.(type) {
	case []any:
		value = w.someOf(2, append(refWordLists, "none"))
	case string:
		if strings.HasSuffix(rule["condition"].(string), "contains") {
			value = w.pick(append(refNeedles, v))
		}
	}
	if other := w.pickRow(w.companies)[field]; isList && other != nil && len(refList(value)) == 1 && refList(value)[0] == value && w.chance(2) {
		value = []any{value, other}
	}
	rule["value"] = value
	return rule
}
