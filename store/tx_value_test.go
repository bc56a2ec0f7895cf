package store

import (
	"context"
	"testing"

	"github.com/google/uuid"
)

func TestTxValue(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, second := NewTxValue[int](), NewTxValue[int]()
	org := uuid.New()
	for range 2 { // the second transaction must not see values of the first
		err := s.Update(context.Background(), org, Actor{}, func(tx *Tx) error {
			if _, ok := first.Get(tx); ok {
				t.Error("a new transaction has a value")
			}
			first.Set(tx, 1)
			if n, ok := first.Get(tx); n != 1 || !ok {
				t.Errorf("got %d, %v; want 1, true", n, ok)
			}
			if _, ok := second.Get(tx); ok {
				t.Error("another value of the same type was set too")
			}
			second.Set(tx, 2)
			first.Clear(tx)
			if _, ok := first.Get(tx); ok {
				t.Error("a cleared value is still there")
			}
			if n, ok := second.Get(tx); n != 2 || !ok {
				t.Errorf("got %d, %v; want 2, true", n, ok)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
