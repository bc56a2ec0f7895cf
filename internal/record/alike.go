package record

import (
	"bytes"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// AlikeKey is the secondary key of Alike.
const AlikeKey = "name"

// AlikeEnd separates the name in a key of Alike from the rest. No folded text contains it.
const AlikeEnd = "\x1f"

// Alike compares records by something that does not identify them for certain, such as their name.
type Alike[T any] struct {
	// Key returns the value of the secondary key AlikeKey: a name, AlikeEnd, and what else tells records apart, or "". It
	// contains no zero byte.
	Key     func(*T) string
	Version string // of Key, see store.Key
	// Prefix is how the keys of the records begin that may be the same as rec.
	Prefix func(rec *T) string
	// Common returns how much two records with the same prefix have in common, or -1 if something tells them apart. It reads
	// only a few members of the stored one, because an import compares many that have the same name.
	Common func(stored *shape.Members, rec *T) int
}

// maxAlike is the number of records that alike compares. Other writers wait meanwhile.
const maxAlike = 20

// alike returns the record that has most in common with another one of those that may be the same, the oldest of several,
// preferably one with the same key, and how many may be the same.
func (k *Kind[T]) alike(tx *store.Tx, of any) (best uuid.UUID, count int, err error) {
	a, rec := k.rules.Alike, of.(*T)
	key, prefix := []byte(a.Key(rec)), []byte(a.Prefix(rec))
	if len(key) == 0 || k.table.Count(tx) == 0 {
		return uuid.Nil, 0, nil
	}
	ids, err := k.withKey(tx, key, prefix)
	if err != nil {
		return uuid.Nil, 0, err
	}
	tombs, err := tx.Tombstones(k.Entity)
	if err != nil {
		return uuid.Nil, 0, err
	}
	for i := range tombs {
		// Until the sweep of a merge rewrites a record, its key has the id of the record that was merged.
		if by := []byte(tombs[i].By); len(by) > 0 && bytes.Contains(key, by) {
			merged := []byte(tombs[i].Value)
			others, err := k.withKey(tx, bytes.ReplaceAll(key, by, merged), bytes.ReplaceAll(prefix, by, merged))
			if err != nil {
				return uuid.Nil, 0, err
			}
			ids = append(ids, others...)
		}
	}
	reader, most := tx.Reader(k.table.Name()), -1
	for _, id := range ids {
		_, public, err := reader.Public(id)
		if err != nil && !store.IsDamagedRecord(err) {
			return uuid.Nil, 0, err
		}
		if public == nil {
			continue
		}
		stored := shape.NewMembers(string(public))
		common := a.Common(&stored, rec)
		if common >= 0 {
			count++
		}
		if common > most {
			best, most = id, common
		}
	}
	return best, count, nil
}

// withKey returns the records with the key, and then those whose keys have the prefix, up to maxAlike.
func (k *kind) withKey(tx *store.Tx, key, prefix []byte) ([]uuid.UUID, error) {
	var equal, others []uuid.UUID
	err := k.table.Range(tx, AlikeKey, prefix, func(found []byte, id uuid.UUID) bool {
		if !bytes.HasPrefix(found, prefix) {
			return false
		}
		if bytes.Equal(found, key) {
			equal = append(equal, id)
		} else {
			others = append(others, id)
		}
		return len(equal)+len(others) < maxAlike
	})
	return append(equal, others...), err
}

// alikeKey returns the key by which alike finds a record, or "" if the kind has no such rule.
func (k *Kind[T]) alikeKey(rec any) string {
	if k.rules.Alike == nil {
		return ""
	}
	return k.rules.Alike.Key(rec.(*T))
}
