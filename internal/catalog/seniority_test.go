package catalog

import "testing"

func TestSeniority(t *testing.T) {
	for seniority, titles := range map[string][]string{
		"": {"", "  ", "-"},
		"Founder": {"Founder", "Co-Founder & CEO", "CEO and co-founder", "Cofounder", "Owner",
			"Owner / Managing Director", "Founding Partner"},
		"C-Level": {"CEO", "cto", "Chief Revenue Officer", "Chief Information Security Officer (CISO)", "C.E.O.",
			"President", "President & COO",
			"Managing Director", "VP & CFO", "EVP, Chief Sales Officer", "Interim CFO", "Geschäftsführerin"},
		"EVP": {"EVP", "EVP Sales", "Executive Vice President, Operations", "Executive VP"},
		"SVP": {"SVP", "Senior Vice President", "Sr. Vice President of Sales",
			"Senior Regional Vice-President", "Senior VP, EMEA"},
		"VP": {"VP", "vp sales", "Vice President of Sales", "V.P. Marketing", "Vice-President",
			"Sales (VP)", "Assistant Vice President", "MVP of the year, VP", "VP, Office of the CEO"},
		"Senior Director": {"Senior Director", "Senior Director of Finance", "Sr. Marketing Director"},
		"Director": {"Director", "Director, IT", "Head of Sales", "Marketing Head", "Chief of Staff",
			"General Manager", "Chief of Staff, Office of the CEO"},
		"Senior Manager": {"Senior Manager", "Sr Manager", "Senior Sales Manager", "Group Manager"},
		"Manager": {"Manager", "Sales Manager", "Team Lead", "Team Leader Support", "Shift Supervisor",
			"MANAGER"},
		"Senior Individual Contributor": {"Senior Software Engineer", "Sr. Engineer", "Lead Developer",
			"Staff Engineer", "Principal Consultant",
			"Senior Product Owner", "Chief Engineer", "Solutions Architect"},
		"Individual Contributor": {"Engineer", "Assistant to the CEO", "Executive Assistant",
			"Personal Assistant, CEO", "MVP", "Product Owner", "Salesperson",
			"Founding Engineer", "Leadership Coach", "Headhunter", "Management Consultant",
			"Advisor to the Director", "Engineer, reports to the CTO", "名前", "3"},
	} {
		for _, title := range titles {
			if got := seniorityOf(title); got != seniority {
				t.Errorf("seniorityOf(%q) = %q, want %q", title, got, seniority)
			}
		}
	}
}

// TestSenioritiesAreAllowed checks that the field accepts every derived seniority.
func TestSenioritiesAreAllowed(t *testing.T) {
	for _, s := range seniorities {
		p := newItem[Person](columnsOf(t, "title,seniority\n", PersonFields()), rowOf("x", s.seniority), false)
		if p.problem != nil || string(p.rec.Seniority) != s.seniority {
			t.Errorf("%s: %v", s.seniority, p.problem)
		}
	}
}
