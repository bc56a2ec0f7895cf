package handlers

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

const (
	responseRetention  = 24 * time.Hour
	maxStoredResponses = 100_000
)

// storedResponse is the response to a request with an Idempotency-Key.
type storedResponse struct {
	Key     []byte    `json:"key"`
	Request []byte    `json:"request"`
	At      time.Time `json:"at"`
	Status  int       `json:"status"`
	Body    []byte    `json:"body"`
	ETag    string    `json:"etag"`
}

// responseStore stores responses, each in the transaction of the change that it reports.
type responseStore struct {
	table *store.Table[storedResponse]
	max   int // per organization
}

func newResponseStore() *responseStore {
	byKey := store.Unique[storedResponse]{Name: "key", Of: func(k *storedResponse) []byte { return k.Key }}
	return &responseStore{
		table: store.NewTable("idempotency", []store.Unique[storedResponse]{byKey}, nil).Unlogged(),
		max:   maxStoredResponses,
	}
}

// idempotencyKey returns the Idempotency-Key of a request. It is empty if the request has no key or the
// operation does not honor it.
func idempotencyKey(c *call) (string, error) {
	values, given := c.request.Header["Idempotency-Key"]
	if !given || !c.op.idempotent() {
		return "", nil
	}
	key := values[0]
	for _, r := range key {
		if r < ' ' || r > '~' {
			key = ""
		}
	}
	if len(values) > 1 || len(key) < 1 || len(key) > 255 {
		var p fault.Problems
		p.Invalid("Idempotency-Key", "must be a single header of 1 to 255 printable ASCII characters")
		return "", p.Err()
	}
	return key, nil
}

// fingerprint returns a hash of the method, path and body of the request.
func (c *call) fingerprint() []byte {
	h := sha256.New()
	h.Write([]byte(c.request.Method + " " + c.request.URL.Path + "\x00"))
	h.Write(c.raw)
	return h.Sum(nil)
}

func hashOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// has reports whether a response is stored under the key.
func (s *responseStore) has(tx *store.Tx, key string) bool {
	id, ok := s.table.Find(tx, "key", hashOf(key))
	if !ok {
		return false
	}
	doc, err := s.table.Get(tx, id)
	return err == nil && tx.Now().Sub(doc.Record.At) < responseRetention
}

// find returns the response stored under the key. It fails with idempotency_key_reused if the key was
// used with a different request.
func (s *responseStore) find(tx *store.Tx, key string, c *call) (response, bool, error) {
	id, ok := s.table.Find(tx, "key", hashOf(key))
	if !ok {
		return response{}, false, nil
	}
	doc, err := s.table.Get(tx, id)
	if err != nil {
		return response{}, false, err
	}
	k := doc.Record
	if tx.Now().Sub(k.At) >= responseRetention {
		return response{}, false, nil // expired; put replaces it
	}
	if string(k.Request) != string(c.fingerprint()) {
		return response{}, false, fault.New(fault.IdempotencyKeyReused, "the Idempotency-Key was used before with a different request")
	}
	return response{status: k.Status, body: k.Body, etag: k.ETag, replayed: true}, true, nil
}

// put stores a response and removes a few that are expired or exceed the maximum.
func (s *responseStore) put(tx *store.Tx, key string, c *call, a response) error {
	body := a.body
	if a.replayBody != nil {
		body = a.replayBody
	}
	if old, there := s.table.Find(tx, "key", hashOf(key)); there {
		doc, err := s.table.Get(tx, old)
		if err == nil {
			err = s.table.Delete(tx, doc)
		}
		if err != nil {
			return err
		}
	}
	_, err := s.table.Insert(tx, tx.NewID(), storedResponse{
		Key: hashOf(key), Request: c.fingerprint(), At: tx.Now(), Status: a.status, Body: body, ETag: a.etag,
	})
	if err != nil {
		return err
	}
	return s.sweep(tx)
}

// sweep removes the oldest responses that are expired or exceed the maximum. It removes up to two per
// call, twice as many as are added, so that they cannot accumulate.
func (s *responseStore) sweep(tx *store.Tx) error {
	const limit = 2
	var old []store.Doc[storedResponse]
	excess := s.table.Count(tx) - s.max
	err := s.table.Scan(tx, func(d store.Doc[storedResponse]) (bool, error) {
		if tx.Now().Sub(d.Record.At) < responseRetention && len(old) >= excess {
			return false, nil
		}
		old = append(old, d)
		return len(old) < limit, nil
	})
	if err != nil {
		return err
	}
	for _, d := range old {
		if err := s.table.Delete(tx, d); err != nil {
			return err
		}
	}
	return nil
}

// EraseResponses deletes the stored responses of an organization whose body matches. Writers do not wait while it
// searches.
func (a *API) EraseResponses(ctx context.Context, org uuid.UUID, matches func(body []byte) bool) error {
	const perTransaction = 250
	table := a.responses.table
	var found []uuid.UUID
	err := a.Store.View(org, func(tx *store.Tx) error {
		return table.Scan(tx, func(d store.Doc[storedResponse]) (bool, error) {
			if matches(d.Record.Body) {
				found = append(found, d.ID)
			}
			return true, ctx.Err()
		})
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(found, perTransaction) {
		err := a.Store.Update(ctx, org, store.Actor{Operation: "erase"}, func(tx *store.Tx) error {
			some := slices.DeleteFunc(slices.Clone(some), func(id uuid.UUID) bool { return !table.Has(tx, id) }) // expired since
			return table.Each(tx, some, func(d store.Doc[storedResponse]) error { return table.Delete(tx, d) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}
