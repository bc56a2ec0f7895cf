package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/s2"
)

// KeepsValues makes the change log of the table keep the values that an update replaces.
func (t *Table[T]) KeepsValues() *Table[T] {
	t.core.keepsValues = true
	return t
}

// Journaled makes the journal of an operation list every change that it makes to the table, which must keep values.
func (t *Table[T]) Journaled() *Table[T] {
	t.core.journaled = true
	return t
}

// JournalLast adds the last change of the transaction to the journal of the transaction's operation. It does nothing if
// the table is journaled, because its changes are in the journal anyway.
func (t *AnyTable) JournalLast(tx *Tx) {
	if !t.core.journaled {
		tx.journalChange(tx.actor.OperationID, t.core.name, tx.LastChange(t.core.name), false)
	}
}

// The values of a change are stored as a format byte, followed by each value with its length.
const (
	plainValues      = 1
	compressedValues = 2

	// compressFrom is the size from which values are compressed. Shorter ones hardly become smaller.
	compressFrom = 256
	// maxValueBytes bounds what compressed values of one change may expand to: more than all texts of a record.
	maxValueBytes = 64 << 20
)

func appendValues(b []byte, values [][]byte) []byte {
	if values == nil {
		return b
	}
	size := 0
	for _, v := range values {
		size += len(v) + binary.MaxVarintLen32
	}
	if size < compressFrom {
		return appendEach(append(b, plainValues), values)
	}
	return append(append(b, compressedValues), s2.Encode(nil, appendEach(make([]byte, 0, size), values))...)
}

func appendEach(b []byte, values [][]byte) []byte {
	for _, v := range values {
		b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
	}
	return b
}

// decodeValues reads n values. They do not share memory with b.
func decodeValues(b []byte, n int) ([][]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	bad := fmt.Errorf("%w: its values have an unknown format", ErrDamaged)
	rest := b[1:]
	switch b[0] {
	case plainValues:
		rest = slices.Clone(rest)
	case compressedValues:
		if size, err := s2.DecodedLen(rest); err != nil || size > maxValueBytes {
			return nil, bad
		}
		var err error
		if rest, err = s2.Decode(nil, rest); err != nil {
			return nil, bad
		}
	default:
		return nil, bad
	}
	values := make([][]byte, 0, n)
	for range n {
		size, used := binary.Uvarint(rest)
		if used <= 0 || size > uint64(len(rest)-used) {
			return nil, bad
		}
		values = append(values, rest[used:used+int(size):used+int(size)])
		rest = rest[used+int(size):]
	}
	if len(rest) > 0 {
		return nil, bad
	}
	return values, nil
}

// memberValues returns the values of some members of a JSON object. The value of an absent member is empty. The
// result is never nil.
func memberValues(public []byte, names []string) ([][]byte, error) {
	values := make([][]byte, len(names))
	err := eachMember(public, func(name string, value jsontext.Value) error {
		if at := slices.Index(names, name); at >= 0 {
			values[at] = slices.Clone(value)
		}
		return nil
	})
	return values, err
}

// eachMember calls fn for the members of a JSON object in order. The value is valid during the call.
func eachMember(object []byte, fn func(name string, value jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == jsontext.KindString {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String() // before the token becomes invalid
		value, err := d.ReadValue()
		if err == nil {
			err = fn(name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
