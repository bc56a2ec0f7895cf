package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// An item is a company or a person on the way into the catalogue: what is known of it. What has no value in rec leaves what is
// there.
type item[T any] struct {
	rec      T
	employer string   // of a person: the domain of the company, which counts when rec names none
	line     int      // of the row that it is made of
	lost     []string // the columns whose values are none of theirs, and are left out
	problem  error
}

// employerColumn is the column of people that names the employer by its website.
const employerColumn = "company_website"

// CompanyFields and PersonFields are what tables of the catalogue can have.
func CompanyFields() rows.Fields[*rows.Target] { return fieldsOf[Company]("companies") }

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

// ImportCompanies adds the companies of a table to the catalogue, or updates them: by their id or, where a row has none, by the
// domain of the website. renamed gives other columns the names of fields. What was put before a failure stays.
func (c *Catalog) ImportCompanies(ctx context.Context, st *store.Store, table *rows.Reader, renamed map[string]string) (rows.Result, error) {
	return load(ctx, st, table, renamed, CompanyFields(), c.putCompany)
}

// ImportPeople does the same for people, who are found by their id, else by their LinkedIn URL, else by their email.
func (c *Catalog) ImportPeople(ctx context.Context, st *store.Store, table *rows.Reader, renamed map[string]string) (rows.Result, error) {
	return load(ctx, st, table, renamed, PersonFields(), c.putPerson)
}

// putting writes an item down. One that is refused is a fault, and has written nothing.
type putting[T any] func(*store.Tx, *item[T]) (added bool, err error)

func load[T any](ctx context.Context, st *store.Store, table *rows.Reader, renamed map[string]string, fields rows.Fields[*rows.Target], put putting[T]) (rows.Result, error) {
	columns, err := rows.NewColumns(table.Columns, renamed, fields)
	if err != nil {
		return rows.Result{}, err
	}
	lost := losses{}
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
					lost.note(items[i].line, items[i].lost)
				}
			}
			return done, err
		},
	})
	result.Warnings = append(columns.Warnings(), lost.warnings()...)
	return result, err
}

// putAll writes items down in one transaction, but for those that are refused.
func putAll[T any](ctx context.Context, st *store.Store, operation string, items []item[T], put putting[T]) ([]rows.Outcome, error) {
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
			it.named(v.Text)
		}
	})
	before := problems
	shape.Decode(body, &it.rec, shape.Partial, &problems)
	if problems.Count() > before.Count() && it.loses(&body) {
		problems = before
		shape.Decode(body, &it.rec, shape.Partial, &problems)
	}
	it.problem = problems.Err()
	return it
}

// named takes in the website of a person's employer.
func (it *item[T]) named(website string) {
	domain, err := shape.Domain(website)
	if err != nil {
		it.lost = append(it.lost, employerColumn)
	}
	it.employer = domain
}

// loses takes the texts out of a row that are none of their format: a website such as "http://" is no reason to refuse the rest.
func (it *item[T]) loses(body *shape.Value) bool {
	fields := shape.Of[T]()
	body.Members = slices.DeleteFunc(body.Members, func(m shape.Member) bool {
		f := fields.Field(m.Key)
		lost := f != nil && m.Value.Kind == shape.String && !strings.Contains(m.Value.Text, "\x00") && !f.HasFormat(m.Value.Text)
		if lost {
			it.lost = append(it.lost, m.Key)
		}
		return lost
	})
	return len(it.lost) > 0
}

// clean gives a value in the form that is kept; absent when it is none. Around what is no free text spaces mean nothing, a number
// is as good an id as a text, and a key is taken in whatever case.
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

// losses are the lines of the rows that were kept without a value, by its column.
type losses map[string]*loss

type loss struct {
	count int
	lines []string // the first of them
}

// lossesTold is how many lines are told.
const lossesTold = 5

// note notes what a row that is kept has lost.
func (l losses) note(line int, columns []string) {
	for _, column := range columns {
		if l[column] == nil {
			l[column] = &loss{}
		}
		if l[column].count++; l[column].count <= lossesTold {
			l[column].lines = append(l[column].lines, fmt.Sprint(line))
		}
	}
}

func (l losses) warnings() []string {
	var list []string
	for column, lost := range l {
		lines := strings.Join(lost.lines, ", ")
		if lost.count > lossesTold {
			lines += ", …"
		}
		list = append(list, fmt.Sprintf("rows kept without %s because theirs is none: %d (line %s)", column, lost.count, lines))
	}
	slices.Sort(list)
	return list
}
