package tam

import (
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

// amount is a number of Accounts and one of Contacts.
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

// A month of an organization is kept as the amount that its Imports have used: what they have created, and what those that
// were accepted in it may still create.

func newMonths() *store.Table[amount] {
	return store.NewTable[amount]("import_months", nil, nil).Unlogged()
}

func monthOf(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// monthID is the id of a month's record: when the month begins.
func monthID(at time.Time) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(monthOf(at).Unix()))
	return id
}

// usedIn gives what is used of a month.
func (t *TAM) usedIn(tx *store.Tx, at time.Time) (amount, error) {
	doc, err := t.months.Get(tx, monthID(at))
	if fault.CodeOf(err) == fault.NotFound {
		err = nil
	}
	return doc.Record, err
}

// use notes what is used of a month.
func (t *TAM) use(tx *store.Tx, at time.Time, used amount) error {
	doc, err := t.months.Get(tx, monthID(at))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		_, err = t.months.Insert(tx, monthID(at), used)
	case err == nil && doc.Record != used:
		_, err = t.months.Update(tx, doc, used, nil)
	}
	return err
}

// organization is that of the transaction, for its limits as they are now.
func (t *TAM) organization(tx *store.Tx) (identity.Organization, error) {
	doc, err := t.identity.Organizations.Get(tx, tx.Org())
	return doc.Record, err
}

// Balance tells how much of this month's limits is used and, of a Preview that is READY, what its Import would make of them.
func (t *TAM) Balance(tx *store.Tx, preview uuid.NullUUID) (Balance, error) {
	if !preview.Valid {
		return t.balance(tx, nil)
	}
	doc, err := t.Previews.Get(tx, preview.UUID)
	if err != nil {
		return Balance{}, err
	}
	return t.balance(tx, &doc.Record)
}

func (t *TAM) balance(tx *store.Tx, p *Preview) (Balance, error) {
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
	if p != nil && p.Status == Ready {
		add = &amount{}
		if !p.OperationID.Valid { // else it is used already
			add = &amount{p.Result.Accounts.New, p.Result.Contacts.New}
		}
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

// counterOf is the balance of one kind of record; a nil add is no Import to think of.
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

// refusal is why an Import is not accepted; nil when it is. One that adds nothing goes over no limit, also when what was used before does.
func (b *Balance) refusal() error {
	var over []string
	for _, c := range []struct {
		what string
		BalanceCounter
	}{{"accounts", b.Accounts}, {"contacts", b.Contacts}} {
		if c.OverBy.Float > 0 && c.WouldAdd.Float > 0 {
			over = append(over, fmt.Sprintf("it would add %.0f %s, and %.0f of this month's %.0f are left", c.WouldAdd.Float, c.what, c.Remaining.Float, c.Limit.Float))
		}
	}
	if len(over) == 0 {
		return nil
	}
	return fault.New(fault.ImportLimitExceeded, "the Import would go over the balance of the month: %s; remove members, or wait for the next month", strings.Join(over, "; "))
}
