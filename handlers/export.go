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
)

// ExportBody is the body of an export: the body of a list without paging.
type ExportBody struct {
	Filters shape.Value `json:"filters" rule:"component=Filters"`
	Sort    string      `json:"sort" doc:"Field keys separated by commas, each with a leading - for descending order."`
	Search  string      `json:"search" doc:"Search words. Each must be the beginning of a word in a text field of the record, ignoring case."`
	Format  string      `json:"format" rule:"default=jsonl,enum=jsonl|csv" doc:"jsonl writes one JSON record per line. csv writes a table with a header row, in which lists are joined with |. In csv, an apostrophe is put before text that a spreadsheet would interpret as a formula, and before text that begins with an apostrophe."`
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
// read transaction. present, if it is not nil, changes how they are shown.
func exportOperation(kind *index.Kind, present presenter) Operation {
	return withoutTx(Operation{
		Name: "export_" + kind.Entity, Method: http.MethodPost, Path: "/v1/" + kind.Entity + "/export",
		Access: identity.Read, listKind: kind,
		Summary: "Export all matching " + kind.Entity + " as JSON lines or CSV",
	}, func(c *call, body exportBody) (exported, error) {
		var in ExportBody
		var p fault.Problems
		shape.Decode(body.Value, &in, shape.Create, &p)
		compile := c.compileQuery(kind, filter.ListBody{Filters: in.Filters, Sort: in.Sort, Search: in.Search}, p)
		format := jsonLines
		if in.Format == "csv" {
			format = (&table{kind: kind}).write
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
				return format(out, cs, lines)
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

func jsonLines(out *stream, _ *filter.CustomFields, lines []byte) error {
	_, err := out.Write(lines)
	return err
}

// table writes records as CSV. Its columns are the fields that exist when the export begins.
type table struct {
	kind    *index.Kind
	columns *filter.CustomFields // nil until the header is written
}

func (t *table) write(out *stream, cs *filter.CustomFields, lines []byte) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // lines end with LF: with UseCRLF the writer would remove carriage returns from cells
	if t.columns == nil {
		t.columns = cs
		var header []string
		for _, f := range t.kind.Fields {
			header = append(header, f.Key)
		}
		for _, f := range cs.Fields {
			header = append(header, f.Key)
		}
		if err := w.Write(header); err != nil {
			return err
		}
	}
	for public := range bytes.Lines(lines) {
		cells, err := t.cells(cs, public)
		if err != nil {
			return err
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

func (t *table) cells(cs *filter.CustomFields, public []byte) ([]string, error) {
	rec, custom, err := t.kind.Decode(public)
	if err != nil {
		return nil, err
	}
	cells := make([]string, 0, len(t.kind.Fields)+len(t.columns.Fields))
	for _, f := range t.kind.Fields {
		cells = append(cells, cell(f.Type, f.Listed(rec)))
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
