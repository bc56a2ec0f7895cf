package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A stored value consists of the format (1 byte), the CRC32C of its place and all that follows (4),
// the change number of its last write (8), the length of the private part (uvarint), the private
// part, and the public JSON. If its last write was a touch, the number of its last change (8)
// follows that of the last write.
const (
	valueFormat   = 1
	touchedFormat = 2
)

const valueHead = 1 + 4 + 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// place returns the checksum of a value's location. Every value's checksum starts with it, so that
// a value under another key, as after a flipped bit in a key, is detected.
func (tx *Tx) placeSum(bucket string, key []byte) uint32 {
	return crc32.Update(crc32.Update(crc32.Checksum(tx.org[:], castagnoli), castagnoli, []byte(bucket)), castagnoli, key)
}

// encodeValue encodes a value. version is the number of its last change, which differs from change
// if the last write was a touch.
func encodeValue(placeSum uint32, change, version uint64, private, public []byte) []byte {
	v := make([]byte, 0, valueHead+8+binary.MaxVarintLen32+len(private)+len(public))
	v = append(v, valueFormat, 0, 0, 0, 0)
	v = binary.BigEndian.AppendUint64(v, change)
	if version != change {
		v[0] = touchedFormat
		v = binary.BigEndian.AppendUint64(v, version)
	}
	v = binary.AppendUvarint(v, uint64(len(private)))
	v = append(v, private...)
	v = append(v, public...)
	binary.BigEndian.PutUint32(v[1:], crc32.Update(placeSum, castagnoli, v[5:]))
	return v
}

// decodeValue decodes a value without copying. A value that was not written to this place is
// ErrDamaged.
func decodeValue(placeSum uint32, v []byte) (change uint64, private, public []byte, err error) {
	if len(v) < valueHead+1 || v[0] != valueFormat && (v[0] != touchedFormat || len(v) < valueHead+8+1) {
		return 0, nil, nil, fmt.Errorf("%w: a value has an unknown format", ErrDamaged)
	}
	if binary.BigEndian.Uint32(v[1:]) != crc32.Update(placeSum, castagnoli, v[5:]) {
		return 0, nil, nil, fmt.Errorf("%w: a value does not match its checksum", ErrDamaged)
	}
	change = binary.BigEndian.Uint64(v[5:])
	rest := v[valueHead:]
	if v[0] == touchedFormat {
		rest = rest[8:]
	}
	n, used := binary.Uvarint(rest)
	rest = rest[max(used, 0):]
	if used <= 0 || n > uint64(len(rest)) {
		return 0, nil, nil, fmt.Errorf("%w: a value has an unknown format", ErrDamaged)
	}
	return change, rest[:n], rest[n:], nil
}

// changeOf returns the change number of a value that was decoded before, and versionOf the number
// of its last change that was not a touch.
func changeOf(v []byte) uint64 { return binary.BigEndian.Uint64(v[5:]) }

func versionOf(v []byte) uint64 {
	if v[0] == touchedFormat {
		return binary.BigEndian.Uint64(v[valueHead:])
	}
	return changeOf(v)
}

// seal prepends a checksum to a value that is not a record.
func seal(placeSum uint32, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)), crc32.Update(placeSum, castagnoli, b)), b...)
}

func unseal(placeSum uint32, v []byte) ([]byte, error) {
	if len(v) < 4 || binary.BigEndian.Uint32(v) != crc32.Update(placeSum, castagnoli, v[4:]) {
		return nil, fmt.Errorf("%w: an entry does not match its checksum", ErrDamaged)
	}
	return v[4:], nil
}
