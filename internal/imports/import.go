package imports

import (
	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// Status is the status of an import.
type Status string

const (
	running   Status = "running"
	completed Status = "completed"
	failed    Status = "failed"
	cancelled Status = "cancelled"
)

// FileImport is the import of a file. TAM Imports are something else: they import Previews.
type FileImport struct {
	record.Head
	Entity         string       `json:"entity" rule:"required,enum=contacts|accounts|suppressions"`
	DryRun         bool         `json:"dry_run" doc:"Nothing is written. The counts and problems are those that the import would have."`
	FileName       shape.Text   `json:"file_name"`
	FileBytes      int          `json:"file_bytes" doc:"The size of the file."`
	Encoding       shape.Text   `json:"encoding" doc:"The encoding of the file, detected unless it was given."`
	EncodingUnsure bool         `json:"encoding_unsure" doc:"Another encoding is almost as probable. If letters are wrong, import the file with the right encoding."`
	Delimiter      shape.Text   `json:"delimiter" doc:"What separates the cells of a CSV file. Null for other formats."`
	Status         Status       `json:"status" rule:"required,enum=running|completed|failed|cancelled" doc:"An import is running from the start of its upload."`
	Progress       shape.Number `json:"progress" doc:"From 0 to 1."`
	rows.Counts
	Changes        []rows.ChangedField `json:"changes" doc:"What rows changed in records that they found, by field."`
	Problems       []rows.Problem      `json:"problems" doc:"Why rows were skipped and values were dropped, in at most 1,000 groups. While the import is running, they may be a second old."`
	RejectsOmitted int                 `json:"rejects_omitted" doc:"Skipped rows that the rejects do not contain, because they would have more than 64 MiB."`
	Warnings       []string            `json:"warnings" doc:"Columns and sheets that were ignored."`
	UserID         uuid.NullUUID       `json:"user_id" label:"User ID" doc:"The user of the API key or session that started the import. Null for an import on the command line."`
	FinishedAt     shape.Time          `json:"finished_at"`
	FailureReason  shape.Text          `json:"failure_reason" doc:"Why the import failed. Rows that were imported before stay. ambiguous_dates and mapping_required mean that nothing was imported, and that questions must be answered."`
	Questions      []rows.Question     `json:"questions" doc:"What must be known before the file can be imported. Send it again with the answers: date_order for ambiguous_dates, and for mapping_required a mapping of the column to one of the choices; an empty one means that the column has no opt-outs."`

	private importPrivate
}

// importPrivate is the part of an import that is stored but never shown.
type importPrivate struct {
	By      store.Actor    `json:"by"` // who started the import
	Options FileImportBody `json:"options"`
	Job     uuid.UUID      `json:"job"`
	// Received says that the whole file is stored.
	Received bool `json:"received,omitzero"`
	// Rejects is the number of parts that the rejects have, and RejectBytes their size.
	Rejects     int `json:"rejects,omitzero"`
	RejectBytes int `json:"reject_bytes,omitzero"`
}

// Private returns the part of the record that is stored but never shown.
func (m *FileImport) Private() any { return &m.private }

func (m *FileImport) hasEnded() bool { return m.Status != running }

// FileImportBody is what a caller asks of an import: the options beside its file.
type FileImportBody struct {
	Entity        string                `json:"entity" rule:"required,enum=contacts|accounts|suppressions" doc:"What the rows are. Suppressions require admin access."`
	Mapping       map[string]shape.Text `json:"mapping" rule:"maxlen=1000" pattern:"^[\\s\\S]{1,1000}$" hint:"the name of a column has 1 to 1000 characters" doc:"The fields of columns, by the names of the columns. An empty string ignores a column. Columns that are not named are recognized by their names."`
	MatchOn       shape.Text            `json:"match_on" doc:"The field by which a row finds the record that it updates. auto, the default, tries external_id, then email, LinkedIn URL, and full name with account; for accounts external_id, website, and name with country. none always adds records. An id in a row always counts."`
	IDSystem      shape.Text            `json:"id_system" rule:"enum=hubspot|pipedrive|apollo|linkedin|salesforce|none" doc:"The system whose ids the external_id of the rows and of their accounts are. They are kept with its name, as in hubspot:12. The default is to decide by the names of the columns and the form of the ids; none keeps them as they are."`
	Locale        shape.Text            `json:"locale" doc:"How numbers and dates are written, as a language tag such as de or en-GB. The default is to decide by column."`
	DateOrder     shape.Text            `json:"date_order" rule:"enum=dmy|mdy" doc:"What dates such as 03/04/2025 begin with: the day (dmy) or the month (mdy). The default is to decide by column."`
	Encoding      shape.Text            `json:"encoding" doc:"The encoding of the file, such as windows-1250. The default is to detect it."`
	Sheet         shape.Text            `json:"sheet" doc:"The name of the sheet of a spreadsheet to import. The default is the first visible one."`
	CreateMissing []string              `json:"create_missing" rule:"enum=tags|accounts,maxlen=2" doc:"Which records are created if a row names one that does not exist."`
	OnBadValue    string                `json:"on_bad_value" rule:"default=drop_value,enum=drop_value|skip_row" doc:"What happens when the value of an optional field cannot be read."`
	OptOuts       string                `json:"opt_outs" rule:"default=keep,enum=keep|replace" doc:"keep, the default, never takes an opt-out back, whatever a row says. replace does, and removes suppressions with the reason opted_out; it requires admin access."`
	OnExisting    string                `json:"on_existing" rule:"default=overwrite,enum=overwrite|fill_empty|skip" doc:"What a row does to a record that it finds: overwrite sets the fields for which the row has values, fill_empty sets those of them that have none, skip skips the row. Opt-outs are taken in any case."`
	ExistingTags  string                `json:"existing_tags" rule:"default=add,enum=add|replace" doc:"add, the default, adds the tags of a row to those of a record that it finds. With replace, the record has the tags of the row only."`
	Tags          []string              `json:"tags" rule:"maxlen=100" doc:"Names or ids of tags that every imported record gets."`
	DryRun        bool                  `json:"dry_run" doc:"Count and report, but write nothing."`
}

// record returns the options as the importer takes them.
func (o *FileImportBody) record() record.ImportOptions {
	mapping := map[string]string{}
	for column, field := range o.Mapping {
		mapping[column] = string(field)
	}
	return record.ImportOptions{
		Mapping: mapping, MatchOn: string(o.MatchOn), Writing: rows.Writing{Locale: string(o.Locale), DateOrder: string(o.DateOrder)}, IDSystem: string(o.IDSystem), CreateMissing: o.CreateMissing,
		OnBadValue: o.OnBadValue, OptOuts: o.OptOuts, OnExisting: o.OnExisting, ExistingTags: o.ExistingTags, Tags: o.Tags, DryRun: o.DryRun,
	}
}

// reading returns the options of the reader of a file.
func (o *FileImportBody) reading(name string) rows.Options {
	return rows.Options{Lines: isLines(name), Entity: o.Entity, Encoding: string(o.Encoding), Sheet: string(o.Sheet)}
}

// emit emits an event with the status of an import.
func emit(tx *store.Tx, doc store.Doc[FileImport]) error {
	return tx.Emit(store.Event{Trigger: "import." + string(doc.Record.Status), ID: doc.ID, Data: doc.JSON})
}
