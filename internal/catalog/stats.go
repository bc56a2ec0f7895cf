package catalog

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/store"
)

// Stats are the sizes of the catalog. PeopleWithoutEmployer counts people without a company id and
// people whose company is not in the catalog.
type Stats struct {
	Companies             int `json:"companies"`
	People                int `json:"people"`
	PeopleWithoutEmployer int `json:"people_without_employer"`
}

// statsChunk is how many people one transaction reads. A long read transaction makes the store's
// file grow.
const statsChunk = 10_000

// Stats counts the catalog. It may or may not count records that are imported concurrently.
func (c *Catalog) Stats(ctx context.Context, st *store.Store, report func(done, total int)) (s Stats, err error) {
	seen, after := 0, uuid.Nil
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		more = false
		err := st.View(Org, func(tx *store.Tx) error {
			s.Companies, s.People = c.Companies.Count(tx), c.People.Count(tx)
			employed, last, n := false, "", 0
			return tx.Records(c.People.Name(), after, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
				var p struct {
					CompanyID string `json:"company_id"`
				}
				if err := json.Unmarshal(public, &p); err != nil {
					return false, fmt.Errorf("people %s: %w", id, err)
				}
				if p.CompanyID != last { // colleagues are mostly adjacent
					last = p.CompanyID
					_, employed = c.Companies.Find(tx, byID, []byte(last))
				}
				if !employed {
					s.PeopleWithoutEmployer++
				}
				after, n = id, n+1
				more = n == statsChunk
				return !more, nil
			})
		})
		if err != nil {
			return s, err
		}
		seen = min(seen+statsChunk, s.People)
		report(seen, s.People)
	}
	return s, nil
}
