package store

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// nearCursor finds entries that are often close to the one before, in either direction. Then a few steps of the cursor
// cost much less than a seek from the root.
type nearCursor struct {
	*bolt.Cursor
	key, value []byte // at the cursor; nil before the first find, and at the end of the bucket
	strays     int    // how many finds in a row were not close
}

const (
	nearSteps = 4 // they cost less than a seek
	maxStrays = 8 // after so many, the keys are not in order
)

// find returns the value of a key, or nil.
func (c *nearCursor) find(key []byte) []byte {
	if c.key != nil && c.strays < maxStrays {
		step := c.Next
		if bytes.Compare(key, c.key) < 0 {
			step = c.Prev
		}
		for range nearSteps {
			if c.key == nil || bytes.Equal(c.key, key) {
				break
			}
			c.key, c.value = step()
		}
		c.strays++
	}
	if bytes.Equal(c.key, key) {
		c.strays = 0
		return c.value
	}
	if c.key, c.value = c.Seek(key); bytes.Equal(c.key, key) {
		return c.value
	}
	return nil
}
