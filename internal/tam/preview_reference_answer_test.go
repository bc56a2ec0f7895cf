package tam_test

import (
	"slices"
	"strconv"
)

// answer returns the expected JSON of the member, without its id.
func (m *refMember) answer() map[string]any {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	kind, exclusion := "company", ""
	if m.person {
		kind = "person"
	}
	var qualification any
	if m.qualification != nil {
		qualification = m.qualification
	}
	if m.unresearched {
		exclusion = "QUALIFIER_FAILED"
	}
	if m.removed {
		exclusion = "EXCLUDED_BY_USER"
	}
	return map[string]any{
		"source_ordinal": float64(m.ordinal), "kind": kind, "source_id": m.source, "company_id": m.company,
		"selected": m.selected(), "is_importable": m.importable(), "is_qualified": m.qualified, "preparation_exclusion_reason": orNull(m.reason),
		"is_duplicate_source_row": m.duplicate, "existing": m.existing, "exclusion_reason": orNull(exclusion), "data": m.data, "qualification": qualification,
	}
}

// answers returns the expected JSON of the members that a query matches.
func (s *refSelection) answers(query map[string]string) []map[string]any {
	found := []map[string]any{}
	for _, m := range s.members {
		a, fits := m.answer(), true
		for key, wanted := range query {
			value := a[key]
			if b, isBool := value.(bool); isBool {
				value = strconv.FormatBool(b)
			}
			fits = fits && value == wanted
		}
		if fits {
			found = append(found, a)
		}
	}
	return found
}

// refCounts are the counts of one kind of members.
type refCounts struct {
	matched, eligible, isNew, existing, duplicates int
	exclusions                                     map[string]any
	excluded                                       int
}

func (s *refSelection) count(person bool) (c refCounts) {
	c.exclusions = map[string]any{}
	for _, m := range s.members {
		if m.person != person {
			continue
		}
		c.matched++
		reason, _ := m.answer()["exclusion_reason"].(string)
		switch {
		case m.selected() && m.existing:
			c.existing++
		case m.selected():
			c.isNew++
		case m.duplicate:
			c.duplicates++
		case m.reason != "":
			reason = m.reason
			fallthrough
		default:
			n, _ := c.exclusions[reason].(int)
			c.exclusions[reason] = n + 1
			c.excluded++
		}
	}
	c.excluded += c.duplicates
	c.eligible = c.isNew + c.existing
	return c
}

func (c refCounts) result() map[string]any {
	return map[string]any{"matched": c.matched, "eligible": c.eligible, "new": c.isNew, "existing": c.existing,
		"duplicate_source_rows": c.duplicates, "exclusions": c.exclusions}
}

// counts returns the expected result, totals and contacts_by_account.
func (s *refSelection) counts() map[string]any {
	companies, people := s.count(false), s.count(true)
	byAccount := map[bool]map[string]int{}
	for _, existing := range []bool{false, true} {
		n := map[string]int{"new": 0, "existing": 0, "total": 0}
		for _, m := range s.members {
			if !m.person || !m.selected() || m.employer.existing != existing {
				continue
			}
			n["total"]++
			if m.existing {
				n["existing"]++
			} else {
				n["new"]++
			}
		}
		byAccount[existing] = n
	}
	return map[string]any{
		"accounts": companies.result(), "contacts": people.result(),
		"totals": map[string]any{
			"companies": map[string]any{"matched": companies.matched, "eligible": companies.eligible, "new": companies.isNew,
				"existing": companies.existing, "excluded": companies.excluded},
			"people": map[string]any{"matched": people.matched, "eligible": people.eligible, "excluded": people.excluded},
		},
		"contacts_by_account": map[string]any{"new_accounts": byAccount[false], "existing_accounts": byAccount[true]},
	}
}

// refExclusion is the expected outcome of an exclusion.
type refExclusion struct {
	companies, people                             int
	already, unknownIDs, unknownWebsites, without map[string]bool
}

// exclude excludes members. Websites are given as the caller writes them and as domains.
func (s *refSelection) exclude(companyIDs, personIDs, memberIDs []string, websites map[string]string) refExclusion {
	x := refExclusion{already: map[string]bool{}, unknownIDs: map[string]bool{}, unknownWebsites: map[string]bool{}, without: map[string]bool{}}
	var remove []*refMember
	name := func(given string, unknown map[string]bool, named func(m *refMember) bool) {
		known := slices.ContainsFunc(s.members, named)
		hit := false
		for _, m := range s.members {
			if named(m) && m.selected() {
				remove, hit = append(remove, m), true
			}
		}
		switch {
		case !known:
			unknown[given] = true
		case !hit:
			x.already[given] = true
		}
	}
	for _, id := range companyIDs {
		name(id, x.unknownIDs, func(m *refMember) bool { return !m.person && m.source == id })
	}
	for _, id := range personIDs {
		name(id, x.unknownIDs, func(m *refMember) bool { return m.person && m.source == id })
	}
	for _, id := range memberIDs {
		name(id, x.unknownIDs, func(m *refMember) bool { return m.memberID == id })
	}
	for given, domain := range websites {
		name(given, x.unknownWebsites, func(m *refMember) bool { return !m.person && m.website == domain })
	}
	losers := map[*refMember]bool{}
	for _, m := range remove {
		for _, gone := range append([]*refMember{m}, m.people...) {
			switch {
			case !gone.selected():
				continue
			case gone.person:
				x.people++
				losers[gone.employer] = true
			default:
				x.companies++
			}
			gone.removed = true
		}
	}
	for c := range losers {
		if c.selected() && !slices.ContainsFunc(c.people, (*refMember).selected) {
			x.without[c.source] = true
		}
	}
	return x
}
