package handlers

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"slices"
	"strconv"

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
		Name: "export_" + kind.Entity, Method: http.MethodPost, Path: "/v1/" + kind.Entity + "/export",
		Access: identity.Read, listKind: kind,
		Summary: "Export all matching " + kind.Entity + " as JSON lines or CSV",
	}, func(c *call, body exportBody) (exported, error) {
		var in ExportBody
		var p fault.Problems
		shape.Decode(body.Value, &in, shape.Create, &p)
		compile := c.compileQuery(kind, filter.ListBody{Filters: in.Filters, Sort: in.Sort, Search: in.Search}, p)
		names := &exportNames{columns: columns}
		format := (&lineWriter{names: names}).format
		if in.Format == "csv" {
			format = (&table{kind: kind, names: names}).format
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

// table formats records as CSV. Its columns are the fields that exist when the export begins. A column of names
// follows that of the references.
type table struct {
	kind    *index.Kind
	names   *exportNames
	columns *filter.CustomFields // nil until the header is written
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

func (t *table) format(tx *store.Tx, cs *filter.CustomFields, lines []byte) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // lines end with LF: with UseCRLF the writer would remove carriage returns from cells
	if t.columns == nil {
		t.columns = cs
		var header []string
		for _, f := range t.kind.Fields {
			header = append(header, f.Key)
			if c := t.nameColumn(f.Key); c != nil {
				header = append(header, c.key)
			}
		}
		for _, f := range cs.Fields {
			header = append(header, f.Key)
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
	cells := make([]string, 0, len(t.kind.Fields)+len(t.names.columns)+len(t.columns.Fields))
	for _, f := range t.kind.Fields {
		cells = append(cells, cell(f.Type, f.Listed(rec)))
		if c := t.nameColumn(f.Key); c != nil {
			var names []string
			if err := t.names.each(tx, c, public, func(n knownName) { names = append(names, n.text) }); err != nil {
				return nil, err
			}
			cells = append(cells, cell(shape.TypeText, names))
		}
	}
	for _, f := range t.columns.Fields {
		if now := cs.Find(f.Key); now == nil || now.ID != f.ID { // the field was deleted during the export
			cells = append(cells, "")
		} else {
			cells = append(cells, cell(f.Type, custom[f.Key]))
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
