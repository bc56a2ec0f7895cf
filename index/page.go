package index

import (
	"math"
	"slices"
	"sort"

	"github.com/google/uuid"

	"prospector/internal/filter"
)

// pageStart returns the number of matches before the page. It is total for a page after the last
// one.
func pageStart(p *filter.Plan, total int) int {
	// Compared before it is multiplied, because the page number can be any integer.
	if p.Page-1 > total/p.PageSize {
		return total
	}
	return (p.Page - 1) * p.PageSize
}

// pageEnd returns the number of matches up to the end of the page, if there are that many.
func pageEnd(p *filter.Plan) int {
	if p.Page > math.MaxInt32/p.PageSize {
		return math.MaxInt32
	}
	return p.Page * p.PageSize
}

// pickPage returns the ids of the page that has start matches before it, from the matches of the
// segments and the rows. The rows must be sorted.
func pickPage(p *filter.Plan, segments []segmentMatches, rows *rowCollector, start int) []uuid.UUID {
	total := rows.total
	for i := range segments {
		total += segments[i].count
	}
	// A page in the second half is cheaper to reach from the end.
	limit := pageEnd(p)
	if start > total/2 && rows.complete() {
		limit = -(total - start)
	}
	runs := make([]sortedRun, 0, len(segments)+1)
	left := total
	if len(rows.rows) > 0 {
		runs = append(runs, rowRun{p, rows.rows})
		left -= len(rows.rows)
	}
	for i := range segments {
		if segments[i].count > 0 {
			r := segments[i].inOrder(p, limit)
			runs = append(runs, r)
			left -= r.len()
		}
	}
	if limit < 0 {
		start -= left // the matches that were left out come before the page
	}
	return mergeRuns(p, runs, cutRuns(p, runs, start), p.PageSize)
}

// cutRuns returns for each run how many of its matches are among the first n of all runs.
func cutRuns(p *filter.Plan, runs []sortedRun, n int) []int {
	low, high := make([]int, len(runs)), make([]int, len(runs))
	for i, r := range runs {
		high[i] = min(r.len(), n)
	}
	if n == 0 {
		return low
	}
	at := make([]int, len(runs))
	pivot, other := newMatch(p), newMatch(p)
	for {
		// The pivot comes from the widest range, at the place where it would be if all runs were
		// alike.
		widest, sumLow, sumHigh := 0, 0, 0
		for i := range runs {
			if high[i]-low[i] > high[widest]-low[widest] {
				widest = i
			}
			sumLow, sumHigh = sumLow+low[i], sumHigh+high[i]
		}
		width := high[widest] - low[widest]
		if sumLow == n || width == 0 {
			return low
		}
		at[widest] = low[widest] + min(int(float64(width)*float64(n-sumLow)/float64(sumHigh-sumLow)), width-1)
		runs[widest].get(at[widest], &pivot)
		before := 0
		for i, r := range runs {
			if i != widest {
				isAfter := func(j int) bool {
					r.get(j, &other)
					return compareMatches(p, &pivot, &other) < 0
				}
				// Segments are often ordered by time: all of one comes before the pivot, or after
				// it.
				switch {
				case low[i] == high[i] || isAfter(low[i]):
					at[i] = low[i]
				case !isAfter(high[i] - 1):
					at[i] = high[i]
				default:
					at[i] = low[i] + sort.Search(high[i]-low[i], func(j int) bool { return isAfter(low[i] + j) })
				}
			}
			before += at[i]
		}
		switch {
		case before == n:
			return at
		case before < n: // the pivot itself is among the first n
			copy(low, at)
			low[widest]++
		default:
			copy(high, at)
		}
	}
}

// runHead is the next match of a run during a merge.
type runHead struct {
	match
	run sortedRun
	at  int
}

// mergeRuns returns the ids of the next size matches of all runs together. at[i] is where it starts
// in the i-th run.
func mergeRuns(p *filter.Plan, runs []sortedRun, at []int, size int) []uuid.UUID {
	// heads is sorted. The first head is taken and replaced by the next match of its run, which
	// mostly remains first because segments are often ordered by time.
	heads := make([]*runHead, 0, len(runs))
	for i, r := range runs {
		if at[i] < r.len() {
			h := &runHead{match: newMatch(p), run: r, at: at[i]}
			r.get(h.at, &h.match)
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, func(a, b *runHead) int { return compareMatches(p, &a.match, &b.match) })
	ids := make([]uuid.UUID, 0, size)
	probe := newMatch(p)
	var last *runHead
	for len(ids) < size && len(heads) > 0 {
		h := heads[0]
		// If the same run was first before, take as many matches as come before the next run. The
		// number to try doubles each time.
		limit := min(h.run.len()-h.at, size-len(ids))
		n, again := 1, h == last
		last = h
		for again && n < limit {
			if len(heads) == 1 {
				n = limit
				break
			}
			h.run.get(h.at+min(2*n, limit)-1, &probe)
			if compareMatches(p, &probe, &heads[1].match) > 0 {
				break
			}
			n = min(2*n, limit)
		}
		for i := range n {
			ids = append(ids, h.run.id(h.at+i))
		}
		if h.at += n; h.at == h.run.len() {
			heads = heads[1:]
			continue
		}
		h.run.get(h.at, &h.match)
		if rest := heads[1:]; len(rest) > 0 && compareMatches(p, &rest[0].match, &h.match) < 0 {
			i := sort.Search(len(rest), func(i int) bool { return compareMatches(p, &rest[i].match, &h.match) >= 0 })
			copy(heads, rest[:i])
			heads[i] = h
		}
	}
	return ids
}
