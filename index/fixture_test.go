package index

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// definition is a custom field of things or, if it has no type, a record that things can refer to
// in the field with the key.
type definition struct {
	ID      uuid.UUID  `json:"id"`
	Key     string     `json:"key"`
	Type    shape.Type `json:"type"`
	Allowed []string   `json:"allowed"`
}

var definitionTable = store.NewTable[definition]("defs", nil, nil)

func definitions(tx *store.Tx) (defs []store.Doc[definition], err error) {
	err = definitionTable.Scan(tx, func(d store.Doc[definition]) (bool, error) {
		defs = append(defs, d)
		return true, nil
	})
	return defs, err
}

func thingCustoms(tx *store.Tx) (*filter.CustomFields, error) {
	defs, err := definitions(tx)
	var fields []shape.CustomField
	for _, d := range defs {
		if f := d.Record; f.Type != "" {
			fields = append(fields, shape.NewCustomField(f.ID, f.Key, f.Key, f.Type, f.Allowed))
		}
	}
	return filter.NewCustomFields(fields), err
}

// thingTable has keys for the references of a thing, and for each value of its custom fields.
var thingTable = store.NewTable("things", nil, []store.Key[thing]{
	{Name: "owner", Of: func(_ *store.Tx, v *thing) (keys [][]byte, err error) {
		if v.Owner.Valid {
			keys = append(keys, v.Owner.UUID[:])
		}
		return keys, nil
	}},
	{Name: "tags", Of: func(_ *store.Tx, v *thing) (keys [][]byte, err error) {
		for _, id := range v.Tags {
			keys = append(keys, id[:])
		}
		return keys, nil
	}},
	{Name: "custom", Of: func(tx *store.Tx, v *thing) (keys [][]byte, err error) {
		if len(v.Custom) == 0 {
			return nil, nil
		}
		cs, err := thingCustoms(tx)
		for _, f := range cs.Fields {
			values := []any{v.Custom[f.Key]}
			if list, is := values[0].([]any); is {
				values = list
			}
			for _, value := range values {
				if value != nil {
					sum := sha256.Sum256(fmt.Append(nil, value))
					keys = append(keys, slices.Concat(f.ID[:], sum[:8]))
				}
			}
		}
		return keys, err
	}},
})

var things = NewKind("things", "-at,name", thingTable, thingCustoms)

type thing struct {
	ID     uuid.UUID     `json:"id" rule:"readonly"`
	Name   shape.Text    `json:"name" rule:"searched"`
	Size   shape.Number  `json:"size"`
	Color  shape.Text    `json:"color" rule:"enum=red|blue"`
	Day    shape.Date    `json:"day"`
	At     shape.Time    `json:"at"`
	Owner  uuid.NullUUID `json:"owner" rule:"ref=users"`
	Tags   shape.IDs     `json:"tags" rule:"ref=tags"`
	Flag   bool          `json:"flag"`
	Remark shape.Text    `json:"remark" rule:"long,searched"`
	Mail   shape.Text    `json:"mail" rule:"grams"`
	Topics []string      `json:"topics" rule:"searched"`

	// Compared in canonical form.
	Email    shape.Text `json:"email" rule:"grams"`
	Website  shape.Text `json:"website" rule:"searched"`
	LinkedIn shape.Text `json:"linkedin_url"`
	Country  shape.Text `json:"country"`

	CreatedAt shape.Time `json:"created_at"` // of the id, or earlier if the clock was set back

	Custom shape.Custom `json:",embed"`

	// Lists filter these by their ids. Moves have no ids and are not a field of lists.
	Groups []group         `json:"groups"`
	Steps  []step          `json:"steps"`
	Blocks map[string]move `json:"blocks"`
	Moves  []move          `json:"moves"`
}

type group struct {
	ID   uuid.UUID  `json:"id"`
	Name shape.Text `json:"name"`
}

type step struct {
	ID shape.Text `json:"id"`
	move
}

type move struct {
	Day int `json:"day"`
}

// fixture is a store and an engine whose limits are so low that a few hundred records need an index
// with many segments.
type fixture struct {
	t      testing.TB
	dir    string
	store  *store.Store
	engine *Engine
	org    uuid.UUID
	rand   *rand.Rand
	ids    []uuid.UUID
	past   []uuid.UUID // deleted records that things referred to
	gone   []uuid.UUID // deleted things that step restores
	opt    Options
	clock  func() time.Time // of the store; time.Now if nil
	// setBack reports whether the clock was set back when a record was created.
	setBack func(id uuid.UUID) bool
}

