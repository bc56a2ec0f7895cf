package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// item is a company or a person that is being added to the catalog. Fields without a value in rec
// do not change an existing record.
type item[T any] struct {
	rec      T
	employer string   // of a person: the website of the employer, used when rec has no company id
	line     int      // of the row
	dropped  []string // the columns whose invalid values are dropped
	problem  error    // why the row is refused, or nil
}

// employerColumn is the column of a table of people that names the employer by its website.
const employerColumn = "company_website"

// CompanyFields returns the fields that the columns of a table of companies can set.
func CompanyFields() rows.Fields[*rows.Target] { return fieldsOf[Company]("companies") }

// PersonFields returns the fields that the columns of a table of people can set.
func PersonFields() rows.Fields[*rows.Target] {
	fields := fieldsOf[Person]("people")
	fields.Targets[employerColumn] = &rows.Target{Column: employerColumn, Member: employerColumn, Field: *shape.Of[Company]().Field("website")}
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
// found by their id or, if a row has no id, by the registrable domain of their website. renamed maps column
// names to field names. If the import fails, the rows that were written before stay.
func (c *Catalog) ImportCompanies(
	ctx context.Context, st *store.Store, table *rows.Reader, renamed map[string]string,
) (rows.Result, error) {
	return load(ctx, st, table, renamed, CompanyFields(), c.putCompany)
}

// ImportPeople does the same for people. They are found by their id, or else by their LinkedIn URL,
// or else by their email.
func (c *Catalog) ImportPeople(
	ctx context.Context, st *store.Store, table *rows.Reader, renamed map[string]string,
) (rows.Result, error) {
	return load(ctx, st, table, renamed, PersonFields(), c.putPerson)
}

// putFunc stores an item. When it refuses the item, it returns a fault.Error and has written
// nothing.
type putFunc[T any] func(*store.Tx, *item[T]) (added bool, err error)

func load[T any](
	ctx context.Context, st *store.Store, table *rows.Reader, renamed map[string]string, fields rows.Fields[*rows.Target],
	put putFunc[T],
) (rows.Result, error) {
	columns, err := rows.NewColumns(table.Columns, renamed, fields)
	if err != nil {
		return rows.Result{}, err
	}
	dropped := droppedValues{}
	result, err := rows.Load(ctx, table, rows.Sink[item[T]]{
		Make: func(table []rows.Row) ([]item[T], error) {
			items := make([]item[T], len(table))
			for i := range table {
				items[i] = newItem[T](columns, &table[i])
			}
			return items, nil
		},
		Put: func(items []item[T]) ([]rows.Outcome, error) {
			done, err := putAll(ctx, st, "catalog import", items, put)
			for i := range items {
				if err == nil && done[i].Err == nil {
					dropped.add(items[i].line, items[i].dropped)
				}
			}
			return done, err
		},
	})
	result.Warnings = append(columns.Warnings(), dropped.warnings()...)
	return result, err
}

// putAll stores items in one transaction, except those that are refused.
func putAll[T any](
	ctx context.Context, st *store.Store, operation string, items []item[T], put putFunc[T],
) ([]rows.Outcome, error) {
	done := make([]rows.Outcome, len(items))
	err := st.Update(ctx, Org, store.Actor{Operation: operation}, func(tx *store.Tx) error {
		for i := range items {
			if done[i].Err = items[i].problem; done[i].Err != nil {
				continue
			}
			added, err := put(tx, &items[i])
			var refused *fault.Error
			if err != nil && !errors.As(err, &refused) {
				return err
			}
			done[i] = rows.Outcome{Added: added, Err: err}
		}
		return nil
	})
	return done, err
}

func newItem[T any](columns *rows.Columns[*rows.Target], row *rows.Row) item[T] {
	it := item[T]{line: row.Line}
	body := shape.Value{Kind: shape.Object, Members: make([]shape.Member, 0, 16)}
	var problems fault.Problems
	columns.Each(row, &problems, func(t *rows.Target, v shape.Value) {
		switch v = clean(t, v); {
		case v.Kind == shape.Absent:
		case t.Member != employerColumn:
			body.Members = append(body.Members, shape.Member{Key: t.Member, Value: v})
		case v.Kind != shape.String:
			problems.Invalid(employerColumn, "must be a string")
		default:
			it.setEmployer(v.Text)
		}
	})
	before := problems
	shape.Decode(body, &it.rec, shape.Partial, &problems)
	if problems.Count() > before.Count() && it.dropInvalid(&body) {
		problems = before
		shape.Decode(body, &it.rec, shape.Partial, &problems)
	}
	it.problem = problems.Err()
	return it
}

// setEmployer sets the website of a person's employer.
func (it *item[T]) setEmployer(website string) {
	if _, _, err := address.SplitWebsite(website); err != nil {
		it.dropped = append(it.dropped, employerColumn)
		return
	}
	it.employer = website
}

// dropInvalid removes the strings that do not have the format of their field, and reports whether
// there were any. A website such as "http://" is not a reason to refuse the whole row.
func (it *item[T]) dropInvalid(body *shape.Value) bool {
	fields := shape.Of[T]()
	body.Members = slices.DeleteFunc(body.Members, func(m shape.Member) bool {
		f := fields.Field(m.Key)
		invalid := f != nil && m.Value.Kind == shape.String && !strings.Contains(m.Value.Text, "\x00") && !f.HasFormat(m.Value.Text)
		if invalid {
			it.dropped = append(it.dropped, m.Key)
		}
		return invalid
	})
	return len(it.dropped) > 0
}

// clean returns a value in the form that is stored, or an absent value if it is empty. It removes
// spaces around everything except free text, accepts numbers as ids, and accepts the values of an
// enum in any case.
func clean(t *rows.Target, v shape.Value) shape.Value {
	isID := t.Member == "id" || t.Member == "company_id"
	if isID && v.Kind == shape.Num {
		v.Kind = shape.String
	}
	if t.List && v.Kind == shape.String {
		v = t.Entries(v.Text)
	}
	switch v.Kind {
	case shape.String:
		bare := strings.TrimSpace(v.Text)
		switch {
		case bare == "":
			return shape.Value{}
		case t.Field.Enum != nil:
			if i := slices.IndexFunc(t.Field.Enum, func(key string) bool { return strings.EqualFold(key, bare) }); i >= 0 {
				bare = t.Field.Enum[i]
			}
			v.Text = bare
		case isID || t.Field.Format != "":
			v.Text = bare
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

// droppedValues are the rows that were imported without an invalid value, by column.
type droppedValues map[string]*droppedColumn

type droppedColumn struct {
	count int
	lines []string // the first maxDroppedLines
}

// maxDroppedLines is how many lines a warning lists.
const maxDroppedLines = 5

func (d droppedValues) add(line int, columns []string) {
	for _, column := range columns {
		if d[column] == nil {
			d[column] = &droppedColumn{}
		}
		if d[column].count++; d[column].count <= maxDroppedLines {
			d[column].lines = append(d[column].lines, strconv.Itoa(line))
		}
	}
}

func (d droppedValues) warnings() []string {
	var list []string
	for column, dropped := range d {
		lines := strings.Join(dropped.lines, ", ")
		if dropped.count > maxDroppedLines {
			lines += ", …"
		}
		list = append(list, fmt.Sprintf("rows imported without their invalid %s: %d (line %s)", column, dropped.count, lines))
	}
	slices.Sort(list)
	return list
}
