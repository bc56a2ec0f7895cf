package imports

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// A file is called <organization>.<import>. While it is received and its options are not known yet, the
// second part is a random id.

func (i *Imports) pathOf(org, id uuid.UUID) string {
	return filepath.Join(i.Dir, org.String()+"."+id.String())
}

// maxFiles is how many unfinished imports an organization may have.
const maxFiles = 20

// filesOf returns the files of an organization.
func (i *Imports) filesOf(org uuid.UUID) ([]string, error) {
	return filepath.Glob(filepath.Join(i.Dir, org.String()+".*"))
}

// Forget removes the files of a deleted organization.
func (i *Imports) Forget(org uuid.UUID) error {
	files, err := i.filesOf(org)
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// remove removes the file of an import that is over.
func (i *Imports) remove(org, id uuid.UUID) {
	if err := os.Remove(i.pathOf(org, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		i.Log.Error("the file of an import cannot be removed", "import", id, "error", err)
	}
}

// Start cleans up after a process that was killed: an import whose upload was not complete fails, and files
// that no import needs are removed.
func (i *Imports) Start(ctx context.Context) error {
	entries, err := os.ReadDir(i.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		err = errors.Join(err, i.cleanUp(ctx, entry.Name()))
	}
	return err
}

func (i *Imports) cleanUp(ctx context.Context, name string) error {
	first, second, _ := strings.Cut(name, ".")
	org, err1 := uuid.Parse(first)
	id, err2 := uuid.Parse(second)
	if err1 != nil || err2 != nil {
		return nil // not a file of this package
	}
	needed := false
	err := i.store.View(org, func(tx *store.Tx) error {
		doc, err := i.Imports.Get(tx, id)
		needed = err == nil && !doc.Record.hasEnded()
		if needed && !doc.Record.private.Received {
			needed = false
			return errIncomplete
		}
		return err
	})
	if errors.Is(err, errIncomplete) {
		return i.fail(ctx, org, id, incompleteReason)
	}
	if !needed && (err == nil || fault.CodeOf(err) == fault.NotFound) {
		return os.Remove(filepath.Join(i.Dir, name))
	}
	return nil // the job reports why the record cannot be read
}
