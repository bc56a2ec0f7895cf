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

// catalogImported is what catalog import prints.
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

// catalogFile is a file with what is to be imported from it.
type catalogFile struct {
	*importFile
	in     admin.CatalogInput
	counts *catalogCounts
}

func catalogCommand() *cobra.Command {
	return group("catalog", "Fill the market that all organizations share", catalogImportCommand(), catalogGenerateCommand(), catalogStatsCommand())
}

func catalogImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "import", Short: "Import companies and people", Args: noArgs,
		Long: "Import admin.Companies, people or both from files, or one of them from standard input with -: CSV with a header, or JSON lines;\n" +
			"gzipped or not. Columns have the names of fields; others are ignored with a warning, unless --map names them, in\n" +
			"both files. A row with an id adds that company or person, or updates it. One without updates the company that has\n" +
			"the same website, the person who has the same linkedin_url or email, else it adds. An empty cell leaves what is there.\n" +
			"People name their employer by company_id or company_website, also when it comes later. Entries of keywords and\n" +
			"technologies stand apart by | or ;. Bad rows are skipped and told by their line, the others are kept.",
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
	c.Flags().String(admin.Companies, "", "a `file` of companies")
	c.Flags().String(admin.People, "", "a `file` of people")
	c.Flags().StringArray("map", nil, "`column=field`: what a column that is called otherwise is for (may be repeated)")
	return c
}

// catalogFiles opens the files of the command line, companies first, so that people find their employers.
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
			return nil, usage("only one of --companies and --people can be read from standard input")
		}
		if f.importFile, err = openImport(c.Context(), name); err != nil {
			return nil, err
		}
		f.in.Lines, f.in.Map = f.lines, renamed
		files = append(files, f)
	}
	switch len(files) {
	case 0:
		return nil, usage("catalog import needs --companies or --people")
	case 2:
		err = shareMapping(renamed, &files[0].in, &files[1].in)
	}
	return files, err
}

// shareMapping gives each of two files the columns that are mapped to fields of its own. Where both have the field, either may
// lack the column.
func shareMapping(renamed map[string]string, first, second *admin.CatalogInput) error {
	first.Map, second.Map = map[string]string{}, map[string]string{}
	for column, field := range renamed {
		_, ofCompanies := catalog.CompanyFields().Targets[field]
		_, ofPeople := catalog.PersonFields().Targets[field]
		switch {
		case !ofCompanies && !ofPeople:
			return fmt.Errorf("%q is mapped to %q, which is a field of neither companies nor people", column, field)
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

// take imports a file, and adds what became of it to the result.
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
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %q is mapped, but it has no such column", f.name, column))
	}
	if loaded.Failed != "" {
		return fmt.Errorf("%s: %s", f.name, loaded.Failed)
	}
	return nil
}

// show prints what became of the files; failed is why the rest of them was not read.
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
		return fmt.Errorf("the import ended early: %s; %d companies and %d people were added or updated before, and are kept", r.Failed, r.Companies.kept(), r.People.kept())
	case err != nil || kept > 0:
		return err
	case r.Companies.Skipped+r.People.Skipped == 0:
		return errors.New("there are no rows; nothing was imported")
	}
	return errors.New("not one row was good; nothing was imported")
}
