package catalog

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// ImportOptions decide how the rows of a table are imported.
type ImportOptions struct {
	Mapping    map[string]string // column → field, see rows.NewColumns
	Locale     string
	OnBadValue string // record.DropValue, which is the default, or record.SkipRow
	DryRun     bool
	// Rejects receives the skipped rows, if it is not nil.
	Rejects *rows.Rejects
}

// item is a company or a person that is being added to the catalog. Fields without a value in rec
// do not change an existing record.
type item[T any] struct {
	rec      T
	employer string // of a person: the website of the employer, used when rec has no company id
	dropped  []rows.Dropped
	problem  error // why the row is refused, or nil
}

// employerColumn is the column of a table of people that names the employer by its website.
const employerColumn = "company_website"

// CompanyFields returns the fields that the columns of a table of companies can set.
func CompanyFields() rows.Fields[*rows.Target] { return fieldsOf[Company]("companies") }

// PersonFields returns the fields that the columns of a table of people can set.
func PersonFields() rows.Fields[*rows.Target] {
	fields := fieldsOf[Person]("people")
	fields.Targets[employerColumn] = &rows.Target{Column: employerColumn, Member: employerColumn, Field: *shape.Of[Company]().Field("website")}
	full := rows.FullName()
	fields.Targets[full.Column] = &full
	return fields
}

func fieldsOf[T any](entity string) rows.Fields[*rows.Target] {
	fields := rows.Fields[*rows.Target]{Entity: entity, Targets: map[string]*rows.Target{}}
	for _, f := range shape.Of[T]().Fields {
		fields.Targets[f.Key] = &rows.Target{Column: f.Key, Member: f.Key, Field: f, List: f.Type == shape.TypeMulti}
	}
	return fields
}

// ImportCompanies adds the companies of a table to the catalog, or updates them. Companies are
// found by their id or, if a row has no id, by the registrable domain of their website. If the import
// fails, the rows that were written before stay, and the report counts them.
func (c *Catalog) ImportCompanies(
	ctx context.Context, st *store.Store, table *rows.Reader, o ImportOptions,
) (rows.Report, []string, error) {
	keys := func(it *item[Company]) []string { return []string{it.rec.ID, c.hosts.Key(string(it.rec.Website))} }
	return load(ctx, st, table, o, CompanyFields(), c.putCompany, keys)
}

// ImportPeople does the same for people. They are found by their id, or else by their LinkedIn URL,
// or else by their email.
func (c *Catalog) ImportPeople(
	ctx context.Context, st *store.Store, table *rows.Reader, o ImportOptions,
) (rows.Report, []string, error) {
	keys := func(it *item[Person]) []string {
		return []string{it.rec.ID, address.LinkedIn(string(it.rec.LinkedinURL)), address.Key(string(it.rec.Email))}
	}
	return load(ctx, st, table, o, PersonFields(), c.putPerson, keys)
}

// putFunc stores an item. When it refuses the item, it returns a fault.Error and has written
// nothing.
type putFunc[T any] func(*store.Tx, *item[T]) (added bool, err error)

