package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// fieldPosition returns the position of a field of things.
func fieldPosition(key string) int {
	return slices.IndexFunc(things.Fields, func(f filter.Field) bool { return f.Key == key })
}

// sortable returns the parts of a value that sorts use.
func sortable(v filter.Value) filter.Value {
	return filter.Value{IsSet: v.IsSet, Num: v.Num, Fold: v.Fold}
}

// columnOf builds the column of a field from rows.
func columnOf(field int, rows []*filter.Row) *column {
	c := &column{codes: make([]uint32, len(rows))}
	numeric := things.Fields[field].IsNumeric()
	var distinct []filter.Value
	for _, r := range rows {
		if v := sortable(r.Values[field]); v.IsSet && !slices.Contains(distinct, v) {
			distinct = append(distinct, v)
		}
	}
	slices.SortFunc(distinct, func(a, b filter.Value) int { return filter.CompareValues(&a, &b, false) })
	for _, v := range distinct {
		if numeric {
			c.nums = append(c.nums, v.Num)
			continue
		}
		c.text += v.Fold
		c.ends = append(c.ends, uint32(len(c.text)))
		c.text += string([]byte{textEnd})
	}
	for doc, r := range rows {
		c.codes[doc] = uint32(slices.Index(distinct, sortable(r.Values[field])) + 1)
	}
	return c
}

// segmentOf returns a segment with the rows, without an index on disk.
func segmentOf(rows []*filter.Row) *segmentView {
	p := &segmentView{segment: &segment{size: len(rows)}, kind: things, cache: newCache(1 << 30), count: len(rows)}
	for doc, r := range rows {
		p.ids = append(p.ids, r.ID)
		p.byID = append(p.byID, uint32(doc))
	}
	slices.SortFunc(p.byID, func(a, b uint32) int { return bytes.Compare(p.ids[a][:], p.ids[b][:]) })
	for i, f := range things.Fields {
		if f.Sortable {
			p.cache.make(p.segment, derived{derivedColumn, f.Name}, func() (any, int) { return columnOf(i, rows), 1 })
		}
	}
	return p
}

// planOf returns a plan that matches everything, and its order.
func planOf(t *testing.T, sort string, page, size int) (*filter.Plan, func(a, b match) int) {
	t.Helper()
	plan, err := compileBody(fmt.Sprintf(`{"sort": %q, "page": %d, "page_size": %d}`, sort, page, size))
	if err != nil {
		t.Fatal(err)
	}
	return plan, func(a, b match) int { return compareMatches(plan, &a, &b) }
}

// randomRow returns a row whose values many other rows have too.
func randomRow(r *rand.Rand) *filter.Row {
	v := &thing{Name: shape.Text(pick(r, nastyTexts[:12])), Flag: r.IntN(2) == 0, Day: shape.Date(pick(r, nastyDays))}
	for i := range v.ID {
		v.ID[i] = byte(r.Uint32())
	}
	if r.IntN(3) > 0 {
		v.Size = shape.Number{Valid: true, Float: pick(r, nastyNumbers[2:])}
	}
	out := &filter.Row{ID: v.ID}
	for i := range things.Fields {
		out.Values = append(out.Values, filter.ValueOf(things.Fields[i].Listed(v)))
	}
	return out
}

// Matches are distributed over segments and rows at random. Every page has what sorting all matches
// would put there.
func TestPickPage(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 1))
	trials := 300
	if raceDetector { // ten times as slow, and the test is sequential
		trials = 5
	}
	for trial := range trials {
		var segments []segmentMatches
		var all []match
		sort := pick(r, []string{"name", "-name", "size", "-size"})
		if r.IntN(2) == 0 {
			sort += "," + pick(r, []string{"-day", "day", "flag", "-flag"})
		}
		plan, compare := planOf(t, sort, 1, 1+r.IntN(40))
		for range r.IntN(6) {
			rows := make([]*filter.Row, 1+r.IntN(pick(r, []int{2, 30, 400, 400, 1500})))
			for i := range rows {
				rows[i] = randomRow(r)
			}
			m := segmentMatches{segment: segmentOf(rows), count: len(rows)}
			of := pick(r, []int{0, 1, 2, 5, 100, 300})
			if of > 0 {
				m.docs, m.count = newSet(len(rows)), 0
			}
			for doc, row := range rows {
				if of == 0 || r.IntN(of) == 0 {
					all = append(all, matchOf(plan, row))
				}
				if of > 0 && len(all) > 0 && all[len(all)-1].id == row.ID {
					m.docs.add(uint32(doc))
					m.count++
				}
			}
			segments = append(segments, m)
		}
		outside := make([]*filter.Row, r.IntN(pick(r, []int{1, 10, 300})))
		for i := range outside {
			outside[i] = randomRow(r)
			all = append(all, matchOf(plan, outside[i]))
		}
		slices.SortFunc(all, compare)
		for page := 1; page <= len(all)/plan.PageSize+2; page++ {
			plan.Page = page
			rows := &rowCollector{plan: plan, limit: pageEnd(plan)}
			for _, row := range outside {
				rows.add(row)
			}
			rows.sort()
			if r.IntN(2) == 0 && len(rows.rows) > rows.limit {
				rows.rows = rows.rows[:rows.limit] // as if there were too many to keep
			}
			from := pageStart(plan, len(all))
			if want := min((page-1)*plan.PageSize, len(all)); from != want && (from < len(all) || want < len(all)) {
				t.Fatalf("page %d of size %d of %d matches starts at %d", page, plan.PageSize, len(all), from)
			}
			if from >= len(all) {
				continue
			}
			want := all[from:min(from+plan.PageSize, len(all))]
			got := pickPage(plan, segments, rows, from)
			if !slices.EqualFunc(got, want, func(id uuid.UUID, k match) bool { return id == k.id }) {
				t.Fatalf("trial %d: page %d by %s of %d matches in %d segments and %d rows\nhas %v\nwant %v",
					trial, page, sort, len(all), len(segments), len(outside), got, want)
			}
		}
	}
}

