package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// upgradePrefix begins the keys under which the bucket meta has the upgrades that are done.
const upgradePrefix = "upgrade."

// upgradeOnce calls upgrade for each organization, once in the life of the store. It is for changes
// that need the rules of records, which migrations do not know. upgrade writes as the given actor, in
// transactions of its own. If it is interrupted, it is called again for all organizations at the next
// start, so it must be idempotent.
func (s *Store) upgradeOnce(ctx context.Context, name string, upgrade func(org uuid.UUID, actor Actor) error) error {
	key := []byte(upgradePrefix + name)
	if done, err := s.meta(key); err != nil || done != nil {
		return err
	}
	orgs, err := s.Organizations()
	if err != nil {
		return err
	}
	for _, org := range orgs {
		if err := upgrade(org, upgradeActor); err != nil {
			return fmt.Errorf("upgrade %s of organization %s: %w", name, org, err)
		}
	}
	return s.setMeta(ctx, key, []byte("done"))
}

// upgradesPerCommit is how many items UpgradeEach upgrades in one transaction.
const upgradesPerCommit = 500

// UpgradeEach calls upgrade for each item that find returns in each organization, once in the life of the store. If it is
// interrupted, find is called again at the next start.
func UpgradeEach[T any](
	ctx context.Context, st *Store, name string, find func(*Tx) ([]T, error), upgrade func(*Tx, T) error,
) error {
	return st.upgradeOnce(ctx, name, func(org uuid.UUID, actor Actor) error {
		items, err := Read(st, org, find)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(items, upgradesPerCommit) {
			err := st.Update(ctx, org, actor, func(tx *Tx) error {
				for _, item := range some {
					if err := upgrade(tx, item); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
