package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// keysPrefix begins the keys under which the bucket meta has the versions of the secondary keys that
// each table was last used with.
const keysPrefix = "keys."

// upgradeActor is the actor of what follows from a newer version of the program.
var upgradeActor = Actor{Operation: "upgrade"}

// useKeyVersions rebuilds the secondary keys of the tables whose keys have another version than when
// they were last used. Nothing may find records by an outdated key, so this happens before the store
// serves anything. A rebuild that was interrupted is repeated.
func (s *Store) useKeyVersions(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.shapes)) {
		t, key := s.shapes[name], []byte(keysPrefix+name)
		versions := t.keyVersions()
		used, err := s.meta(key)
		if err != nil {
			return err
		}
		if string(used) == versions {
			continue
		}
		if err := s.rebuildKeys(ctx, t); err != nil {
			return fmt.Errorf("rebuild keys of %s: %w", name, err)
		}
		if err := s.setMeta(ctx, key, []byte(versions)); err != nil {
			return err
		}
	}
	return nil
}

// rebuildKeys rebuilds the keys of a table in every organization that has records in it.
func (s *Store) rebuildKeys(ctx context.Context, t *table) error {
	orgs, err := s.Organizations()
	if err != nil {
		return err
	}
	for _, org := range append(orgs, uuid.Nil) {
		count, err := Read(s, org, func(tx *Tx) (int, error) { return tx.RecordCount(t.name), nil })
		if err != nil {
			return err
		}
		if count == 0 {
			continue
		}
		if err := s.Update(ctx, org, upgradeActor, t.rebuildKeys); err != nil {
			return err
		}
		s.opt.Log.Info("keys rebuilt", "table", t.name, "organization", org, "records", count)
	}
	return nil
}

// keyVersions returns the versions of the table's secondary keys that have one.
func (t *table) keyVersions() string {
	var versions []string
	for _, k := range t.versionedKeys() {
		versions = append(versions, k.name+"="+k.version)
	}
	slices.Sort(versions)
	return strings.Join(versions, ",")
}

func (t *table) versionedKeys() []secondaryKey {
	return slices.DeleteFunc(slices.Clone(t.keys), func(k secondaryKey) bool { return k.version == "" })
}

// rebuildKeys adds the missing entries of keys that have a version and removes those that no record
// has. It writes only the differences. Records that cannot be read are left to Verify.
func (t *table) rebuildKeys(tx *Tx) error {
	versioned := *t
	versioned.unique, versioned.keys = nil, t.versionedKeys()
	v, err := newVerifier(&versioned, tx, func(bool, string, ...any) {})
	if err != nil {
		return err
	}
	if err := t.scan(tx, func(d doc, rec any) (bool, error) { return true, v.checkKeys(d.ID, rec, nil, false) }); err != nil {
		return err
	}
	return v.leftOvers()
}
