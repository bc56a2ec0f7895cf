package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/btree"
	bolt "go.etcd.io/bbolt"
)

// Actor is the author of a change, as the change log records it.
type Actor struct {
	Key         uuid.UUID
	User        uuid.UUID
	Operation   string
	RequestID   string
	OperationID uuid.UUID `json:",omitzero"` // of the change of many records that this one is part of; nil for a single change
	// Undo is set while an operation is undone. Nobody is written to because of such a change: whoever it brings into
	// a campaign awaits confirmation. The change log does not keep it.
	Undo bool `json:",omitzero"`
}

// Tx is a transaction on the data of one organization. It cannot address another's data. It buffers
// its writes and reads through the buffer. The writes reach the shared bbolt transaction only after
// its function has returned nil.
type Tx struct {
	store    *Store
	btx      *bolt.Tx
	org      uuid.UUID
	orgBkt   *bolt.Bucket
	actor    Actor
	now      time.Time
	writable bool
	isShared bool                 // its commit contains other Updates
	runs     func() time.Duration // for how long its Update has run

	buckets   map[string]*bolt.Bucket
	writes    map[string]*btree.Map[string, []byte] // a nil value is a deletion
	sequences map[string]uint64
	trimmed   map[string]uint64       // by table: where the next trim continues
	corrected map[string]*corrections // by table, as far as they were read
	journal   []journalNote
	undo      *[]func() // reverts the writes since the last Try began
	bytes     int
	enqueued  bool
	after     []func()
	verifying bool                 // a check reads the records and reports the damaged ones itself
	raw       func(*bolt.Tx) error // runs in place of the writes
	arrival   *Arrival             // that the organization belongs to, or nil
	values    map[any]any          // see TxValue
}

// sharedPrefix marks the buckets beside those of the organizations. Only this package uses them,
// and every key or value in them contains the organization of the transaction.
const sharedPrefix = "@"

func newTx(s *Store, btx *bolt.Tx, org uuid.UUID) *Tx {
	return &Tx{
		store:   s,
		btx:     btx,
		org:     org,
		orgBkt:  btx.Bucket(orgsBucket).Bucket(org[:]),
		now:     s.Now(),
		buckets: map[string]*bolt.Bucket{},
	}
}

// Before returns a transaction that reads what was stored before tx wrote anything. It ends with tx.
func (tx *Tx) Before() *Tx { return newTx(tx.store, tx.btx, tx.org) }

// Org returns the organization of the transaction.
func (tx *Tx) Org() uuid.UUID { return tx.org }

// Actor returns the author of the transaction's changes.
func (tx *Tx) Actor() Actor { return tx.actor }

// ActFor makes the changes that follow in the transaction those of an operation.
func (tx *Tx) ActFor(operation uuid.UUID) { tx.actor.OperationID = operation }

// ActForUndo is ActFor for the undo of another operation. Until the transaction ends, nobody is written to because of what
// it changes: see Actor.Undo.
func (tx *Tx) ActForUndo(operation uuid.UUID) { tx.actor.OperationID, tx.actor.Undo = operation, true }

// Now returns the time of the transaction, which is the same for all its writes.
func (tx *Tx) Now() time.Time { return tx.now }

// NewID returns an id that is greater than every earlier id.
func (tx *Tx) NewID() uuid.UUID {
	tx.mustWrite()
	return tx.store.ids.next(tx.now.UnixMilli())
}

// AfterCommit calls fn once the transaction is on disk, before Update returns. It is called even if
// a Try reverted what was written, so fn may only conclude that something may have changed.
func (tx *Tx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

// Writable reports whether the transaction may write.
func (tx *Tx) Writable() bool { return tx.writable }

func (tx *Tx) mustWrite() {
	if !tx.writable {
		panic("store: write in a read-only transaction")
	}
}

func (tx *Tx) bucket(name string) *bolt.Bucket {
	b, ok := tx.buckets[name]
	if !ok {
		if shared, is := strings.CutPrefix(name, sharedPrefix); is {
			b = tx.btx.Bucket([]byte(shared))
		} else if tx.orgBkt != nil {
			b = tx.orgBkt.Bucket([]byte(name))
		}
		tx.buckets[name] = b
	}
	return b
}

// written returns what the transaction itself has written under the key. A nil value is a deletion.
func (tx *Tx) written(bucket string, key []byte) (value []byte, isWritten bool) {
	if w := tx.writes[bucket]; w != nil {
		return w.Get(string(key))
	}
	return nil, false
}

// get returns the value of a key, or nil. It is valid until the transaction ends. It panics if the key is on a damaged
// page, which fails the transaction.
func (tx *Tx) get(bucket string, key []byte) []byte {
	if v, isWritten := tx.written(bucket, key); isWritten {
		return v
	}
	if b := tx.bucket(bucket); b != nil {
		return b.Get(key)
	}
	return nil
}

// tryGet is get for a key that may be on a damaged page, which it reports as the damage of the entry.
func (tx *Tx) tryGet(bucket string, key []byte) (value []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = tx.unreadable(bucket, key, recovered(r))
		}
	}()
	return tx.get(bucket, key), nil
}

