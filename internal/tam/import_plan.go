package tam

import (
	"bytes"
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/internal/turn"
	"prospector/store"
)

// membersPerLookup is how many members one transaction of a plan looks up, which takes a few
// milliseconds.
const membersPerLookup = 250

// ImportMax limits how many records an Import creates.
type ImportMax struct {
	MaxAccounts shape.Number `json:"max_accounts" rule:"integer,min=0" doc:"The maximum number of Accounts to create. Of the companies that are not Accounts yet, only the first ones in the order of the Preview are imported, and only their people. Existing Accounts are reused and do not count. Null means no maximum."`
	MaxContacts shape.Number `json:"max_contacts" rule:"integer,min=0" doc:"The maximum number of Contacts to create. Of the people at imported companies who are not Contacts yet, only the first ones in the order of the Preview are imported. Existing Contacts are reused and do not count. Null means no maximum."`
}

// ImportBody is the body of a request to import a Preview.
type ImportBody struct{ ImportMax }

// reached reports whether no more than n records of a kind may be created.
func (m *ImportMax) reached(person bool, n int) bool {
	limit := m.MaxAccounts
	if person {
		limit = m.MaxContacts
	}
	return limit.Valid && float64(n) >= limit.Float
}

// ImportPlan is what the Import of a Preview would do if it ran at the time of the plan.
type ImportPlan struct {
	preview uuid.UUID
	max     ImportMax
	status  Status         // of the Preview
	missing roaring.Bitmap // the members that would become new records
	add     amount         // their number
	reused  int            // the number of members that would be merged into existing records

	skipsPeople bool // the company that was visited last would be skipped with its people
}

// PlanImport determines which records an Import of the Preview would create now. It reads the
// members in short transactions and pauses for other work. A change that is made meanwhile may or
// may not be part of the plan. The plan is empty if the Preview is not READY or if its Import was
// accepted.
func (t *TAM) PlanImport(ctx context.Context, org, preview uuid.UUID, limit ImportMax) (*ImportPlan, error) {
	p := &ImportPlan{preview: preview, max: limit}
	members, selected := 0, []uint32(nil)
	err := t.store.View(org, func(tx *store.Tx) error {
		doc, err := t.Previews.Get(tx, preview)
		p.status, members = doc.Record.Status, doc.Record.private.Members
		if err != nil || p.status != Ready || doc.Record.OperationID.Valid {
			return err
		}
		s := t.memberSetsOf(tx, preview, members)
		selected = s.whole(s.selected).ToArray()
		return s.err
	})
	for ordinals := range slices.Chunk(selected, membersPerLookup) {
		turn.Pause(ctx)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			break
		}
		err = t.store.View(org, func(tx *store.Tx) error {
			if !t.Previews.Has(tx, preview) { // deleted meanwhile
				return fault.ErrNotFound
			}
			s := t.memberSetsOf(tx, preview, members)
			err := t.members.Each(tx, preview, ordinals, func(n uint32, stored []byte) error {
				return p.visit(t, tx, n, newMemberKey(s.has(people, int(n)), stored))
			})
			if err == nil {
				err = s.err
			}
			return err
		})
	}
	return p, err
}

// visit adds a selected member to the plan. Members are visited in order.
func (p *ImportPlan) visit(t *TAM, tx *store.Tx, ordinal uint32, k memberKey) error {
	if k.isPerson && p.skipsPeople {
		return nil
	}
	_, found, refused, err := t.recordOf(tx, k)
	if err != nil {
		return err
	}
	n := p.add.of(k.isPerson)
	skipped := refused || !found && p.max.reached(k.isPerson, *n)
	if !k.isPerson {
		p.skipsPeople = skipped
	}
	switch {
	case skipped:
	case found:
		p.reused++
	default:
		p.missing.Add(ordinal)
		*n++
	}
	return nil
}

// keep removes the members that were excluded after the plan was made.
func (p *ImportPlan) keep(s *memberSets) {
	p.missing.And(s.whole(s.selected))
	contacts := int(p.missing.AndCardinality(s.whole(func(piece int) *roaring.Bitmap { return s.piece(people, piece) })))
	p.add = amount{int(p.missing.GetCardinality()) - contacts, contacts}
}

// memberKey identifies the record of a member.
type memberKey struct {
	isPerson bool
	source   string // the catalog id
	website  string // of a company
	email    string // of a person, and so on
	linkedIn string
	isErased bool
}

// newMemberKey returns the key of a stored member. Decoding the whole member would take much longer.
func newMemberKey(isPerson bool, stored []byte) memberKey {
	head, data, _ := bytes.Cut(stored, []byte(`,"data":`))
	k := memberKey{isPerson: isPerson, source: shape.MemberText(string(head[1:]), "source_id")} // behind the flags
	m := shape.NewMembers(string(data))
	if !isPerson {
		k.website = m.Text("website")
		return k
	}
	k.email, k.linkedIn = m.Text("email"), m.Text("linkedin_url")
	k.isErased = k.email == "" && k.linkedIn == "" && m.Text("first_name") == "" && m.Text("last_name") == ""
	return k
}
