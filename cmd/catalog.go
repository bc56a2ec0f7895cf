package cmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/catalog"
	"prospector/internal/rows"
)

// catalogImported is the output of catalog import.
type catalogImported struct {
	Companies catalogCounts  `json:"companies"`
	People    catalogCounts  `json:"people"`
	Errors    []catalogError `json:"errors"`
	Warnings  []string       `json:"warnings"`
	Failed    string         `json:"failed,omitempty"`
}

type catalogCounts struct {
	Added   int `json:"added"`
	Updated int `json:"updated"`
	Skipped int `json:"skipped"`
}

func (n catalogCounts) kept() int { return n.Added + n.Updated }

type catalogError struct {
	File string `json:"file"`
	rows.RowError
}

// catalogFile is a file of companies or people.
type catalogFile struct {
	*importFile
	in     admin.CatalogInput
	counts *catalogCounts
}

func catalogCommand() *cobra.Command {
	return group("catalog", "Manage the catalog of companies and people that all organizations share",
		catalogImportCommand(), catalogGenerateCommand(), catalogStatsCommand())
}

func catalogImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "import", Short: "Import companies and people", Args: noArgs,
		Long: "Import companies, people or both from files, or one of them from standard input with -. A file is CSV with a header\n" +
			"or JSON lines, and may be gzipped. Columns have the names of fields. Other columns are ignored with a warning, unless\n" +
			"--map maps them, in both files. A row with an id adds or updates that company or person. A row without an id updates\n" +
			"the company with the same website, or the person with the same linkedin_url or email, and is added if there is none.\n" +
			"An empty cell leaves the field unchanged. People refer to their employer by company_id or company_website, which may\n" +
			"be imported later. Keywords and technologies are lists, separated by | or ;. Invalid rows are reported with their\n" +
			"line number and skipped. Valid rows are imported.",
		Example: `  prospector catalog import --companies companies.csv.gz --people people.jsonl --map "Company name=name"`,
		RunE: func(c *cobra.Command, _ []string) error {
			result := catalogImported{Errors: []catalogError{}, Warnings: []string{}}
			files, err := catalogFiles(c, &result)
			if err != nil {
				return err
			}
			for _, f := range files {
				defer f.Close()
			}
			for i := 0; i < len(files) && err == nil; i++ {
				err = result.take(c, files[i])
			}
			return result.show(c, err)
		},
	}
	c.Flags().String(admin.Companies, "", "`file` of companies")
	c.Flags().String(admin.People, "", "`file` of people")
	c.Flags().StringArray("map", nil, "`column=field`: import a column with another name as this field (repeatable)")
	return c
}

// catalogFiles opens the files of the command line. Companies come first, so people find their employers.
func catalogFiles(c *cobra.Command, result *catalogImported) ([]catalogFile, error) {
	renamed, err := mapping(c)
	if err != nil {
		return nil, err
	}
	var files []catalogFile
	for _, f := range []catalogFile{
		{in: admin.CatalogInput{Entity: admin.Companies}, counts: &result.Companies}, {in: admin.CatalogInput{Entity: admin.People}, counts: &result.People},
	} {
		name, err := c.Flags().GetString(f.in.Entity)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		if name == "-" && len(files) > 0 && files[0].name == "-" {
			return nil, usage("only one of --companies and --people can be standard input")
		}
		if f.importFile, err = openImport(c.Context(), name); err != nil {
			return nil, err
		}
		f.in.Lines, f.in.Map = f.lines, renamed
		files = append(files, f)
	}
	switch len(files) {
	case 0:
		return nil, usage("catalog import requires --companies or --people")
	case 2:
		err = shareMapping(renamed, &files[0].in, &files[1].in)
	}
	return files, err
}

// shareMapping gives each of two files the columns that are mapped to its fields. A column that is
// mapped to a field of both may be missing in one of the files.
func shareMapping(renamed map[string]string, first, second *admin.CatalogInput) error {
	first.Map, second.Map = map[string]string{}, map[string]string{}
	for column, field := range renamed {
		_, ofCompanies := catalog.CompanyFields().Targets[field]
		_, ofPeople := catalog.PersonFields().Targets[field]
		switch {
		case !ofCompanies && !ofPeople:
			return fmt.Errorf("--map: %q is mapped to %q, which is not a field of companies or people", column, field)
		case ofCompanies && ofPeople:
			first.Either, second.Either = append(first.Either, column), append(second.Either, column)
		}
		if ofCompanies {
			first.Map[column] = field
		}
		if ofPeople {
			second.Map[column] = field
		}
	}
	return nil
}

// take imports a file and adds its result.
func (r *catalogImported) take(c *cobra.Command, f catalogFile) error {
	loaded, err := runFile(c, admin.ImportCatalog, f.in, f, f.size)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	*f.counts = catalogCounts{loaded.Added, loaded.Updated, loaded.Skipped}
	for _, e := range loaded.Errors {
		r.Errors = append(r.Errors, catalogError{f.name, e})
	}
	for _, warning := range loaded.Warnings {
		r.Warnings = append(r.Warnings, f.name+": "+warning)
	}
	for _, column := range loaded.Missing {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: the file has no column %q, which is mapped", f.name, column))
	}
	if loaded.Failed != "" {
		return fmt.Errorf("%s: %s", f.name, loaded.Failed)
	}
	return nil
}

// show prints the result. failed is why the import stopped early, or nil.
func (r *catalogImported) show(c *cobra.Command, failed error) error {
	kept := r.Companies.kept() + r.People.kept()
	if failed != nil && kept == 0 {
		return failed
	}
	if failed != nil {
		r.Failed = admin.Message(failed)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(c.ErrOrStderr(), "warning: "+warning)
	}
	err := show(c, r, func(w io.Writer) {
		for _, e := range r.Errors {
			fmt.Fprintf(c.ErrOrStderr(), "%s line %d: %s\n", e.File, e.Line, e.Message)
		}
		for _, part := range []struct {
			entity string
			catalogCounts
		}{{admin.Companies, r.Companies}, {admin.People, r.People}} {
			if part.catalogCounts != (catalogCounts{}) {
				fmt.Fprintf(w, "Imported %s: %d added, %d updated, %d skipped\n", part.entity, part.Added, part.Updated, part.Skipped)
			}
		}
	})
	switch {
	case err == nil && failed != nil:
		return fmt.Errorf("the import stopped early: %s; %d companies and %d people were added or updated before and are kept", r.Failed, r.Companies.kept(), r.People.kept())
	case err != nil || kept > 0:
		return err
	case r.Companies.Skipped+r.People.Skipped == 0:
		return errors.New("the files contain no rows; nothing was imported")
	}
	return errors.New("no row is valid; nothing was imported")
}
