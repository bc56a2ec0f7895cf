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

// ExportResult is all records of an organization, in a file that is to be handed over.
type ExportResult struct {
	File
	Records int `json:"records"`
}

// orgExport writes all records of an organization at one moment, one a line. What is not answered by the API, such as the hashes
// of keys, is not in it.
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
						if k == s.Identity.Keys.List { // when one was last used is kept beside its record
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
				return lines.Flush()
			})
		})
		if err != nil {
			_ = os.RemoveAll(work)
		}
		return e, err
	},
}

// exportMembers writes who is in an audience, which is no record: a line for each.
func exportMembers(s *service.Service, tx *store.Tx, w io.Writer, audience uuid.UUID) error {
	members, err := s.Outreach.Members(tx, audience)
	for _, contact := range members {
		_, failed := fmt.Fprintf(w, "{\"entity\":\"audience-contacts\",\"record\":{\"audience_id\":%q,\"contact_id\":%q}}\n", audience, contact)
		err = errors.Join(err, failed)
	}
	return err
}

// RecordCount is what commands print that went over all records.
type RecordCount struct {
	Records int `json:"records"`
}

// orgDelete deletes an organization with all that it has, at once; then it makes its room free.
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
		return done, s.Store.EmptyTrash(ctx)
	},
}
