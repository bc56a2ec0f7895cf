package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"prospector/internal/identity"
	"prospector/store"
)

// exportedOrg is all records of an organization, in a file that is to be handed over.
type exportedOrg struct {
	made
	Records int `json:"records"`
}

// orgExport writes all records of an organization at one moment, one a line. What is not answered by the API, such as the hashes
// of keys, is not in it.
var orgExport = adminOp[body, exportedOrg]{
	name: "org-export",
	long: func(ctx context.Context, s *Service, in body, report progress) (e exportedOrg, err error) {
		org, err := s.organization(in.Org)
		if err != nil {
			return e, err
		}
		work, err := s.workDir()
		if err != nil {
			return e, err
		}
		e.made, err = makeFile(work, func(w io.Writer) error {
			return s.Store.View(org.ID, func(tx *store.Tx) error {
				total := s.recordsOf(tx)
				lines := bufio.NewWriterSize(w, 1<<20)
				for _, k := range s.lists() {
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
							err = s.exportMembers(tx, lines, id)
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
func (s *Service) exportMembers(tx *store.Tx, w io.Writer, audience uuid.UUID) error {
	members, err := s.Outreach.Members(tx, audience)
	for _, contact := range members {
		_, failed := fmt.Fprintf(w, "{\"entity\":\"audience-contacts\",\"record\":{\"audience_id\":%q,\"contact_id\":%q}}\n", audience, contact)
		err = errors.Join(err, failed)
	}
	return err
}

func orgExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "export FILE", Short: "Write all records of an organization to a file", Args: oneArg("the file to write"),
		Long: "Write all records of an organization, as they are at one moment, to a file that does not exist yet: one a line, as\n" +
			"{\"entity\": \"contacts\", \"record\": {...}}, each record as the API answers it. Behind an audience, lines of the\nentity audience-contacts say who is in it.",
		Example: `  prospector org export --org "Acme Sales" acme.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			to, err := newTarget(c, args[0])
			if err != nil {
				return err
			}
			defer to.drop()
			e, err := orgExport.run(c, body{Org: org})
			if err != nil {
				return err
			}
			if err := to.take(e.made); err != nil {
				return err
			}
			return show(c, recordsDone{e.Records}, func(w io.Writer) { fmt.Fprintf(w, "Wrote %d records to %s\n", e.Records, args[0]) })
		},
	}
	c.Flags().String("org", "", "its id or `name`")
	return c
}

// recordsDone is what commands print that went over all records.
type recordsDone struct {
	Records int `json:"records"`
}

// orgDelete deletes an organization with all that it has, at once; then it makes its room free.
var orgDelete = adminOp[body, recordsDone]{
	name: "org-delete",
	do: func(ctx context.Context, s *Service, in body) (done recordsDone, err error) {
		org, err := s.organization(in.Org)
		if err != nil {
			return done, err
		}
		err = s.Store.Update(ctx, org.ID, store.Actor{Operation: "org delete"}, func(tx *store.Tx) error {
			done.Records = s.recordsOf(tx)
			tx.DropOrganization()
			return nil
		})
		if err != nil {
			return done, err
		}
		s.Index.Forget(org.ID)
		s.Webhooks.Sender.Forget(org.ID)
		return done, s.Store.EmptyTrash(ctx)
	},
}

func orgDeleteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "delete", Short: "Delete an organization with all that it has", Args: noArgs,
		Long:    "Delete an organization with all its records, users and keys, at once and for good. 'prospector org export' keeps a copy.",
		Example: `  prospector org delete --org "Acme Sales" --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			if yes, err := c.Flags().GetBool("yes"); err != nil || !yes {
				return usage("org delete deletes everything that %q has, for good: say so with --yes", org)
			}
			done, err := orgDelete.run(c, body{Org: org})
			if err != nil {
				return err
			}
			return show(c, done, func(w io.Writer) { fmt.Fprintf(w, "Deleted organization %q with %d records\n", org, done.Records) })
		},
	}
	c.Flags().String("org", "", "its id or `name`")
	c.Flags().Bool("yes", false, "yes, delete all of it")
	return c
}
