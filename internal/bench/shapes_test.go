package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/filter"
	"prospector/internal/service"
	"prospector/store"
)

// shapeOf is a list request as the API takes it and, for shapes compared with SQLite, as SQL.
type shapeOf struct {
	name  string
	body  string
	where string
	order string
	from  int
	args  []any
}

// defaults are the shapes that are compared with reading the same records by id.
func defaults(n int) []shapeOf {
	return []shapeOf{
		{name: "default list, page 1", body: `{}`},
		{name: "default list, page 100", body: `{"page":100}`},
		{name: "default list, last page", body: fmt.Sprintf(`{"page":%d}`, n/50)},
	}
}

// compared are the shapes that are compared with SQLite.
func compared(n int, tag uuid.UUID) []shapeOf {
	from, to := firstDay.Add(time.Duration(n/4)*90*time.Second), firstDay.Add(time.Duration(n/2)*90*time.Second)
	half := n * 95 / 200 / 50
	return []shapeOf{
		{name: `title contains "vp" + tag is, by last_name`,
			body:  fmt.Sprintf(`{"filters":[{"field":"title","condition":"contains","value":"vp"},{"field":"tags","condition":"is","value":%q}],"sort":"last_name"}`, tag),
			where: "instr(title, 'vp') AND rowid IN (SELECT contact FROM tags WHERE tag = ?)", order: "last, id", args: []any{tag[:]}},
		{name: "do_not_contact is false, by email",
			body:  `{"filters":[{"field":"do_not_contact","condition":"is","value":false}],"sort":"email"}`,
			where: "dnc = 0", order: "email, id"},
		{name: "do_not_contact is false, by email, halfway",
			body:  fmt.Sprintf(`{"filters":[{"field":"do_not_contact","condition":"is","value":false}],"sort":"email","page":%d}`, half+1),
			where: "dnc = 0", order: "email, id", from: half * 50},
		{name: `email contains "gh77" (rare)`,
			body:  `{"filters":[{"field":"email","condition":"contains","value":"gh77"}]}`,
			where: "rowid IN (SELECT rowid FROM mails WHERE mails MATCH '\"gh77\"')", order: "created DESC, id DESC"},
		{name: "phone is_empty",
			body:  `{"filters":[{"field":"phone_number","condition":"is_empty"}]}`,
			where: "phone IS NULL", order: "created DESC, id DESC"},
		{name: "created_at range, by last_name",
			body: fmt.Sprintf(`{"filters":[{"field":"created_at","condition":"is_after","value":%q},{"field":"created_at","condition":"is_before","value":%q}],"sort":"last_name"}`,
				from.Format(time.RFC3339), to.Format(time.RFC3339)),
			where: "created > ? AND created < ?", order: "last, id", args: []any{from.UnixMilli(), to.UnixMilli()}},
		{name: "nested and/or/not, by last_name",
			body: `{"filters":{"operator":"and","filters":[
				{"operator":"or","filters":[{"field":"title","condition":"contains","value":"vp"},{"field":"title","condition":"contains","value":"director"}]},
				{"operator":"or","filters":[{"field":"source","condition":"is","value":"csv"},{"operator":"and","filters":[
					{"field":"source","condition":"is","value":"tam_import"},{"field":"do_not_contact","condition":"is_not","value":true}]}]},
				{"field":"scoring.heat_score","condition":"is_not","value":"cold"}]},"sort":"last_name"}`,
			where: "(instr(title, 'vp') OR instr(title, 'director')) AND (source = 'csv' OR source = 'tam_import' AND dnc = 0) AND heat <> 'cold'", order: "last, id"},
		{name: `search "an"`, body: `{"search":"an"}`,
			where: "rowid IN (SELECT rowid FROM words WHERE words MATCH 'an*')", order: "created DESC, id DESC"},
		{name: `search "ann smi"`, body: `{"search":"ann smi"}`,
			where: "rowid IN (SELECT rowid FROM words WHERE words MATCH 'ann* smi*')", order: "created DESC, id DESC"},
	}
}

// lists is the service with the large organization.
type lists struct {
	b    *testing.B
	s    *service.Service
	org  uuid.UUID
	kind *index.Kind
	buf  []byte
}

// page reads the page of a plan and writes its envelope.
func (l *lists) page(p *filter.Plan) { l.query(queryOf(p)) }

// queryOf returns a compiled query.
func queryOf(p *filter.Plan) index.Query {
	return func(*store.Tx, *filter.CustomFields) (*filter.Plan, error) { return p, nil }
}

// query reads the page of a query and writes its envelope.
func (l *lists) query(q index.Query) {
	err := l.s.Index.List(context.Background(), l.org, l.s.CRM.Contacts.List, q, func(page index.Page) error {
		l.envelope(page.Records)
		return nil
	})
	if err != nil {
		l.b.Fatal(err)
	}
}

