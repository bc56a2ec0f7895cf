package admin

import (
	"context"
	"io"
	"slices"

	"prospector/internal/rows"
	"prospector/internal/service"
)

// CatalogInput describes a file of companies or people.
type CatalogInput struct {
	Entity string            `json:"entity"` // Companies or People
	Map    map[string]string `json:"map,omitempty"`
	Either []string          `json:"either,omitempty"` // columns of Map that may be missing, because another file has them
	Lines  bool              `json:"lines,omitempty"`
}

// CatalogResult is the result of importing a file.
type CatalogResult struct {
	rows.Result
	Missing []string `json:"missing,omitempty"` // the columns of Either that are missing
}

var ImportCatalog = Operation[CatalogInput, CatalogResult]{
	name: "catalog-import", Unit: Bytes, createsStore: true,
	doFile: func(ctx context.Context, s *service.Service, in CatalogInput, file io.Reader) (r CatalogResult, err error) {
		t, err := readTable(file, in.Lines)
		if err != nil {
			return r, err
		}
		t.Entity = in.Entity
		for _, column := range in.Either {
			if t.Columns != nil && !slices.Contains(t.Columns, column) {
				r.Missing = append(r.Missing, column)
				delete(in.Map, column)
			}
		}
		load := s.Catalog.ImportCompanies
		if in.Entity == People {
			load = s.Catalog.ImportPeople
		}
		result, err := load(ctx, s.Store, t, in.Map)
		r.Result, err = imported(ctx, s, in.Entity, result, err)
		return r, err
	},
}

// The entities of the catalog.
const (
	Companies = "companies"
	People    = "people"
)
