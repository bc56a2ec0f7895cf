package handlers

import (
	"crypto/sha256"
	"time"

	"prospector/internal/fault"
	"prospector/store"
)

const (
	answersKept = 24 * time.Hour
	answersMost = 100_000
)

// keptAnswer is the answer to a request that came with an Idempotency-Key.
type keptAnswer struct {
	Key     []byte    `json:"key"`
	Request []byte    `json:"request"`
	At      time.Time `json:"at"`
	Status  int       `json:"status"`
	Body    []byte    `json:"body"`
	ETag    string    `json:"etag"`
}

// answers keeps them, each in the transaction of its change.
type answers struct {
	table *store.Table[keptAnswer]
	most  int
}

func newAnswers() *answers {
	byKey := store.Unique[keptAnswer]{Name: "key", Of: func(k *keptAnswer) []byte { return k.Key }}
	return &answers{
		table: store.NewTable("idempotency", []store.Unique[keptAnswer]{byKey}, nil).Unlogged(),
		most:  answersMost,
	}
}

// idempotencyKey is the key of a request, empty when it has none or the operation does not honour one.
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
		p.Invalid("Idempotency-Key", "must be one header of 1 to 255 printable characters")
		return "", p.Err()
	}
	return key, nil
}

// fingerprint tells one request from another.
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

// find gives the answer that is kept under the key. Another request under the same key is a conflict.
func (s *answers) find(tx *store.Tx, key string, c *call) (answer, bool, error) {
	id, ok := s.table.Find(tx, "key", hashOf(key))
	if !ok {
		return answer{}, false, nil
	}
	doc, err := s.table.Get(tx, id)
	if err != nil {
		return answer{}, false, err
	}
	k := doc.Record
	if tx.Now().Sub(k.At) >= answersKept {
		return answer{}, false, nil // keep puts another in its place
	}
	if string(k.Request) != string(c.fingerprint()) {
		return answer{}, false, fault.New(fault.IdempotencyKeyReused, "this Idempotency-Key came with another request before")
	}
	return answer{status: k.Status, body: k.Body, etag: k.ETag, replayed: true}, true, nil
}

// keep stores an answer and removes the oldest when they are past their time or too many.
func (s *answers) keep(tx *store.Tx, key string, c *call, a answer) error {
	body := a.body
	if a.kept != nil {
		body = a.kept
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
	_, err := s.table.Insert(tx, tx.NewID(), keptAnswer{
		Key: hashOf(key), Request: c.fingerprint(), At: tx.Now(), Status: a.status, Body: body, ETag: a.etag,
	})
	if err != nil {
		return err
	}
	return s.sweep(tx)
}

// sweep removes a few of what is due: twice as many as are added, so that they cannot pile up.
func (s *answers) sweep(tx *store.Tx) error {
	const few = 2
	var old []store.Doc[keptAnswer]
	over := s.table.Count(tx) - s.most
	err := s.table.Scan(tx, func(d store.Doc[keptAnswer]) (bool, error) {
		if tx.Now().Sub(d.Record.At) < answersKept && len(old) >= over {
			return false, nil
		}
		old = append(old, d)
		return len(old) < few, nil
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
