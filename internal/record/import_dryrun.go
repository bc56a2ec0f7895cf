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
	keys map[uint64][]seenRecord
	last *ImportBatch
}

// seenRecord is a record that a dry run would have written: the hashes of the match fields that it has, which tell records of
// the same name apart, its external id and its Identity.
type seenRecord struct {
	fields         [4]uint64
	externalID, is string
}

// dryKeys are the keys of a batch, together with those of earlier batches.
type dryKeys struct {
	run  *dryRun
	keys map[uint64][]seenRecord
}

func newDryRun() *dryRun { return &dryRun{seed: maphash.MakeSeed(), keys: map[uint64][]seenRecord{}} }

// begin starts a batch, perhaps again. When another batch begins, the last one is complete.
func (d *dryRun) begin(b *ImportBatch) {
	if d.last != nil && d.last != b {
		for key, records := range d.last.seen.keys {
			if len(d.keys) < maxDryKeys {
				for _, r := range records {
					d.keys[key] = withSeen(d.keys[key], r)
				}
			}
		}
	}
	d.last, b.seen = b, &dryKeys{run: d, keys: map[uint64][]seenRecord{}}
}

func (k *dryKeys) hash(kind, value string) uint64 {
	return maphash.String(k.run.seed, kind+"\x00"+value)
}

// withSeen adds a record to those with a key. A row about one of them takes its place.
func withSeen(records []seenRecord, r seenRecord) []seenRecord {
	for i := range records {
		if records[i].externalID == r.externalID && records[i].is == r.is {
			records[i] = r
			return records
		}
	}
	if len(records) == maxAlike {
		return records
	}
	return append(records, r)
}

// get returns the records with a key, the first ones first.
func (k *dryKeys) get(kind, value string) []seenRecord {
	h := k.hash(kind, value)
	before := k.run.keys[h]
	return append(before[:len(before):len(before)], k.keys[h]...)
}

// has reports whether an earlier row would have added the record. If that one has the external id and is about somebody else,
// it returns the error of the run.
func (k *dryKeys) has(a *attempt, draft any, links []linked) (bool, error) {
	own := k.identity(a, draft)
	for _, field := range a.match {
		value := a.folded(field)
		if value == "" {
			continue
		}
		found, err := k.hasField(a, field, value, &own)
		if found || err != nil {
			return found, err
		}
	}
	key, prefix := a.names(draft, links)
	if key == "" || a.item.namesUnknown(links) {
		return false, nil
	}
	same := func(kind, value string) bool {
		for _, other := range k.get(kind, value) {
			has := !AreApart(other.externalID, own.externalID) && (a.identity == nil || !a.identity.Apart(other.is, own.is))
			for i := range own.fields {
				isID := i < len(a.match) && a.match[i] == externalID
				has = has && (isID || own.fields[i] == 0 || other.fields[i] == 0 || own.fields[i] == other.fields[i])
			}
			if has {
				return true
			}
		}
		return false
	}
	if key == prefix {
		return same("name", key) || same("prefix", prefix), nil
	}
	return same("name", key) || same("name", prefix), nil
}

// hasField reports whether an earlier row would have added a record that the row finds by a field.
func (k *dryKeys) hasField(a *attempt, field, value string, own *seenRecord) (bool, error) {
	for _, other := range k.get(field, value) {
		switch {
		case field == externalID && !a.isSure():
			if agrees, differs := a.identity.Agrees(other.is, own.is); !agrees && differs {
				return false, a.identity.errConflict(own.externalID, other.is, own.is)
			}
			return true, nil
		case field == a.match[0]: // named by the caller
			return true, nil
		case AreApart(other.externalID, own.externalID):
		case a.identity == nil || a.identity.Fit(field, value, other.is, own.is) > Apart:
			return true, nil
		}
	}
	return false, nil
}

// add remembers the keys of a record.
func (k *dryKeys) add(a *attempt, draft any, links []linked) {
	own := k.identity(a, draft)
	add := func(kind, value string) {
		h := k.hash(kind, value)
		k.keys[h] = withSeen(k.keys[h], own)
	}
	for _, field := range a.match {
		if value := a.folded(field); value != "" {
			add(field, value)
		}
	}
	if key, prefix := a.names(draft, links); key != "" {
		add("name", key)
		add("prefix", prefix)
	}
}

func (k *dryKeys) identity(a *attempt, draft any) (r seenRecord) {
	for i, field := range a.match {
		if value := a.folded(field); value != "" && i < len(r.fields) {
			r.fields[i] = k.hash(field, value)
		}
	}
	if own := a.item.body.Get(externalID); own.Kind == shape.String {
		r.externalID = own.Text
	}
	if a.identity != nil {
		r.is = a.identity.Of(a.record(draft))
	}
	return r
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
