package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/store"
)

// pastChange is a change that an operation made to a record, with the values before and after it.
type pastChange struct {
	number uint64
	op     store.Op
	fields []pastField
}

type pastField struct {
	name     string
	from, to jsontext.Value
	known    bool // false if the values were erased
}

// lineage are the changes that an operation made to a record, the newest first.
type lineage struct {
	direct []pastChange
	swept  []pastChange // made by the tombstones of what it deleted or merged
}

// lineageOf reads the changes that an operation made to a record since a time.
func (k *kind) lineageOf(tx *store.Tx, id, operation uuid.UUID, since time.Time) (l lineage, err error) {
	values, err := k.presentValues(tx, id)
	if err != nil {
		return l, err
	}
	err = tx.History(k.table.Name(), id, func(c store.Change) (more bool, err error) {
		if c.At.Before(since) {
			return false, nil
		}
		change := pastChange{number: c.Number, op: c.Op}
		for i, name := range c.Fields {
			f := pastField{name: name}
			f.from, f.to, f.known = values.goBack(&c, i)
			change.fields = append(change.fields, f)
		}
		switch {
		case c.Actor.OperationID != operation:
		case c.Swept:
			l.swept = append(l.swept, change)
		default:
			l.direct = append(l.direct, change)
		}
		return true, nil
	})
	return l, err
}