// createdAt returns when a record was created, from its id.
func createdAt(id uuid.UUID, setBack func(uuid.UUID) bool) shape.Time {
	at := time.Unix(id.Time().UnixTime())
	if setBack != nil && setBack(id) {
		at = at.Add(-time.Hour)
	}
	return shape.At(at)
}

func newFixture(t testing.TB, seed uint64) *fixture {
	w := &fixture{t: t, dir: t.TempDir(), org: uuid.New(), rand: rand.New(rand.NewPCG(seed, 1))}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	w.opt = Options{CacheBytes: 1 << 20, Log: log, maxSmall: 20, maxBatchDocs: 16}
	w.open()
	t.Cleanup(w.close)
	w.update(func(tx *store.Tx) error {
		for i := range 3 {
			for j, key := range []string{"owner", "tags", fieldKeys[2*i], fieldKeys[2*i+1]} {
				d := definition{ID: tx.NewID(), Key: key}
				if j >= 2 {
					d.Type = customTypes[2*i+j-2]
				}
				if err := w.define(tx, d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return w
}

func (w *fixture) open() {
	var engine *Engine
	committed := func(ctx context.Context, org uuid.UUID, changed map[string]uint64) {
		engine.Committed(ctx, org, changed)
	}
	s, err := store.Open(w.dir, store.Options{Clock: w.clock, Committed: committed})
	if err != nil {
		w.t.Fatal(err)
	}
	w.opt.Dir = w.dir + "/index"
	if engine, err = Open(s, []*Kind{things, codes}, w.opt); err != nil {
		w.t.Fatal(err)
	}
	w.store, w.engine = s, engine
}

func (w *fixture) close() {
	w.engine.Close()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *fixture) update(fn func(tx *store.Tx) error) {
	w.t.Helper()
	actor := store.Actor{RequestID: fmt.Sprint(w.rand.Uint64())}
	if err := w.store.Update(context.Background(), w.org, actor, fn); err != nil {
		w.t.Fatal(err)
	}
}

var (
	nastyTexts = []string{
		"", "a", "A", "aa", "Ann", "ANN", "ann", "ann smith", "Ann-Smith", "ÄNN", "änn", "İstanbul", "ıi", "ß", "SS",
		"K", "k", "日本語", "日本", "o'neil", "a\x01", "A\x01b", "\x01", "😀 smile", "  ", "--", "9", "10",
		"v.p. of sales", "VP Sales", "vp", "zebra", "Zebra-9", "x@y.example", "Son@Ash.example",
		strings.Repeat("long ", 40), "~", "\u00a0", "\ufffd", "\U0010ffff",
	}
	nastyNumbers = []float64{0, math.Copysign(0, -1), 1, -1, 3, 1e300, -1e300, 5e-324, 9007199254740991, -9007199254740991, 0.1, 1.5}
	nastyDays    = []string{"", "0001-01-01", "2026-03-01", "2026-03-02", "9999-12-31", "1969-12-31", "1970-01-01"}
	nastyTimes   = []string{
		"", "0001-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00Z",
		"9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z",
	}
	// customTexts are only in custom fields.
	customTexts = []string{"quagga", "Quagga 7", "zebu", "ZEBU-quoll", "ñandú ñu", "ql"}
	// spellings are in fields that are compared in canonical form.
	spellings = []string{
		"", "x@zürich.example", "X@Zu\u0308rich.example", "x@xn--zrich-kva.example", "x@z\u00adürich。example。", "x@y.example", "X@Y.Example",
		"zürich.example", "https://www.Zürich.example/about", "XN--ZRICH-KVA.example.", "linkedin.com/company/A", "http://de.linkedin.com/company/a/?x",
		"linkedin.com", "Norway", " NORWAY", "norway ", "https://", "x@", "@", " ", "ＮＯＲＷＡＹ",
	}
	// topicTexts are only in topics.
	topicTexts  = []string{"okapi", "Okapi farms", "OX", "yak-wool", "yaks"}
	groupIDs    = []uuid.UUID{{15: 1}, {15: 2}, {15: 3}, {15: 0xab}}
	customTypes = []shape.Type{
		shape.TypeText, shape.TypeNumber, shape.TypeBoolean, shape.TypeDate, shape.TypeEnum, shape.TypeMulti,
	}
	fieldKeys = []string{"x", "y", "z", "name", "stage", "x2"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// define inserts a definition.
func (w *fixture) define(tx *store.Tx, d definition) error {
	if d.Type == shape.TypeEnum || d.Type == shape.TypeMulti {
		for _, i := range w.rand.Perm(len(nastyTexts) - 1)[:2+w.rand.IntN(4)] {
			d.Allowed = append(d.Allowed, nastyTexts[1+i])
		}
	}
	_, err := definitionTable.Insert(tx, d.ID, d)
	return err
}

// thing returns a random thing that uses the definitions of the transaction.
func (w *fixture) thing(tx *store.Tx, id uuid.UUID) (thing, error) {
	r := w.rand
	text := func() shape.Text { return shape.Text(pick(r, nastyTexts)) }
	v := thing{
		ID: id, Name: text(), Remark: text(), Mail: text(), Day: shape.Date(pick(r, nastyDays)), Flag: r.IntN(2) == 0,
	}
	if r.IntN(3) > 0 {
		v.Remark += shape.Text(" " + pick(r, nastyTexts) + " " + pick(r, nastyTexts))
		v.Mail += shape.Text(pick(r, nastyTexts))
	}
	if r.IntN(3) > 0 {
		v.Size = shape.Number{Valid: true, Float: pick(r, nastyNumbers)}
	}
	if at := pick(r, nastyTimes); at != "" {
		v.At, _ = shape.ParseTime(at)
	}
	for _, f := range []*shape.Text{&v.Email, &v.Website, &v.LinkedIn, &v.Country} {
		*f = shape.Text(pick(r, pick(r, [][]string{spellings, spellings, nastyTexts})))
	}
	for range r.IntN(4) {
		v.Topics = append(v.Topics, pick(r, pick(r, [][]string{nastyTexts[1:], topicTexts})))
	}
	for range r.IntN(3) {
		v.Groups = append(v.Groups, group{ID: pick(r, groupIDs), Name: "x"})
		v.Steps = append(v.Steps, step{ID: shape.Text(pick(r, nastyTexts)), move: move{Day: 1}})
		v.Moves = append(v.Moves, move{Day: 2})
		if v.Blocks == nil {
			v.Blocks = map[string]move{}
		}
		v.Blocks[pick(r, topicTexts)] = move{Day: 3}
	}
	v.Color = shape.Text(pick(r, []string{"", "red", "blue"}))
	v.CreatedAt = createdAt(id, w.setBack)
	defs, err := definitions(tx)
	for _, d := range defs {
		switch d := &d.Record; {
		case r.IntN(3) == 0:
		case d.Key == "tags":
			v.Tags = append(v.Tags, d.ID)
		case d.Key == "owner":
			v.Owner = uuid.NullUUID{Valid: true, UUID: d.ID}
		default:
			if v.Custom == nil {
				v.Custom = shape.Custom{}
			}
			v.Custom[shape.CustomPrefix+d.Key] = customValueFor(r, d)
		}
	}
	return v, err
}

func customValueFor(r *rand.Rand, d *definition) any {
	switch d.Type {
	case shape.TypeNumber:
		return pick(r, nastyNumbers)
	case shape.TypeBoolean:
		return r.IntN(2) == 0
	case shape.TypeDate:
		return pick(r, nastyDays[1:])
	case shape.TypeEnum:
		return pick(r, d.Allowed)
	case shape.TypeMulti:
		var some []any
		for _, i := range r.Perm(len(d.Allowed))[:1+r.IntN(2)] {
			some = append(some, d.Allowed[i])
		}
		return some
	}
	return pick(r, [][]string{customTexts, nastyTexts[1:]}[r.IntN(2)])
}

// change inserts, updates and deletes n random records in one transaction. Now and then it also
// changes a definition.
func (w *fixture) change(n int) {
	w.t.Helper()
	when := w.rand.IntN(2 * n)
	w.update(func(tx *store.Tx) error {
		for i := range n {
			if i == when {
				if err := w.changeDefinitions(tx); err != nil {
					return err
				}
			}
			if err := w.changeOne(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *fixture) changeOne(tx *store.Tx) error {
	k := w.rand.IntN(10)
	if k < 4 || len(w.ids) == 0 {
		return w.insert(tx)
	}
	i := w.rand.IntN(len(w.ids))
	if k < 8 {
		return w.replace(tx, w.ids[i])
	}
	return w.remove(tx, i)
}

// remove deletes the i-th record.
func (w *fixture) remove(tx *store.Tx, i int) error {
	doc, err := thingTable.Get(tx, w.ids[i])
	if err != nil {
		return err
	}
	w.ids = slices.Delete(w.ids, i, i+1)
	return thingTable.Delete(tx, doc)
}

// replace updates a record with random values.
func (w *fixture) replace(tx *store.Tx, id uuid.UUID) error {
	doc, err := thingTable.Get(tx, id)
	if err != nil {
		return err
	}
	v, err := w.thing(tx, id)
	if err != nil {
		return err
	}
	_, err = thingTable.Update(tx, doc, v, nil)
	return err
}

// changeDefinitions inserts or deletes a definition, or continues to sweep a tombstone.
func (w *fixture) changeDefinitions(tx *store.Tx) error {
	defs, err := definitions(tx)
	if err != nil {
		return err
	}
	some := pick(w.rand, []int{0, 1, 3, 1000})
	switch k := w.rand.IntN(5); {
	case k < 2 || len(defs) == 0:
		d := definition{ID: tx.NewID(), Key: pick(w.rand, append([]string{"owner", "tags"}, fieldKeys...))}
		if d.Key != "owner" && d.Key != "tags" {
			if slices.ContainsFunc(defs, func(other store.Doc[definition]) bool { return other.Record.Key == d.Key }) {
				return nil
			}
			d.Type = pick(w.rand, customTypes)
		}
		return w.define(tx, d)
	case k < 4:
		d := pick(w.rand, defs)
		if d.Record.Type == "" {
			w.past = append(w.past, d.ID)
		}
		return deleteDefinition(tx, d, some)
	}
	tombs, err := tx.Tombstones(thingTable.Name())
	if err != nil || len(tombs) == 0 || some == 0 {
		return err
	}
	_, err = thingTable.Sweep(tx, pick(w.rand, tombs), some)
	return err
}

// deleteDefinition deletes a definition, adds a tombstone for it, and sweeps some of the records
// that have it.
func deleteDefinition(tx *store.Tx, d store.Doc[definition], some int) error {
	if err := definitionTable.Delete(tx, d); err != nil {
		return err
	}
	tomb := store.Tombstone{Field: shape.CustomPrefix + d.Record.Key, Key: "custom", Prefix: d.ID[:]}
	if d.Record.Type == "" {
		bearers, err := thingTable.IDs(tx, d.Record.Key, d.ID[:], 1)
		if err != nil || len(bearers) == 0 {
			return err
		}
		tomb = store.Tombstone{Field: d.Record.Key, Value: d.ID.String(), Key: d.Record.Key, Prefix: d.ID[:]}
	}
	tomb, err := thingTable.AddTombstone(tx, tomb)
	if err == nil && some > 0 {
		_, err = thingTable.Sweep(tx, tomb, some)
	}
	return err
}

// insert inserts a random record.
func (w *fixture) insert(tx *store.Tx) error { return w.insertAs(tx, tx.NewID()) }

func (w *fixture) insertAs(tx *store.Tx, id uuid.UUID) error {
	v, err := w.thing(tx, id)
	if err != nil {
		return err
	}
	if _, err := thingTable.Insert(tx, v.ID, v); err != nil {
		return err
	}
	w.ids = append(w.ids, v.ID)
	return nil
}

// flushAll writes all changes to the index.
func (w *fixture) flushAll() {
	w.t.Helper()
	if err := w.engine.tableIndex(w.org, things).flushAll(); err != nil {
		w.t.Fatal(err)
	}
}

// sweep sweeps all tombstones.
func (w *fixture) sweep() {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		tombs, err := tx.Tombstones(thingTable.Name())
		for _, tomb := range tombs {
			if err == nil {
				_, err = thingTable.Sweep(tx, tomb, 1_000_000)
			}
		}
		return err
	})
}

// check reports an error if the index differs from the store.
func (w *fixture) check() {
	w.t.Helper()
	n, err := w.engine.Check(context.Background(), false, noProgress, func(what string, _ bool) { w.t.Error(what) }, func(string) {})
	if err != nil || n != len(w.ids) {
		w.t.Errorf("checked %d of %d: %v", n, len(w.ids), err)
	}
}

// noProgress ignores the progress of Check and Reindex.
func noProgress(int, int) {}
