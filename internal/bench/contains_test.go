package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkContains measures lists with many contains rules on a long text, and compares them with one
// rule on a short text.
func BenchmarkContains(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t := newTenant(b, s, "Searched", 60)
	load(b, s, t, n, 1)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	l := &lists{b: b, s: s, org: t.id, kind: s.CRM.Contacts.List}
	rules := func(n int, field, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"field":%q,"condition":"contains","value":%q}`, field, fmt.Sprintf(format, i)))
		}
		return `{"filters":[{"operator":"or","filters":[` + strings.Join(all, ",") + `]}]}`
	}
	took := func(body string) time.Duration {
		p := plan(b, l.kind, body)
		var times []time.Duration
		for range 15 {
			start := time.Now()
			l.page(p)
			times = append(times, time.Since(start))
		}
		slices.Sort(times)
		return times[len(times)/2]
	}
	one := took(rules(1, "title", "sales%.0d"))
	fmt.Printf("\n%d contacts, one contains rule on title: %s\n", n, one.Round(time.Microsecond))
	for _, c := range []struct{ name, format string }{
		{"inside of words", "epo%d"}, {"a phrase", "the reports %d"}, {"that match", "the fai%.0d"},
	} {
		many := took(rules(100, "notes", c.format))
		fmt.Printf("100 contains rules on notes, %s: %s; ratio %.1f, target 20 %s\n",
			c.name, many.Round(time.Microsecond), float64(many)/float64(one), verdict(many <= 20*one))
	}
}
