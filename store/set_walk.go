package store

import "github.com/google/uuid"

// setWalk receives what a walk through the chunks of all sets finds.
type setWalk struct {
	// chunk is called for every chunk. If it cannot be read, err says why, and c has no ids but what the key and the chunk
	// before it say. A key that is not the key of a chunk says nothing.
	chunk func(c idChunk, key, value []byte, err error)
	// missing is called where a chunk is missing, with the last bound before it.
	missing func(owner, bound uuid.UUID)
}

// walk reads the chunks of all sets in order. The functions of w may write to the sets.
func (s *Sets) walk(tx *Tx, w setWalk) {
	last := idChunk{bound: lastID}
	endSet := func() {
		if last.bound != lastID {
			w.missing(last.owner, last.bound)
		}
	}
	for key, value := range tx.scanWhileWriting(s.chunks, nil) {
		c, err := s.open(tx, key, value)
		if len(key) != 32 {
			w.chunk(idChunk{}, key, value, err)
			continue
		}
		owner, low := uuid.UUID(key), last.bound
		if owner != last.owner || low == lastID {
			endSet()
			low = uuid.Nil
		}
		if err != nil {
			c = idChunk{owner: owner, low: low, bound: uuid.UUID(key[16:])}
		} else if c.low != low {
			w.missing(owner, low)
		}
		last = c
		w.chunk(c, key, value, err)
	}
	endSet()
}
