package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/crm"
	"prospector/internal/rows"
)

func importCommand() *cobra.Command {
	contacts := importCommandOf("contacts", crm.MatchFields("contacts"),
		`  prospector import contacts people.csv --org "Acme Sales" --match-on email --map "E-Mail=email" --map "Job title=title"`)
	accounts := importCommandOf("accounts", crm.MatchFields("accounts"),
		`  prospector import accounts companies.csv.gz --org "Acme Sales" --match-on website`)
	suppressions := importCommandOf("suppressions", nil, `  prospector import suppressions opted-out.csv --org "Acme Sales"`)
	return group("import", "Import records from CSV or JSON lines", contacts, accounts, suppressions)
}

func importCommandOf(entity string, matches []string, example string) *cobra.Command {
	long := "Import " + entity + " from a file, or from standard input with -. The file is CSV with a header or JSON lines, and may\n" +
		"be gzipped. From a file that 'org export' wrote, only the " + entity + " are imported. Columns have the names of fields.\n" +
		"Other columns are ignored with a warning, unless --map maps them. An empty cell leaves the field unchanged. The entries\n" +
		"of a list are separated by | or ;. Invalid rows are reported with their line number and skipped. Valid rows are\n" +
		"imported.\n\n"
	if matches != nil {
		long += "A row with an id updates that record. A row that --match-on matches updates the record it matches. Other rows create\n" +
			"records. Tags can be given by name, and an account by account_website or account_external_id."
	} else {
		long += "The file needs a column email or domain, and may have a column reason. Existing suppressions stay unchanged."
	}
	c := &cobra.Command{
		Use: entity + " FILE", Short: "Import " + entity, Args: oneArg("the file, or - for standard input"),
		Long: long, Example: example,
		RunE: func(c *cobra.Command, args []string) error {
			in := admin.ImportInput{Entity: entity}
			var err error
			if in.Org, err = required(c, "org"); err != nil {
				return err
			}
			if in.Map, err = mapping(c); err != nil {
				return err
			}
			if matches != nil {
				if in.MatchOn, err = c.Flags().GetString("match-on"); err != nil {
					return err
				}
				if err := checkChoice("match-on", in.MatchOn, matches...); err != nil {
					return err
				}
			}
			file, err := openImport(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			in.Lines = file.lines
			result, err := runFile(c, admin.ImportRecords, in, file, file.size)
			if err != nil {
				return err
			}
			return showImport(c, entity, result)
		},
	}
	c.Flags().String("org", "", "id or `name` of the organization")
	c.Flags().StringArray("map", nil, "`column=field`: import a column with another name as this field (repeatable)")
	if matches != nil {
		c.Flags().String("match-on", "", "update the oldest record with the same value of this `field` instead of creating one: "+
			strings.Join(matches, ", "))
		_ = c.RegisterFlagCompletionFunc("match-on", cobra.FixedCompletions(matches, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

// mapping returns the fields that --map maps columns to.
func mapping(c *cobra.Command) (map[string]string, error) {
	pairs, err := c.Flags().GetStringArray("map")
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, pair := range pairs {
		i := strings.LastIndex(pair, "=")
		if i <= 0 || i == len(pair)-1 {
			return nil, usage("--map: %q is not of the form column=field", pair)
		}
		column, field := strings.TrimSpace(pair[:i]), strings.TrimSpace(pair[i+1:])
		if _, twice := m[column]; twice {
			return nil, usage("--map: column %q is mapped twice", column)
		}
		m[column] = field
	}
	return m, nil
}

// importFile is a file to import.
type importFile struct {
	io.ReadCloser
	name  string
	size  int  // 0 if unknown
	lines bool // its name says that it contains JSON lines
}

// openImport opens a file, or standard input for -. It closes the file when ctx ends, because reading
// from a pipe may block forever.
func openImport(ctx context.Context, name string) (*importFile, error) {
	extension := filepath.Ext(strings.TrimSuffix(name, ".gz"))
	f := &importFile{ReadCloser: os.Stdin, name: name, lines: extension == ".jsonl" || extension == ".ndjson"}
	if name != "-" {
		opened, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		info, err := opened.Stat()
		switch {
		case err != nil:
		case info.IsDir():
			err = fmt.Errorf("%s is a directory", name)
		case info.Mode().IsRegular():
			f.size = int(info.Size())
		}
		if err != nil {
			opened.Close()
			return nil, err
		}
		f.ReadCloser = opened
	}
	context.AfterFunc(ctx, func() { _ = f.Close() })
	return f, nil
}

// showImport prints the result of an import. Warnings go to stderr, as do invalid rows unless the
// result is printed as JSON.
func showImport(c *cobra.Command, entity string, r rows.Result) error {
	for _, warning := range r.Warnings {
		fmt.Fprintln(c.ErrOrStderr(), "warning: "+warning)
	}
	err := show(c, r, func(w io.Writer) {
		for _, e := range r.Errors {
			fmt.Fprintf(c.ErrOrStderr(), "line %d: %s\n", e.Line, e.Message)
		}
		fmt.Fprintf(w, "Imported %s: %d added, %d updated, %d skipped\n", entity, r.Added, r.Updated, r.Skipped)
	})
	switch {
	case err == nil && r.Failed != "":
		return fmt.Errorf("the import stopped early: %s; %d rows were added and %d updated before and are kept", r.Failed, r.Added, r.Updated)
	case err != nil || r.Added+r.Updated > 0:
		return err
	case r.Skipped == 0:
		return errors.New("the file contains no rows; nothing was imported")
	}
	return errors.New("no row of the file is valid; nothing was imported")
}
