package record

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// Kind is a kind of record with its table and its lists.
//
// The compiler generates its methods again for every kind in every package that mentions one, so
// what does not depend on T is in kind.
type Kind[T any] struct {
	kind
	Table     *store.Table[T]
	TrashList *index.Kind // nil if the kind has no trash

	rules   Rules[T]
	checks  []func(tx *store.Tx, before, after *T, p *fault.Problems) error // Rules.Check, and those of OnCheck
	changes []func(tx *store.Tx, before, after *T) error                    // Rules.AfterChange, and those of OnChange
	trash   *store.Table[Trashed[T]]
}

// kind is the part of a Kind that does not depend on the type of its records, and through which
// kinds use each other. Its methods take a record as a pointer to its type.
type kind struct {
	Object, Entity string // see Rules
	List           *index.Kind

	table *store.AnyTable
	shape *shape.Struct
	flat  map[string]*shape.Field // Struct.Flat by key
	refs  []shape.Field
	set   *Set
	typed typed // nil if this is a trash

	// Rules that do not depend on the type of the records.
	customs    func(tx *store.Tx, entity string) (*filter.CustomFields, error)
	together   []string
	forget     func(tx *store.Tx, id uuid.UUID) error
	isMinor    func(c *store.Change) bool
	names      *NameRules
	match      MatchRules
	isAlike    bool // whether there is Rules.Alike
	hasLosses  bool // whether there is Rules.Losses
	isErased   func(tx *store.Tx, text string) bool
	optOut     OptOut
	mayRestore func(tx *store.Tx, id uuid.UUID, trashed, restored []byte, force bool) error

	example any           // a pointer to a record
	source  *store.Source // nil if the records emit no events
	trashOf string        // the entity whose deleted records these are

	merged        *store.Table[merged] // nil if records cannot be merged
	mergedPortion store.Portion
}

// typed is what a kind does through the Kind around it, because it depends on the type of the records. Records and drafts are
// pointers.
type typed interface {
	deleteDamaged(tx *store.Tx, id uuid.UUID, cond Precondition) error
	// checkReference is Rules.CheckReference of a record that is read first.
	checkReference(tx *store.Tx, id uuid.UUID, object string) (string, error)

	// Imports.
	draft(body shape.Value) (draft any, p *fault.Problems)
	record(draft any) any
	// refer sets references in a copy of a draft.
	refer(draft any, refs shape.Value) any
	add(tx *store.Tx, draft any) (id uuid.UUID, created bool, err error)
	// edit updates a record with the body that change makes for it.
	edit(tx *store.Tx, id uuid.UUID, change func(rec any) (shape.Value, error)) ([]rows.Change, error)
	isSuppressed(tx *store.Tx, rec any) bool
	alike(tx *store.Tx, rec any) (best uuid.UUID, of int, err error)
	alikeKey(rec any) string  // "" without Rules.Alike
	importKey(rec any) string // "" without ImportRules.Key
	// form and bring are for dry runs.
	form(tx *store.Tx, id uuid.UUID) (rec any, form *dryForm, err error)
	bring(tx *store.Tx, form *dryForm) (refers []uuid.UUID, err error)

	// Undos, see undo.go.
	undoCreation(tx *store.Tx, u *Undoing, id uuid.UUID, isNew bool) (Reversal, error)
	undoDeletion(tx *store.Tx, u *Undoing, id uuid.UUID) (Reversal, error)
	undoUpdates(tx *store.Tx, u *Undoing, id uuid.UUID, updates []undoable, guarded bool) (Reversal, error)
	mergeAgain(tx *store.Tx, id, into uuid.UUID) error
	removedBy(tx *store.Tx, id uuid.UUID) (operation uuid.UUID, err error)
}

