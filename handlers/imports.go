package handlers

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/imports"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// maxUploads is how many files of an organization may be received at the same time.
const maxUploads = 4

// InspectBody is what a caller asks of an inspection: the options beside its file.
type InspectBody struct {
	Entity    string     `json:"entity" rule:"default=contacts,enum=contacts|accounts|suppressions" doc:"What the rows are."`
	Encoding  shape.Text `json:"encoding" doc:"The encoding of the file, such as windows-1250. The default is to detect it."`
	Sheet     shape.Text `json:"sheet" doc:"The name of the sheet of a spreadsheet. The default is the first visible one."`
	DateOrder shape.Text `json:"date_order" rule:"enum=dmy|mdy" doc:"What dates such as 03/04/2025 begin with. The default is to decide by column."`
}

// fileImportOperations returns the operations on imports of files.
func (a *API) fileImportOperations() []Operation {
	uploads := newConcurrencyLimiter(maxUploads, "uploads")
	return []Operation{
		a.createImport(uploads),
		a.inspectImport(uploads),
		read(Operation{
			Name: "get_import", Method: http.MethodGet, Path: "/v1/imports/{id}", Access: identity.Read,
			Summary: "Get the progress and the report of an import of a file",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[imports.FileImport], error) {
			return a.Imports.Imports.Get(tx, id)
		})),
		list[imports.FileImport](Operation{
			Name: "list_imports", Path: "/v1/imports/list", Summary: "List imports of files, with filters, search and sorting",
		}, a.Imports.List),
		write(Operation{
			Name: "cancel_import", Method: http.MethodPost, Path: "/v1/imports/{id}/cancel", Access: identity.Write,
			Codes:   []fault.Code{fault.ImportNotRunning},
			Summary: "Cancel an import of a file; rows that were imported before stay",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[imports.FileImport], error) {
			return a.Imports.Cancel(tx, id)
		})),
		read(Operation{
			Name: "get_import_rejects", Method: http.MethodGet, Path: "/v1/imports/{id}/rejects", Access: identity.Read,
			Summary: "Get the rows that an import skipped, as CSV: the columns of the file and why each row was skipped",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (rejects, error) {
			parts, err := a.Imports.Rejects(tx, id)
			return rejects{id, parts}, err
		})),
	}
}

// rejects is the CSV file of the rows that an import skipped.
type rejects struct {
	id    uuid.UUID
	parts int
}

func (rejects) output() outputSource { return outputSource{streams: []string{"text/csv"}} }

func (r rejects) serve(c *call) response {
	return response{
		status: http.StatusOK, contentType: typeCSV,
		header: http.Header{"Content-Disposition": {`attachment; filename="rejects.csv"`}},
		stream: func(out *stream) error { return c.api.Imports.WriteRejects(out, c.org(), r.id, r.parts) },
	}
}

// createImport receives a file, stores it and starts its import.
func (a *API) createImport(uploads *concurrencyLimiter) Operation {
	o := Operation{
		Name: "create_import", Method: http.MethodPost, Path: "/v1/imports", Access: identity.Write, Status: http.StatusAccepted,
		Codes:   []fault.Code{fault.TooManyImports},
		Summary: "Import a file of contacts, accounts or suppressions in the background",
		form:    &formSource{options: reflect.TypeFor[imports.FileImportBody](), required: true},
		limiter: uploads, writes: true,
	}
	describe(&o, nil, store.Doc[imports.FileImport]{}, nil, nil)
	o.run = func(c *call) (response, error) {
		r, err := c.receiveImport(&o)
		if err != nil {
			c.drainForm()
		}
		return r, err
	}
	return o
}

// formDigest identifies the content of a form, whatever the order of its parts.
type formDigest struct{ options, file hash.Hash }

func newFormDigest() formDigest { return formDigest{sha256.New(), sha256.New()} }

func (d formDigest) sum() []byte { return d.file.Sum(d.options.Sum(nil)) }

