package record

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// The values of ImportOptions.
const (
	MatchAuto = "auto" // external_id, then the match fields of the kind, then Rules.Alike
	MatchNone = "none" // every row without an id adds a record

	NoIDSystem = "none" // of ImportOptions.IDSystem

	DropValue = "drop_value" // leave out a value that cannot be read
	SkipRow   = "skip_row"   // skip a row that has one

	KeepOptOuts    = "keep"    // an opt-out stays, whatever a row says
	ReplaceOptOuts = "replace" // a row can take an opt-out back

	Overwrite    = "overwrite"  // a row changes the record that it finds
	FillEmpty    = "fill_empty" // it sets only the fields that have no value
	SkipExisting = "skip"       // it changes nothing

	AddTags     = "add"     // a record keeps its tags
	ReplaceTags = "replace" // a record gets the tags of the row only
)

// ImportOptions decide how the rows of a table become records.
type ImportOptions struct {
	// Mapping maps names of columns to names of fields, or to "" if a column is to be ignored. Other columns
	// are recognized.
	Mapping map[string]string
	// MatchOn is how a row finds the record that it updates: MatchAuto, MatchNone or one of the match
	// fields. "" means MatchAuto.
	MatchOn string
	// Writing is how numbers and dates are written.
	Writing rows.Writing
	// CreateMissing lists the entities of which records are created when a row refers to one that does
	// not exist.
	CreateMissing []string
	// IDSystem is the system whose ids the external_id of a row and that of its account are. If it is empty, the name of the
	// column says it. NoIDSystem stands for none.
	IDSystem string
	// OnBadValue is DropValue or SkipRow. "" means DropValue.
	OnBadValue string
	// OptOuts is KeepOptOuts or ReplaceOptOuts. "" means KeepOptOuts.
	OptOuts string
	// OnExisting is Overwrite, FillEmpty or SkipExisting. "" means Overwrite.
	OnExisting string
	// ExistingTags is AddTags or ReplaceTags. "" means AddTags.
	ExistingTags string
	// Tags are names or ids of tags that every record gets.
	Tags []string
	// DryRun says that nothing is written.
	DryRun bool
	// Scratch is the directory for the temporary file of a dry run.
	Scratch string
}

// Importer converts the rows of a table to records and writes them. Columns are fields of the kind,
// including custom fields. A reference can also be given by a match field of the other kind, such as
// account_website, or by account_name, and tags by their names.
//
// Prepare and Write may run at the same time, but neither may be called by several goroutines.
type Importer struct {
	kind    *kind
	columns *rows.Columns[*target]
	options ImportOptions
	match   []string          // the fields by which rows find records, in order
	tags    *target           // what ImportOptions.Tags set, or nil
	dry     *dryRun           // nil unless nothing is written
	systems map[string]string // of ids, by column

	importing
}

// importing are the operations of a kind whose records are of type T. Records and drafts are pointers.
type importing struct {
	draft  func(body shape.Value) (draft any, p *fault.Problems)
	record func(draft any) any
	// refer sets references in a copy of a draft.
	refer  func(draft any, refs shape.Value) any
	create func(tx *store.Tx, draft any) (id uuid.UUID, created bool, err error)
	// change updates a record with the body that edit makes for it.
	change func(tx *store.Tx, id uuid.UUID, edit func(rec any) (shape.Value, error)) ([]rows.Change, error)
	// form and bring are for dry runs.
	form  func(tx *store.Tx, id uuid.UUID) (rec any, form *dryForm, err error)
	bring func(tx *store.Tx, form *dryForm) (refers []uuid.UUID, err error)
	// alike finds a record by Rules.Alike, and nameOf returns the key by which it is found. Both are nil if the kind has no such
	// rule.
	alike  func(tx *store.Tx, rec any) (best uuid.UUID, of int, err error)
	nameOf func(rec any) string
	// identity is Rules.Identity, or nil.
	identity *Identity
	// key is ImportRules.Key, or nil.
	key func(rec any) string
	// isErased and isSuppressed are those of ImportRules, or nil.
	isErased     func(tx *store.Tx, text string) bool
	isSuppressed func(tx *store.Tx, rec any) bool
	// optOut is ImportRules.OptOut.
	optOut OptOut
}

// target is the field that a column sets.
type target struct {
	rows.Target
	refers *kind  // the kind that the field refers to, or nil
	field  string // the field that refers to it
	by     string // the field of the referred record that the column has; "" for its id or name
}

// sourceField records how a record was created. An import sets it to fromTable.
const (
	sourceField = "source"
	fromTable   = "csv"
)

// ImportRules are how an import adds records of a kind that cannot be updated.
type ImportRules[T any] struct {
	// Add stores a draft and reports whether it is new. If it is nil, records are created as by Create.
	Add func(*store.Tx, Draft[T]) (id uuid.UUID, created bool, err error)
	// Key returns what is equal for records of which Add adds only one.
	Key func(*T) string
	// IsErased reports whether a text names a person who was erased. A row with such a text is skipped. It may be nil.
	IsErased func(tx *store.Tx, text string) bool
	// IsSuppressed reports whether nothing is sent to a record. It may be nil.
	IsSuppressed func(*store.Tx, *T) bool
	// OptOut is the field with which a record opts out, if the kind has one.
	OptOut OptOut
}

