package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"

	"prospector/internal/identity"
	"prospector/internal/service"
	"prospector/store"
)

// ExportResult is an export in the work directory.
type ExportResult struct {
	File
	Records int `json:"records"`
	Damaged int `json:"damaged,omitempty"` // records that cannot be read and are left out
}

// ExportOrg exports a snapshot of all records of an organization, one per line. It contains only what
// the API returns, so for example no hashes of keys.
var ExportOrg = Operation[Input, ExportResult]{
	name: "org-export",
	doLong: func(ctx context.Context, s *service.Service, in Input, report Progress) (e ExportResult, err error) {
		org, err := organization(s, in.Org)
		if err != nil {
			return e, err
		}
		work, err := workDir(s)
		if err != nil {
			return e, err
		}
		e.File, err = makeFile(work, func(w io.Writer) error {
			return s.Store.View(org.ID, func(tx *store.Tx) error {
				total := recordsOf(s, tx)
				lines := bufio.NewWriterSize(w, 1<<20)
				for _, k := range s.Lists() {
					err := tx.Records(k.Table(), uuid.Nil, func(id uuid.UUID, _ uint64, public []byte) (_ bool, err error) {
						if k == s.Identity.Keys.List { // the last use is stored beside the record
							var key store.Doc[identity.Key]
							key, err = s.Identity.Key(tx, id)
							public = key.JSON
						}
						e.Records++
						report(e.Records, total)
						_, failed := fmt.Fprintf(lines, "{\"entity\":%q,\"record\":%s}\n", k.Entity, public)
						if k == s.Outreach.Audiences.List && err == nil {
							err = exportMembers(s, tx, lines, id)
						}
						return true, errors.Join(err, failed, ctx.Err())
					})
					if err != nil {
						return err
					}
				}
				e.Damaged = max(0, total-e.Records)
				return lines.Flush()
			})
		})
		if err != nil {
			_ = os.RemoveAll(work)
		}
		return e, err
	},
}

// exportMembers writes a line for each member of an audience. Members are not records.
func exportMembers(s *service.Service, tx *store.Tx, w io.Writer, audience uuid.UUID) error {
	members, err := s.Outreach.Members(tx, audience)
	for _, contact := range members {
		_, failed := fmt.Fprintf(w, "{\"entity\":\"audience-contacts\",\"record\":{\"audience_id\":%q,\"contact_id\":%q}}\n", audience, contact)
		err = errors.Join(err, failed)
	}
	return err
}

// RecordCount is the output of commands that process all records.
type RecordCount struct {
	Records int `json:"records"`
}

// DeleteOrg deletes an organization with all its data in one transaction. Then it frees the space.
var DeleteOrg = Operation[Input, RecordCount]{
	name: "org-delete",
	do: func(ctx context.Context, s *service.Service, in Input) (done RecordCount, err error) {
		org, err := organization(s, in.Org)
		if err != nil {
			return done, err
		}
		err = s.Store.Update(ctx, org.ID, store.Actor{Operation: "org delete"}, func(tx *store.Tx) error {
			done.Records = recordsOf(s, tx)
			tx.DropOrganization()
			return nil
		})
		if err != nil {
			return done, err
		}
		s.Index.RemoveOrganization(org.ID)
		s.Webhooks.Sender.Forget(org.ID)
		return done, errors.Join(s.Imports.Forget(org.ID), s.Store.EmptyTrash(ctx))
	},
}
