package identity

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// flushEvery is the interval at which the last uses of keys are stored. Storing them with each
// request would cause a write per request.
const flushEvery = time.Minute

// use is the stored last use of a key.
type use struct {
	At shape.Time `json:"at"`
}

// uses tracks when keys and sessions were last used, and by which users. It keeps recent uses in memory
// and flushes them to the store.
type uses struct {
	store *store.Store
	table *store.Table[use]

	mu     sync.Mutex
	recent map[uuid.UUID]map[uuid.UUID]time.Time // by organization, and by the id of a key, session or user
}

func newUses(s *store.Store) *uses {
	return &uses{
		store:  s,
		table:  store.NewTable[use]("key_uses", nil, nil).Unlogged(),
		recent: map[uuid.UUID]map[uuid.UUID]time.Time{},
	}
}

func (u *uses) note(at time.Time, org uuid.UUID, ids ...uuid.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.recent[org] == nil {
		u.recent[org] = map[uuid.UUID]time.Time{}
	}
	for _, id := range ids {
		u.recent[org][id] = at
	}
}

// last returns the last use, whether it is stored or still in memory.
func (u *uses) last(tx *store.Tx, id uuid.UUID) (shape.Time, error) {
	u.mu.Lock()
	at, ok := u.recent[tx.Org()][id]
	u.mu.Unlock()
	if ok {
		return shape.At(at), nil
	}
	d, err := u.table.Get(tx, id)
	if fault.CodeOf(err) == fault.NotFound {
		err = nil
	}
	return d.Record.At, err
}

// delete removes the last use of a session that has ended.
func (u *uses) delete(tx *store.Tx, id uuid.UUID) error {
	org := tx.Org()
	tx.AfterCommit(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.recent[org], id)
	})
	old, err := u.table.Get(tx, id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return u.table.Delete(tx, old)
}

// flush stores the uses that are only in memory.
func (u *uses) flush(ctx context.Context) error {
	byOrg := map[uuid.UUID]map[uuid.UUID]time.Time{}
	u.mu.Lock()
	for org, keys := range u.recent {
		byOrg[org] = maps.Clone(keys)
	}
	u.mu.Unlock()
	var errs []error
	for org, keys := range byOrg {
		err := u.store.Update(ctx, org, store.Actor{}, func(tx *store.Tx) error {
			for key, at := range keys {
				if err := put(tx, u.table, key, use{At: shape.At(at)}); err != nil {
					return err
				}
			}
			return nil
		})
		if fault.CodeOf(err) == fault.NotFound { // the organization was deleted
			err = nil
		}
		if err == nil {
			u.forget(org, keys)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// forget removes stored uses from memory, except those of keys that were used again concurrently.
func (u *uses) forget(org uuid.UUID, keys map[uuid.UUID]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, at := range keys {
		if u.recent[org][key].Equal(at) {
			delete(u.recent[org], key)
		}
	}
	if len(u.recent[org]) == 0 {
		delete(u.recent, org)
	}
}

// PersistKeyUses stores the last uses of keys periodically until ctx is canceled, and once more
// then. A failed write is passed to report and retried with the next one.
func (i *Identity) PersistKeyUses(ctx context.Context, report func(error)) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := i.uses.flush(ctx); err != nil {
				report(err)
			}
		case <-ctx.Done():
			if err := i.uses.flush(context.WithoutCancel(ctx)); err != nil {
				report(err)
			}
			return
		}
	}
}
