package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/shape"
)

// sortable is what sorts need of a value.
func sortable(v value) value { return value{has: v.has, num: v.num, fold: v.fold} }

// columnOf is the column that a segment of the rows has of a field.
func columnOf(field int, rows []*row) *column {
	c := &column{codes: make([]uint32, len(rows))}
	numeric := things.Fields[field].isNumeric()
	var distinct []value
	for _, r := range rows {
		if v := sortable(r.values[field]); v.has && !slices.Contains(distinct, v) {
			distinct = append(distinct, v)
		}
	}
	slices.SortFunc(distinct, func(a, b value) int { return compareValues(&a, &b, false) })
	for _, v := range distinct {
		if numeric {
			c.nums = append(c.nums, v.num)
			continue
		}
		c.text += v.fold
		c.ends = append(c.ends, uint32(len(c.text)))
		c.text += string([]byte{textEnd})
	}
	for doc, r := range rows {
		c.codes[doc] = uint32(slices.Index(distinct, sortable(r.values[field])) + 1)
	}
	return c
}

// partOf is a part that holds the rows, with no index behind it.
func partOf(rows []*row) *part {
	p := &part{segment: &segment{size: len(rows)}, kind: things, cache: newCache(1 << 30), count: len(rows)}
	for doc, r := range rows {
		p.ids = append(p.ids, r.id)
		p.byID = append(p.byID, uint32(doc))
	}
	slices.SortFunc(p.byID, func(a, b uint32) int { return bytes.Compare(p.ids[a][:], p.ids[b][:]) })
	for i, f := range things.Fields {
		if f.Sortable {
			p.cache.make(p.segment, columnName+f.Key, func() (any, int) { return columnOf(i, rows), 1 })
		}
	}
	return p
}

// planOf is a list of everything, and the comparison of its sort.
func planOf(t *testing.T, sort string, page, size int) (*Plan, func(a, b keyed) int) {
	t.Helper()
	plan, err := compileBody(t, fmt.Sprintf(`{"sort": %q, "page": %d, "page_size": %d}`, sort, page, size))
	if err != nil {
		t.Fatal(err)
	}
	return plan, func(a, b keyed) int { return plan.compare(&a, &b) }
}

// randomRow has values that many others have too.
func randomRow(r *rand.Rand) *row {
	v := &thing{Name: shape.Text(pick(r, nastyTexts[:12])), Flag: r.IntN(2) == 0, Day: shape.Date(pick(r, nastyDays))}
	for i := range v.ID {
		v.ID[i] = byte(r.Uint32())
	}
	if r.IntN(3) > 0 {
		v.Size = shape.Number{Valid: true, Float: pick(r, nastyNumbers[2:])}
	}
	out := &row{id: v.ID}
	for i := range things.Fields {
		out.values = append(out.values, valueOf(things.Fields[i].Listed(v)))
	}
	return out
}

// TestPages puts matches into parts and rows at random, and wants of every page what sorting all of them gives.
func TestPages(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 1))
	trials := 300
	if raceDetector { // ten times as slow, and it pages on one goroutine
		trials = 5
	}
	for trial := range trials {
		var parts []matched
		var all []keyed
		sort := strings.Join([]string{pick(r, []string{"name", "-name", "size", "-size"}), pick(r, []string{"-day", "day", "flag", "-flag"})}[:1+r.IntN(2)], ",")
		plan, compare := planOf(t, sort, 1, 1+r.IntN(40))
		for range r.IntN(6) {
			rows := make([]*row, 1+r.IntN(pick(r, []int{2, 30, 400, 400, 1500})))
			for i := range rows {
				rows[i] = randomRow(r)
			}
			m := matched{part: partOf(rows), count: len(rows)}
			of := pick(r, []int{0, 1, 2, 5, 100, 300})
			if of > 0 {
				m.docs, m.count = newSet(len(rows)), 0
			}
			for doc, row := range rows {
				if of == 0 || r.IntN(of) == 0 {
					all = append(all, plan.keyed(row))
				}
				if of > 0 && len(all) > 0 && all[len(all)-1].id == row.id {
					m.docs.add(uint32(doc))
					m.count++
				}
			}
			parts = append(parts, m)
		}
		outside := make([]*row, r.IntN(pick(r, []int{1, 10, 300})))
		for i := range outside {
			outside[i] = randomRow(r)
			all = append(all, plan.keyed(outside[i]))
		}
		slices.SortFunc(all, compare)
		for page := 1; page <= len(all)/plan.PageSize+2; page++ {
			plan.Page = page
			rows := &collector{plan: plan, most: plan.reach()}
			for _, row := range outside {
				rows.add(row)
			}
			rows.sort()
			if r.IntN(2) == 0 && len(rows.rows) > rows.most {
				rows.rows = rows.rows[:rows.most] // as when there were too many to keep
			}
			from := plan.from(len(all))
			if want := min((page-1)*plan.PageSize, len(all)); from != want && (from < len(all) || want < len(all)) {
				t.Fatalf("page %d of %d in %d begins at %d", page, plan.PageSize, len(all), from)
			}
			if from >= len(all) {
				continue
			}
			want := all[from:min(from+plan.PageSize, len(all))]
			got := plan.pick(parts, rows, from)
			if !slices.EqualFunc(got, want, func(id uuid.UUID, k keyed) bool { return id == k.id }) {
				t.Fatalf("trial %d: page %d by %s of %d in %d parts and %d rows\nhas %v\nnot %v", trial, page, sort, len(all), len(parts), len(outside), got, want)
			}
		}
	}
}

