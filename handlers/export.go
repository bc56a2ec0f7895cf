package handlers

import (
	"bytes"
	"encoding/csv"
	"net/http"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/rows"
	"prospector/internal/shape"
)

// ExportBody is the body of an export: that of a list, without paging.
type ExportBody struct {
	Filters shape.Value `json:"filters" rule:"component=Filters"`
	Sort    string      `json:"sort" doc:"A field key, - before it for descending; several with commas."`
	Search  string      `json:"search" doc:"Words; each must begin some word of the record's text fields, without case."`
	Format  string      `json:"format" rule:"default=jsonl,enum=jsonl|csv" doc:"A record in JSON on each line, or a table with a header, in which lists are joined with | and a text that a spreadsheet would take for a formula, or that begins with an apostrophe, has an apostrophe before it."`
}

// exported is what an export answers.
type exported struct {
	format string
	write  func(out *stream) error
}

const (
	typeJSONL = "application/x-ndjson"
	typeCSV   = "text/csv; charset=utf-8"
)

func (exported) output() outputSource { return outputSource{streams: []string{typeJSONL, "text/csv"}} }

// exportOperation streams a whole list. Records are read some at a time, so that a slow reader holds nothing open.
func exportOperation(kind *index.Kind) Operation {
	return plain(Operation{
		Name: "export_" + kind.Entity, Method: http.MethodPost, Path: "/v1/" + kind.Entity + "/export", Access: identity.Read, lists: kind,
		Summary: "Stream all " + kind.Entity + " of a list, as JSON lines or CSV",
	}, func(c *call, body exports) (exported, error) {
		var in ExportBody
		var p fault.Problems
		shape.Decode(body.Value, &in, shape.Create, &p)
		compile := compiled(kind, index.ListBody{Filters: in.Filters, Sort: in.Sort, Search: in.Search, Page: 1, PageSize: 1}, p)
		format := jsonLines
		if in.Format == "csv" {
			format = (&table{kind: kind}).write
		}
		return exported{format: in.Format, write: func(out *stream) error {
			return c.api.Index.Export(c.principal.Org, kind, compile, func(cs *index.Customs, lines []byte) error {
				return format(out, cs, lines)
			})
		}}, nil
	})
}

func (e exported) answer(kind *index.Kind) answer {
	a := answer{status: http.StatusOK, contentType: typeJSONL, stream: e.write}
	if e.format == "csv" {
		a.contentType = typeCSV
	}
	a.header = http.Header{"Content-Disposition": {`attachment; filename="` + kind.Entity + "." + e.format + `"`}}
	return a
}

func jsonLines(out *stream, _ *index.Customs, lines []byte) error {
	_, err := out.Write(lines)
	return err
}

// table writes records as CSV. Its columns are the fields that there are when it begins.
type table struct {
	kind    *index.Kind
	columns *index.Customs // nil before the header
}

func (t *table) write(out *stream, cs *index.Customs, lines []byte) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // with bare line feeds: for others it would take the carriage returns out of the cells
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

func (t *table) cells(cs *index.Customs, public []byte) ([]string, error) {
	rec, custom, err := t.kind.Decode(public)
	if err != nil {
		return nil, err
	}
	cells := make([]string, 0, len(t.kind.Fields)+len(t.columns.Fields))
	for _, f := range t.kind.Fields {
		cells = append(cells, cell(f.Type, f.Listed(rec)))
	}
	for _, f := range t.columns.Fields {
		if now := cs.Find(f.Key); now == nil || now.ID != f.ID { // the column is that of a field which is gone
			cells = append(cells, "")
		} else {
			cells = append(cells, cell(f.Type, custom[f.Key]))
		}
	}
	return cells, nil
}

// cell is a value as the cell of a table. Numbers and times are what they seem; of texts spreadsheets are kept from making
// formulas.
func cell(typ shape.Type, v any) string {
	text := shape.TextOf(v)
	if typ != shape.TypeText && typ != shape.TypeEnum && typ != shape.TypeMulti {
		return text
	}
	return rows.EscapeFormula(text)
}
