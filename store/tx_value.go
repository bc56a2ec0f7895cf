package store

// TxValue is a value that belongs to a transaction: each transaction has at most one. Features use
// it for state that must not outlive the transaction, in place of a field of a long-lived object. A
// transaction that is retried starts without values. Try does not restore them.
type TxValue[T any] struct {
	_ byte // pointers to values of size 0 need not be distinct
}

// NewTxValue declares a value.
func NewTxValue[T any]() *TxValue[T] { return new(TxValue[T]) }

// Get returns the value of the transaction, and whether it has one.
func (v *TxValue[T]) Get(tx *Tx) (value T, ok bool) {
	value, ok = tx.values[v].(T)
	return value, ok
}

// Set sets the value of the transaction.
func (v *TxValue[T]) Set(tx *Tx, value T) {
	if tx.values == nil {
		tx.values = map[any]any{}
	}
	tx.values[v] = value
}

// Clear removes the value from the transaction.
func (v *TxValue[T]) Clear(tx *Tx) { delete(tx.values, v) }
