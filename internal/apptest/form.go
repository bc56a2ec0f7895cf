package apptest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
)

// Form is the body of a request with a file: multipart/form-data with the parts file and options. Parts that are nil
// are left out.
type Form struct {
	Name      string // of the file; file.csv if it is empty
	File      []byte
	Options   []byte
	FileFirst bool
}

// NewForm returns a form with a CSV file.
func NewForm(file, options string) Form { return Form{File: []byte(file), Options: []byte(options)} }

// encode returns the body of the form and its media type.
func (f Form) encode() (body []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	parts := []func(){
		func() {
			if f.Options != nil {
				put(w, `form-data; name="options"`, "application/json", f.Options)
			}
		},
		func() {
			if f.File != nil {
				name := f.Name
				if name == "" {
					name = "file.csv"
				}
				put(w, mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": name}), "text/csv", f.File)
			}
		},
	}
	if f.FileFirst {
		parts[0], parts[1] = parts[1], parts[0]
	}
	for _, write := range parts {
		write()
	}
	_ = w.Close() // a buffer does not fail
	return b.Bytes(), w.FormDataContentType()
}

func put(w *multipart.Writer, disposition, contentType string, content []byte) {
	part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {contentType}})
	_, _ = part.Write(content)
}

const formMedia = "multipart/form-data"

// formOptions returns the options in the body of a request, if it is a form.
func formOptions(h http.Header, body []byte) (options []byte, isForm bool, err error) {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != formMedia {
		return nil, false, nil
	}
	for form := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
		part, err := form.NextPart()
		if err == io.EOF {
			return options, true, nil
		}
		if err != nil {
			return nil, true, fmt.Errorf("read the form: %w", err)
		}
		if part.FormName() == "options" {
			if options, err = io.ReadAll(part); err != nil {
				return nil, true, err
			}
		}
	}
}
