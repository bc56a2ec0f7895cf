package cmd

import (
	"context"
	"encoding/json"
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
	"prospector/internal/shape"
)

func importCommand() *cobra.Command {
	contacts := importCommandOf("contacts", matchFields("contacts"),
		`  prospector import contacts people.csv --org "Acme Sales" --create-missing tags,accounts --dry-run`)
	accounts := importCommandOf("accounts", matchFields("accounts"),
		`  prospector import accounts companies.csv.gz --org "Acme Sales" --locale de --rejects rejects.csv`)
	suppressions := importCommandOf("suppressions", nil, `  prospector import suppressions opted-out.csv --org "Acme Sales"`)
	return group("import", "Import records from CSV, spreadsheets, vCard or JSON", contacts, accounts, suppressions)
}

// idSystems are the values of --id-system.
var idSystems = []string{"hubspot", "pipedrive", "apollo", "linkedin", "salesforce", "none"}

// matchFields returns the values of --match-on.
func matchFields(entity crm.Entity) []string {
	return append([]string{"auto", "none"}, crm.MatchFields(entity)...)
}

func importCommandOf(entity string, matches []string, example string) *cobra.Command {
	long := "Import " + entity + " from a file, or from standard input with -. The file is CSV with a header, a spreadsheet (.xlsx),\n" +
		"an address book (vCard) or JSON, and may be packed with gzip or zip. From a file that 'org export' wrote, only the " + entity + " are imported. Columns are recognized by\n" +
		"their names in several languages. --map maps others, and those that remain are ignored with a warning. A value that\n" +
		"cannot be read is left out, and a row without what a record needs is skipped. Both are reported, equal problems together.\n" +
		"An empty cell leaves the field unchanged. docs/import.md describes the formats.\n\n"
	if matches != nil {
		long += "A row with an id updates that record. A row that --match-on matches updates the record it matches. Other rows create\n" +
			"records. Tags can be given by name, and an account by account_website or account_external_id."
	} else {
		long += "The file needs a column email or domain, and may have a column reason. Existing suppressions stay unchanged."
	}
	in := admin.ImportInput{Options: admin.ImportOptions{Entity: entity, Mapping: map[string]shape.Text{}}}
	var rejects string
	c := &cobra.Command{
		Use: entity + " FILE", Short: "Import " + entity, Args: oneArg("the file, or - for standard input"), PreRunE: requires("org"),
		Long: long, Example: example,
		RunE: func(c *cobra.Command, args []string) error {
			fields, err := mapping(c)
			if err != nil {
				return err
			}
			for column, field := range fields {
				in.Options.Mapping[column] = shape.Text(field)
			}
			var to *admin.Target
			if rejects != "" {
				target, err := newTarget(c, rejects)
				if err != nil {
					return err
				}
				defer target.Drop()
				in.Rejects, to = true, &target
			}
			file, err := openImport(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			in.Name = file.name
			result, err := runFile(c, admin.ImportRecords, in, file, file.size)
			if err == nil && result.Rejects != nil {
				err = to.Take(*result.Rejects)
				result.Rejects = nil
			}
			if err != nil {
				return err
			}
			return showImport(c, entity, result)
		},
	}
	c.Flags().StringVar(&rejects, "rejects", "", "write the skipped rows, and why they were skipped, to this CSV `file`")
	importFlags(c, &in, matches)
	return c
}

// importFlags adds the flags of an import. matches are the values of --match-on, of which suppressions have none.
func importFlags(c *cobra.Command, in *admin.ImportInput, matches []string) {
	o := &in.Options
	orgFlag(c, &in.Org)
	c.Flags().StringArray("map", nil, "`column=field`: import a column as this field, or leave it out with column= (repeatable)")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "count and report, but write nothing")
	c.Flags().StringVar((*string)(&o.Locale), "locale", "", "how numbers and dates are written, as a language `tag` such as de or en-GB; the default is to decide by column")
	choiceFlag(c, (*string)(&o.DateOrder), "date-order", "",
		"what dates such as 03/04/2025 begin with: `dmy` (the day) or mdy (the month); the default is to decide by column", "dmy", "mdy")
	readingFlags(c, (*string)(&o.Encoding), (*string)(&o.Sheet))
	choiceFlag(c, &o.OnBadValue, "on-bad-value", "drop_value",
		"what happens when an optional value cannot be read: drop_value or skip_row", badValueChoices...)
	if matches == nil {
		return
	}
	creatable := []string{"tags"}
	if o.Entity == "contacts" {
		creatable = append(creatable, "accounts")
		choiceFlag(c, &o.OptOuts, "opt-outs", "keep", "whether rows can take opt-outs back: keep, replace", "keep", "replace")
	}
	choiceFlag(c, (*string)(&o.MatchOn), "match-on", "auto", "the `field` by which a row finds the record that it updates: "+strings.Join(matches, ", "), matches...)
	choiceFlag(c, (*string)(&o.IDSystem), "id-system", "",
		"the `system` whose ids external_id and account_external_id are: "+strings.Join(idSystems, ", ")+" (default: by the column)", idSystems...)
	choiceFlag(c, &o.OnExisting, "on-existing", "overwrite",
		"what a row does to a record that it finds: overwrite, fill_empty, skip", "overwrite", "fill_empty", "skip")
	choiceFlag(c, &o.ExistingTags, "existing-tags", "add", "what becomes of the tags of a record that a row finds: add, replace", "add", "replace")
	c.Flags().StringSliceVar(&o.CreateMissing, "create-missing", nil, "create what a row names and does not exist: "+strings.Join(creatable, ", "))
	limitFlag(c, "create-missing", creatable)
	c.Flags().StringArrayVar(&o.Tags, "tag", nil, "`name` of a tag that every imported record gets (repeatable)")
}

