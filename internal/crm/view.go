package crm

import (
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// AccountView is a named selection of accounts.
type AccountView struct {
	record.Head
	Name           string      `json:"name" rule:"required,maxlen=255,line"`
	FilteringRules shape.Value `json:"filtering_rules" rule:"component=Filters" doc:"Filters, as in a list of accounts."`
	SearchingRule  *SearchRule `json:"searching_rule"`
}

// SearchRule is a keyword search.
type SearchRule struct {
	Value string `json:"value" rule:"required"`
}

func (c *CRM) viewRules() record.Rules[AccountView] {
	return record.Rules[AccountView]{
		Object: "account_view", Entity: "account-views", Silent: true,
		Unique: []store.Unique[AccountView]{{
			Name: "name",
			Of:   func(v *AccountView) []byte { return []byte(FoldName(v.Name)) },
			Taken: func(v *AccountView, other uuid.UUID) error {
				return fault.Taken(fault.ViewNameTaken, "name", other.String(),
					"%q is the name of another view", v.Name)
			},
		}},
		Check: func(tx *store.Tx, before, v *AccountView, p *fault.Problems) error {
			CheckName("name", v.Name, p)
			if s := v.SearchingRule; s != nil && (before == nil || !reflect.DeepEqual(before.SearchingRule, s)) {
				filter.CheckSearch(s.Value, "searching_rule.value", p)
			}
			if before != nil && reflect.DeepEqual(before.FilteringRules, v.FilteringRules) {
				return nil // a field in the filter may have been deleted, which must not block other changes
			}
			customs, err := c.Accounts.List.Customs(tx)
			if err == nil {
				filter.Check(c.Accounts.List.Kind, customs, v.FilteringRules, "filtering_rules", p)
			}
			return err
		},
	}
}

// CheckName reports a unique name that consists only of spaces.
func CheckName(path, name string, p *fault.Problems) {
	if name != "" && FoldName(name) == "" {
		p.Invalid(path, "must not be blank")
	}
}
