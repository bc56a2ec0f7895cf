package handlers

import (
	"net/http"
	"time"
)

// chunkTime is how long a reader may take for a part of a streamed answer.
const chunkTime = 2 * time.Minute

// stream writes an answer of unknown length. Its head goes out with the first part: until then the answer can still be
// an error.
type stream struct {
	w      http.ResponseWriter
	head   func()
	begun  bool
	failed bool // the reader is gone
}

func (s *stream) Write(b []byte) (int, error) {
	s.begin()
	_ = http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(chunkTime)) // a writer that has none needs none
	n, err := s.w.Write(b)
	s.failed = err != nil
	return n, err
}

func (s *stream) begin() {
	if !s.begun {
		s.begun = true
		s.head()
	}
}

// send streams an answer. One that fails after its beginning is cut off, so that nobody takes a part for the whole.
func (c *call) send(w http.ResponseWriter, a answer) {
	s := &stream{w: w, head: func() { a.writeHead(w) }}
	err := a.stream(s)
	switch {
	case err == nil:
		s.begin()
	case !s.begun:
		c.errorAnswer(err).write(w)
	default:
		if !s.failed {
			c.api.Log.Error("an answer was cut off", "request_id", c.requestID, "operation", c.opName(), "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}
