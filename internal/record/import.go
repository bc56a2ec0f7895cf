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
	isAlike bool              // whether rows also find records by Rules.Alike
	tags    *target           // what ImportOptions.Tags set, or nil
	dry     *dryRun           // nil unless nothing is written
	systems map[string]string // of ids, by column
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

// NewImporter returns an importer for a table. Invalid options are a *fault.Error with their paths.
func (k *kind) NewImporter(tx *store.Tx, table *rows.Reader, o ImportOptions) (*Importer, error) {
	im := &Importer{kind: k, options: o, systems: map[string]string{}, isAlike: k.isAlike}
	if o.DryRun {
		im.dry = newDryRun(o.Scratch)
	}
	if err := im.check(); err != nil {
		return nil, err
	}
	fields, err := k.importFields(tx)
	if err != nil {
		return nil, err
	}
	if im.columns, err = rows.NewColumns(table, o.Mapping, o.Writing, fields); err != nil {
		return nil, err
	}
	return im, im.checkTags(tx)
}

func (k *kind) importFields(tx *store.Tx) (rows.Fields[*target], error) {
	targets, err := k.importTargets(tx)
	if err != nil {
		return rows.Fields[*target]{}, err
	}
	if t := targets[k.optOut.Field]; t != nil {
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

// InspectImport describes the columns of a table.
func (k *kind) InspectImport(tx *store.Tx, table *rows.Reader, o ImportOptions) (rows.Inspection, error) {
	fields, err := k.importFields(tx)
	if err != nil {
		return rows.Inspection{}, err
	}
	return rows.Inspect(table, o.Mapping, o.Writing, fields)
}

// check checks the options that do not depend on the table.
func (im *Importer) check() error {
	var p fault.Problems
	o, fields := &im.options, im.kind.MatchFields()
	switch {
	case o.MatchOn == "" || o.MatchOn == MatchAuto:
		im.match = append([]string{externalID}, slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == externalID })...)
	case o.MatchOn == MatchNone:
		im.isAlike = false
	case slices.Contains(fields, o.MatchOn):
		im.match, im.isAlike = []string{o.MatchOn}, false
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
	if k.MatchFields() != nil {
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
		t.Names = ids && t.refers != nil && t.refers.names != nil
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
		isKey := slices.Contains(k.MatchFields(), f.Key)
		isPart := k.isAlike && !f.ReadOnly && f.Ref == "" && f.Type != shape.TypeMulti && f.Key != sourceField && !f.OfObjects()
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
	if k.names == nil {
		return uuid.Nil, false, nil
	}
	id, found := k.table.Find(tx, "name", k.names.Key(name, object))
	return id, found, nil
}