func load[T any](
	ctx context.Context, st *store.Store, table *rows.Reader, o ImportOptions, fields rows.Fields[*rows.Target],
	put putFunc[T], keys func(*item[T]) []string,
) (report rows.Report, warnings []string, err error) {
	if !slices.Contains([]string{"", record.DropValue, record.SkipRow}, o.OnBadValue) {
		return report, nil, fmt.Errorf("on_bad_value: %q is not one of: %s, %s", o.OnBadValue, record.DropValue, record.SkipRow)
	}
	fields.Year = st.Now().Year()
	columns, err := rows.NewColumns(table, o.Mapping, rows.Writing{Locale: o.Locale}, fields)
	if err != nil {
		return report, nil, err
	}
	var dry *dryRun[T]
	if o.DryRun {
		dry = &dryRun[T]{keys: keys, seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
	}
	type batch struct {
		rows  []rows.Row
		items []item[T]
	}
	err = rows.Load(ctx, table, func(table []rows.Row) (batch, error) {
		items := make([]item[T], len(table))
		for i := range table {
			if items[i].problem = table[i].Err; table[i].Err == nil {
				items[i] = newItem[T](columns, &table[i], o.OnBadValue == record.SkipRow)
			}
		}
		return batch{table, items}, nil
	}, func(b batch) error {
		outcomes, err := putAll(ctx, st, "catalog import", b.items, put, dry)
		if err != nil {
			return err
		}
		for i := range outcomes {
			report.Add(&b.rows[i], &outcomes[i])
			if outcomes[i].Skipped != "" && o.Rejects != nil {
				if err := errors.Join(o.Rejects.Add(&b.rows[i], outcomes[i].Why()), o.Rejects.Flush()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return report, columns.Warnings(), err
}

var errDryRun = errors.New("dry run")

// dryRun remembers what a dry run would have added, because later rows would update it.
type dryRun[T any] struct {
	keys func(*item[T]) []string // what an item is found by, the first that is not empty for certain
	seen map[uint64]bool         // hashes of keys
	seed maphash.Seed
}

// maxDryKeys is the number of keys that a dry run remembers. In a larger file it takes rows that match
// earlier ones for new.
const maxDryKeys = 2_000_000

// add remembers an item and reports whether an earlier one is found by the same key.
func (d *dryRun[T]) add(it *item[T]) (known bool) {
	for i, key := range d.keys(it) {
		if key == "" {
			continue
		}
		hash := maphash.String(d.seed, fmt.Sprint(i, key))
		known = known || d.seen[hash]
		if len(d.seen) < maxDryKeys {
			d.seen[hash] = true
		}
		if i == 0 { // the id
			break
		}
	}
	return known
}

// putAll stores items in one transaction, except those that are refused. A dry run stores nothing.
func putAll[T any](
	ctx context.Context, st *store.Store, operation string, items []item[T], put putFunc[T], dry *dryRun[T],
) ([]rows.Outcome, error) {
	done := make([]rows.Outcome, len(items))
	err := st.Update(ctx, Org, store.Actor{Operation: operation}, func(tx *store.Tx) error {
		for i := range items {
			o := &done[i]
			if *o = (rows.Outcome{Dropped: items[i].dropped}); items[i].problem != nil {
				o.Skipped = rowMessage(items[i].problem)
				continue
			}
			added, err := put(tx, &items[i])
			var refused *fault.Error
			switch {
			case errors.As(err, &refused):
				o.Skipped = rowMessage(err)
			case err != nil:
				return err
			default:
				o.Added, o.Updated = added, !added
			}
		}
		if dry != nil {
			return errDryRun
		}
		return nil
	})
	if !errors.Is(err, errDryRun) {
		return done, err
	}
	for i := range done {
		if done[i].Skipped == "" && dry.add(&items[i]) {
			done[i].Added, done[i].Updated = false, true
		}
	}
	return done, nil
}

// rowMessage returns all problems of a row in one line, without the error code.
func rowMessage(err error) string {
	var wrong *fault.Error
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	var all []string
	for _, d := range wrong.Details {
		all = append(all, d.Path+": "+d.Message)
	}
	return strings.Join(all, "; ")
}

func newItem[T any](columns *rows.Columns[*rows.Target], row *rows.Row, skipRow bool) item[T] {
	var it item[T]
	cells, dropped := columns.Read(row)
	it.dropped = dropped
	body := shape.Value{Kind: shape.Object, Members: make([]shape.Member, 0, len(cells))}
	for i := range cells {
		c := &cells[i]
		switch v := clean(c.Target, c.Value); {
		case v.Kind == shape.Absent:
		case c.Target.Member != employerColumn:
			body.Members = append(body.Members, shape.Member{Key: c.Target.Member, Value: v})
		case v.Kind != shape.String:
			it.drop(c, "must be a string")
		default:
			it.setEmployer(c, v.Text)
		}
	}
	for {
		var problems fault.Problems
		it.rec = *new(T)
		shape.Decode(body, &it.rec, shape.Partial, &problems)
		if problems.Count() == 0 || !it.dropInvalid(&body, cells, problems.Details()) {
			it.problem = problems.Err()
			break
		}
	}
	if i := slices.IndexFunc(it.dropped, func(d rows.Dropped) bool { return !d.Notice }); skipRow && i >= 0 && it.problem == nil {
		d := it.dropped[i]
		it.problem = fmt.Errorf("%s: %s %s", d.Column, shape.Quote(d.Value), d.Message)
	}
	return it
}

func (it *item[T]) drop(c *rows.Cell[*rows.Target], message string) {
	message = strings.TrimPrefix(message, shape.Quote(c.Value.Text)+" ")
	it.dropped = append(it.dropped, rows.Dropped{Column: c.Column, Value: c.Text, Message: message})
}

// setEmployer sets the website of a person's employer.
func (it *item[T]) setEmployer(c *rows.Cell[*rows.Target], website string) {
	if _, _, err := address.SplitWebsite(website); err != nil {
		it.drop(c, "is not a website or domain such as acme.example")
		return
	}
	it.employer = website
}

// dropInvalid removes the values with problems from the body, and reports whether there were any.
func (it *item[T]) dropInvalid(body *shape.Value, cells []rows.Cell[*rows.Target], problems []fault.Detail) (any bool) {
	for _, d := range problems {
		member, _, _ := strings.Cut(d.Path, "[")
		if member == "id" { // without it, the row would be another record
			continue
		}
		at := slices.IndexFunc(cells, func(c rows.Cell[*rows.Target]) bool { return c.Target.Member == member })
		before := len(body.Members)
		body.Members = slices.DeleteFunc(body.Members, func(m shape.Member) bool { return m.Key == member })
		if at >= 0 && len(body.Members) < before {
			it.drop(&cells[at], d.Message)
			any = true
		}
	}
	return any
}

// clean returns a value in the form that is stored, or an absent value if it is empty. It accepts numbers as
// ids, and one entry as a list.
func clean(t *rows.Target, v shape.Value) shape.Value {
	isID := t.Member == "id" || t.Member == "company_id"
	if isID && v.Kind == shape.Num {
		v.Kind = shape.String
	}
	switch v.Kind {
	case shape.String:
		if isID {
			v.Text = strings.TrimSpace(v.Text)
		}
		if v.Text == "" {
			return shape.Value{}
		}
	case shape.List:
		entries := make([]shape.Value, 0, len(v.Items))
		for _, entry := range v.Items {
			if entry.Kind == shape.String {
				entry.Text = strings.TrimSpace(entry.Text)
			}
			if entry.Kind != shape.String || entry.Text != "" {
				entries = append(entries, entry)
			}
		}
		if v.Items = entries; len(entries) == 0 {
			return shape.Value{}
		}
	}
	return v
}
