package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/crm"
	"prospector/internal/rows"
)

func importCommand() *cobra.Command {
	contacts := importCommandOf("contacts", crm.MatchFields("contacts"), `  prospector import contacts people.csv --org "Acme Sales" --match-on email --map "E-Mail=email" --map "Job title=title"`)
	accounts := importCommandOf("accounts", crm.MatchFields("accounts"), `  prospector import accounts companies.csv.gz --org "Acme Sales" --match-on website`)
	suppressions := importCommandOf("suppressions", nil, `  prospector import suppressions opted-out.csv --org "Acme Sales"`)
	return group("import", "Import records from CSV or JSON lines", contacts, accounts, suppressions)
}

func importCommandOf(entity string, matches []string, example string) *cobra.Command {
	long := "Import " + entity + " from a file, or from standard input with -: CSV with a header, or JSON lines; gzipped or not. Columns\n" +
		"have the names of fields; others are ignored with a warning, unless --map names them. An empty cell leaves what is there.\n" +
		"Of a file that 'org export' wrote it takes the " + entity + ".\n" +
		"Entries of a list stand apart by | or ;. Bad rows are skipped and told by their line, the others are kept."
	if matches != nil {
		long += " A row with an id\nchanges that record, and one that --match-on finds changes what it finds; else it is a new one. Tags may be named by their\nnames, an account by account_website or account_external_id."
	} else {
		long += " It needs a\ncolumn email or domain, and may have a reason. What is there already stays as it is."
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
				if in.MatchOn != "" && !slices.Contains(matches, in.MatchOn) {
					return usage("--match-on must be one of %s, not %q", strings.Join(matches, ", "), in.MatchOn)
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
	c.Flags().String("org", "", "the organization's id or `name`")
	c.Flags().StringArray("map", nil, "`column=field`: what a column that is called otherwise is for (may be repeated)")
	if matches != nil {
		c.Flags().String("match-on", "", "change the oldest record that has the same `field`, instead of making another: "+strings.Join(matches, ", "))
		_ = c.RegisterFlagCompletionFunc("match-on", cobra.FixedCompletions(matches, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func mapping(c *cobra.Command) (map[string]string, error) {
	pairs, err := c.Flags().GetStringArray("map")
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, pair := range pairs {
		i := strings.LastIndex(pair, "=")
		if i <= 0 || i == len(pair)-1 {
			return nil, usage("--map must be column=field, not %q", pair)
		}
		column, field := strings.TrimSpace(pair[:i]), strings.TrimSpace(pair[i+1:])
		if _, twice := m[column]; twice {
			return nil, usage("--map names the column %q twice", column)
		}
		m[column] = field
	}
	return m, nil
}

// importFile is a file that is to be imported.
type importFile struct {
	io.ReadCloser
	name  string
	size  int  // 0 when it is not known
	lines bool // it is called one of JSON lines
}

// openImport opens a file, or standard input for -. It is closed when ctx ends: it may never end itself.
func openImport(ctx context.Context, name string) (*importFile, error) {
	f := &importFile{ReadCloser: os.Stdin, name: name, lines: slices.Contains([]string{".jsonl", ".ndjson"}, filepath.Ext(strings.TrimSuffix(name, ".gz")))}
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

// showImport prints what became of a file: what was wrong with it on stderr, unless it is in the object.
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
		return fmt.Errorf("the import ended early: %s; %d rows were added and %d updated before, and are kept", r.Failed, r.Added, r.Updated)
	case err != nil || r.Added+r.Updated > 0:
		return err
	case r.Skipped == 0:
		return errors.New("the file has no rows; nothing was imported")
	}
	return errors.New("not one row of the file was good; nothing was imported")
}
