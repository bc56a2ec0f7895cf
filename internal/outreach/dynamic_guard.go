package outreach

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Contacts join a dynamic audience because somebody changed them or the audience, and for no other reason. What else
// could make a contact match is refused with in_use, or makes the audience static:
//
//   - Contacts lose a tag, an account or a custom field that is deleted, or get another account because theirs was
//     merged: Losing.
//   - A contact gets values of others that are merged into it, or is restored without what has been deleted since:
//     ContactJoining.
//   - Filters become valid again because a custom field or an allowed value is created: FieldCreated, FieldChanging.

// concern is why a change concerns a dynamic audience.
type concern struct {
	audience store.Doc[Audience]
	why      string
}

// refuse returns the error in_use with all audiences that a change concerns, or nil if there are none.
func refuse(all []concern) error {
	if len(all) == 0 {
		return nil
	}
	e := &fault.Error{Code: fault.InUse, Message: "audiences: " + all[0].why}
	for _, c := range all {
		e.Details = append(e.Details, fault.Detail{Path: "audiences", Message: c.why, ID: c.audience.ID.String()})
	}
	return e
}

// losing is called before contacts lose a value. It refuses the loss if a dynamic audience names the value, or if
// contacts would join one, or it makes these audiences static.
func (o *Outreach) losing(tx *store.Tx, loss record.Loss, c record.Consent) error {
	if loss.Entity != o.crm.Contacts.Entity {
		return nil
	}
	all, candidates, err := o.concerned(tx, &loss.Value)
	if err != nil {
		return err
	}
	if c == record.Damaged { // without looking at the contacts
		for _, j := range candidates {
			all = append(all, concern{audience: j.audience})
		}
	} else {
		joined, err := o.joined(tx, &loss.Value, candidates)
		if err != nil {
			return err
		}
		all = append(all, joined...)
	}
	if c == record.Refuse {
		return refuse(all)
	}
	return o.makeAllStatic(tx, all, c == record.Force)
}

// makeAllStatic ends that audiences follow their filters. If they can be read, their members must be settled.
func (o *Outreach) makeAllStatic(tx *store.Tx, all []concern, readable bool) error {
	for _, c := range all {
		if readable {
			if err := o.requireSettled(tx, c.audience); err != nil {
				return err
			}
		}
		if err := o.makeStatic(tx, c.audience); err != nil {
			return err
		}
	}
	return nil
}

// makeStatic ends that an audience follows its filters. It keeps its stored members, which should be settled.
func (o *Outreach) makeStatic(tx *store.Tx, doc store.Doc[Audience]) error {
	n, err := o.members.Count(tx, doc.ID)
	if err != nil && !store.IsDamagedRecord(err) {
		return err
	}
	rec := doc.Record
	rec.Type, rec.Filters, rec.Search = staticAudience, shape.Value{}, ""
	if err == nil {
		rec.ContactCount = n
	}
	_, err = o.Audiences.Replace(tx, doc, rec)
	return err
}

// eachLive calls fn for the dynamic audiences that are not archived.
func (o *Outreach) eachLive(tx *store.Tx, fn func(store.Doc[Audience]) error) error {
	live, err := o.Audiences.Table.IDs(tx, byDynamic, []byte(dynamicAudience), 0)
	if err != nil {
		return err
	}
	return o.Audiences.Table.Each(tx, live, fn)
}

// candidate is a dynamic audience that contacts may join.
type candidate struct {
	audience store.Doc[Audience]
	plan     *filter.Plan
}

// concerned returns the audiences that name a lost value, and those that contacts without it may join.
func (o *Outreach) concerned(tx *store.Tx, lost *store.Tombstone) (named []concern, candidates []candidate, err error) {
	err = o.eachLive(tx, func(doc store.Doc[Audience]) error {
		if filter.Mentions(doc.Record.Filters, lost.Field, lost.Value) {
			why := fmt.Sprintf("the filters of the dynamic audience %s name it", shape.Quote(doc.Record.Name))
			named = append(named, concern{doc, why})
			return nil
		}
		plan, err := o.plan(tx, &doc)
		if err == nil && plan != nil && mayJoin(&plan.Filter, lost) {
			candidates = append(candidates, candidate{doc, plan})
		}
		return err
	})
	return named, candidates, err
}

// mayJoin reports whether a filter that does not name a lost value may match a record only without it. Filters have no
// negation, so one of its rules must.
func mayJoin(f *filter.Filter, lost *store.Tombstone) bool {
	r := f.Rule
	switch {
	case r == nil:
		return slices.ContainsFunc(f.Filters, func(f filter.Filter) bool { return mayJoin(&f, lost) })
	case r.Field.Key != lost.Field:
		return false
	case lost.By == "":
		return r.Condition == filter.IsEmpty
	}
	return slices.Contains(r.Texts, lost.By) && r.Condition != filter.IsNot && r.Condition != filter.NotContains
}

