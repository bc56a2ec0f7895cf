package handlers

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"prospector/internal/console"
)

// asset is a response that stays the same until the process ends. It is compressed once. Clients may keep it,
// and ask whether it is still the same.
type asset struct {
	contentType string
	policy      string // the Content-Security-Policy of a page
	hash        string
	plain       []byte
	gzip        []byte        // nil if it would not be smaller
	brotli      func() []byte // nil if it is not offered
}

func newAsset(contentType string, body []byte) *asset {
	sum := sha256.Sum256(body)
	a := &asset{contentType: contentType, plain: body, hash: base64.RawURLEncoding.EncodeToString(sum[:12])}
	if len(body) < compressFrom {
		return a
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil { // the level is a constant
		panic(err)
	}
	_, _ = z.Write(body) // a buffer does not fail
	_ = z.Close()
	a.gzip = b.Bytes()
	return a
}

// newPage returns the asset of a web page.
func newPage(p console.Page) *asset {
	a := newAsset("text/html; charset=utf-8", p.HTML)
	a.policy = p.Policy
	return a
}

// offerBrotli also offers the asset in the smaller coding of brotli. Its best compression takes about 3 ms per KB, so
// it waits for the first client that accepts it.
func (a *asset) offerBrotli() {
	a.brotli = sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w := brotli.NewWriterLevel(&b, brotli.BestCompression)
		_, _ = w.Write(a.plain) // a buffer does not fail
		_ = w.Close()
		return b.Bytes()
	})
}

// tag returns the ETag of a representation: each content encoding has its own.
func (a *asset) tag(encoding string) string { return `"` + a.hash + encoding + `"` }

const (
	gzipTag   = "-gzip"
	brotliTag = "-br"
)

// serve returns the response: 304 if the client has the current version.
func (a *asset) serve(c *call) response {
	h := http.Header{"Cache-Control": {"public, no-cache"}, "Vary": {"Accept-Encoding"}}
	if a.policy != "" {
		h.Set("Content-Security-Policy", a.policy)
	}
	r := response{status: http.StatusOK, contentType: a.contentType, body: a.plain, etag: a.tag(""), header: h, isAsset: true}
	switch {
	case a.brotli != nil && accepts(c.request.Header, "br"):
		r.body, r.etag = a.brotli(), a.tag(brotliTag)
		h.Set("Content-Encoding", "br")
	case a.gzip != nil && accepts(c.request.Header, "gzip"):
		r.body, r.etag = a.gzip, a.tag(gzipTag)
		h.Set("Content-Encoding", "gzip")
	}
	for tag := range strings.SplitSeq(strings.Join(c.request.Header.Values("If-None-Match"), ","), ",") {
		switch strings.TrimPrefix(strings.TrimSpace(tag), "W/") {
		case "*", a.tag(""), a.tag(gzipTag), a.tag(brotliTag):
			h.Del("Content-Encoding")
			return response{status: http.StatusNotModified, etag: r.etag, header: h}
		}
	}
	return r
}

// document and docsPage are assets by their media type.
type (
	document struct{ *asset }
	docsPage struct{ *asset }
)

func (document) output() outputSource { return outputSource{raw: "application/json", cached: true} }
func (docsPage) output() outputSource { return outputSource{raw: "text/html", cached: true} }
