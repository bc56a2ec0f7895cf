package tam

import "maps"

// previewCounts are the counts of a Preview while members are added or excluded.
type previewCounts struct {
	accounts, contacts Counts
	byAccount          ContactsByAccount
}

func newPreviewCounts() *previewCounts {
	return &previewCounts{accounts: Counts{Exclusions: map[string]int{}}, contacts: Counts{Exclusions: map[string]int{}}}
}

// countsOf returns a copy of the counts of a READY Preview.
func countsOf(p *Preview) *previewCounts {
	return &previewCounts{accounts: p.Result.Accounts.clone(), contacts: p.Result.Contacts.clone(), byAccount: *p.ContactsByAccount}
}

func (c Counts) clone() Counts {
	exclusions := map[string]int{}
	maps.Copy(exclusions, c.Exclusions)
	c.Exclusions = exclusions
	return c
}

// addEligible adds n, which may be negative, to the eligible members.
func (c *Counts) addEligible(existing bool, n int) {
	c.Eligible += n
	if existing {
		c.Existing += n
	} else {
		c.New += n
	}
}

func (p *previewCounts) of(person bool) *Counts {
	if person {
		return &p.contacts
	}
	return &p.accounts
}

// add counts a member.
func (p *previewCounts) add(r *row) {
	c := p.of(r.person)
	c.Matched++
	switch {
	case r.duplicate:
		c.Duplicates++
	case r.reason != "":
		c.Exclusions[r.reason]++
	case r.failed:
		c.Exclusions[qualifierFailed]++
	default:
		p.addSelected(r.person, r.existing, r.employerExisting, 1)
	}
}

// remove counts a member that the user excluded.
func (p *previewCounts) remove(person, existing, employerExisting bool) {
	p.of(person).Exclusions[excludedByUser]++
	p.addSelected(person, existing, employerExisting, -1)
}

// addSelected adds n, which may be negative, to the selected members.
func (p *previewCounts) addSelected(person, existing, employerExisting bool, n int) {
	p.of(person).addEligible(existing, n)
	if !person {
		return
	}
	group := &p.byAccount.NewAccounts
	if employerExisting {
		group = &p.byAccount.ExistingAccounts
	}
	group.Total += n
	if existing {
		group.Existing += n
	} else {
		group.New += n
	}
}

// writeTo sets the counts of a Preview.
func (p *previewCounts) writeTo(preview *Preview) {
	result := PreviewResult{Accounts: p.accounts, Contacts: p.contacts, Rules: []RuleCount{}}
	if preview.Result != nil {
		result.Qualifier, result.Available = preview.Result.Qualifier, preview.Result.Available
		result.Truncated, result.Rules = preview.Result.Truncated, preview.Result.Rules
	}
	by := p.byAccount
	preview.Result, preview.ContactsByAccount = &result, &by
	preview.Totals = &PreviewTotals{
		Companies: CompanyTotals{
			Matched: p.accounts.Matched, Eligible: p.accounts.Eligible, New: p.accounts.New, Existing: p.accounts.Existing,
			Excluded: p.accounts.Matched - p.accounts.Eligible,
		},
		People: PersonTotals{Matched: p.contacts.Matched, Eligible: p.contacts.Eligible, Excluded: p.contacts.Matched - p.contacts.Eligible},
	}
}