func (c *call) receiveImport(o *Operation) (a response, err error) {
	key, err := idempotencyKey(c)
	if err != nil {
		return a, err
	}
	if key != "" {
		if a, found, err := c.replayForm(key); err != nil || found {
			return a, err
		}
	}
	u, err := c.api.Imports.NewUpload(c.org())
	if err != nil {
		return a, err
	}
	defer func() {
		lasting := context.WithoutCancel(c.request.Context()) // the client may have disconnected
		end := u.Discard
		if err == errIncomplete {
			end = u.Interrupt
		}
		if ended := errors.Join(end(lasting), u.Close()); ended != nil {
			c.api.Log.Warn("an upload could not be cleaned up; that is done at the next start", "request_id", c.requestID, "error", ended)
		}
	}()
	digest := newFormDigest()
	options, err := c.readImport(u, digest)
	if err != nil {
		return a, err
	}
	checked, err := u.Check(options)
	if err != nil {
		return a, err
	}
	c.raw = digest.sum()
	return o.runWrite(c, func() error { return nil }, func(tx *store.Tx) (any, error) { return u.Accept(tx, checked) })
}

// readImport reads the form of an import. The import is registered as soon as its options are known.
func (c *call) readImport(u *imports.Upload, digest formDigest) (options imports.FileImportBody, err error) {
	err = c.readForm(formReader{
		options: func(body []byte) error {
			digest.options.Write(body)
			if err := decodeOptions(body, &options); err != nil {
				return err
			}
			if access := accessOfImport(&options); !c.principal.Access.Covers(access) {
				return forbidden(access)
			}
			return u.Register(c.request.Context(), c.actor(), options)
		},
		file: func(name string, r io.Reader) error {
			u.SetName(name)
			return copyFile(io.MultiWriter(u, digest.file), r)
		},
	})
	return options, err
}

// accessOfImport returns the access that an import requires: that of creating such records one by one, and of taking
// opt-outs of others back.
func accessOfImport(options *imports.FileImportBody) identity.Access {
	if options.Entity == "suppressions" || options.OptOuts == record.ReplaceOptOuts {
		return identity.Admin
	}
	return identity.Write
}

// replayForm answers a form that was answered before. It reads the form only to compare it with the earlier one.
func (c *call) replayForm(key string) (a response, found bool, err error) {
	err = c.api.Store.View(c.org(), func(tx *store.Tx) error {
		found = c.api.responses.has(tx, key)
		return nil
	})
	if err != nil || !found {
		return a, false, err
	}
	digest := newFormDigest()
	err = c.readForm(formReader{
		options: func(body []byte) error {
			digest.options.Write(body)
			return nil
		},
		file: func(_ string, r io.Reader) error { return copyFile(digest.file, r) },
	})
	if err != nil {
		return a, false, err
	}
	c.raw = digest.sum()
	a, found, err = c.storedResponse(key)
	if err == nil && !found { // it has expired in the meantime
		err = fault.New(fault.Unavailable, "the response of the earlier request has just expired; try again")
	}
	return a, true, err
}

// inspectedBytes is how much of a file is inspected. The directory of a zip archive is at its end.
const inspectedBytes = 4 << 20

// inspectImport reads the beginning of a file.
func (a *API) inspectImport(uploads *concurrencyLimiter) Operation {
	o := Operation{
		Name: "inspect_import", Method: http.MethodPost, Path: "/v1/imports/inspect", Access: identity.Read,
		Codes:   []fault.Code{fault.TooManyImports},
		Summary: "Read the beginning of a file and describe its columns and how an import would map them",
		form:    &formSource{options: reflect.TypeFor[InspectBody]()},
		limiter: uploads,
	}
	describe(&o, nil, rows.Inspection{}, nil, reflect.TypeFor[rows.Inspection]())
	o.run = func(c *call) (response, error) {
		found, err := c.inspect()
		if err != nil {
			c.drainForm()
			return response{}, err
		}
		return o.response(c, found)
	}
	return o
}

func (c *call) inspect() (found rows.Inspection, err error) {
	u, err := c.api.Imports.NewUpload(c.org())
	if err != nil {
		return found, err
	}
	defer u.Close()
	options := InspectBody{Entity: "contacts"}
	err = c.readForm(formReader{
		options: func(body []byte) error { return decodeOptions(body, &options) },
		file: func(name string, r io.Reader) error {
			u.SetName(name)
			if err := copyFile(u, io.LimitReader(r, inspectedBytes)); err != nil {
				return err
			}
			if u.IsArchive() {
				return copyFile(u, r)
			}
			return copyFile(io.Discard, r)
		},
	})
	if err != nil {
		return found, err
	}
	return u.Inspect(imports.FileImportBody{Entity: options.Entity, Encoding: options.Encoding, Sheet: options.Sheet, DateOrder: options.DateOrder})
}