// OptOut is a boolean field with which a record opts out of something. An import sets it, but takes it back only with
// ReplaceOptOuts.
type OptOut struct {
	Field string
	// By is the field whose value opts out if its row is skipped, and Skipped opts it out.
	By      string
	Skipped func(tx *store.Tx, value string, isDoubtful bool) error
	// Record opts out a record that a skipped row without such a value means.
	Record func(tx *store.Tx, id uuid.UUID, isDoubtful bool) error
	// Doubt notes whether the opt-out of a record that an import has written comes from a value that could not be read. The undo
	// of the import takes such an opt-out back.
	Doubt func(tx *store.Tx, id uuid.UUID, isDoubtful bool) error
}

// NewImporter returns an importer for a table. Invalid options are a *fault.Error with their paths.
func (k *Kind[T]) NewImporter(
	tx *store.Tx, table *rows.Reader, o ImportOptions, r ImportRules[T],
) (*Importer, error) {
	im := &Importer{kind: &k.kind, options: o, systems: map[string]string{}, importing: importingOf(k, r)}
	if o.DryRun {
		im.dry = newDryRun(o.Scratch)
	}
	if err := im.check(); err != nil {
		return nil, err
	}
	fields, err := k.importFields(tx, r.OptOut.Field)
	if err != nil {
		return nil, err
	}
	if im.columns, err = rows.NewColumns(table, o.Mapping, o.Writing, fields); err != nil {
		return nil, err
	}
	return im, im.checkTags(tx)
}

func (k *kind) importFields(tx *store.Tx, optOut string) (rows.Fields[*target], error) {
	targets, err := k.importTargets(tx)
	if err != nil {
		return rows.Fields[*target]{}, err
	}
	if t := targets[optOut]; t != nil {
		status := *t
		status.Column, status.Status = "opt_out_status", true
		t.OptOut, targets[status.Column] = true, &status
	}
	return rows.Fields[*target]{
		Entity: k.Entity, Targets: targets, Exported: k.namesTargets(targets), Year: tx.Now().Year(), IsReadOnly: func(name string) bool {
			f := k.shape.Field(name)
			return f != nil && (f.ReadOnly || name == sourceField) || k.isNameColumn(name)
		},
	}, nil
}

// InspectImport describes the columns of a table. optOut is the field of ImportRules.OptOut, or "".
func (k *kind) InspectImport(tx *store.Tx, table *rows.Reader, o ImportOptions, optOut string) (rows.Inspection, error) {
	fields, err := k.importFields(tx, optOut)
	if err != nil {
		return rows.Inspection{}, err
	}
	return rows.Inspect(table, o.Mapping, o.Writing, fields)
}

// check checks the options that do not depend on the table.
func (im *Importer) check() error {
	var p fault.Problems
	o, fields := &im.options, im.kind.matchFields()
	switch {
	case o.MatchOn == "" || o.MatchOn == MatchAuto:
		im.match = append([]string{externalID}, slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == externalID })...)
	case o.MatchOn == MatchNone:
		im.alike = nil
	case slices.Contains(fields, o.MatchOn):
		im.match, im.alike = []string{o.MatchOn}, nil
	default:
		p.Invalid("match_on", "%s is not one of: %s", shape.Quote(o.MatchOn), strings.Join(append([]string{MatchAuto, MatchNone}, fields...), ", "))
	}
	if fields == nil {
		im.match = nil
	}
	for _, choice := range []struct {
		option, value string
		of            []string
	}{
		{"on_bad_value", o.OnBadValue, []string{DropValue, SkipRow}},
		{"opt_outs", o.OptOuts, []string{KeepOptOuts, ReplaceOptOuts}},
		{"on_existing", o.OnExisting, []string{Overwrite, FillEmpty, SkipExisting}},
		{"existing_tags", o.ExistingTags, []string{AddTags, ReplaceTags}},
	} {
		if choice.value != "" && !slices.Contains(choice.of, choice.value) {
			p.Invalid(choice.option, "%s is not one of: %s", shape.Quote(choice.value), strings.Join(choice.of, ", "))
		}
	}
	for _, entity := range o.CreateMissing {
		if !slices.Contains([]string{"tags", "accounts"}, entity) {
			p.Invalid("create_missing", "%s is not one of: tags, accounts", shape.Quote(entity))
		}
	}
	return p.Err()
}

// checkTags checks that the tags for every record exist, or may be created.
func (im *Importer) checkTags(tx *store.Tx) error {
	if len(im.options.Tags) == 0 {
		return nil
	}
	var p fault.Problems
	if im.tags = im.columns.Target("add_tags"); im.tags == nil {
		p.Invalid("tags", "not allowed for %s", im.kind.Entity)
		return p.Err()
	}
	im.options.Tags = slices.Clone(im.options.Tags)
	for i, name := range im.options.Tags {
		im.options.Tags[i] = im.tags.Name(name)
		_, found, err := im.tags.refers.byIDOrName(tx, im.options.Tags[i], im.kind.Object)
		if err != nil {
			return err
		}
		if !found && !im.mayCreate(im.tags.refers) {
			p.Invalid("tags", "%s does not exist; create it, or allow it with create_missing", shape.Quote(name))
		}
	}
	return p.Err()
}

