package duplicate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// Group is a group of records that may be the same. A record is in one group at most.
type Group struct {
	Score   float64 // of the weakest pair that holds the group together, less if names in it do not fit
	Reasons Reasons // of the best pair, and what makes it weaker
	IDs     []uuid.UUID
}

// cluster is a group that grows.
type cluster[R any] struct {
	members []uint32
	unlike  map[string]*R // one of each signature
	score   float64
	reasons Reasons

	isListed bool
}

// Groups returns the groups of the pairs with a score from min on, the best first, and of equal ones the oldest. Every two of a
// group are compatible.
func (s *Search[R]) Groups(ctx context.Context, from Source[R], min float64) ([]Group, error) {
	clusters := map[uint32]*cluster[R]{}
	of := func(ordinal uint32) (*cluster[R], error) {
		if c := clusters[ordinal]; c != nil {
			return c, nil
		}
		recs, err := from.Read(ctx, s.ids[ordinal])
		if err != nil || recs[0] == nil {
			return nil, err
		}
		c := &cluster[R]{members: []uint32{ordinal}, score: 1, unlike: map[string]*R{s.rules.Signature(recs[0]): recs[0]}}
		clusters[ordinal] = c
		return c, nil
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		if p.Score < min {
			break
		}
		a, err := of(p.a)
		if err != nil {
			return nil, err
		}
		b, err := of(p.b)
		if err != nil {
			return nil, err
		}
		if a == nil || b == nil || a == b || !s.fit(from, a, b) {
			continue
		}
		score := p.Score
		if anyPair(a, b, s.rules.Doubtful) {
			if score = differentNames; score < min {
				continue
			}
		}
		if len(a.members) < len(b.members) {
			a, b = b, a
		}
		a.join(b, p.Reasons, score)
		for _, ordinal := range b.members {
			clusters[ordinal] = a
		}
	}
	return s.listed(clusters), nil
}

// fit reports whether every two records of two clusters are compatible, and nobody has said that they are not the same.
func (s *Search[R]) fit(from Source[R], a, b *cluster[R]) bool {
	if anyPair(a, b, func(x, y *R) bool { return !s.rules.Compatible(x, y) }) {
		return false
	}
	for _, x := range a.members {
		for _, y := range b.members {
			if from.AreDifferent(s.ids[x], s.ids[y]) {
				return false
			}
		}
	}
	return true
}

// anyPair reports whether something is true of a record of one cluster and one of another.
func anyPair[R any](a, b *cluster[R], is func(x, y *R) bool) bool {
	for _, x := range a.unlike {
		for _, y := range b.unlike {
			if is(x, y) {
				return true
			}
		}
	}
	return false
}

// join adds the members of another cluster.
func (c *cluster[R]) join(other *cluster[R], reasons Reasons, score float64) {
	c.score = min(c.score, other.score, score)
	c.reasons |= other.reasons | reasons
	c.members = append(c.members, other.members...)
	maps.Copy(c.unlike, other.unlike)
}

func (s *Search[R]) listed(clusters map[uint32]*cluster[R]) []Group {
	groups := []Group{}
	first := map[uuid.UUID]uint32{}
	for ordinal, c := range clusters {
		if len(c.members) < 2 || c.isListed {
			continue
		}
		c.isListed = true
		slices.Sort(c.members)
		ordinal = c.members[0]
		g := Group{Score: c.score, Reasons: c.reasons}
		for _, m := range c.members {
			g.IDs = append(g.IDs, s.ids[m])
		}
		first[g.IDs[0]] = ordinal
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(first[x.IDs[0]], first[y.IDs[0]]))
	})
	return groups
}
