package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/catalog"
	"prospector/internal/rows"
)

// catalogImported is the output of catalog import.
type catalogImported struct {
	Companies catalogCounts    `json:"companies"`
	People    catalogCounts    `json:"people"`
	Problems  []catalogProblem `json:"problems"`
	Warnings  []string         `json:"warnings"`
	Failed    string           `json:"failed,omitempty"`
}

type catalogCounts struct {
	Rows          int    `json:"rows"`
	Added         int    `json:"added"`
	Updated       int    `json:"updated"`
	Skipped       int    `json:"skipped"`
	ValuesDropped int    `json:"values_dropped"`
	Encoding      string `json:"encoding,omitempty"`
	Unsure        bool   `json:"encoding_unsure,omitempty"`
	Delimiter     string `json:"delimiter,omitempty"`
}

func (n catalogCounts) kept() int { return n.Added + n.Updated }

type catalogProblem struct {
	File string `json:"file"`
	rows.Problem
}

// catalogFile is a file of companies or people.
type catalogFile struct {
	*importFile
	in      admin.CatalogInput
	counts  *catalogCounts
	rejects *os.File // nil unless they are wanted
}

func catalogCommand() *cobra.Command {
	return group("catalog", "Manage the catalog of companies and people that all organizations share",
		catalogImportCommand(), catalogGenerateCommand(), catalogStatsCommand())
}

func catalogImportCommand() *cobra.Command {
	var shared admin.CatalogInput
	var rejects string
	c := &cobra.Command{
		Use: "import", Short: "Import companies and people", Args: noArgs,
		Long: "Import companies, people or both from files, or one of them from standard input with -. A file is CSV with a header,\n" +
			"a spreadsheet (.xlsx), an address book (vCard) or JSON, and may be packed with gzip or zip. Columns are recognized by their names in English, German, French and\n" +
			"Spanish, and as other programs export them. Other columns are ignored with a warning, unless --map maps them, in both\n" +
			"files. A row with an id adds or updates that company or person. A row without an id updates the company with the same\n" +
			"website, or the person with the same linkedin_url or email, and is added if there is none. An empty cell leaves the\n" +
			"field unchanged. People refer to their employer by company_id or company_website, which may be imported later. A value\n" +
			"that cannot be read is dropped and reported; a row that cannot be imported is skipped and reported.",
		Example: `  prospector catalog import --companies companies.csv.gz --people people.jsonl --map "Company name=name"`,
		RunE: func(c *cobra.Command, _ []string) error {
			result := catalogImported{Problems: []catalogProblem{}, Warnings: []string{}}
			files, err := catalogFiles(c, shared, rejects, &result)
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
	c.Flags().BoolVar(&shared.DryRun, "dry-run", false, "count what an import would do, and write nothing")
	c.Flags().StringVar(&shared.Locale, "locale", "", "how numbers and dates are written, such as de, en-GB or fr (default: decided by column)")
	readingFlags(c, &shared.Encoding, &shared.Sheet)
	choiceFlag(c, &shared.OnBadValue, "on-bad-value", "",
		"`drop_value` leaves out a value that cannot be read, skip_row skips its row (default drop_value)", badValueChoices...)
	c.Flags().StringVar(&rejects, "rejects", "",
		"write the skipped rows to this `file`, as CSV with a column that says why; two files\nget the names of their entities")
	return c
}

// badValueChoices are the values of --on-bad-value.
var badValueChoices = []string{"drop_value", "skip_row"}

// catalogFiles opens the files of the command line. Companies come first, so people find their employers.
func catalogFiles(c *cobra.Command, shared admin.CatalogInput, rejects string, result *catalogImported) ([]catalogFile, error) {
	renamed, err := mapping(c)
	if err != nil {
		return nil, err
	}
	shared.Rejects = rejects != ""
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
		entity := f.in.Entity
		f.in = shared
		f.in.Entity, f.in.Lines, f.in.Map = entity, f.lines, renamed
		files = append(files, f)
	}
	switch len(files) {
	case 0:
		return nil, usage("catalog import requires --companies or --people")
	case 2:
		err = splitMapping(renamed, &files[0].in, &files[1].in)
	}
	for i := 0; err == nil && rejects != "" && i < len(files); i++ {
		name := rejects
		if len(files) > 1 {
			extension := filepath.Ext(rejects)
			name = strings.TrimSuffix(rejects, extension) + "-" + files[i].in.Entity + extension
		}
		files[i].rejects, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	return files, err
}

// keepRejects writes the skipped rows to their file, or removes it if there are none.
func (f *catalogFile) keepRejects(skipped int, rejects []byte) error {
	if f.rejects == nil {
		return nil
	}
	if skipped == 0 {
		return errors.Join(f.rejects.Close(), os.Remove(f.rejects.Name()))
	}
	_, err := f.rejects.Write(rejects)
	return errors.Join(err, f.rejects.Close())
}

// splitMapping gives each of two files the columns that are mapped to its fields. A column that is
// mapped to a field of both may be missing in one of the files.
func splitMapping(renamed map[string]string, first, second *admin.CatalogInput) error {
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
	if kept := f.keepRejects(loaded.Skipped, loaded.Rejects); kept != nil {
		r.Warnings = append(r.Warnings, "the rejects cannot be written: "+kept.Error())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	*f.counts = catalogCounts{
		loaded.Rows, loaded.Added, loaded.Updated, loaded.Skipped, loaded.ValuesDropped, loaded.Encoding, loaded.Unsure,
		loaded.Delimiter,
	}
	for _, p := range loaded.Problems.List() {
		r.Problems = append(r.Problems, catalogProblem{f.name, p})
	}
	if loaded.Unsure {
		loaded.Warnings = append(loaded.Warnings, unsureOf(loaded.Encoding))
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
		for _, p := range r.Problems {
			fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", p.File, p.Problem)
		}
		done := "Imported"
		if isDry, _ := c.Flags().GetBool("dry-run"); isDry {
			done = "Dry run, nothing was imported:"
		}
		for _, part := range []struct {
			entity string
			catalogCounts
		}{{admin.Companies, r.Companies}, {admin.People, r.People}} {
			if part.Rows > 0 {
				fmt.Fprintf(w, "%s %s: %d added, %d updated, %d skipped, %d values dropped%s\n",
					done, part.entity, part.Added, part.Updated, part.Skipped, part.ValuesDropped, readAs(part.Encoding))
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
