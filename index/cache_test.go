package index

import (
	"errors"
	"slices"
	"testing"
)

// The cache keeps what was used most recently within its limit, and builds again what it evicted or
// failed to build.
func TestCache(t *testing.T) {
	c, owner, other := newCache(100), &segment{}, &segment{}
	column := func(name string) derived { return derived{derivedColumn, name} }
	built := 0
	get := func(owner *segment, name string) {
		t.Helper()
		if v := c.make(owner, column(name), func() (any, int) { built++; return name, 30 }); v != name {
			t.Errorf("%s is %v", name, v)
		}
	}
	names := func(owner *segment) (names []string) {
		for _, what := range c.contents(owner) {
			names = append(names, what.name)
		}
		slices.Sort(names)
		return names
	}
	for _, name := range []string{"a", "b", "c", "a", "d"} { // d exceeds the limit, and b is the least recently used
		get(owner, name)
	}
	if got := names(owner); !slices.Equal(got, []string{"a", "c", "d"}) || c.size() != 90 || built != 4 {
		t.Errorf("keeps %v in %d bytes and has built %d", got, c.size(), built)
	}
	get(owner, "b")
	get(other, "b")
	if built != 6 || c.size() != 90 || len(names(other)) != 1 {
		t.Errorf("keeps %v in %d bytes and has built %d", names(other), c.size(), built)
	}
	c.drop(owner)
	if len(names(owner)) != 0 || c.size() != 30 {
		t.Errorf("keeps %v in %d bytes", names(owner), c.size())
	}
	get(owner, "e") // built, but not kept, because the owner was dropped
	if len(names(owner)) != 0 || c.size() != 30 {
		t.Errorf("keeps %v in %d bytes", names(owner), c.size())
	}
	owner = &segment{}
	err := recoverDamage(func() error {
		c.make(owner, column("bad"), func() (any, int) { panic("no") })
		return nil
	})
	if !errors.Is(err, errIndex) {
		t.Errorf("a panic during make becomes %v", err)
	}
	if _, ok := c.get(owner, column("bad")); ok {
		t.Error("keeps a value that could not be built")
	}
	get(owner, "bad")
	if v, ok := c.get(owner, column("bad")); !ok || v != "bad" {
		t.Errorf("has %v", v)
	}
	if v := c.make(owner, column("large"), func() (any, int) { return 1, 1000 }); v != 1 || c.size() != 1000 {
		t.Errorf("keeps %v in %d bytes", v, c.size())
	}
}
