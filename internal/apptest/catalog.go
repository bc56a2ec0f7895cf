package apptest

import (
	"context"

	"prospector/internal/catalog"
	"prospector/store"
)

// Catalog adds companies and people to the catalog without validating them.
func (a *App) Catalog(companies []catalog.Company, people []catalog.Person) {
	a.t.Helper()
	err := a.Store.Update(context.Background(), catalog.Org, store.Actor{}, func(tx *store.Tx) error {
		for _, c := range companies {
			if _, err := a.Service.Catalog.Companies.Insert(tx, tx.NewID(), c); err != nil {
				return err
			}
		}
		for _, p := range people {
			if _, err := a.Service.Catalog.People.Insert(tx, tx.NewID(), p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
}
