package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

// BenchmarkMembers compares lists restricted to sets of contacts with the same lists of all
// contacts.
func BenchmarkMembers(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	org := newTenant(b, s, "Large", 60)
	ids := load(b, s, org, n, 1)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	sets := store.NewSets("bench")
	r := rand.New(rand.NewPCG(3, 4))
	owners := map[int]uuid.UUID{}
	for _, size := range []int{n / 1000, n / 10, n} {
		some := make([]uuid.UUID, 0, size)
		for _, i := range r.Perm(n)[:size] {
			some = append(some, ids[i])
		}
		owners[size] = uuid.New()
		err := s.Store.Update(context.Background(), org.id, store.Actor{}, func(tx *store.Tx) error {
			_, err := sets.Add(tx, owners[size], some)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	l := &lists{b: b, s: s, org: org.id, kind: s.CRM.Contacts.List}
	fmt.Printf("\n%-46s %10s", "lists of all contacts and within sets of", "all")
	fns := []int{n / 1000, n / 10, n}
	for _, size := range fns {
		fmt.Printf(" %10d", size)
	}
	fmt.Println()
	for _, sh := range append(defaults(n)[:1], compared(n, org.tags[0])...) {
		p := plan(b, l.kind, sh.body)
		each := []func(){func() { l.page(p) }}
		for _, size := range fns {
			each = append(each, func() {
				l.query(func(tx *store.Tx, _ *filter.CustomFields) (*filter.Plan, error) {
					ids, err := sets.All(tx, owners[size])
					return p.Only(ids), err
				})
			})
		}
		fmt.Printf("%-46s", sh.name)
		for _, took := range turns(each...) {
			fmt.Printf(" %7d µs", took.Microseconds())
		}
		fmt.Println()
	}
}
