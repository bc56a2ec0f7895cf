package handlers

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// ExportQuery asks for a table that people open in a spreadsheet.
type ExportQuery struct {
	For    string        `json:"for" rule:"enum=excel" doc:"excel writes CSV for a spreadsheet: with a byte order mark, the labels of the fields, names instead of ids, times in the zone of the organization, and the separators of the locale."`
	Locale string        `json:"locale" rule:"maxlen=35" doc:"How numbers are written, such as de: where the decimal separator is a comma, cells are separated by semicolons. The default is en."`
	ViewID uuid.NullUUID `json:"view_id" label:"View ID" doc:"A view of these records. It gives the columns and, where the body has none, the filters, the search and the sort."`
}

// byteOrderMark tells a spreadsheet that a file is UTF-8.
const byteOrderMark = "\ufeff"

// spreadsheet is how a table for a spreadsheet is written.
type spreadsheet struct {
	columns []string // keys of fields; empty for all
	comma   bool     // the decimal separator
	zone    *time.Location
}

// spreadsheet returns how the caller wants a table for a spreadsheet, or nil if it wants none or p has a problem. A view that the
// query names completes the body.
func (a *API) spreadsheet(c *call, kind *index.Kind, in *ExportBody, p *fault.Problems) (*spreadsheet, error) {
	var q ExportQuery
	shape.Decode(c.query, &q, shape.Create, p)
	for field, isGiven := range map[string]bool{"locale": q.Locale != "", "view_id": q.ViewID.Valid, "columns": len(in.Columns) > 0} {
		if isGiven && q.For == "" {
			p.Invalid(field, "requires for=excel")
		}
	}
	if q.For == "" || p.Count() > 0 {
		return nil, nil
	}
	style, err := rows.ParseLocale(cmp.Or(q.Locale, "en"))
	if err != nil {
		p.Invalid("locale", "%v", err)
	}
	s := &spreadsheet{columns: in.Columns, comma: style.Comma}
	return s, a.Store.View(c.org(), func(tx *store.Tx) error {
		org, err := a.Identity.Organizations.Get(tx, tx.Org())
		if err == nil {
			s.zone, err = time.LoadLocation(org.Record.TimeZone)
		}
		if err == nil {
			err = s.checkColumns(tx, kind, p)
		}
		if err != nil || !q.ViewID.Valid {
			return err
		}
		return s.useView(tx, a, kind, q.ViewID.UUID, in, p)
	})
}

// checkColumns reports columns that the records do not have.
func (s *spreadsheet) checkColumns(tx *store.Tx, kind *index.Kind, p *fault.Problems) error {
	cs, err := kind.Customs(tx)
	if err != nil {
		return err
	}
	for i, key := range s.columns {
		if kind.Field(key) == nil && cs.Find(key) == nil {
			p.Invalid(fmt.Sprintf("columns[%d]", i), "%s is not a field of %s", shape.Quote(key), kind.Entity)
		}
	}
	return nil
}

// useView completes the body with what a view says.
func (s *spreadsheet) useView(tx *store.Tx, a *API, kind *index.Kind, id uuid.UUID, in *ExportBody, p *fault.Problems) error {
	doc, err := a.CRM.Views.Get(tx, id)
	if fault.CodeOf(err) == fault.NotFound {
		p.Invalid("view_id", "%s does not exist", id)
		return nil
	}
	if err != nil {
		return err
	}
	view := &doc.Record
	if view.Entity != kind.Entity {
		p.Invalid("view_id", "is a view of %s", view.Entity)
	}
	if len(s.columns) == 0 {
		s.columns = view.Columns
	}
	if in.Filters.Kind == shape.Absent || in.Filters.Kind == shape.Null {
		in.Filters = view.FilteringRules
	}
	if in.Search == "" && view.SearchingRule != nil {
		in.Search = view.SearchingRule.Value
	}
	in.Sort = cmp.Or(in.Sort, string(view.Sort))
	return nil
}

func (s *spreadsheet) delimiter() rune {
	if s.comma {
		return ';'
	}
	return ','
}

// choose returns the columns, with the labels of the fields. Fields that do not exist any more are left out.
func (s *spreadsheet) choose(t *table, cs *filter.CustomFields) (chosen []tableColumn) {
	byKey := map[string]tableColumn{}
	keys := s.columns
	for _, c := range t.allColumns(cs) { // the names of a reference come after its ids, and are shown instead
		if _, has := byKey[c.field.Key]; !has && len(s.columns) == 0 {
			keys = append(keys, c.field.Key)
		}
		c.header = c.field.Label
		byKey[c.field.Key] = c
	}
	for _, key := range keys {
		if c, has := byKey[key]; has {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// cell returns a value as people read it in a spreadsheet.
func (s *spreadsheet) cell(typ shape.Type, v any) string {
	if list, is := v.([]string); is {
		return rows.EscapeFormula(strings.Join(list, ", "))
	}
	text := shape.TextOf(v)
	switch typ {
	case shape.TypeNumber:
		if s.comma {
			text = strings.Replace(text, ".", ",", 1)
		}
		return text
	case shape.TypeDateTime:
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return at.In(s.zone).Format(time.DateTime)
		}
		return text
	case shape.TypeBoolean, shape.TypeDate:
		return text
	}
	return rows.EscapeFormula(text)
}
