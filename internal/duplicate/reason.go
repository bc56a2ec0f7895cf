package duplicate

// Reasons is a set of reasons for or against that records are the same.
type Reasons uint32

const (
	SameEmail Reasons = 1 << iota
	SameLinkedIn
	SameWebsite
	SamePhone
	SameAccount
	SameCountry
	SameName
	SwappedNames
	Nickname
	PartOfName
	Initial
	Typo
	MissingName
	OtherLastName
	DifferentNames
	LegalForm
	OtherLegalForm
	OtherCountry
)

// reasonNames are the names of the reasons, in the order of their bits.
var reasonNames = [...]string{
	"same_email", "same_linkedin_url", "same_website", "same_phone_number", "same_account", "same_country", "same_name", "swapped_names",
	"nickname", "part_of_name", "initial", "typo", "missing_name", "other_last_name", "different_names", "legal_form", "other_legal_form",
	"other_country",
}

// Names returns the names of the reasons.
func (r Reasons) Names() []string {
	names := []string{}
	for i, name := range reasonNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// By returns the name of the field that is the best sign.
func (r Reasons) By() string {
	switch {
	case r&SameEmail != 0:
		return "email"
	case r&SameWebsite != 0:
		return "website"
	case r&SameLinkedIn != 0:
		return "linkedin_url"
	case r&SamePhone != 0:
		return "phone_number"
	}
	return "name"
}

// isVague reports whether one of the names is known only in part, so that it may mean several people.
func (r Reasons) isVague() bool { return r&(Initial|MissingName) != 0 }
