package turn

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestQueue(t *testing.T) {
	var q Queue[string]
	add := func(items ...string) {
		for _, item := range items {
			q.Add(uuid.UUID{item[0]}, item)
		}
	}
	take := func(n int) string {
		var taken []string
		for range n {
			item, ok := q.Next()
			if !ok {
				item = "-"
			}
			taken = append(taken, item)
		}
		return strings.Join(taken, " ")
	}
	add("a1", "a2", "a3", "a4", "b1", "b2", "c1")
	if got, want := take(4), "a1 b1 c1 a2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	add("c2", "d1")
	if q.Len() != 5 {
		t.Errorf("%d items are left, want 5", q.Len())
	}
	if got, want := take(6), "b2 a3 c2 d1 a4 -"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	add("a5")
	if got, want := take(2), "a5 -"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
