package store

import (
	"bytes"
	"encoding/binary"

	"github.com/google/uuid"
)

// CompareIDs compares ids by their bytes, which is the store's order.
func CompareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// PairKey returns a key made of two ids.
func PairKey(a, b uuid.UUID) []byte { return append(append(make([]byte, 0, 32), a[:]...), b[:]...) }

// idSource generates UUIDs of version 7 that always increase, whatever the clock does. Their first
// 60 bits (48 bits of milliseconds and a counter of 12 bits) are above those of the last id, also
// after a restart.
type idSource struct{ last uint64 }

func (s *idSource) next(milli int64) uuid.UUID {
	s.last = max(uint64(milli)<<12, s.last+1)
	id := uuid.New()
	binary.BigEndian.PutUint64(id[:], s.last>>12<<16|0x7000|s.last&0xfff)
	return id
}
