package imports

import (
	"bytes"
	"io"

	"github.com/google/uuid"

	"prospector/internal/rows"
	"prospector/store"
)

// The rejects of an import are a CSV file in parts: the header, and then one part for each batch that has some.

// maxRejectBytes limits the rejects of an import.
const maxRejectBytes = 64 << 20

// reject stores the rows of a batch that were skipped.
func (r *run) reject(tx *store.Tx, rec *FileImport, table []rows.Row, outcomes []rows.Outcome) error {
	if rec.private.Rejects == 0 {
		var header bytes.Buffer
		head, err := rows.NewRejects(&header, r.table)
		if err == nil {
			err = head.Flush()
		}
		if err != nil {
			return err
		}
		r.imports.rejects.Put(tx, r.id, 0, header.Bytes())
		rec.private.Rejects, rec.private.RejectBytes = 1, header.Len()
	}
	var text bytes.Buffer
	skipped, lines := 0, rows.AppendRejects(&text, r.table)
	for i := range outcomes {
		if outcomes[i].Skipped != "" {
			skipped++
			if err := lines.Add(&table[i], outcomes[i].Why()); err != nil {
				return err
			}
		}
	}
	if err := lines.Flush(); err != nil || skipped == 0 {
		return err
	}
	if rec.RejectsOmitted > 0 || rec.private.RejectBytes+text.Len() > maxRejectBytes {
		rec.RejectsOmitted += skipped
		return nil
	}
	r.imports.rejects.Put(tx, r.id, uint32(rec.private.Rejects), text.Bytes())
	rec.private.Rejects, rec.private.RejectBytes = rec.private.Rejects+1, rec.private.RejectBytes+text.Len()
	return nil
}

// Rejects returns how many parts the rejects of an import have.
func (i *Imports) Rejects(tx *store.Tx, id uuid.UUID) (parts int, err error) {
	doc, err := i.Imports.Get(tx, id)
	return doc.Record.private.Rejects, err
}

// WriteRejects writes the rejects of an import as CSV. Each part is read in a transaction of its own, so that a slow
// client does not keep one open.
func (i *Imports) WriteRejects(w io.Writer, org, id uuid.UUID, parts int) error {
	for n := range parts {
		var text []byte
		err := i.store.View(org, func(tx *store.Tx) error {
			part, err := i.rejects.Get(tx, id, uint32(n))
			text = bytes.Clone(part)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}
