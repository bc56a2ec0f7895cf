package handlers

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const (
	// compressFrom is the size from which a response is compressed. A smaller one fits a packet either way.
	compressFrom = 1024

	// streamBuffer is how much of a streamed response is compressed at a time.
	streamBuffer = 64 << 10
)

// newGzip returns a writer that keeps no state between writes, so that slow clients hold no memory. It
// takes between a third (1 KB) and two thirds (30 KB) of the CPU time of compress/gzip, and its result is about
// as small.
func newGzip(w io.Writer) *gzip.Writer {
	z, err := gzip.NewWriterLevel(w, gzip.StatelessCompression)
	if err != nil { // the level is a constant
		panic(err)
	}
	return z
}

// wantsGzip reports whether a response should be compressed for this client. On loopback, compressing takes
// longer than sending.
func (c *call) wantsGzip() bool {
	from, err := netip.ParseAddrPort(c.request.RemoteAddr)
	return err == nil && !from.Addr().Unmap().IsLoopback() && accepts(c.request.Header, "gzip")
}

// compress compresses a response if that is worth it. An asset was compressed when it was made. A response with
// a secret stays as it is, because its length must not depend on how much the secret resembles the rest. The
// ETag stays too: it is the version of the record, and no cache stores the response.
func (c *call) compress(a response) response {
	if len(a.body) < compressFrom || a.replayBody != nil || a.isAsset {
		return a
	}
	a.header = a.header.Clone()
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Add("Vary", "Accept-Encoding")
	if !c.wantsGzip() {
		return a
	}
	var b bytes.Buffer
	b.Grow(len(a.body) / 4)
	z := newGzip(&b)
	_, _ = z.Write(a.body) // a buffer does not fail
	_ = z.Close()
	if b.Len() < len(a.body) {
		a.body = b.Bytes()
		a.header.Set("Content-Encoding", "gzip")
	}
	return a
}

// compress makes the stream compress what is written. It must be called before the first write.
func (s *stream) compress(header http.Header) {
	header.Set("Content-Encoding", "gzip")
	z := newGzip(chunkWriter{s})
	buffer := bufio.NewWriterSize(z, streamBuffer)
	s.to = buffer
	s.close = func() error {
		if err := buffer.Flush(); err != nil {
			return err
		}
		return z.Close()
	}
}

// accepts reports whether the client accepts a content coding, according to its Accept-Encoding.
func accepts(h http.Header, wanted string) bool {
	accepted := false
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		q := 1.0
		if name, value, _ := strings.Cut(strings.TrimSpace(weight), "="); strings.EqualFold(name, "q") {
			q, _ = strconv.ParseFloat(value, 64) // an invalid weight counts as 0
		}
		switch strings.TrimPrefix(strings.ToLower(strings.TrimSpace(coding)), "x-") {
		case wanted:
			return q > 0
		case "*":
			accepted = q > 0
		}
	}
	return accepted
}
