package tam

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/store"
)

// Balance is how much of the monthly limits Imports have used.
type Balance struct {
	BillingMode string         `json:"billing_mode" rule:"enum=platform|usage_based"`
	Limited     bool           `json:"limited"`
	Period      BalancePeriod  `json:"period"`
	Accounts    BalanceCounter `json:"accounts"`
	Contacts    BalanceCounter `json:"contacts"`
	Exceeded    *bool          `json:"exceeded"`
}

// BalancePeriod is the month of a Balance.
type BalancePeriod struct {
	Kind  string     `json:"kind" rule:"enum=calendar_month"`
	Start shape.Time `json:"start" rule:"required"`
	End   shape.Time `json:"end" rule:"required"`
}

// BalanceCounter is the balance of one kind of record. Without a limit, limit is null.
type BalanceCounter struct {
	Limit       shape.Number `json:"limit" rule:"integer"`
	Used        int          `json:"used"`
	Remaining   shape.Number `json:"remaining" rule:"integer"`
	WouldAdd    shape.Number `json:"would_add" rule:"integer"`
	AfterImport shape.Number `json:"after_import" rule:"integer"`
	OverBy      shape.Number `json:"over_by" rule:"integer"`
}

// amount is a number of Accounts and a number of Contacts.
type amount struct {
	Accounts int `json:"accounts"`
	Contacts int `json:"contacts"`
}

func (a *amount) of(person bool) *int {
	if person {
		return &a.Contacts
	}
	return &a.Accounts
}

// newMonths declares the table of monthly usage. The record of a month is the amount that the
// Imports accepted in it have created or may still create.
func newMonths() *store.Table[amount] {
	return store.NewTable[amount]("import_months", nil, nil).Unlogged()
}

func monthOf(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// monthID returns the id of a month's record, which contains the start of the month.
func monthID(at time.Time) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(monthOf(at).Unix()))
	return id
}

// usedIn returns the amount that is used in the month of at.
func (t *TAM) usedIn(tx *store.Tx, at time.Time) (amount, error) {
	doc, err := t.months.Get(tx, monthID(at))
	if fault.CodeOf(err) == fault.NotFound {
		err = nil
	}
	return doc.Record, err
}

// setUsed stores the amount that is used in the month of at.
func (t *TAM) setUsed(tx *store.Tx, at time.Time, used amount) error {
	doc, err := t.months.Get(tx, monthID(at))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		_, err = t.months.Insert(tx, monthID(at), used)
	case err == nil && doc.Record != used:
		_, err = t.months.Update(tx, doc, used, nil)
	}
	return err
}

// organization returns the organization of the transaction, which has the current limits.
func (t *TAM) organization(tx *store.Tx) (identity.Organization, error) {
	doc, err := t.identity.Organizations.Get(tx, tx.Org())
	return doc.Record, err
}

// Balance returns how much of this month's limits is used. If a READY Preview is given, it also
// returns the balance after an Import of that Preview, which creates the records that do not exist
// now.
func (t *TAM) Balance(ctx context.Context, org uuid.UUID, preview uuid.NullUUID) (b Balance, err error) {
	var plan *ImportPlan
	if preview.Valid {
		if plan, err = t.PlanImport(ctx, org, preview.UUID, ImportMax{}); err != nil {
			return b, err
		}
	}
	err = t.store.View(org, func(tx *store.Tx) error {
		if plan != nil {
			doc, err := t.Previews.Get(tx, plan.preview)
			if err != nil {
				return err
			}
			if doc.Record.OperationID.Valid { // an accepted Import is part of the used amount
				plan.add = amount{}
			}
		}
		b, err = t.balance(tx, plan)
		return err
	})
	return b, err
}

// balance returns the balance and, for the plan of a READY Preview, the balance after its Import.
func (t *TAM) balance(tx *store.Tx, plan *ImportPlan) (Balance, error) {
	org, err := t.organization(tx)
	if err != nil {
		return Balance{}, err
	}
	used, err := t.usedIn(tx, tx.Now())
	if err != nil {
		return Balance{}, err
	}
	limits, start := org.Limits, monthOf(tx.Now())
	var add *amount
	if plan != nil && plan.status == Ready {
		add = &plan.add
	}
	b := Balance{
		BillingMode: org.BillingMode, Limited: limits.AccountsPerMonth.Valid || limits.ContactsPerMonth.Valid,
		Period:   BalancePeriod{Kind: "calendar_month", Start: shape.At(start), End: shape.At(start.AddDate(0, 1, 0))},
		Accounts: counterOf(limits.AccountsPerMonth, used, add, false),
		Contacts: counterOf(limits.ContactsPerMonth, used, add, true),
	}
	if add != nil {
		exceeded := b.Accounts.OverBy.Float > 0 || b.Contacts.OverBy.Float > 0
		b.Exceeded = &exceeded
	}
	return b, nil
}

// counterOf returns the balance of one kind of record. add is what an Import would add, or nil
// without a Preview.
func counterOf(limit shape.Number, used amount, add *amount, person bool) BalanceCounter {
	c := BalanceCounter{Limit: limit, Used: *used.of(person)}
	if limit.Valid {
		c.Remaining = shape.NumberOf(max(0, limit.Float-float64(c.Used)))
	}
	if add == nil {
		return c
	}
	after := float64(c.Used + *add.of(person))
	c.WouldAdd, c.AfterImport = shape.NumberOf(float64(*add.of(person))), shape.NumberOf(after)
	if limit.Valid {
		c.OverBy = shape.NumberOf(max(0, after-limit.Float))
	}
	return c
}

// limitError returns an import_limit_exceeded error if an Import would exceed a limit. An Import
// that adds nothing exceeds no limit, even if the used amount already does.
func (b *Balance) limitError() error {
	var exceeded []string
	for _, c := range []struct {
		what string
		BalanceCounter
	}{{"accounts", b.Accounts}, {"contacts", b.Contacts}} {
		if c.OverBy.Float > 0 && c.WouldAdd.Float > 0 {
			exceeded = append(exceeded, fmt.Sprintf("it would add %.0f %s, but only %.0f of %.0f remain this month",
				c.WouldAdd.Float, c.what, c.Remaining.Float, c.Limit.Float))
		}
	}
	if len(exceeded) == 0 {
		return nil
	}
	return fault.New(fault.ImportLimitExceeded,
		"the Import would exceed the monthly limit: %s; set max_accounts and max_contacts to import the first ones, "+
			"exclude members, or import next month", strings.Join(exceeded, "; "))
}