// TestCut cuts runs at every place: all that is before the cut comes before all that is behind it.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(82, 1))
	for range 200 {
		plan, compare := planOf(t, pick(r, []string{"name", "-size", "flag", "size,-name"}), 1, 1)
		runs, total := []run{}, 0
		for range 1 + r.IntN(5) {
			c := &collector{plan: plan, most: 1000}
			for range r.IntN(pick(r, []int{1, 3, 60})) {
				c.add(randomRow(r))
			}
			c.sort()
			runs, total = append(runs, rowRun{plan, c.rows}), total+len(c.rows)
		}
		for from := range total + 1 {
			at, sum := plan.cut(runs, from), 0
			var before, behind []keyed
			for i, n := range at {
				sum += n
				for j, r := range runs[i].(rowRun).rows {
					if j < n {
						before = append(before, plan.keyed(r.row))
					} else {
						behind = append(behind, plan.keyed(r.row))
					}
				}
			}
			if sum != from {
				t.Fatalf("%d before the cut at %d", sum, from)
			}
			if len(before) > 0 && len(behind) > 0 && compare(slices.MaxFunc(before, compare), slices.MinFunc(behind, compare)) >= 0 {
				t.Fatalf("a cut at %d of %d is out of order: %v", from, total, at)
			}
		}
	}
}

// A page number may be as large as a number can be.
func TestFarPages(t *testing.T) {
	const most = int(^uint(0) >> 1)
	for _, size := range []int{1, 50, 500} {
		for _, page := range []int{most, most / size, most/size - 1, most / (size + 1), 1 << 32} {
			p := &Plan{Page: page, PageSize: size}
			if from, reach := p.from(1000), p.reach(); from < 1000 || reach < 1000 {
				t.Errorf("page %d of %d: from %d, reach %d", page, size, from, reach)
			}
		}
	}
}

// TestCollector keeps what a page can need, however many are added.
func TestCollector(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 1))
	plan, compare := planOf(t, "name,-size", 3, 7)
	c := &collector{plan: plan, most: plan.reach()}
	var all []keyed
	for n := range 5000 {
		row := randomRow(r)
		c.add(row)
		all = append(all, plan.keyed(row))
		if complete := len(c.rows) == n+1; c.complete() != complete {
			t.Fatalf("%d of %d rows are complete: %t", len(c.rows), n+1, c.complete())
		}
	}
	c.sort()
	slices.SortFunc(all, compare)
	if c.total != len(all) || len(c.rows) > 2*c.most+smallMost || len(c.rows) < c.most || c.complete() {
		t.Errorf("%d of %d rows", len(c.rows), c.total)
	}
	for i := range c.most {
		if c.rows[i].row.id != all[i].id {
			t.Fatalf("the row %d is another", i)
		}
	}
}

// TestColumns holds what a column finds and orders against a look at every row.
func TestColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(84, 1))
	name, size := things.byKey["name"], things.byKey["size"]
	for range 150 {
		rows := make([]*row, r.IntN(pick(r, []int{2, 100, 400})))
		for i := range rows {
			rows[i] = randomRow(r)
			if r.IntN(2) == 0 { // so that there are many distinct texts, some far from each other
				rows[i].values[name] = textValue(fmt.Sprint(pick(r, nastyTexts), r.IntN(1000)))
			}
		}
		texts, numbers := columnOf(name, rows), columnOf(size, rows)
		want := func(what string, got set, is func(r *row) bool) {
			t.Helper()
			for doc, row := range rows {
				if got.has(uint32(doc)) != is(row) {
					t.Fatalf("%s: %+v", what, row.values)
				}
			}
		}
		for range 10 {
			needle := shape.Fold(pick(r, []string{"a", "nn", "9", "99", "7", "ann", "日", "no such", pick(r, nastyTexts[1:]), fmt.Sprint(r.IntN(1000))}))
			out := newSet(len(rows))
			texts.containing(needle, out)
			want("contains "+needle, out, func(r *row) bool { return strings.Contains(shape.Fold(r.values[name].text), needle) })
			span := [2]float64{pick(r, nastyNumbers), pick(r, nastyNumbers)}
			out = newSet(len(rows))
			numbers.within(span, out)
			want(fmt.Sprint("within ", span), out, func(r *row) bool {
				v := r.values[size]
				return v.has && v.num >= span[0] && v.num < span[1]
			})
		}
		for doc, row := range rows {
			if v := sortable(row.values[name]); texts.value(uint32(doc)) != v || numbers.value(uint32(doc)) != row.values[size] {
				t.Fatalf("%+v is not %+v", texts.value(uint32(doc)), v)
			}
		}
		for field, c := range map[int]*column{name: texts, size: numbers} {
			for _, desc := range []bool{false, true} {
				docs := make([]uint32, len(rows))
				for i, doc := range r.Perm(len(rows)) {
					docs[i] = uint32(doc)
				}
				docs = docs[:r.IntN(len(rows)+1)]
				sorted := slices.Clone(docs)
				slices.SortStableFunc(sorted, func(a, b uint32) int {
					x, y := rows[a].values[field], rows[b].values[field]
					return compareValues(&x, &y, desc)
				})
				if got := c.sorted(docs, desc); !slices.Equal(got, sorted) {
					t.Fatalf("%v, descending %t, has the order %v, not %v", docs, desc, got, sorted)
				}
			}
		}
	}
}