// Close removes the temporary file of a dry run.
func (im *Importer) Close() error { return im.dry.close() }

func (im *Importer) mayCreate(k *kind) bool {
	return slices.Contains(im.options.CreateMissing, k.Entity)
}

// Survey reads another Reader of the table to its end, if how its values are written depends on that, and returns what has
// to be known before the table can be imported. open is called if it is needed.
func (im *Importer) Survey(ctx context.Context, open func() (*rows.Reader, error), pause func()) ([]rows.Question, error) {
	return im.columns.Survey(ctx, open, pause)
}

// Warnings describes the columns ignored so far, and which systems ids are read as those of.
func (im *Importer) Warnings() []string {
	warnings := im.columns.Warnings()
	for _, column := range slices.Sorted(maps.Keys(im.systems)) {
		warnings = append(warnings, fmt.Sprintf("ids in column %q are those of %s; id_system chooses another system or none", column, im.systems[column]))
	}
	return warnings
}

// importTargets returns the fields that a table can set, by column name.
func (k *kind) importTargets(tx *store.Tx) (map[string]*target, error) {
	targets := map[string]*target{}
	add := func(column string, t target) {
		t.Column = column
		targets[column] = &t
	}
	if k.matchFields() != nil {
		add("id", target{Target: rows.Target{Member: "id", Field: *k.shape.Field("id")}})
	}
	for _, f := range k.List.Fields {
		if f.ReadOnly || f.Key == sourceField || f.OfObjects() { // a cell cannot hold objects
			continue
		}
		_, ids := f.Get(k.example).(shape.IDs)
		t := target{
			Target: rows.Target{Member: f.Key, Field: f.Field, List: ids || f.Type == shape.TypeMulti},
			refers: k.set.find(f.Ref), field: f.Key,
		}
		t.Names = ids && t.refers != nil && t.refers.nameKey != nil
		add(f.Key, t)
		if t.refers != nil && !ids {
			for column, inner := range t.refers.referTargets(t) {
				add(column, inner)
			}
		}
		if f.Edits {
			for _, verb := range []string{"add_", "remove_"} {
				t.Member = verb + f.Key
				add(t.Member, t)
			}
		}
	}
	if k.shape.Field("first_name") != nil && k.shape.Field("last_name") != nil {
		add(rows.FullName().Column, target{Target: rows.FullName()})
	}
	if k.shape.HasCustom() {
		fields, err := k.customs(tx, k.Entity)
		if err != nil {
			return nil, err
		}
		for _, f := range fields.Fields {
			add(f.Key, target{Target: rows.Target{Member: f.Key, Field: f.Field, List: f.Type == shape.TypeMulti}})
		}
	}
	return targets, nil
}

// namesTargets returns the columns in which an export has the names of records that a list refers to, such as tag_names.
func (k *kind) namesTargets(targets map[string]*target) map[string]*target {
	own := map[string]*target{}
	for _, f := range k.refs {
		if of := targets[f.Key]; of != nil && of.Names && !f.Input {
			t := *of
			t.Column, t.Names, t.by = NameColumn(&f), false, "name"
			t.Field = shape.Field{Key: t.Column, Type: shape.TypeMulti}
			own[t.Column] = &t
		}
	}
	return own
}

// referTargets returns the columns that describe the record a reference points to: its match fields,
// by which it is found and, if records can be found by what they are like, their other fields, with which
// it is created.
func (k *kind) referTargets(t target) map[string]target {
	targets, prefix := map[string]target{}, strings.TrimSuffix(t.field, "id")
	for _, f := range k.List.Fields {
		isKey := slices.Contains(k.matchFields(), f.Key)
		isPart := k.ops.alike != nil && !f.ReadOnly && f.Ref == "" && f.Type != shape.TypeMulti && f.Key != sourceField && !f.OfObjects()
		if isKey || isPart {
			t.by, t.Field, t.Member = f.Key, f.Field, prefix+f.Key
			targets[prefix+f.Key] = t
		}
	}
	return targets
}

// byIDOrName finds a record by its id, or by its name among those that records of the object can refer to.
func (k *kind) byIDOrName(tx *store.Tx, text, object string) (uuid.UUID, bool, error) {
	if id, err := shape.ParseID(text); err == nil {
		why, err := k.ReferenceProblem(tx, id, object)
		return id, why == "" && err == nil, err
	}
	return k.FindNamed(tx, text, object)
}

// FindNamed finds the record with a name among those that records of the object can refer to.
func (k *kind) FindNamed(tx *store.Tx, name, object string) (uuid.UUID, bool, error) {
	if k.nameKey == nil {
		return uuid.Nil, false, nil
	}
	id, found := k.table.Find(tx, "name", k.nameKey(name, object))
	return id, found, nil
}

func (k *kind) matchFields() []string {
	if k.shape.Field(externalID) == nil {
		return nil
	}
	return k.MatchFields()
}
