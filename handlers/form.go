package handlers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"time"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

const (
	formMedia = "multipart/form-data"
	// maxFormOptions is the maximum size of the options in a form.
	maxFormOptions = 1 << 20
	// formBuffer is how much of a file is read at a time.
	formBuffer = 256 << 10
)

// formSource is a body with a file and the options of an operation, in any order.
type formSource struct {
	options  reflect.Type
	required bool // the options
}

// document describes the body. The binary string of OpenAPI 3.0 is what code generators understand.
func (f *formSource) document(schemas shape.Components) *apiBody {
	var properties *shape.Properties
	form := &shape.Schema{Type: shape.Types{"object"}, Required: []string{"file"}, Additional: shape.Nothing}
	form.Properties = properties.
		Set("file", text(shape.Schema{Format: "binary", Description: "CSV with a header, or JSON lines. It may be compressed with gzip."})).
		Set("options", schemas.Of(f.options, shape.CreateInput))
	if f.required {
		form.Required = append(form.Required, "options")
	}
	return &apiBody{Required: true, Content: map[string]apiMedia{
		formMedia: {Schema: form, Encoding: map[string]apiEncoding{"options": {"application/json"}}},
	}}
}

// formReader receives the parts of a form, each once and as they come.
type formReader struct {
	options func(body []byte) error
	file    func(name string, r io.Reader) error
}

// errIncomplete means that the client stopped sending before the end of the body.
var errIncomplete = fault.New(fault.InvalidForm, "the request body ends before the form is complete")

// readForm reads the body of an operation that takes a form. Both parts of the form can have any size up to their
// limits, and clients can take any time as long as they keep sending.
func (c *call) readForm(to formReader) error {
	media, params, err := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	encoding := c.request.Header.Get("Content-Encoding")
	if err != nil || media != formMedia || params["boundary"] == "" || encoding != "" && encoding != "identity" {
		return fault.New(fault.UnsupportedMediaType, "the request body must be %s without a content encoding", formMedia)
	}
	limit := c.api.ImportBytes + 2*maxFormOptions
	if c.request.ContentLength > limit {
		return c.fileTooLarge()
	}
	body := bufio.NewReaderSize(&slowReader{c, http.MaxBytesReader(nil, c.request.Body, limit)}, formBuffer)
	form := multipart.NewReader(body, params["boundary"])
	defer c.extendWrite()
	seen := map[string]bool{}
	for {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return c.missingParts(seen)
		}
		if err != nil {
			return c.formError(err)
		}
		var p fault.Problems
		switch name := part.FormName(); {
		case seen[name]:
			p.Invalid(name, "given more than once")
		case name == "options":
			err = c.readOptions(part, to.options)
		case name == "file":
			err = to.file(part.FileName(), &limitedFile{c: c, r: part, left: c.api.ImportBytes})
		default:
			p.Invalid(name, "unknown part; the form has the parts file and options")
		}
		seen[part.FormName()] = true
		if err == nil {
			err = p.Err()
		}
		if err != nil {
			return c.formError(err)
		}
	}
}

func (c *call) missingParts(seen map[string]bool) error {
	var p fault.Problems
	if !seen["file"] {
		p.Invalid("file", "is required")
	}
	if !seen["options"] && c.op.form.required {
		p.Invalid("options", "is required")
	}
	return p.Err()
}

func (c *call) readOptions(part io.Reader, take func([]byte) error) error {
	b, err := io.ReadAll(io.LimitReader(part, maxFormOptions+1))
	switch {
	case err != nil:
		return err
	case len(b) > maxFormOptions:
		return fault.New(fault.BodyTooLarge, "options must be at most %d bytes", maxFormOptions)
	}
	return take(b)
}

// decodeOptions decodes the options of a form, whose problems have paths within them.
func decodeOptions(body []byte, into any) error {
	v, err := shape.ParseObject(body)
	if err != nil {
		return err
	}
	var p fault.Problems
	shape.Decode(v, into, shape.Create, &p)
	return p.Err()
}

// formError returns the error of a caller whose form cannot be read.
func (c *call) formError(err error) error {
	var refused *fault.Error
	var tooLarge *http.MaxBytesError
	var onDisk errStorage
	switch {
	case errors.As(err, &refused):
		return err
	case errors.As(err, &tooLarge):
		return c.fileTooLarge()
	case errors.As(err, &onDisk):
		return err
	}
	return errIncomplete
}

func (c *call) fileTooLarge() error {
	return fault.New(fault.BodyTooLarge, "the file must be at most %d bytes", c.api.ImportBytes)
}

// errStorage is an error of the disk that a file is written to, as opposed to one of the client.
type errStorage struct{ error }

func (e errStorage) Unwrap() error { return e.error }

// copyFile copies the file of a form.
func copyFile(to io.Writer, from io.Reader) error {
	_, err := io.CopyBuffer(fileWriter{to}, struct{ io.Reader }{from}, make([]byte, formBuffer))
	return err
}

type fileWriter struct{ to io.Writer }

func (f fileWriter) Write(b []byte) (int, error) {
	n, err := f.to.Write(b)
	if err != nil {
		err = errStorage{err}
	}
	return n, err
}

// drainForm reads and discards the rest of a refused form: a client that sends its whole request before it reads would
// otherwise never see the response.
func (c *call) drainForm() { _, _ = io.CopyN(io.Discard, &slowReader{c, c.request.Body}, maxDrain) }

// extendWrite gives the client the usual time for the response, because the upload may have taken longer.
func (c *call) extendWrite() {
	conn := http.NewResponseController(c.writer) // test recorders support no deadlines
	_ = errors.Join(conn.SetReadDeadline(time.Time{}), conn.SetWriteDeadline(time.Now().Add(chunkTimeout)))
}

// slowReader reads a body of which the client has chunkTimeout for each part. Waiting for the client takes no place from
// other work.
type slowReader struct {
	c    *call
	body io.Reader
}

func (r *slowReader) Read(b []byte) (int, error) {
	_ = http.NewResponseController(r.c.writer).SetReadDeadline(time.Now().Add(chunkTimeout))
	r.c.work.Block()
	n, err := r.body.Read(b)
	if gone := context.Cause(r.c.request.Context()); err == nil && gone != nil {
		err = gone
	}
	return n, err
}

// limitedFile fails when a file has more bytes than an import may have.
type limitedFile struct {
	c    *call
	r    io.Reader
	left int64
}

func (f *limitedFile) Read(b []byte) (int, error) {
	if int64(len(b)) > f.left+1 {
		b = b[:f.left+1]
	}
	n, err := f.r.Read(b)
	if f.left -= int64(n); f.left < 0 {
		return n, f.c.fileTooLarge()
	}
	return n, err
}