// kept runs a plan and returns the records.
func (l *lists) kept(p *filter.Plan) (records [][]byte, total int) {
	err := l.s.Index.List(context.Background(), l.org, l.s.CRM.Contacts.List, queryOf(p), func(page index.Page) error {
		for _, r := range page.Records {
			records = append(records, bytes.Clone(r))
		}
		total = page.Total
		return nil
	})
	if err != nil {
		l.b.Fatal(err)
	}
	return records, total
}

// envelope writes what a list response contains around its records.
func (l *lists) envelope(records [][]byte) {
	l.buf = append(l.buf[:0], `{"data":[`...)
	for i, r := range records {
		if i > 0 {
			l.buf = append(l.buf, ',')
		}
		l.buf = append(l.buf, r...)
	}
	l.buf = append(l.buf, `],"pagination":{"page":1,"page_size":50,"total_count":100000,"total_pages":2000},"meta":{"timestamp":"2026-01-01T00:00:00.000Z"}}`...)
}

// floor reads the records of a page by id, as they are stored, and writes the envelope.
func (l *lists) floor(ids []uuid.UUID) {
	err := l.s.Store.View(l.org, func(tx *store.Tx) error {
		reader, records := tx.Reader("contacts"), make([][]byte, len(ids))
		for i, id := range ids {
			_, public, err := reader.Public(id)
			if err != nil {
				return err
			}
			records[i] = public
		}
		l.envelope(records)
		return nil
	})
	if err != nil {
		l.b.Fatal(err)
	}
}

// turns runs several functions alternately and returns the median time of each.
func turns(fns ...func()) []time.Duration {
	const rounds, slice = 15, 40 * time.Millisecond
	times := make([][]time.Duration, len(fns))
	for range rounds {
		for i, fn := range fns {
			n, start := 0, time.Now()
			for time.Since(start) < slice || n < 1 {
				fn()
				n++
			}
			times[i] = append(times[i], time.Since(start)/time.Duration(n))
		}
	}
	medians := make([]time.Duration, len(fns))
	for i := range times {
		slices.Sort(times[i])
		medians[i] = times[i][rounds/2]
	}
	return medians
}

func idsOf(b *testing.B, records [][]byte) []uuid.UUID {
	ids := make([]uuid.UUID, len(records))
	for i, r := range records {
		text, _, _ := strings.Cut(strings.TrimPrefix(string(r), `{"id":"`), `"`)
		id, err := uuid.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		ids[i] = id
	}
	return ids
}

// measureDefaults compares the default lists with reading the same records by id.
func (l *lists) measureDefaults(n int) {
	fmt.Printf("\n%-46s %10s %10s %7s   target\n", "shape", "engine", "floor", "ratio")
	for _, sh := range defaults(n) {
		p := plan(l.b, l.kind, sh.body)
		records, total := l.kept(p)
		if total != n || len(records) != 50 {
			l.b.Fatalf("%s: got %d records and a total of %d", sh.name, len(records), total)
		}
		ids := idsOf(l.b, records)
		t := turns(func() { l.page(p) }, func() { l.floor(ids) })
		ratio := float64(t[0]) / float64(t[1])
		fmt.Printf("%-46s %10s %10s %6.2fx   <= 2x %s\n",
			sh.name, t[0].Round(100*time.Nanosecond), t[1].Round(100*time.Nanosecond), ratio, verdict(ratio <= 2))
	}
}

// measureCompared compares the other shapes with SQLite, after checking that both return the same
// records.
func (l *lists) measureCompared(n int, tag uuid.UUID, lite *lite) {
	fmt.Printf("\n%-46s %10s %10s %8s %9s   target\n", "shape", "engine", "SQLite", "matches", "faster")
	product, worst := 1.0, math.Inf(1)
	all := compared(n, tag)
	for _, sh := range all {
		p, q := plan(l.b, l.kind, sh.body), lite.prepare(l.b, sh.where, sh.order, sh.from, sh.args...)
		ours, matches := l.kept(p)
		records, total := q.run(l.b)
		if matches != total || !slices.EqualFunc(ours, records, bytes.Equal) {
			l.b.Fatalf("%s: results differ: engine total %d, SQLite total %d; engine page %q, SQLite page %q",
				sh.name, matches, total, idsOf(l.b, ours), idsOf(l.b, records))
		}
		t := turns(func() { l.page(p) }, func() {
			records, _ := q.run(l.b)
			l.envelope(records)
		})
		ratio := float64(t[1]) / float64(t[0])
		product, worst = product*ratio, min(worst, ratio)
		fmt.Printf("%-46s %10s %10s %8d %8.1fx   > 1x %s\n",
			sh.name, t[0].Round(100*time.Nanosecond), t[1].Round(100*time.Nanosecond), total, ratio, verdict(ratio > 1))
	}
	mean := math.Pow(product, 1/float64(len(all)))
	fmt.Printf("%-46s %40.1fx   >= 10x %s\n", "geometric mean", mean, verdict(mean >= 10))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}
