package index

import (
	"container/list"
	"sync"
)

// cache keeps data derived from segments within a limit of memory. It evicts the least recently
// used data, which is derived again when it is needed.
type cache struct {
	mu    sync.Mutex
	limit int
	used  int
	items map[cacheKey]*cacheItem
	lru   list.List // of *cacheItem, most recently used first
}

type cacheKey struct {
	owner *segment
	derived
}

// derived identifies data derived from a segment: a column or a facet column by the name of its field, or
// an order by the name of its sort.
type derived struct {
	kind derivedKind
	name string
}

type derivedKind int

const (
	derivedColumn derivedKind = iota
	derivedOrder
	derivedFacets
)

type cacheItem struct {
	key   cacheKey
	entry *list.Element
	size  int
	once  sync.Once
	value any
}

func newCache(limit int) *cache { return &cache{limit: limit, items: map[cacheKey]*cacheItem{}} }

// get returns a value that is in the cache.
func (c *cache) get(owner *segment, what derived) (value any, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.items[cacheKey{owner, what}]
	if it == nil || it.value == nil {
		return nil, false
	}
	if c.lru.Front() != it.entry {
		c.lru.MoveToFront(it.entry)
	}
	return it.value, true
}

// make returns a value, and builds it if it is not in the cache. Of several concurrent callers one
// builds it and the others wait.
func (c *cache) make(owner *segment, what derived, build func() (value any, size int)) any {
	key := cacheKey{owner, what}
	c.mu.Lock()
	it := c.items[key]
	if it == nil && owner.dropped { // only callers with an older view need it
		c.mu.Unlock()
		value, _ := build()
		return value
	}
	if it == nil {
		it = &cacheItem{key: key}
		it.entry = c.lru.PushFront(it)
		c.items[key] = it
	} else {
		c.lru.MoveToFront(it.entry)
	}
	c.mu.Unlock()
	it.once.Do(func() {
		defer func() {
			if it.value == nil { // build panicked: the next caller tries again
				c.mu.Lock()
				c.evict(it)
				c.mu.Unlock()
			}
		}()
		value, size := build()
		c.mu.Lock()
		defer c.mu.Unlock()
		it.value = value
		if c.items[key] == it {
			it.size = size
			c.used += size
			c.shrink(it)
		}
	})
	return it.value
}

// shrink evicts the least recently used items until the rest is within the limit. It keeps the item
// that was just built.
func (c *cache) shrink(keep *cacheItem) {
	for e := c.lru.Back(); e != nil && c.used > c.limit; {
		it := e.Value.(*cacheItem)
		e = e.Prev()
		if it != keep && it.size > 0 {
			c.evict(it)
		}
	}
}

func (c *cache) evict(it *cacheItem) {
	if c.items[it.key] == it {
		delete(c.items, it.key)
		c.lru.Remove(it.entry)
		c.used -= it.size
	}
}

// contents lists what the cache has of a segment.
func (c *cache) contents(owner *segment) []derived {
	c.mu.Lock()
	defer c.mu.Unlock()
	var contents []derived
	for key := range c.items {
		if key.owner == owner {
			contents = append(contents, key.derived)
		}
	}
	return contents
}

// drop evicts everything of a segment. From then on the cache keeps nothing of it.
func (c *cache) drop(owner *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owner.dropped = true
	for key, it := range c.items {
		if key.owner == owner {
			c.evict(it)
		}
	}
}

// size returns the number of bytes in use.
func (c *cache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}
