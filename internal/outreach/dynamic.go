package outreach

import (
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// The members of a dynamic audience are stored like those of a static one, so that campaigns need not tell them
// apart. Three things keep them equal to what the filters match:
//
//   - Finish evaluates the filters on each contact that a transaction has written, in that transaction. Everything
//     that changes a contact writes it, also the sweep of a deleted tag.
//   - When filters change, a job compares the members with what the index finds. It evaluates each
//     difference again in the transaction that corrects it.
//   - Lists of members use the filters, not the stored members. They are right at once.
//
// An archived audience keeps the members that it has. So does one whose filters are invalid, because an earlier version
// deleted a custom field that they use.
//
// The files, in the order in which they build on each other:
//
//   - dynamic.go: the checks of filters, their compiled form, and Finish.
//   - dynamic_refresh.go: what happens when filters change. ApplyNewFilters answers the request that changes them, the
//     job refreshes the members, and requireSettled has them refreshed before an audience stops following its filters.
//   - dynamic_guard.go: contacts join only by changes of their own. It refuses other changes by which contacts would
//     join, or makes the audience static.
//   - dynamic_join_check.go: whether contacts would join by losing a value that many of them have.
//   - audience_trash.go: a dynamic audience that is restored from the trash.

// byDynamic is the secondary key of dynamic audiences that are not archived.
const byDynamic = "dynamic"

// The limits of dynamic audiences. Each written contact is compared with the filters of all of them.
const (
	maxDynamic      = 50
	maxDynamicRules = 50
)

// isLive reports whether contacts join and leave the audience by themselves.
func (a *Audience) isLive() bool { return a.IsDynamic() && a.Status != AudienceArchived }

// IsDynamic reports whether filters decide who belongs to the audience.
func (a *Audience) IsDynamic() bool { return a.Type == dynamicAudience }

func (a *Audience) mustBeStatic() error {
	if a.Type != dynamicAudience {
		return nil
	}
	return fault.New(fault.AudienceDynamic, "the audience is dynamic: change its filters, or the contacts, instead")
}

func sameFilters(a, b *Audience) bool {
	return a.Search == b.Search && reflect.DeepEqual(a.Filters, b.Filters)
}

// checkFilters checks the filters of an audience and replaces names in them by ids.
func (o *Outreach) checkFilters(tx *store.Tx, before, a *Audience, p *fault.Problems) error {
	words := shape.Words(string(a.Search))
	has := a.Filters.Kind != shape.Absent && a.Filters.Kind != shape.Null
	if a.Type != dynamicAudience {
		if has {
			p.Invalid("filters", "only a dynamic audience has filters")
		}
		if a.Search != "" {
			p.Invalid("search", "only a dynamic audience has search words")
		}
		return nil
	}
	if !has && len(words) == 0 && !p.Has("search") {
		p.Invalid("filters", "required for a dynamic audience, unless search is given; an empty list means all contacts")
	}
	if len(a.ContactIDs) > 0 {
		p.Invalid("contact_ids", "a dynamic audience has filters instead")
	}
	if err := o.checkLive(tx, before, a, p); err != nil {
		return err
	}
	if activated := before != nil && !before.isLive() && a.isLive(); before != nil && sameFilters(before, a) && !activated {
		return nil // an earlier version may have deleted a field of the filter
	}
	list := o.crm.Contacts.List
	customs, err := list.Customs(tx)
	if err != nil {
		return err
	}
	if a.Filters, err = list.WithIDs(tx, a.Filters); err != nil { // a tag may be renamed
		return err
	}
	filter.CheckSearch(string(a.Search), "search", p)
	filter.Check(list.Kind, customs, a.Filters, "filters", p)
	o.checkNamed(tx, a.Filters, p)
	if n := rules(a.Filters) + len(words); n > maxDynamicRules {
		p.Add(fault.InvalidFilter, "filters", "a dynamic audience must have at most %d rules and search words, not %d", maxDynamicRules, n)
	}
	return nil
}

// checkNamed refuses rules with tags or accounts that do not exist.
func (o *Outreach) checkNamed(tx *store.Tx, filters shape.Value, p *fault.Problems) {
	exists := map[string]func(*store.Tx, uuid.UUID) bool{"tags": o.crm.Tags.Table.Has, "accounts": o.crm.Accounts.Table.Has}
	filter.EachRule(filters, func(rule shape.Value) {
		f := o.crm.Contacts.List.Field(rule.Get("field").Text)
		if f == nil || exists[f.Ref] == nil {
			return
		}
		for _, id := range filter.RuleIDs(rule) {
			if !exists[f.Ref](tx, id) {
				p.Add(fault.InvalidFilter, "filters", "%s: %s does not exist", f.Key, id)
			}
		}
	})
}

// checkLive refuses one more live audience than an organization may have. One that is archived must be settled before.
func (o *Outreach) checkLive(tx *store.Tx, before, a *Audience, p *fault.Problems) error {
	wasLive := before != nil && before.isLive()
	if wasLive == a.isLive() {
		return nil
	}
	if wasLive {
		doc, err := o.Audiences.Get(tx, a.ID)
		if err != nil {
			return err
		}
		return o.requireSettled(tx, doc)
	}
	live, err := o.Audiences.Table.IDs(tx, byDynamic, []byte(dynamicAudience), maxDynamic)
	if err != nil || len(live) < maxDynamic {
		return err
	}
	field := "type"
	if before != nil {
		field = "status"
	}
	p.Invalid(field, "an organization may have %d dynamic audiences that are not archived", maxDynamic)
	return nil
}

// rules counts the rules of a filter.
func rules(v shape.Value) (n int) {
	filter.EachRule(v, func(shape.Value) { n++ })
	return n
}

// cachedPlan is the compiled filters of a dynamic audience.
type cachedPlan struct {
	version string // of the audience
	customs *filter.CustomFields
	plan    *filter.Plan // nil if the filters do not compile
}

// plan returns the compiled filters of an audience, or nil if they are invalid.
func (o *Outreach) plan(tx *store.Tx, doc *store.Doc[Audience]) (*filter.Plan, error) {
	customs, err := o.crm.Contacts.List.Customs(tx)
	if err != nil {
		return nil, err
	}
	cached, known := o.plans.get(doc.ID)
	if known && cached.version == doc.Version() && cached.customs == customs {
		return cached.plan, nil
	}
	var p fault.Problems
	body := filter.ListBody{Filters: doc.Record.Filters, Search: string(doc.Record.Search), Page: 1, PageLimit: filter.PageLimit{PageSize: 1}}
	cached = cachedPlan{doc.Version(), customs, filter.Compile(o.crm.Contacts.List.Kind, customs, body, &p)}
	if p.Err() != nil {
		cached.plan = nil
	}
	if !customs.Incomplete {
		o.plans.put(doc.ID, cached)
	}
	return cached.plan, nil
}

// Finish moves the contacts that a transaction has written in and out of dynamic audiences.
func (o *Outreach) Finish(tx *store.Tx) error {
	written := o.crm.Contacts.Table.Written(tx)
	if len(written) == 0 {
		return nil
	}
	var rows []*filter.Row
	return o.eachLive(tx, func(doc store.Doc[Audience]) (err error) {
		if rows == nil {
			if rows, err = o.rows(tx, written); err != nil {
				return err
			}
		}
		ask, _ := o.rejoining.Get(tx)
		return o.move(tx, doc, rows, !o.isCountAhead(tx, doc.ID), Joining{Ask: ask})
	})
}

// rows reads contacts as filters see them. It leaves out those that do not exist or cannot be read.
func (o *Outreach) rows(tx *store.Tx, ids []uuid.UUID) ([]*filter.Row, error) {
	list := o.crm.Contacts.List
	customs, err := list.Customs(tx)
	if err != nil {
		return nil, err
	}
	var rows []*filter.Row
	records := tx.Reader(list.Table())
	for _, id := range o.crm.Contacts.Table.Readable(tx, ids) {
		_, public, err := records.Public(id)
		if err != nil {
			return nil, err
		}
		if public == nil {
			continue
		}
		row, err := list.Row(customs, id, public)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// move adds the contacts that the filters of an audience match to its members, and removes the others. If counted
// is not set, contact_count stays as it is.
func (o *Outreach) move(tx *store.Tx, doc store.Doc[Audience], rows []*filter.Row, counted bool, why Joining) error {
	plan, err := o.plan(tx, &doc)
	if err != nil || plan == nil {
		return err
	}
	var in, out []uuid.UUID
	for _, r := range rows {
		if plan.Match(r) {
			in = append(in, r.ID)
		} else {
			out = append(out, r.ID)
		}
	}
	added, err := o.members.Add(tx, doc.ID, in)
	if err != nil {
		return err
	}
	removed, err := o.members.Remove(tx, doc.ID, out)
	if err != nil {
		return err
	}
	if counted {
		if err := o.changeCount(tx, doc, len(added)-len(removed)); err != nil {
			return err
		}
	}
	if err := o.contactsAdded(tx, doc.ID, added, why); err != nil {
		return err
	}
	if len(removed) == 0 {
		return nil
	}
	return o.engine.ContactsRemoved(tx, removed)
}
