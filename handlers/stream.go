package handlers

import (
	"io"
	"net/http"
	"time"
)

// chunkTimeout is how long a client may take to receive one part of a streamed response.
const chunkTimeout = 2 * time.Minute

// stream writes a response of unknown length. The status and headers are sent with the first part, so
// that an earlier failure can still become an error response.
type stream struct {
	w      http.ResponseWriter
	to     io.Writer    // where Write writes: w, or what compresses it
	close  func() error // ends the compression; nil if there is none
	head   func()
	begun  bool
	failed bool // the client has disconnected
}

func (s *stream) Write(b []byte) (int, error) {
	s.begin()
	return s.to.Write(b)
}

// chunkWriter writes to the client, which has chunkTimeout to receive each part.
type chunkWriter struct{ s *stream }

func (c chunkWriter) Write(b []byte) (int, error) {
	_ = http.NewResponseController(c.s.w).SetWriteDeadline(time.Now().Add(chunkTimeout)) // best effort: test recorders support no deadlines
	n, err := c.s.w.Write(b)
	c.s.failed = err != nil
	return n, err
}

// end completes the response.
func (s *stream) end() error {
	s.begin()
	if s.close == nil {
		return nil
	}
	return s.close()
}

// trailer adds a field to the end of the response, whose header must declare it.
func (s *stream) trailer(name, value string) { s.w.Header().Set(name, value) }

func (s *stream) begin() {
	if !s.begun {
		s.begun = true
		s.head()
	}
}

// send streams a response. If it fails after the beginning was sent, the connection is aborted, so that the
// client does not mistake a part for the whole.
func (c *call) send(w http.ResponseWriter, a response) {
	s := &stream{w: w, head: func() { a.writeHead(w) }}
	s.to = chunkWriter{s}
	a.header.Set("Vary", "Accept-Encoding")
	if c.wantsGzip() {
		s.compress(a.header)
	}
	err := a.stream(s)
	if err == nil {
		err = s.end()
	}
	switch {
	case err == nil:
	case !s.begun:
		c.errorResponse(err).write(w)
	default:
		if !s.failed && c.request.Context().Err() == nil {
			c.api.Log.Error("streamed response aborted", "request_id", c.requestID, "operation", c.opName(), "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}
