package record

import (
	"prospector/internal/shape"
	"prospector/store"
)

// NewTable declares a table whose records are answered as they are stored. The shape of T is the table's: records that
// were stored before T had a field are completed (see store.UseShapes).
func NewTable[T any](name string, unique []store.Unique[T], keys []store.Key[T]) *store.Table[T] {
	s := shape.Of[T]()
	return store.NewTable(name, unique, keys).WithShape(store.Shape{Fingerprint: s.Fingerprint(), SetDefaults: s.SetDefaults})
}
