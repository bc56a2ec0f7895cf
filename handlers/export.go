package handlers

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// ExportBody is the body of an export: the body of a list without paging.
type ExportBody struct {
	Filters shape.Value `json:"filters" rule:"component=Filters"`
	Sort    string      `json:"sort" doc:"Field keys separated by commas, each with a leading - for descending order."`
	Search  string      `json:"search" doc:"Search words. Each must be the beginning of a word in a text field of the record, ignoring case."`
	Columns []string    `json:"columns" rule:"maxlen=200" doc:"The keys of the fields to write, in this order, with for=excel. Empty means those of the view, or all."`
	Format  string      `json:"format" rule:"default=jsonl,enum=jsonl|csv" doc:"jsonl writes one JSON record per line. Both formats have the names of the records that a record refers to, such as account_name and tag_names. csv writes a table with a header row, in which lists are joined with |. In csv, an apostrophe is put before text that a spreadsheet would interpret as a formula, and before text that begins with an apostrophe."`
}

// exported is the result of an export.
type exported struct {
	format string
	write  func(out *stream) error
}

// damagedTrailer is the trailer of an export that left out damaged records. It has their number.
const damagedTrailer = "X-Damaged-Records"

const (
	typeJSONL = "application/x-ndjson"
	typeCSV   = "text/csv; charset=utf-8"
)

func (exported) output() outputSource { return outputSource{streams: []string{typeJSONL, "text/csv"}} }

// exportOperation streams a whole list. Records are read in chunks, so that a slow client never pins a
// read transaction. present, if it is not nil, changes how they are shown. The names of the records that they refer
// to are added.
func (a *API) exportOperation(kind *index.Kind, present presenter) Operation {
	columns := a.nameColumns(kind)
	return withoutTx(Operation{
		Name: "export_" + strings.ReplaceAll(kind.Entity, "-", "_"), Method: http.MethodPost, Path: "/v1/" + kind.Entity + "/export",
		Access: identity.Read, listKind: kind, query: reflect.TypeFor[ExportQuery](),
		Summary: "Export all matching " + kind.Entity + " as JSON lines or CSV",
	}, func(c *call, body exportBody) (exported, error) {
		var in ExportBody
		var p fault.Problems
		shape.Decode(body.Value, &in, shape.Create, &p)
		sheet, err := a.spreadsheet(c, kind, &in, &p)
		if err != nil {
			return exported{}, err
		}
		compile := c.compileQuery(kind, filter.ListBody{Filters: in.Filters, Sort: in.Sort, Search: in.Search}, p)
		names := &exportNames{columns: columns}
		format := (&lineWriter{names: names}).format
		if in.Format == "csv" || sheet != nil {
			format = (&table{kind: kind, names: names, sheet: sheet}).format
		}
		if sheet != nil {
			in.Format = "csv"
		}
		return exported{format: in.Format, write: func(out *stream) error {
			damaged, err := c.api.Index.Export(c.request.Context(), c.principal.Org, kind, compile, func(cs *filter.CustomFields, lines []byte) error {
				if present != nil {
					records, err := present(c, slices.Collect(bytes.Lines(lines)))
					if err != nil {
						return err
					}
					lines = joinLines(records)
				}
				err := a.Store.View(c.org(), func(tx *store.Tx) (err error) {
					lines, err = format(tx, cs, lines)
					return err
				})
				if err == nil {
					_, err = out.Write(lines)
				}
				return err
			})
			if damaged > 0 {
				out.trailer(damagedTrailer, strconv.Itoa(damaged))
				c.api.Log.Error("export leaves out damaged records", "request_id", c.requestID, "operation", c.opName(), "damaged", damaged)
			}
			return err
		}}, nil
	})
}

func (e exported) response(kind *index.Kind) response {
	a := response{status: http.StatusOK, contentType: typeJSONL, stream: e.write}
	if e.format == "csv" {
		a.contentType = typeCSV
	}
	a.header = http.Header{
		"Content-Disposition": {`attachment; filename="` + kind.Entity + "." + e.format + `"`},
		"Trailer":             {damagedTrailer},
	}
	return a
}

