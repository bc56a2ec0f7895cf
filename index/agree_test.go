package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

var thingTable = store.NewTable[thing]("things", nil, nil)

// world is a store with an engine over it, made so that some hundred records already need an index of many segments.
type world struct {
	t      testing.TB
	dir    string
	store  *store.Store
	engine *Engine
	org    uuid.UUID
	rand   *rand.Rand
	ids    []uuid.UUID
	opt    Options
	clock  func() time.Time // of the store; time.Now when nil
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{t: t, dir: t.TempDir(), org: uuid.New(), rand: rand.New(rand.NewPCG(seed, 1))}
	w.opt = Options{CacheBytes: 1 << 20, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), small: 20, batch: 16}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	var engine *Engine
	s, err := store.Open(w.dir, store.Options{Clock: w.clock, Committed: func(ctx context.Context, org uuid.UUID, changed map[string]uint64) {
		engine.Committed(ctx, org, changed)
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.opt.Dir = w.dir + "/index"
	if engine, err = Open(s, []*Kind{things}, w.opt); err != nil {
		w.t.Fatal(err)
	}
	w.store, w.engine = s, engine
}

func (w *world) close() {
	w.engine.Close()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) update(fn func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.store.Update(context.Background(), w.org, store.Actor{RequestID: fmt.Sprint(w.rand.Uint64())}, fn); err != nil {
		w.t.Fatal(err)
	}
}

var (
	nastyTexts = []string{"", "a", "A", "aa", "Ann", "ANN", "ann", "ann smith", "Ann-Smith", "ÄNN", "änn", "İstanbul", "ıi", "ß", "SS", "K", "k", "日本語", "日本",
		"o'neil", "a\x01", "A\x01b", "\x01", "😀 smile", "  ", "--", "9", "10", "v.p. of sales", "VP Sales", "vp", "zebra", "Zebra-9", "x@y.example", "Son@Ash.example",
		strings.Repeat("long ", 40), "~", "\u00a0", "\ufffd", "\U0010ffff"}
	nastyNumbers = []float64{0, -0.0, 1, -1, 3, 1e300, -1e300, 5e-324, 9007199254740991, -9007199254740991, 0.1, 1.5}
	nastyDays    = []string{"", "0001-01-01", "2026-03-01", "2026-03-02", "9999-12-31", "1969-12-31", "1970-01-01"}
	nastyTimes   = []string{"", "0001-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00Z", "9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"}
	someIDs      = []uuid.UUID{uuid.MustParse("0190b2f0-0000-7000-8000-000000000000"), uuid.MustParse("0190b2f0-0000-7000-8000-000000000001"), uuid.MustParse("0190b2f0-0000-7000-8000-000000000002")}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (w *world) thing(id uuid.UUID) thing {
	r := w.rand
	v := thing{ID: id, Name: shape.Text(pick(r, nastyTexts)), Remark: shape.Text(pick(r, nastyTexts)), Mail: shape.Text(pick(r, nastyTexts)), Day: shape.Date(pick(r, nastyDays)), Flag: r.IntN(2) == 0}
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
	v.Color = shape.Text(pick(r, []string{"", "red", "blue"}))
	if r.IntN(2) == 0 {
		v.Owner = uuid.NullUUID{Valid: true, UUID: pick(r, someIDs)}
	}
	for _, id := range someIDs {
		if r.IntN(3) == 0 {
			v.Tags = append(v.Tags, id)
		}
	}
	return v
}

// change makes some records, changes some and deletes some, in one transaction.
func (w *world) change(n int) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		for range n {
			k := w.rand.IntN(10)
			if k < 4 || len(w.ids) == 0 {
				if err := w.insert(tx); err != nil {
					return err
				}
				continue
			}
			i := w.rand.IntN(len(w.ids))
			doc, err := thingTable.Get(tx, w.ids[i])
			if err != nil {
				return err
			}
			if k < 8 {
				_, err = thingTable.Update(tx, doc, w.thing(doc.ID), nil)
			} else {
				err = thingTable.Delete(tx, doc)
				w.ids = slices.Delete(w.ids, i, i+1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// insert makes one record.
func (w *world) insert(tx *store.Tx) error {
	id := tx.NewID()
	if _, err := thingTable.Insert(tx, id, w.thing(id)); err != nil {
		return err
	}
	w.ids = append(w.ids, id)
	return nil
}

// randomBody is a list request with a random tree, sort, search and page.
func randomBody(r *rand.Rand, records int) string {
	body := map[string]any{"page": 1 + r.IntN(4), "page_size": 1 + r.IntN(30)}
	if r.IntN(5) == 0 {
		body["page"] = 1 + r.IntN(max(1, records/body["page_size"].(int)+2))
	}
	if r.IntN(4) > 0 {
		body["filters"] = []any{randomFilter(r, 3)}
	}
	if r.IntN(3) > 0 {
		var keys []string
		for range 1 + r.IntN(3) {
			f := pick(r, things.Fields)
			if f.Sortable {
				keys = append(keys, pick(r, []string{"", "-"})+f.Key)
			}
		}
		body["sort"] = strings.Join(keys, ",")
	}
	if r.IntN(4) == 0 {
		body["search"] = piece(r, pick(r, nastyTexts)) + " " + piece(r, pick(r, nastyTexts))
	}
	b, _ := json.Marshal(body)
	return string(b)
}

// piece is a part of a text.
func piece(r *rand.Rand, s string) string {
	runes := []rune(s)
	if len(runes) == 0 {
		return s
	}
	from := r.IntN(len(runes))
	return string(runes[from : from+1+r.IntN(min(6, len(runes)-from))])
}

func randomFilter(r *rand.Rand, depth int) any {
	if depth > 0 && r.IntN(2) == 0 {
		subs := []any{}
		for range r.IntN(4) {
			subs = append(subs, randomFilter(r, depth-1))
		}
		return map[string]any{"operator": pick(r, []string{"and", "or"}), "filters": subs}
	}
	f := pick(r, things.Fields)
	cond := pick(r, f.Conditions())
	rule := map[string]any{"field": f.Key, "condition": cond}
	if cond == IsEmpty || cond == IsNotEmpty {
		return rule
	}
	one := func() any { return operandFor(r, &f, cond) }
	rule["value"] = one()
	if takesList(f.Type, cond) && r.IntN(3) == 0 {
		rule["value"] = []any{one(), one()}
	}
	return rule
}

func operandFor(r *rand.Rand, f *Field, cond Condition) any {
	switch f.Type {
	case shape.TypeNumber:
		return pick(r, nastyNumbers)
	case shape.TypeBoolean:
		return r.IntN(2) == 0
	case shape.TypeDate:
		return pick(r, nastyDays[1:])
	case shape.TypeDateTime:
		return pick(r, append(nastyTimes[1:], nastyDays[1:]...))
	case shape.TypeEnum:
		return pick(r, f.Enum)
	case shape.TypeReference, shape.TypeMulti:
		return pick(r, someIDs).String()
	}
	text := pick(r, nastyTexts[1:])
	if cond == Contains || cond == NotContains {
		text = piece(r, text+pick(r, []string{"", " ", " " + pick(r, nastyTexts)}))
	}
	return text
}

// agree holds a page of the engine against the predicate, at one moment.
func (w *world) agree(body string) {
	w.t.Helper()
	plan, err := compileBody(w.t, body)
	if err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	s := w.engine.shelf(w.org, things)
	for {
		if err := s.load(); err != nil {
			w.t.Fatal(err)
		}
		var got, want Page
		err := w.store.View(w.org, func(tx *store.Tx) error {
			m, err := s.at(tx)
			if err != nil {
				return err
			}
			defer m.release()
			if got, err = s.page(tx, m, plan); err != nil {
				return err
			}
			got = got.clone()
			want, err = reference(tx, plan)
			return err
		})
		if errors.Is(err, errBehind) || errors.Is(err, errUnloaded) {
			continue
		}
		if err != nil {
			w.t.Fatalf("%s: %v", body, err)
		}
		if got.Total != want.Total || !slices.EqualFunc(got.Records, want.Records, slices.Equal) {
			w.t.Fatalf("%s\nhas %d: %s\nnot %d: %s", body, got.Total, got.Records, want.Total, want.Records)
		}
		return
	}
}

// keyed is a row as a run gives it.
func (p *Plan) keyed(r *row) keyed {
	k := p.newKeyed()
	p.keyedInto(r, &k)
	return k
}

// clone makes a page that outlives its transaction.
func (p Page) clone() Page {
	for i, r := range p.Records {
		p.Records[i] = slices.Clone(r)
	}
	return p
}

// reference answers a plan by the predicate alone.
func reference(tx *store.Tx, plan *Plan) (Page, error) {
	var page Page
	var rows []keyed
	public := map[uuid.UUID][]byte{}
	err := tx.Records(plan.kind.table, uuid.Nil, func(id uuid.UUID, _ uint64, b []byte) (bool, error) {
		r, err := plan.kind.row(plan.customs, id, b)
		if err == nil && plan.Match(r) {
			rows = append(rows, plan.keyed(r))
			public[id] = slices.Clone(b)
		}
		return true, err
	})
	slices.SortFunc(rows, func(a, b keyed) int { return plan.compare(&a, &b) })
	page.Total = len(rows)
	for i := (plan.Page - 1) * plan.PageSize; i < min(plan.Page*plan.PageSize, len(rows)); i++ {
		page.Records = append(page.Records, public[rows[i].id])
	}
	return page, err
}

// settle waits until the index holds everything.
func (w *world) settle() {
	w.t.Helper()
	if err := w.engine.shelf(w.org, things).settle(); err != nil {
		w.t.Fatal(err)
	}
}

// check wants the index to hold what the store does.
func (w *world) check() {
	w.t.Helper()
	n, err := w.engine.Check(context.Background(), false, quiet, func(what string, _ bool) { w.t.Error(what) })
	if err != nil || n != len(w.ids) {
		w.t.Errorf("checked %d of %d: %v", n, len(w.ids), err)
	}
}

func TestAgreement(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(t, seed)
		for range 40 {
			w.change(1 + w.rand.IntN(30))
			if w.rand.IntN(3) == 0 {
				w.settle()
			}
			for range 25 {
				w.agree(randomBody(w.rand, len(w.ids)))
			}
		}
		w.settle()
		w.check()
	}
}

// quiet is a progress that nobody watches.
func quiet(int, int) {}