func (tx *Tx) put(bucket string, key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	tx.set(bucket, key, value)
}

// putSealed is put with a checksum.
func (tx *Tx) putSealed(bucket string, key, value []byte) {
	tx.put(bucket, key, seal(tx.placeSum(bucket, key), value))
}

// putJSON is putSealed for the JSON of a value.
func (tx *Tx) putJSON(bucket string, key []byte, value any) error {
	body, err := json.Marshal(value)
	if err == nil {
		tx.putSealed(bucket, key, body)
	}
	return err
}

// readJSON decodes what putJSON wrote.
func (tx *Tx) readJSON(bucket string, key, value []byte, into any) error {
	body, err := unseal(tx.placeSum(bucket, key), value)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (tx *Tx) delete(bucket string, key []byte) { tx.set(bucket, key, nil) }

func (tx *Tx) set(bucket string, key, value []byte) {
	tx.mustWrite()
	if len(key) == 0 || len(key) > bolt.MaxKeySize {
		// Refused here, where only this transaction fails, and not by bbolt in the shared one.
		panic(fmt.Sprintf("store: a key of %d bytes in %s", len(key), bucket))
	}
	if tx.writes == nil {
		tx.writes = map[string]*btree.Map[string, []byte]{}
	}
	w := tx.writes[bucket]
	if w == nil {
		w = &btree.Map[string, []byte]{}
		tx.writes[bucket] = w
	}
	insert := w.Set
	if ascends(bucket) || strings.HasSuffix(bucket, ownerSuffix) {
		insert = w.Load // faster for appends
	}
	before, had := insert(string(key), value)
	tx.replaced(bucket, key)
	tx.bytes += len(key) + len(value)
	if tx.undo != nil {
		k, n := string(key), len(key)+len(value)
		*tx.undo = append(*tx.undo, func() {
			tx.bytes -= n
			if had {
				w.Set(k, before)
			} else {
				w.Delete(k)
			}
		})
	}
}

// Try runs fn and reverts its writes if it fails, so that the transaction can continue without
// them.
func (tx *Tx) Try(fn func() error) error {
	outer, undo := tx.undo, []func(){}
	enqueued, trimmed := tx.enqueued, maps.Clone(tx.trimmed)
	tx.undo = &undo
	err := fn()
	tx.undo = outer
	if err == nil {
		if outer != nil {
			*outer = append(*outer, undo...)
		}
		return nil
	}
	for _, back := range slices.Backward(undo) {
		back()
	}
	tx.enqueued, tx.trimmed, tx.corrected = enqueued, trimmed, nil
	return err
}

// sequence returns the counter of the bucket.
func (tx *Tx) sequence(bucket string) uint64 {
	if n, ok := tx.sequences[bucket]; ok {
		return n
	}
	if b := tx.bucket(bucket); b != nil {
		return b.Sequence()
	}
	return 0
}

func (tx *Tx) setSequence(bucket string, n uint64) {
	tx.mustWrite()
	if tx.sequences == nil {
		tx.sequences = map[string]uint64{}
	}
	before, had := tx.sequences[bucket]
	tx.sequences[bucket] = n
	tx.bytes++ // so that the transaction counts as one that writes
	if tx.undo != nil {
		*tx.undo = append(*tx.undo, func() {
			tx.bytes--
			if had {
				tx.sequences[bucket] = before
			} else {
				delete(tx.sequences, bucket)
			}
		})
	}
}

// Changed reports whether the transaction itself has changed the table.
func (tx *Tx) Changed(table string) bool {
	_, changed := tx.sequences[table+logSuffix]
	return changed
}

// changed returns the last change number of each table that the transaction changed, or nil.
func (tx *Tx) changed() map[string]uint64 {
	var tables map[string]uint64
	for bucket, n := range tx.sequences {
		if table, is := strings.CutSuffix(bucket, logSuffix); is {
			if tables == nil {
				tables = map[string]uint64{}
			}
			tables[table] = n
		}
	}
	return tables
}

// entrySeq is the keys and values of a bucket in the order of the keys. They are valid until the transaction ends.
type entrySeq = iter.Seq2[[]byte, []byte]

// within returns the entries up to the first whose key does not have the prefix.
func within(prefix []byte, all entrySeq) entrySeq {
	return func(yield func(key, value []byte) bool) {
		for key, value := range all {
			if !bytes.HasPrefix(key, prefix) || !yield(key, value) {
				return
			}
		}
	}
}

// scan returns the entries of a bucket, starting at from. The loop over them must not write to the bucket.
func (tx *Tx) scan(bucket string, from []byte) entrySeq {
	return tx.merged(bucket, tx.writes[bucket], from)
}

// scanWhileWriting is scan for a loop that may write to the bucket. It does not see what the loop writes.
// Because it shares the writes so far with the transaction, each write to the bucket costs a copy.
func (tx *Tx) scanWhileWriting(bucket string, from []byte) entrySeq {
	w := tx.writes[bucket]
	if w != nil {
		w = w.Copy()
	}
	return tx.merged(bucket, w, from)
}

// merged returns the entries that a bucket has in the file, merged with buffered writes, which may be nil.
func (tx *Tx) merged(bucket string, w *btree.Map[string, []byte], from []byte) entrySeq {
	return func(yield func(key, value []byte) bool) {
		var k, v []byte
		var c *bolt.Cursor
		if b := tx.bucket(bucket); b != nil {
			c = b.Cursor()
			k, v = c.Seek(from)
		}
		var own btree.MapIter[string, []byte]
		haveOwn := false
		if w != nil {
			own = w.Iter()
			haveOwn = own.Seek(string(from))
		}
		for k != nil || haveOwn {
			order := -1 // the key of the file comes first
			if k == nil {
				order = 1
			} else if haveOwn {
				order = bytes.Compare(k, []byte(own.Key()))
			}
			key, value := k, v
			if order >= 0 {
				key, value = []byte(own.Key()), own.Value()
				haveOwn = own.Next()
			}
			if order <= 0 {
				k, v = c.Next()
			}
			if order >= 0 && value == nil {
				continue
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// apply moves the buffered writes into the shared transaction.
func (tx *Tx) apply() error {
	if tx.raw != nil {
		return tx.raw(tx.btx)
	}
	for name, w := range tx.writes {
		if w.Len() == 0 || tx.arrival != nil && waitsForArrival(name) { // everything was reverted
			continue
		}
		b, err := tx.ensure(name)
		if err != nil {
			return err
		}
		w.Scan(func(key string, value []byte) bool {
			if value == nil {
				err = b.Delete([]byte(key))
			} else {
				err = b.Put([]byte(key), value)
			}
			return err == nil
		})
		if err != nil {
			return fmt.Errorf("apply to %s: %w", name, err)
		}
	}
	for name, n := range tx.sequences {
		b, err := tx.ensure(name)
		if err != nil {
			return err
		}
		if err := b.SetSequence(n); err != nil {
			return err
		}
	}
	return nil
}

// ascends reports whether the keys of a bucket are mostly written in order.
func ascends(bucket string) bool {
	return strings.HasSuffix(bucket, logSuffix) || strings.HasSuffix(bucket, partSuffix)
}

func (tx *Tx) ensure(name string) (*bolt.Bucket, error) {
	b := tx.bucket(name)
	if b == nil {
		var err error
		if shared, is := strings.CutPrefix(name, sharedPrefix); is {
			b, err = tx.btx.CreateBucketIfNotExists([]byte(shared))
		} else {
			if tx.orgBkt == nil {
				if tx.orgBkt, err = tx.createOrganization(); err != nil {
					return nil, err
				}
			}
			b, err = tx.orgBkt.CreateBucketIfNotExists([]byte(name))
		}
		if err != nil {
			return nil, fmt.Errorf("bucket %s: %w", name, err)
		}
		tx.buckets[name] = b
	}
	if ascends(name) {
		b.FillPercent = 1 // it only grows at its end, or at the end of a record's parts
	} else if strings.HasSuffix(name, recSuffix) {
		b.FillPercent = 0.8 // it mostly grows at its end, and records may grow in place
	}
	return b, nil
}