// Add creates the kind of the struct T, which must embed Head, and adds it to the set.
func Add[T any](set *Set, r Rules[T]) *Kind[T] {
	if r.Trash == nil && (r.Undo != nil || r.Merge != nil) {
		panic(r.Entity + " can be undone or merged, so it needs a trash") // which keeps what comes back
	}
	k := &Kind[T]{rules: r, kind: kind{
		Object: r.Object, Entity: r.Entity, set: set, shape: shape.Of[T](), flat: map[string]*shape.Field{}, example: &r.Example,
		customs: r.Customs, together: r.UpdateTogether, forget: r.Forget, isMinor: r.History.IsMinor, names: r.Names, match: r.Match,
		isAlike: r.Alike != nil, hasLosses: r.Losses != nil, isErased: r.Import.IsErased, optOut: r.Import.OptOut,
	}}
	k.typed = k
	for _, f := range k.shape.Flat() {
		k.flat[f.Key] = &f
	}
	if r.Check != nil {
		k.OnCheck(r.Check)
	}
	if r.AfterChange != nil {
		k.OnChange(r.AfterChange)
	}
	k.declareTable()
	if !r.Events.None {
		fresh := r.Example
		headOf(&fresh).UpdatedAt = headOf(&fresh).CreatedAt
		k.source = k.newSource(&fresh, !r.Events.NoUpdate, !r.Events.NoDelete, r.Trash != nil, r.Events.More)
	}
	set.kinds = append(set.kinds, &k.kind)
	if r.Trash != nil {
		k.mayRestore = r.Trash.MayRestore
		k.addTrash()
	}
	if r.Merge != nil {
		k.declareMerged()
	}
	return k
}

// declareTable declares the table and the list of the kind.
func (k *Kind[T]) declareTable() {
	r := &k.rules
	unique, keys := r.Unique, []store.Key[T]{}
	for _, f := range k.references(new(T)) {
		of := func(_ *store.Tx, rec *T) ([][]byte, error) { return idKeys(&f, rec), nil }
		keys = append(keys, store.Key[T]{Name: f.Key, Of: of})
	}
	keys = append(keys, r.Keys...)
	for field, fold := range r.Match.Fields {
		text := k.textField(field)
		keys = append(keys, store.TextKey(MatchKey(field), func(rec *T) string { return fold(text(rec)) }).At(r.Match.Version))
	}
	if r.Alike != nil {
		keys = append(keys, store.TextKey(AlikeKey, r.Alike.Key).At(r.Alike.Version))
	}
	if k.shape.Field(externalID) != nil {
		unique = append(unique, externalIDs[T](&k.kind))
	}
	if k.shape.HasCustom() {
		of := func(tx *store.Tx, rec *T) ([][]byte, error) { return k.customKeys(tx, rec) }
		keys = append(keys, store.Key[T]{Name: customKey, Of: of})
	}
	k.Table = NewTable(cmp.Or(r.Table, r.Entity), unique, keys)
	if r.History.Short {
		k.Table = k.Table.ShortHistory()
	}
	if r.History.KeepsValues {
		k.Table = k.Table.KeepsValues()
	}
	if r.Undo != nil {
		k.Table = k.Table.Journaled()
	}
	k.table = &k.Table.AnyTable
	k.List = index.NewKind(r.Entity, cmp.Or(r.DefaultSort, "-created_at"), k.Table, k.customsOf())
	if slices.ContainsFunc(k.refs, func(f shape.Field) bool { return f.Named }) {
		k.List.FindName = func(tx *store.Tx, f *filter.Field, name string) (uuid.UUID, bool, error) {
			return k.set.find(f.Ref).FindNamed(tx, name, k.Object)
		}
	}
}

// customsOf returns a function that returns the custom fields of the kind, or nil if the records have none.
func (k *kind) customsOf() func(*store.Tx) (*filter.CustomFields, error) {
	if !k.shape.HasCustom() {
		return nil
	}
	return func(tx *store.Tx) (*filter.CustomFields, error) { return k.customs(tx, k.Entity) }
}

// OnCheck lets check add problems of a record like Rules.Check, after that. Features that depend on the kind call it when they are
// constructed.
func (k *Kind[T]) OnCheck(check func(tx *store.Tx, before, after *T, p *fault.Problems) error) {
	k.checks = append(k.checks, check)
}

// OnChange lets changed be called like Rules.AfterChange, after that and in the order of the calls of OnChange.
func (k *Kind[T]) OnChange(changed func(tx *store.Tx, before, after *T) error) {
	k.changes = append(k.changes, changed)
}

// WithArticle returns the name of the kind with its article: "an account view".
func (k *kind) WithArticle() string {
	one := strings.ReplaceAll(k.Object, "_", " ")
	if strings.ContainsAny(one[:1], "aeio") {
		return "an " + one
	}
	return "a " + one
}
