package tam

// tally counts members as they come, and as they are removed.
type previewCounts struct {
	accounts, contacts Counts
	byAccount          ContactsByAccount
}

func newPreviewCounts() *previewCounts {
	return &previewCounts{accounts: Counts{Exclusions: map[string]int{}}, contacts: Counts{Exclusions: map[string]int{}}}
}

// countsOf takes up the counts of a Preview that is READY.
func countsOf(p *Preview) *previewCounts {
	return &previewCounts{accounts: p.Result.Accounts.clone(), contacts: p.Result.Contacts.clone(), byAccount: *p.ContactsByAccount}
}

func (c Counts) clone() Counts {
	copied := map[string]int{}
	for reason, n := range c.Exclusions {
		copied[reason] = n
	}
	c.Exclusions = copied
	return c
}

func (c *Counts) count(existing bool, n int) {
	c.Eligible += n
	if existing {
		c.Existing += n
	} else {
		c.New += n
	}
}

func (y *previewCounts) of(person bool) *Counts {
	if person {
		return &y.contacts
	}
	return &y.accounts
}

// add counts a member.
func (y *previewCounts) add(r *row) {
	c := y.of(r.person)
	c.Matched++
	switch {
	case r.duplicate:
		c.Duplicates++
	case r.reason != "":
		c.Exclusions[r.reason]++
	case r.failed:
		c.Exclusions[qualifierFailed]++
	default:
		y.chosen(r.person, r.existing, r.employerExisting, 1)
	}
}

// remove counts a member that is removed by the user.
func (y *previewCounts) remove(person, existing, employerExisting bool) {
	y.of(person).Exclusions[excludedByUser]++
	y.chosen(person, existing, employerExisting, -1)
}

// chosen counts members that are selected, or are no more.
func (y *previewCounts) chosen(person, existing, employerExisting bool, n int) {
	y.of(person).count(existing, n)
	if !person {
		return
	}
	group := &y.byAccount.NewAccounts
	if employerExisting {
		group = &y.byAccount.ExistingAccounts
	}
	group.Total += n
	if existing {
		group.Existing += n
	} else {
		group.New += n
	}
}

// put writes the counts into a Preview.
func (y *previewCounts) put(p *Preview) {
	result := PreviewResult{Accounts: y.accounts, Contacts: y.contacts}
	if p.Result != nil {
		result.Qualifier = p.Result.Qualifier
	}
	by := y.byAccount
	p.Result, p.ContactsByAccount = &result, &by
	p.Totals = &PreviewTotals{
		Companies: CompanyTotals{
			Matched: y.accounts.Matched, Eligible: y.accounts.Eligible, New: y.accounts.New, Existing: y.accounts.Existing,
			Excluded: y.accounts.Matched - y.accounts.Eligible,
		},
		People: PersonTotals{Matched: y.contacts.Matched, Eligible: y.contacts.Eligible, Excluded: y.contacts.Matched - y.contacts.Eligible},
	}
}
