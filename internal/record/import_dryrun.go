package record

import (
	"hash/maphash"

	"prospector/internal/shape"
)

// maxDryKeys is the number of keys that a dry run remembers, about 100 MiB. In a larger file it takes rows
// that match earlier ones for new.
const maxDryKeys = 2_000_000

// dryRun remembers the keys of the records that a dry run would have written in earlier batches, because
// later rows would update them. It remembers hashes only.
type dryRun struct {
	seed maphash.Seed
	keys map[uint64]identity
	last *ImportBatch
}

// identity tells apart records of the same name: the hashes of the match fields that they have.
type identity [4]uint64

// dryKeys are the keys of a batch, together with those of earlier batches.
type dryKeys struct {
	run  *dryRun
	keys map[uint64]identity
}

func newDryRun() *dryRun { return &dryRun{seed: maphash.MakeSeed(), keys: map[uint64]identity{}} }

// begin starts a batch, perhaps again. When another batch begins, the last one is complete.
func (d *dryRun) begin(b *ImportBatch) {
	if d.last != nil && d.last != b {
		for key, id := range d.last.seen.keys {
			if len(d.keys) < maxDryKeys {
				d.keys[key] = id
			}
		}
	}
	d.last, b.seen = b, &dryKeys{run: d, keys: map[uint64]identity{}}
}

func (k *dryKeys) hash(kind, value string) uint64 {
	return maphash.String(k.run.seed, kind+"\x00"+value)
}

func (k *dryKeys) get(kind, value string) (identity, bool) {
	h := k.hash(kind, value)
	id, has := k.keys[h]
	if !has {
		id, has = k.run.keys[h]
	}
	return id, has
}

// has reports whether an earlier row would have added the record.
func (k *dryKeys) has(a *attempt, draft any, links []linked) bool {
	own := k.identity(a)
	for _, field := range a.match {
		if value := a.folded(field); value != "" {
			other, has := k.get(field, value)
			if has && (field == a.match[0] || own[0] == 0 || other[0] == 0 || own[0] == other[0]) { // see mayBe
				return true
			}
		}
	}
	key, prefix := a.names(draft, links)
	if key == "" {
		return false
	}
	same := func(kind, value string) bool {
		other, has := k.get(kind, value)
		for i := range own {
			has = has && (own[i] == 0 || other[i] == 0 || own[i] == other[i])
		}
		return has
	}
	if same("name", key) {
		return true
	}
	if key == prefix {
		return same("prefix", prefix)
	}
	return same("name", prefix)
}

// add remembers the keys of a record.
func (k *dryKeys) add(a *attempt, draft any, links []linked) {
	own := k.identity(a)
	for _, field := range a.match {
		if value := a.folded(field); value != "" {
			k.keys[k.hash(field, value)] = own
		}
	}
	if key, prefix := a.names(draft, links); key != "" {
		k.keys[k.hash("name", key)] = own
		k.keys[k.hash("prefix", prefix)] = own
	}
}

func (k *dryKeys) identity(a *attempt) (id identity) {
	for i, field := range a.match {
		if value := a.folded(field); value != "" && i < len(id) {
			id[i] = k.hash(field, value)
		}
	}
	return id
}

// folded returns the value of a match field in the form in which it is compared.
func (a *attempt) folded(field string) string {
	v := a.item.body.Get(field)
	switch {
	case v.Kind != shape.String || !a.mayFind(field, v.Text):
		return ""
	case field == externalID:
		return shape.Fold(v.Text)
	}
	return a.kind.match[field](v.Text)
}

// names returns the keys by which a record is found by what it is like. An account that the dry run has
// created has another id in each batch, so what the row says of it takes its place.
func (a *attempt) names(draft any, links []linked) (key, prefix string) {
	if a.key != nil {
		key = a.key(a.record(draft))
		return key, key
	}
	if a.alike == nil {
		return "", ""
	}
	for i, l := range links {
		if l.created {
			none := shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: a.item.links[i].field, Value: shape.Value{Kind: shape.Null}}}}
			key, prefix = a.keys(a.record(a.refer(draft, none)))
			if key == "" {
				return "", ""
			}
			linkKey, _ := l.keys(a.item.links[i])
			return key + linkKey, prefix + linkKey
		}
	}
	return a.keys(a.record(draft))
}

// keys returns the keys of a record that was created for a link.
func (linked) keys(l link) (key, prefix string) {
	return l.refers.ops.keys(l.refers.ops.record(l.draft))
}
