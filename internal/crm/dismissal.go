package crm

import (
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// dismissal says that two records are not the same. It is stored under an id that is made of theirs. It stays when one of
// them is merged into another record, and then means that one.
type dismissal struct {
	IDs [2]uuid.UUID `json:"ids"` // the smaller one first
}

func (d *dismissal) id() uuid.UUID { return uuid.NewSHA1(d.IDs[0], d.IDs[1][:]) }

// dismissals counts the changes of the dismissals of a kind.
func dismissals(entity string) store.Counter { return store.NewCounter(entity + "-dismissed") }

func inOrder(a, b uuid.UUID) [2]uuid.UUID {
	if store.CompareIDs(a, b) > 0 {
		a, b = b, a
	}
	return [2]uuid.UUID{a, b}
}

// DismissBody names records that are not the same.
type DismissBody struct {
	IDs       []uuid.UUID `json:"ids" rule:"required,nonempty,maxlen=100" doc:"The records of which no two are the same."`
	Dismissed bool        `json:"dismissed" rule:"default=true" doc:"False takes it back."`
}

// Dismissed is the answer to a DismissBody.
type Dismissed struct {
	Pairs int `json:"pairs" doc:"The number of pairs of records that have changed."`
}

// Dismiss says that no two of some records are the same, or takes it back. They are not in one group any more.
func (d *Duplicates[T, R]) Dismiss(tx *store.Tx, body DismissBody) (done Dismissed, err error) {
	var p fault.Problems
	if len(body.IDs) == 1 {
		p.Invalid("ids", "must have at least two records")
	}
	for i, id := range body.IDs {
		if !d.kind.Table.Has(tx, id) {
			p.Invalid(fmt.Sprintf("ids[%d]", i), "%s does not exist", id)
		}
	}
	if err := p.Err(); err != nil {
		return done, err
	}
	stored := map[[2]uuid.UUID][]uuid.UUID{}
	if err := d.eachDismissed(tx, func(id uuid.UUID, pair [2]uuid.UUID) { stored[pair] = append(stored[pair], id) }); err != nil {
		return done, err
	}
	for i, a := range body.IDs {
		for _, b := range body.IDs[:i] {
			pair := inOrder(a, b)
			known := stored[pair]
			if a == b || (len(known) > 0) == body.Dismissed {
				continue
			}
			if done.Pairs++; body.Dismissed {
				_, err = d.dismissed.Insert(tx, (&dismissal{pair}).id(), dismissal{pair})
				stored[pair] = append(known, uuid.Nil)
			} else {
				err = d.dismissed.Each(tx, known, func(doc store.Doc[dismissal]) error { return d.dismissed.Delete(tx, doc) })
			}
			if err != nil {
				return done, err
			}
		}
	}
	if done.Pairs > 0 {
		dismissals(d.kind.Entity).Next(tx)
	}
	return done, nil
}

// eachDismissed calls fn for the dismissed pairs of records. A record that was merged is the one that it lives on in.
func (d *Duplicates[T, R]) eachDismissed(tx *store.Tx, fn func(id uuid.UUID, pair [2]uuid.UUID)) error {
	return d.dismissed.Scan(tx, func(doc store.Doc[dismissal]) (bool, error) {
		ids := doc.Record.IDs
		for i, id := range ids {
			survivor, merged, err := d.kind.Survivor(tx, id)
			if err != nil {
				return false, err
			}
			if merged {
				ids[i] = survivor
			}
		}
		if ids[0] != ids[1] {
			fn(doc.ID, inOrder(ids[0], ids[1]))
		}
		return true, nil
	})
}

func (r *records[T, R]) readDismissed(tx *store.Tx) error {
	r.apart = map[[2]uuid.UUID]bool{}
	return r.eachDismissed(tx, func(_ uuid.UUID, pair [2]uuid.UUID) { r.apart[pair] = true })
}