// readingFlags adds the flags that say how a file is read.
func readingFlags(c *cobra.Command, encoding, sheet *string) {
	c.Flags().StringVar(encoding, "encoding", "", "the `encoding` of the file: "+strings.Join(rows.Encodings(), ", ")+"; the default is to detect it")
	c.Flags().StringVar(sheet, "sheet", "", "the `name` of the sheet of a spreadsheet; the default is the first visible one")
	_ = c.RegisterFlagCompletionFunc("encoding", cobra.FixedCompletions(rows.Encodings(), cobra.ShellCompDirectiveNoFileComp))
}

// readAs names the encoding of a file, unless it is the usual one.
func readAs(encoding string) string {
	if encoding == "" || encoding == "utf-8" {
		return ""
	}
	return "; read as " + encoding
}

// some says how many rows are something, if any are.
func some(rows int, what string) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", rows, what)
}

func unsureOf(encoding string) string {
	return fmt.Sprintf("the encoding %s is a guess; if letters are wrong, set another one with --encoding", encoding)
}

// asked returns the error of an import that has questions.
func asked(questions []rows.Question) error {
	var all []string
	for _, q := range questions {
		one := fmt.Sprintf("column %q: ", q.Column)
		switch q.Code {
		case rows.AmbiguousDates:
			one += fmt.Sprintf("the order of day and month in %s is not clear; set --date-order to dmy or mdy", strings.Join(q.Samples, ", "))
		case rows.MappingRequired:
			one += fmt.Sprintf("it may say who has opted out; set --map %[1]q if every value but a no means that, --map %[2]q if only words such as unsubscribed do, or --map %[3]q if it has no opt-outs",
				q.Column+"=do_not_contact", q.Column+"=opt_out_status", q.Column+"=")
		default:
			one += q.Code
		}
		all = append(all, one)
	}
	return errors.New("nothing was imported: " + strings.Join(all, "; "))
}

// mapping returns the fields that --map maps columns to, "" for a column to leave out.
func mapping(c *cobra.Command) (map[string]string, error) {
	pairs, err := c.Flags().GetStringArray("map")
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, pair := range pairs {
		i := strings.LastIndex(pair, "=")
		if i <= 0 {
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
	f := &importFile{name: name, lines: extension == ".jsonl" || extension == ".ndjson"}
	if name == "-" {
		f.ReadCloser = standardInput()
	} else {
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

// standardInput returns standard input as a reader that can be closed while it waits for more. A read from standard input
// itself goes on then.
func standardInput() io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, os.Stdin)
		_ = writer.CloseWithError(err)
	}()
	return reader
}

// showChanges prints what an import would change in records that exist, with one sample of each field.
func showChanges(w io.Writer, changes []rows.ChangedField) {
	for _, c := range changes {
		sample := ""
		if len(c.Samples) > 0 {
			s := c.Samples[0]
			from, _ := json.Marshal(s.From)
			to, _ := json.Marshal(s.To)
			sample = fmt.Sprintf(", such as line %d: %s becomes %s", s.Line, from, to)
		}
		fmt.Fprintf(w, "%s: changed by %d rows%s\n", c.Field, c.Count, sample)
	}
}

// showImport prints the report of an import. Warnings go to stderr, as do problems unless the report is printed as JSON.
func showImport(c *cobra.Command, entity string, r admin.ImportResult) error {
	if r.EncodingUnsure {
		r.Warnings = append(r.Warnings, unsureOf(r.Encoding))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(c.ErrOrStderr(), "warning: "+warning)
	}
	err := show(c, r, func(w io.Writer) {
		for _, p := range r.Problems {
			fmt.Fprintln(c.ErrOrStderr(), p)
		}
		if len(r.Questions) > 0 && !r.DryRun {
			return
		}
		done := "Imported"
		if r.DryRun {
			done = "Would import"
		}
		fmt.Fprintf(w, "%s %s: %d added, %d updated%s, %d skipped, %d values dropped%s%s%s%s\n",
			done, entity, r.Added, r.Updated, some(r.Unchanged, "unchanged"), r.Skipped, r.ValuesDropped,
			some(r.OptOutsKept, "opt-outs kept"), some(r.Erased, "erased"), some(r.Suppressed, "suppressed"), readAs(r.Encoding))
		if r.DryRun {
			showChanges(w, r.Changes)
		}
	})
	isThere := slices.ContainsFunc(r.Problems, func(p rows.Problem) bool { return strings.HasSuffix(p.Message, rows.SkipsExisting) })
	switch {
	case err == nil && len(r.Questions) > 0:
		return asked(r.Questions)
	case err == nil && r.Failed != "":
		return fmt.Errorf("the import stopped early: %s; %d rows were added and %d updated before and are kept", r.Failed, r.Added, r.Updated)
	case err != nil || r.Added+r.Updated+r.Unchanged > 0 || isThere:
		return err
	case r.Skipped == 0:
		return errors.New("the file contains no rows; nothing was imported")
	}
	return errors.New("no row of the file is valid; nothing was imported")
}
