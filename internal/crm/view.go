package crm

import (
	"fmt"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// View is a saved list of records: which of them, in which order and with which columns.
type View struct {
	record.Head
	Entity         string      `json:"entity" rule:"fixed,default=accounts,enum=contacts|accounts|opportunities|audiences|campaigns|sequence-templates|sequences|outbox|tasks|meetings|suppressions|companies|people|webhook-deliveries" doc:"The kind of records. It cannot be changed."`
	Name           string      `json:"name" rule:"required,maxlen=255,line" doc:"Unique among the views of the entity, ignoring case."`
	FilteringRules shape.Value `json:"filtering_rules" rule:"component=Filters" doc:"Filters, as in a list of the entity."`
	SearchingRule  *SearchRule `json:"searching_rule"`
	Sort           shape.Text  `json:"sort" doc:"The order, as in a list of the entity."`
	Columns        []string    `json:"columns" rule:"maxlen=100" doc:"The keys of the fields to show, in this order. Empty means that the reader chooses."`
}

// SearchRule is a keyword search.
type SearchRule struct {
	Value string `json:"value" rule:"required"`
}

// viewsOfAccounts is the entity of the views that a Preview can use.
const viewsOfAccounts = "accounts"

// IsOfAccounts reports whether the view selects accounts.
func (v *View) IsOfAccounts() bool { return v.Entity == viewsOfAccounts }

// AccountViews returns the ids of the views of accounts.
func (c *CRM) AccountViews(tx *store.Tx) (ids []uuid.UUID, err error) {
	err = c.Views.Table.Scan(tx, func(v store.Doc[View]) (bool, error) {
		if v.Record.IsOfAccounts() {
			ids = append(ids, v.ID)
		}
		return true, nil
	})
	return ids, err
}

func (c *CRM) viewRules() record.Rules[View] {
	return record.Rules[View]{
		Object: "view", Entity: "views", Table: "account-views", Events: record.EventRules[View]{None: true},
		Unique: []store.Unique[View]{{Name: "name", Of: (*View).nameKey, Taken: func(v *View, _ []byte, other uuid.UUID) error {
			return fault.Taken(fault.ViewNameTaken, "name", other.String(), "%q is the name of another view", v.Name)
		}}},
		Check: c.checkView,
	}
}

// nameKey returns the key of the view's name. That of an account view has no entity in front of it, as in the
// time when there were no others. A name contains no zero byte.
func (v *View) nameKey() []byte {
	name := FoldName(v.Name)
	if !v.IsOfAccounts() {
		name = v.Entity + "\x00" + name
	}
	return []byte(name)
}

// checkView checks what has changed. A field of the view may have been deleted, which must not block other
// changes.
func (c *CRM) checkView(tx *store.Tx, before, v *View, p *fault.Problems) error {
	CheckName("name", v.Name, p)
	list := c.set.ListNamed(v.Entity)
	if list == nil { // an invalid entity is reported already
		return nil
	}
	customs, err := list.Customs(tx)
	if err != nil {
		return err
	}
	if before == nil {
		before = &View{}
	}
	if s := v.SearchingRule; s != nil && !reflect.DeepEqual(before.SearchingRule, s) {
		filter.CheckSearch(s.Value, "searching_rule.value", p)
	}
	if !reflect.DeepEqual(before.FilteringRules, v.FilteringRules) {
		if v.FilteringRules, err = list.WithIDs(tx, v.FilteringRules); err != nil { // a tag may be renamed
			return err
		}
		filter.Check(list.Kind, customs, v.FilteringRules, "filtering_rules", p)
	}
	if v.Sort != before.Sort {
		filter.CheckSort(list.Kind, customs, string(v.Sort), p)
	}
	if !reflect.DeepEqual(before.Columns, v.Columns) {
		for i, column := range v.Columns {
			if !filter.HasField(list.Kind, customs, column) {
				p.Invalid(fmt.Sprintf("columns[%d]", i), "%s is not a field of %s", shape.Quote(column), v.Entity)
			}
		}
	}
	return nil
}

// CheckName reports a unique name that consists only of spaces.
func CheckName(path, name string, p *fault.Problems) {
	if name != "" && FoldName(name) == "" {
		p.Invalid(path, "must not be blank")
	}
}