// At every position, all matches before the cut come before all matches after it.
func TestCutRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(82, 1))
	for range 200 {
		plan, compare := planOf(t, pick(r, []string{"name", "-size", "flag", "size,-name"}), 1, 1)
		runs, total := []sortedRun{}, 0
		for range 1 + r.IntN(5) {
			c := &rowCollector{plan: plan, limit: 1000}
			for range r.IntN(pick(r, []int{1, 3, 60})) {
				c.add(randomRow(r))
			}
			c.sort()
			runs, total = append(runs, rowRun{plan, c.rows}), total+len(c.rows)
		}
		for from := range total + 1 {
			at, sum := cutRuns(plan, runs, from), 0
			var before, behind []match
			for i, n := range at {
				sum += n
				for j, r := range runs[i].(rowRun).rows {
					if j < n {
						before = append(before, matchOf(plan, r.row))
					} else {
						behind = append(behind, matchOf(plan, r.row))
					}
				}
			}
			if sum != from {
				t.Fatalf("%d matches before the cut at %d", sum, from)
			}
			if len(before) == 0 || len(behind) == 0 {
				continue
			}
			if compare(slices.MaxFunc(before, compare), slices.MinFunc(behind, compare)) >= 0 {
				t.Fatalf("a cut at %d of %d is out of order: %v", from, total, at)
			}
		}
	}
}

// The page number can be any integer.
func TestPageNumberOverflow(t *testing.T) {
	const most = int(^uint(0) >> 1)
	for _, size := range []int{1, 50, 500} {
		for _, page := range []int{most, most / size, most/size - 1, most / (size + 1), 1 << 32} {
			p := &filter.Plan{Page: page, PageSize: size}
			if from, reach := pageStart(p, 1000), pageEnd(p); from < 1000 || reach < 1000 {
				t.Errorf("page %d of %d: from %d, reach %d", page, size, from, reach)
			}
		}
	}
}

// The collector keeps as many rows as a page can need, however many are added.
func TestRowCollector(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 1))
	plan, compare := planOf(t, "name,-size", 3, 7)
	c := &rowCollector{plan: plan, limit: pageEnd(plan)}
	var all []match
	for n := range 5000 {
		row := randomRow(r)
		c.add(row)
		all = append(all, matchOf(plan, row))
		if complete := len(c.rows) == n+1; c.complete() != complete {
			t.Fatalf("complete with %d of %d rows: %t", len(c.rows), n+1, c.complete())
		}
	}
	c.sort()
	slices.SortFunc(all, compare)
	if c.total != len(all) || len(c.rows) > 2*c.limit+maxSmall || len(c.rows) < c.limit || c.complete() {
		t.Errorf("keeps %d of %d rows", len(c.rows), c.total)
	}
	for i := range c.limit {
		if c.rows[i].row.ID != all[i].id {
			t.Fatalf("row %d is %s, want %s", i, c.rows[i].row.ID, all[i].id)
		}
	}
}

// A column finds and orders the same documents as a scan of all rows.
func TestColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(84, 1))
	name, size := fieldPosition("name"), fieldPosition("size")
	for range 150 {
		rows := make([]*filter.Row, r.IntN(pick(r, []int{2, 100, 400})))
		for i := range rows {
			rows[i] = randomRow(r)
			if r.IntN(2) == 0 { // many distinct texts, some of them far apart
				rows[i].Values[name] = filter.ValueOf(fmt.Sprint(pick(r, nastyTexts), r.IntN(1000)))
			}
		}
		texts, numbers := columnOf(name, rows), columnOf(size, rows)
		want := func(what string, got docSet, is func(r *filter.Row) bool) {
			t.Helper()
			for doc, row := range rows {
				if got.has(uint32(doc)) != is(row) {
					t.Fatalf("%s: %+v", what, row.Values)
				}
			}
		}
		for range 10 {
			needle := shape.Fold(pick(r, []string{
				"a", "nn", "9", "99", "7", "ann", "日", "no such", pick(r, nastyTexts[1:]), fmt.Sprint(r.IntN(1000)),
			}))
			out := newSet(len(rows))
			texts.addContaining(needle, out)
			want("contains "+needle, out, func(r *filter.Row) bool {
				return strings.Contains(shape.Fold(r.Values[name].Text), needle)
			})
			span := filter.Span{From: pick(r, nastyNumbers), To: pick(r, nastyNumbers)}
			out = newSet(len(rows))
			numbers.addInSpan(span, out)
			want(fmt.Sprint("within ", span), out, func(r *filter.Row) bool {
				v := r.Values[size]
				return v.IsSet && v.Num >= span.From && v.Num < span.To
			})
		}
		for doc, row := range rows {
			if v := sortable(row.Values[name]); texts.value(uint32(doc)) != v || numbers.value(uint32(doc)) != row.Values[size] {
				t.Fatalf("has %+v, want %+v", texts.value(uint32(doc)), v)
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
					x, y := rows[a].Values[field], rows[b].Values[field]
					return filter.CompareValues(&x, &y, desc)
				})
				if got := c.sorted(docs, desc); !slices.Equal(got, sorted) {
					t.Fatalf("%v, descending %t, has the order %v, want %v", docs, desc, got, sorted)
				}
			}
		}
	}
}
