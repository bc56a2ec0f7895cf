// Package bench compares the service with simpler alternatives: SQLite for lists, bare bleve for
// indexing, bare bbolt for writes, a bare handler for HTTP and a bare request loop for webhooks.
// Each figure is printed next to the alternative's, measured in the same run.
package bench

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkService measures loading, lists, HTTP and updates, and prints the figures. It takes
// several minutes, and longer with SIZE=1000000.
func BenchmarkService(b *testing.B) {
	n := size(b)
	dir := b.TempDir()
	s := openService(b, dir)
	big := newTenant(b, s, "Large", 60)
	start := time.Now()
	ids := load(b, s, big, n, 1)
	written := time.Since(start)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	loading := time.Since(start)
	for i := range smallOrgs {
		t := newTenant(b, s, fmt.Sprintf("Small %d", i), 10)
		load(b, s, t, smallRecords, uint64(i))
		(&lists{b: b, s: s, org: t.id}).page(plan(b, s.CRM.Contacts.List, `{}`))
	}
	fmt.Printf("\n%d contacts in one organization, plus %d organizations of %d; store and index on disk: %d MB\n",
		n, smallOrgs, smallRecords, dirSize(dir)>>20)
	l := &lists{b: b, s: s, org: big.id, kind: s.CRM.Contacts.List}
	for _, sh := range append(defaults(n), compared(n, big.tags[0])...) {
		for range 20 {
			l.page(plan(b, l.kind, sh.body))
		}
	}
	most := 150
	if n >= 1_000_000 {
		most = 800
	}
	fmt.Printf("memory (RssAnon) after loading and running all shapes: %d MB, target %d MB %s\n",
		rssAnon(b), most, verdict(rssAnon(b) <= most))

	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	start = time.Now()
	s = openService(b, dir)
	l.s, l.kind = s, s.CRM.Contacts.List
	l.page(plan(b, l.kind, `{}`))
	first, within := time.Since(start), time.Second
	if n >= 1_000_000 {
		within = 3 * time.Second
	}
	fmt.Printf("first default list after startup: %s, target %s %s\n",
		first.Round(time.Millisecond), within, verdict(first <= within))
	b.Cleanup(func() { s.Close() })

	l.measureDefaults(n)
	measureHTTP(b, s, big)
	lite := newLite(b, s.Store, big.id)
	l.measureCompared(n, big.tags[0], lite)
	lite.db.Close()

	bare := newBareBleve(b, l)
	measureLoading(b, bare, n, written, loading)
	measureUpdates(b, s, big, l, ids, bare)
}

// BenchmarkRecords measures operations on many records: batches, exports, and deleting a tag that
// every record has.
func BenchmarkRecords(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t := newTenant(b, s, "Loaded", 60)
	start := time.Now()
	load(b, s, t, n, 1)
	written := time.Since(start)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	loading := time.Since(start)
	bare := newBareBleve(b, &lists{b: b, s: s, org: t.id, kind: s.CRM.Contacts.List})
	measureLoading(b, bare, n, written, loading)
	batched := measureBatch(b, s, n, float64(n)/loading.Seconds(), bare)
	measureExport(b, s, batched)
	measureTagDeletion(b, s, batched, n)
}