// joinLines joins records to lines, each with one line end.
func joinLines(records [][]byte) (lines []byte) {
	for _, r := range records {
		lines = append(append(lines, bytes.TrimSuffix(r, []byte("\n"))...), '\n')
	}
	return lines
}

// lineWriter formats records as JSON lines. Its buffer is used again.
type lineWriter struct {
	names  *exportNames
	buffer []byte
}

func (w *lineWriter) format(tx *store.Tx, _ *filter.CustomFields, lines []byte) (_ []byte, err error) {
	if len(w.names.columns) == 0 {
		return lines, nil
	}
	w.buffer = w.buffer[:0]
	for line := range bytes.Lines(lines) {
		if w.buffer, err = w.names.append(w.buffer, tx, line); err != nil {
			return nil, err
		}
	}
	return w.buffer, nil
}

// table formats records as CSV. Its columns are decided when the export begins.
type table struct {
	kind    *index.Kind
	names   *exportNames
	sheet   *spreadsheet  // nil for a table that programs read
	columns []tableColumn // nil until the header is written
}

// tableColumn is a column of a table. It has the values of a field or the names of the records in a reference.
type tableColumn struct {
	header string
	field  *filter.Field
	custom bool
	names  *nameColumn // nil for the values
}

// nameColumn returns the column with the names of a field, or nil.
func (t *table) nameColumn(field string) *nameColumn {
	for i := range t.names.columns {
		if t.names.columns[i].field == field {
			return &t.names.columns[i]
		}
	}
	return nil
}

// allColumns returns the columns of a table that programs read: all fields, each reference followed by its names.
func (t *table) allColumns(cs *filter.CustomFields) (all []tableColumn) {
	for i := range t.kind.Fields {
		f := &t.kind.Fields[i]
		all = append(all, tableColumn{header: f.Key, field: f})
		if c := t.nameColumn(f.Key); c != nil {
			all = append(all, tableColumn{header: c.key, field: f, names: c})
		}
	}
	for i := range cs.ListFields {
		all = append(all, tableColumn{header: cs.ListFields[i].Key, field: &cs.ListFields[i], custom: true})
	}
	return all
}

func (t *table) format(tx *store.Tx, cs *filter.CustomFields, lines []byte) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // lines end with LF: with UseCRLF the writer would remove carriage returns from cells
	if t.sheet != nil {
		w.Comma = t.sheet.delimiter()
	}
	if t.columns == nil {
		if t.columns = t.allColumns(cs); t.sheet != nil {
			b.WriteString(byteOrderMark)
			t.columns = t.sheet.choose(t, cs)
		}
		header := make([]string, len(t.columns))
		for i := range t.columns {
			header[i] = t.columns[i].header
		}
		if err := w.Write(header); err != nil {
			return nil, err
		}
	}
	for public := range bytes.Lines(lines) {
		cells, err := t.cells(tx, cs, public)
		if err != nil {
			return nil, err
		}
		if err := w.Write(cells); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func (t *table) cells(tx *store.Tx, cs *filter.CustomFields, public []byte) ([]string, error) {
	rec, custom, err := t.kind.Decode(public)
	if err != nil {
		return nil, err
	}
	cells := make([]string, len(t.columns))
	for i := range t.columns {
		c := &t.columns[i]
		var value any
		typ := c.field.Type
		switch {
		case c.names != nil:
			names := []string{}
			if err := t.names.each(tx, c.names, public, func(n knownName) { names = append(names, n.text) }); err != nil {
				return nil, err
			}
			typ, value = shape.TypeText, names
		case c.custom:
			if now := cs.Find(c.field.Key); now == nil || filter.CustomNamePrefix+now.ID.String() != c.field.Name { // deleted during the export
				continue
			}
			value = custom[c.field.Key]
		default:
			value = c.field.Listed(rec)
		}
		if t.sheet != nil {
			cells[i] = t.sheet.cell(typ, value)
		} else {
			cells[i] = cell(typ, value)
		}
	}
	return cells, nil
}

// cell returns a value as the text of a CSV cell. Text that a spreadsheet would interpret as a formula is
// escaped.
func cell(typ shape.Type, v any) string {
	text := shape.TextOf(v)
	if typ != shape.TypeText && typ != shape.TypeEnum && typ != shape.TypeMulti {
		return text
	}
	return rows.EscapeFormula(text)
}