// joinedBy looks for a contact among ids for each candidate that joins it when the value is lost. It returns the contacts
// by audience.
func (o *Outreach) joinedBy(
	tx *store.Tx, lost *store.Tombstone, candidates []candidate, ids []uuid.UUID, pause func() error,
) (map[uuid.UUID]uuid.UUID, error) {
	found := map[uuid.UUID]uuid.UUID{}
	contacts := tx.Reader(o.crm.Contacts.Table.Name())
	for _, id := range ids {
		if len(found) == len(candidates) {
			break
		}
		if err := pause(); err != nil {
			return nil, err
		}
		_, public, err := contacts.Public(id)
		if store.IsDamagedRecord(err) || err == nil && public == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		without, err := lost.Without(public)
		if err != nil || bytes.Equal(without, public) {
			continue
		}
		before, after, err := o.rowPair(tx, id, public, without)
		if err != nil {
			return nil, err
		}
		for _, c := range candidates {
			if _, known := found[c.audience.ID]; !known && c.plan.Match(after) && !c.plan.Match(before) {
				found[c.audience.ID] = id
			}
		}
	}
	return found, nil
}

// rowPair decodes two forms of a contact as filters see them.
func (o *Outreach) rowPair(tx *store.Tx, id uuid.UUID, before, after []byte) (a, b *filter.Row, err error) {
	list := o.crm.Contacts.List
	customs, err := list.Customs(tx)
	if err != nil {
		return nil, nil, err
	}
	if a, err = list.Row(customs, id, before); err != nil {
		return nil, nil, err
	}
	b, err = list.Row(customs, id, after)
	return a, b, err
}

// ContactJoining is called when a contact has been merged with others or restored. It refuses that if the contact
// matches a dynamic audience now and did not before, or it makes the audience static.
func (o *Outreach) ContactJoining(tx *store.Tx, contact uuid.UUID, change crm.IndirectChange) error {
	var all []concern
	err := o.eachLive(tx, func(doc store.Doc[Audience]) error {
		plan, err := o.plan(tx, &doc)
		if err != nil || plan == nil {
			return err
		}
		for _, public := range change.Before {
			before, after, err := o.rowPair(tx, contact, public, change.After)
			if err != nil {
				return err
			}
			if changed := o.crm.Contacts.List.Field("updated_at"); change.SameTime {
				*before.Value(changed) = *after.Value(changed)
			}
			if plan.Match(before) || !plan.Match(after) {
				return nil
			}
		}
		all = append(all, concern{doc, fmt.Sprintf("the contact would join the dynamic audience %s", shape.Quote(doc.Record.Name))})
		return nil
	})
	if err != nil {
		return err
	}
	if !change.Force {
		return refuse(all)
	}
	return o.makeAllStatic(tx, all, true)
}

// fieldChanged makes the audiences static whose filters name a custom field of contacts that has been created. They kept their
// members when an earlier field with this key was deleted.
func (o *Outreach) fieldChanged(tx *store.Tx, before, after *crm.Field) error {
	if before != nil || string(after.Entity) != o.crm.Contacts.Entity {
		return nil
	}
	key := shape.CustomPrefix + after.Key
	return o.eachLive(tx, func(doc store.Doc[Audience]) error {
		if !filter.Mentions(doc.Record.Filters, key, "") {
			return nil
		}
		return o.makeStatic(tx, doc)
	})
}

// checkField refuses to remove an allowed value of a custom field that a dynamic audience names. An audience whose filters are
// invalid already becomes static, because they may become valid.
func (o *Outreach) checkField(tx *store.Tx, before, after *crm.Field, p *fault.Problems) error {
	if before == nil || p.Count() > 0 || string(after.Entity) != o.crm.Contacts.Entity || slices.Equal(before.AllowedValues, after.AllowedValues) {
		return nil
	}
	key, removed := shape.CustomPrefix+after.Key, before.Removed(after)
	var all []concern
	err := o.eachLive(tx, func(doc store.Doc[Audience]) error {
		if !filter.Mentions(doc.Record.Filters, key, "") {
			return nil
		}
		plan, err := o.plan(tx, &doc)
		switch {
		case err != nil:
			return err
		case plan == nil:
			return o.makeStatic(tx, doc)
		}
		filter.EachRule(doc.Record.Filters, func(rule shape.Value) {
			value := rule.Get("value")
			for _, v := range append(slices.Clone(value.Items), value) {
				if rule.Get("field").Text == key && v.Kind == shape.String && slices.Contains(removed, v.Text) {
					all = append(all, concern{doc, fmt.Sprintf("cannot remove %s: the filters of the dynamic audience %s name it",
						shape.Quote(v.Text), shape.Quote(doc.Record.Name))})
				}
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	return refuse(all)
}
