package outreach

import "sync"

// cache keeps values that can be made again. It forgets all of them when there are more than max. It is safe for
// concurrent use.
type cache[K comparable, V any] struct {
	max    int
	mu     sync.Mutex
	values map[K]V
}

func (c *cache[K, V]) get(key K) (value V, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, known = c.values[key]
	return value, known
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil || len(c.values) >= c.max {
		c.values = map[K]V{}
	}
	c.values[key] = value
}

func (c *cache[K, V]) remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.values, key)
}
