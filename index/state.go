package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// indexState is what an index on disk records about itself. It is written with every batch, so it
// is correct even after a crash: the index contains the records up to the id Cursor, and those above
// the id Top, as they were at the change Number.
type indexState struct {
	Epoch  uuid.UUID // of the store
	Org    uuid.UUID
	Kind   uint64 // Kind.signature
	Number uint64
	// Seen is the last change of the store when the batch was built. Records that were changed
	// after Number may be in the index as they were at any change up to Seen.
	Seen uint64
	// Mark identifies the change Seen. A restored store may have another change with its number.
	Mark   uint64
	Cursor uuid.UUID
	Count  uint64 // of records
	Sum    uint64 // of idSum over all records
	// Top is the last record that existed when the index was created. Later records are indexed from
	// the change log. Before Top was introduced, records above Cursor were indexed last.
	Top uuid.UUID
}

// stateWithoutTop is the length of an encoded state that has no Top.
const stateWithoutTop = 6*8 + 3*16

// end is the cursor of an index that contains all records.
var end = uuid.Max

var stateKey = []byte("state")

func (s *indexState) encode() []byte {
	b, err := binary.Append(nil, binary.BigEndian, s)
	must(err)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (s *indexState) decode(b []byte) error {
	bad := fmt.Errorf("%w: its state is unreadable", errIndex)
	if len(b) < 4 || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return bad
	}
	if b = b[:len(b)-4]; len(b) == stateWithoutTop {
		b = append(slices.Clip(b), end[:]...)
	}
	if len(b) != binary.Size(s) {
		return bad
	}
	_, err := binary.Decode(b, binary.BigEndian, s)
	return err
}

// idSum returns what an id adds to indexState.Sum.
func idSum(id uuid.UUID) uint64 {
	// The second half of an id is random. The multiplication spreads the first half, which is a
	// time.
	return (binary.BigEndian.Uint64(id[:8]) * 0x9e3779b97f4a7c15) ^ binary.BigEndian.Uint64(id[8:])
}

// markOf returns a number that distinguishes a change from others with the same change number.
func markOf(c *store.Change) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, c.ID, c.At.UnixMilli(), c.Prev, c.Op, c.Actor.RequestID)
	return h.Sum64()
}

// markAt returns the mark of a change, if the change log still has it and it is readable.
func markAt(tx *store.Tx, table string, number uint64) (mark uint64, found bool, err error) {
	if number == 0 {
		return 0, false, nil
	}
	err = tx.Changes(table, number-1, func(c store.Change) (bool, error) {
		if c.Number == number {
			mark, found = markOf(&c), true
		}
		return false, nil
	})
	if errors.Is(err, store.ErrDamaged) {
		return 0, false, nil
	}
	return mark, found, err
}
