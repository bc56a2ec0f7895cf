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
	c := &cobra.Command{
		Use: entity + " FILE", Short: "Import " + entity, Args: oneArg("the file, or - for standard input"),
		Long: long, Example: example,
		RunE: func(c *cobra.Command, args []string) error {
			in, err := importInput(c, entity, matches)
			if err != nil {
				return err
			}
			var to *admin.Target
			if path, _ := c.Flags().GetString("rejects"); path != "" {
				target, err := newTarget(c, path)
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
	c.Flags().String("org", "", "id or `name` of the organization")
	c.Flags().StringArray("map", nil, "`column=field`: import a column as this field, or leave it out with column= (repeatable)")
	c.Flags().Bool("dry-run", false, "count and report, but write nothing")
	c.Flags().String("locale", "", "how numbers and dates are written, as a language `tag` such as de or en-GB; the default is to decide by column")
	c.Flags().String("date-order", "", "what dates such as 03/04/2025 begin with: `dmy` (the day) or mdy (the month); the default is to decide by column")
	readingFlags(c)
	c.Flags().String("on-bad-value", dropValue, "what happens when an optional value cannot be read: "+dropValue+" or "+skipRow)
	c.Flags().String("rejects", "", "write the skipped rows, and why they were skipped, to this CSV `file`")
	if matches != nil {
		c.Flags().String("match-on", "auto", "the `field` by which a row finds the record that it updates: "+strings.Join(matches, ", "))
		_ = c.RegisterFlagCompletionFunc("match-on", cobra.FixedCompletions(matches, cobra.ShellCompDirectiveNoFileComp))
		c.Flags().String("id-system", "", "the `system` whose ids external_id and account_external_id are: "+strings.Join(idSystems, ", ")+" (default: by the column)")
		_ = c.RegisterFlagCompletionFunc("id-system", cobra.FixedCompletions(idSystems, cobra.ShellCompDirectiveNoFileComp))
		c.Flags().StringSlice("create-missing", nil, "create what a row names and does not exist: "+strings.Join(creatable(entity), ", "))
		for _, choice := range choicesOf(entity) {
			c.Flags().String(choice.flag, choice.values[0], choice.usage+": "+strings.Join(choice.values, ", "))
			_ = c.RegisterFlagCompletionFunc(choice.flag, cobra.FixedCompletions(choice.values, cobra.ShellCompDirectiveNoFileComp))
		}
		c.Flags().StringArray("tag", nil, "`name` of a tag that every imported record gets (repeatable)")
	}
	return c
}

// readingFlags adds the flags that say how a file is read.
func readingFlags(c *cobra.Command) {
	c.Flags().String("encoding", "", "the `encoding` of the file: "+strings.Join(rows.Encodings(), ", ")+"; the default is to detect it")
	c.Flags().String("sheet", "", "the `name` of the sheet of a spreadsheet; the default is the first visible one")
	_ = c.RegisterFlagCompletionFunc("encoding", cobra.FixedCompletions(rows.Encodings(), cobra.ShellCompDirectiveNoFileComp))
}

// readAs names the encoding of a file, unless it is the usual one.
func readAs(encoding string) string {
	if encoding == "" || encoding == "utf-8" {
		return ""
	}
	return "; read as " + encoding
}

// kept says how many opt-outs stay although rows say otherwise.
func kept(optOuts int) string {
	if optOuts == 0 {
		return ""
	}
	return fmt.Sprintf(", %d opt-outs kept", optOuts)
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

// The values of --on-bad-value.
const (
	dropValue = "drop_value"
	skipRow   = "skip_row"
)

// choice is a flag that says how rows change records that exist. Its first value is the default.
type choice struct {
	flag, usage string
	values      []string
	option      func(*admin.ImportOptions) *string
}

// choicesOf returns the flags for an entity.
func choicesOf(entity string) []choice {
	choices := []choice{
		{"on-existing", "what a row does to a record that it finds", []string{"overwrite", "fill_empty", "skip"}, func(o *admin.ImportOptions) *string { return &o.OnExisting }},
		{"existing-tags", "what becomes of the tags of a record that a row finds", []string{"add", "replace"}, func(o *admin.ImportOptions) *string { return &o.ExistingTags }},
	}
	if entity == "contacts" {
		choices = append(choices, choice{"opt-outs", "whether rows can take opt-outs back", []string{"keep", "replace"}, func(o *admin.ImportOptions) *string { return &o.OptOuts }})
	}
	return choices
}

// creatable returns the values of --create-missing.
func creatable(entity string) []string {
	if entity == "contacts" {
		return []string{"tags", "accounts"}
	}
	return []string{"tags"}
}

// importInput returns what the flags ask for.
func importInput(c *cobra.Command, entity string, matches []string) (in admin.ImportInput, err error) {
	if in.Org, err = required(c, "org"); err != nil {
		return in, err
	}
	fields, err := mapping(c)
	if err != nil {
		return in, err
	}
	o := &in.Options
	o.Entity, o.Mapping = entity, map[string]shape.Text{}
	for column, field := range fields {
		o.Mapping[column] = shape.Text(field)
	}
	flags := c.Flags()
	o.DryRun, _ = flags.GetBool("dry-run")
	locale, _ := flags.GetString("locale")
	o.Locale = shape.Text(locale)
	encoding, _ := flags.GetString("encoding")
	sheet, _ := flags.GetString("sheet")
	order, _ := flags.GetString("date-order")
	o.DateOrder = shape.Text(order)
	if order != "" {
		if err := checkChoice("date-order", order, "dmy", "mdy"); err != nil {
			return in, err
		}
	}
	o.Encoding, o.Sheet = shape.Text(encoding), shape.Text(sheet)
	o.OnBadValue, _ = flags.GetString("on-bad-value")
	if err := checkChoice("on-bad-value", o.OnBadValue, dropValue, skipRow); err != nil || matches == nil {
		return in, err
	}
	match, _ := flags.GetString("match-on")
	o.MatchOn = shape.Text(match)
	if err := checkChoice("match-on", match, matches...); err != nil {
		return in, err
	}
	for _, choice := range choicesOf(entity) {
		value, _ := flags.GetString(choice.flag)
		if err := checkChoice(choice.flag, value, choice.values...); err != nil {
			return in, err
		}
		*choice.option(o) = value
	}
	system, _ := flags.GetString("id-system")
	o.IDSystem = shape.Text(system)
	if err := checkChoice("id-system", system, idSystems...); err != nil {
		return in, err
	}
	o.Tags, _ = flags.GetStringArray("tag")
	o.CreateMissing, _ = flags.GetStringSlice("create-missing")
	for _, kind := range o.CreateMissing {
		if err := checkChoice("create-missing", kind, creatable(entity)...); err != nil {
			return in, err
		}
	}
	return in, nil
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

func unchanged(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d unchanged", n)
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
			done, entity, r.Added, r.Updated, unchanged(r.Unchanged), r.Skipped, r.ValuesDropped, kept(r.OptOutsKept), some(r.Erased, "erased"), some(r.Suppressed, "suppressed"), readAs(r.Encoding))
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
