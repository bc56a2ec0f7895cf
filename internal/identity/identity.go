// Package identity owns organizations, their users, API keys and sessions. It authenticates requests
// and knows nothing of the other records of an organization.
package identity

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/password"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Identity holds the kinds of this package.
type Identity struct {
	Organizations *record.Kind[Organization]
	Users         *record.Kind[User]
	Keys          *record.Kind[Key]
	Passwords     *password.Hasher

	store        *store.Store
	uses         *uses
	credentials  *store.Table[credential]
	sessions     *store.Table[session]
	sessionTimes SessionTimes
	preferences  *store.Table[Preferences]
	throttle     *throttle
	known        keyCache
}

// New declares the kinds in the set. The zero value of SessionTimes means DefaultSessionTimes.
func New(s *store.Store, set *record.Set, times SessionTimes) *Identity {
	i := &Identity{
		store: s, uses: newUses(s), credentials: newCredentials(), sessions: newSessions(),
		preferences: newPreferences(), sessionTimes: cmp.Or(times, DefaultSessionTimes),
		Passwords: password.NewHasher(), throttle: newThrottle(),
	}
	i.Organizations = record.Add(set, record.Rules[Organization]{
		Object: "organization", Entity: "organizations", Events: record.EventRules[Organization]{None: true},
		Check: func(_ *store.Tx, _, after *Organization, p *fault.Problems) error {
			checkOrganization(after, p)
			return nil
		},
	})
	i.Users = record.Add(set, i.userRules())
	i.Keys = record.Add(set, record.Rules[Key]{
		Object: "api_key", Entity: "api_keys", Events: record.EventRules[Key]{None: true}, Check: checkKey,
		Unique: []store.Unique[Key]{{Name: "hash", Global: true, Of: func(k *Key) []byte { return k.private.Hash }}},
	})
	return i
}

// Organization is a tenant. An API key gives access to the data of one organization.
type Organization struct {
	record.Head
	Name          string        `json:"name" rule:"required,maxlen=255,line"`
	TimeZone      string        `json:"time_zone" rule:"default=UTC,format=time_zone,maxlen=64"`
	BusinessDays  []int         `json:"business_days" rule:"min=1,max=7,maxlen=7" doc:"1 is Monday, 7 is Sunday."`
	Holidays      []shape.Date  `json:"holidays" rule:"maxlen=1000"`
	SendingWindow SendingWindow `json:"sending_window" doc:"The hours of business days in which email is sent. If from_hour is after to_hour, the window spans midnight."`
	PostalAddress shape.Text    `json:"postal_address" rule:"maxlen=1000" doc:"May have several lines. The default mail_footer contains it."`
	MailFooter    string        `json:"mail_footer" rule:"default={{organization.name}}\n{{organization.postal_address}}\nUnsubscribe: {{unsubscribe_url}},maxlen=10000" doc:"Text with tokens that is added to every automatic email whose own text does not contain {{unsubscribe_url}}. A line with a token that has no value is left out. If the footer has no unsubscribe link either, the link is added on a line of its own. null restores the default."`
	SenderDomains []string      `json:"sender_domains" rule:"readonly,maxlen=100,format=domain" doc:"The domains that the email addresses of users can have, including their sub-domains. Set by the operator. Empty means every domain."`
	BillingMode   string        `json:"billing_mode" rule:"readonly,default=platform,enum=platform|usage_based"`
	Limits        Limits        `json:"limits" rule:"readonly"`
}

// SendingWindow is the hours of the day in which email is sent. If FromHour is after ToHour, the
// window spans midnight.
type SendingWindow struct {
	FromHour int `json:"from_hour" rule:"min=0,max=23,default=8"`
	ToHour   int `json:"to_hour" rule:"min=1,max=24,default=18"`
}

// Limits are set by the operator. null means the default rate of the installation, and no monthly
// limit.
type Limits struct {
	RateLimitPerMinute shape.Number `json:"rate_limit_per_minute" rule:"integer,min=0"`
	AccountsPerMonth   shape.Number `json:"accounts_per_month" rule:"integer,min=0"`
	ContactsPerMonth   shape.Number `json:"contacts_per_month" rule:"integer,min=0"`
}

func checkOrganization(after *Organization, p *fault.Problems) {
	if strings.TrimSpace(after.Name) == "" && after.Name != "" {
		p.Invalid("name", "must not be blank")
	}
	if len(after.BusinessDays) == 0 {
		after.BusinessDays = []int{1, 2, 3, 4, 5}
	}
	if after.Holidays == nil {
		after.Holidays = []shape.Date{} // encoded as [], not null
	}
	if after.SenderDomains == nil {
		after.SenderDomains = []string{}
	}
	if w := after.SendingWindow; w.FromHour == w.ToHour && !p.Has("sending_window") {
		p.Invalid("sending_window.from_hour", "must differ from to_hour")
	}
}

// CreateOrganization creates an organization from a body.
func (i *Identity) CreateOrganization(
	ctx context.Context, actor store.Actor, body shape.Value,
) (doc store.Doc[Organization], err error) {
	org, err := uuid.NewV7()
	if err != nil {
		return doc, err
	}
	err = i.store.Update(ctx, org, actor, func(tx *store.Tx) error {
		doc, err = i.Organizations.CreateAs(tx, org, record.NewDraft[Organization](body), nil)
		return err
	})
	return doc, err
}

// Settings are the fields of an organization that only the operator can change.
type Settings struct {
	Limits
	TimeZone      string   `json:"time_zone" rule:"default=UTC,format=time_zone,maxlen=64"`
	BillingMode   string   `json:"billing_mode" rule:"default=platform,enum=platform|usage_based"`
	SenderDomains []string `json:"sender_domains" rule:"maxlen=100,format=domain"`
}

// Configure updates the Settings of the organization from a body.
func (i *Identity) Configure(tx *store.Tx, body shape.Value) (store.Doc[Organization], error) {
	old, err := i.Organizations.Get(tx, tx.Org())
	if err != nil {
		return old, err
	}
	rec := old.Record
	s := Settings{
		Limits: rec.Limits, TimeZone: rec.TimeZone, BillingMode: rec.BillingMode, SenderDomains: rec.SenderDomains,
	}
	var p fault.Problems
	shape.Decode(body, &s, shape.Update, &p)
	if err := p.Err(); err != nil {
		return old, err
	}
	rec.Limits, rec.TimeZone, rec.BillingMode, rec.SenderDomains = s.Limits, s.TimeZone, s.BillingMode, s.SenderDomains
	return i.Organizations.Replace(tx, old, rec)
}
