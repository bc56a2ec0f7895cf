package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"prospector/internal/catalog"
	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/service"
)

// CatalogInput describes a file of companies or people.
type CatalogInput struct {
	Entity     string            `json:"entity"` // Companies or People
	Map        map[string]string `json:"map,omitempty"`
	Either     []string          `json:"either,omitempty"` // columns of Map that may be missing, because another file has them
	Lines      bool              `json:"lines,omitempty"`
	Locale     string            `json:"locale,omitempty"`
	Encoding   string            `json:"encoding,omitempty"`
	Sheet      string            `json:"sheet,omitempty"`
	OnBadValue string            `json:"on_bad_value,omitempty"`
	DryRun     bool              `json:"dry_run,omitempty"`
	Rejects    bool              `json:"rejects,omitempty"` // return the skipped rows
}

// CatalogResult is the result of importing a file.
type CatalogResult struct {
	rows.Report
	Encoding  string   `json:"encoding"`
	Unsure    bool     `json:"encoding_unsure"`
	Delimiter string   `json:"delimiter"`
	Warnings  []string `json:"warnings"`
	Failed    string   `json:"failed,omitempty"`  // why the import stopped early
	Missing   []string `json:"missing,omitempty"` // the columns of Either that are missing
	Rejects   []byte   `json:"rejects,omitempty"` // the skipped rows as CSV
}

// maxRejects is the number of bytes of skipped rows that a catalog import returns.
const maxRejects = 32 << 20

var ImportCatalog = Operation[CatalogInput, CatalogResult]{
	name: "catalog-import", Unit: Bytes, createsStore: true,
	doFile: func(ctx context.Context, s *service.Service, in CatalogInput, file io.Reader, _ Progress) (r CatalogResult, err error) {
		t, err := rows.Open(file, rows.Options{Lines: in.Lines, Entity: in.Entity, Encoding: in.Encoding, Sheet: in.Sheet})
		if err != nil {
			return r, fmt.Errorf("the file cannot be imported: %w", err)
		}
		defer t.Close()
		for _, column := range in.Either {
			if t.Columns != nil && !slices.Contains(t.Columns, column) {
				r.Missing = append(r.Missing, column)
				delete(in.Map, column)
			}
		}
		options := catalog.ImportOptions{Mapping: in.Map, Locale: in.Locale, OnBadValue: in.OnBadValue, DryRun: in.DryRun}
		rejects := &capped{left: maxRejects}
		if in.Rejects {
			if options.Rejects, err = rows.NewRejects(rejects, t); err != nil {
				return r, err
			}
		}
		load := s.Catalog.ImportCompanies
		if in.Entity == People {
			load = s.Catalog.ImportPeople
		}
		report, warnings, err := load(ctx, s.Store, t, options)
		r.Report, r.Warnings, r.Encoding, r.Unsure, r.Delimiter = report, warnings, t.Encoding(), t.EncodingUnsure(), t.Delimiter()
		if in.Rejects && options.Rejects.Flush() == nil {
			r.Rejects = rejects.Bytes()
		}
		if rejects.isFull {
			r.Warnings = append(r.Warnings, "only the first of the skipped rows are returned as rejects")
		}
		var refused *fault.Error
		if errors.As(err, &refused) { // the command puts the name of the file before it
			err = errors.New(refused.Message)
		}
		r.Failed, err = stopped(ctx, s, in.Entity, &report, err)
		return r, err
	},
}

// capped is a buffer that drops what it has no room for.
type capped struct {
	bytes.Buffer
	left   int
	isFull bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		c.isFull = true
		return len(p), nil
	}
	return c.Buffer.Write(p)
}

// The entities of the catalog.
const (
	Companies = "companies"
	People    = "people"
)

// stopped returns why an import that has written rows stopped early, because its rows must be reported. An
// import that has written nothing fails.
func stopped(ctx context.Context, s *service.Service, entity string, r *rows.Report, err error) (failed string, _ error) {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil || r.Added+r.Updated == 0 {
		return "", err
	}
	failed = strings.TrimSuffix(Message(err), "; nothing was changed")
	s.Log.Info("import stopped early", "entity", entity, "added", r.Added, "updated", r.Updated, "reason", failed)
	return failed, nil
}
