package index

import (
	"container/list"
	"sync"
)

// cache keeps what was derived from segments within a number of bytes. What is over it is dropped, the least used
// first, and made again when it is needed.
type cache struct {
	mu    sync.Mutex
	limit int
	used  int
	items map[itemKey]*item
	lru   list.List // of *item, the most used in front
}

type itemKey struct {
	owner *segment
	name  string
}

type item struct {
	key   itemKey
	place *list.Element
	size  int
	once  sync.Once
	value any
}

func newCache(limit int) *cache { return &cache{limit: limit, items: map[itemKey]*item{}} }

// get gives the value that the owner has under the name.
func (c *cache) get(owner *segment, name string) (value any, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.items[itemKey{owner, name}]
	if it == nil || it.value == nil {
		return nil, false
	}
	if c.lru.Front() != it.place {
		c.lru.MoveToFront(it.place)
	}
	return it.value, true
}

// make gives the value that the owner has under the name, after making it when it is not there. Of several who need it
// at the same time one makes it.
func (c *cache) make(owner *segment, name string, build func() (value any, size int)) any {
	key := itemKey{owner, name}
	c.mu.Lock()
	it := c.items[key]
	if it == nil && owner.gone { // only who still has its view needs it
		c.mu.Unlock()
		value, _ := build()
		return value
	}
	if it == nil {
		it = &item{key: key}
		it.place = c.lru.PushFront(it)
		c.items[key] = it
	} else {
		c.lru.MoveToFront(it.place)
	}
	c.mu.Unlock()
	it.once.Do(func() {
		defer func() {
			if it.value == nil { // it failed: the next one tries again
				c.mu.Lock()
				c.drop(it)
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

// shrink drops what was not used for longest until the rest is within the limit. It spares what was just made.
func (c *cache) shrink(spared *item) {
	for e := c.lru.Back(); e != nil && c.used > c.limit; {
		it := e.Value.(*item)
		e = e.Prev()
		if it != spared && it.size > 0 {
			c.drop(it)
		}
	}
}

func (c *cache) drop(it *item) {
	if c.items[it.key] == it {
		delete(c.items, it.key)
		c.lru.Remove(it.place)
		c.used -= it.size
	}
}

// names lists what the owner has.
func (c *cache) names(owner *segment) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for key := range c.items {
		if key.owner == owner {
			names = append(names, key.name)
		}
	}
	return names
}

// forget drops all that the owner has, and keeps nothing of it any more.
func (c *cache) forget(owner *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owner.gone = true
	for key, it := range c.items {
		if key.owner == owner {
			c.drop(it)
		}
	}
}

// size is how many bytes are in use.
func (c *cache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}
