package admin

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/service"
	"prospector/store"
)

// ExportInput names an organization to export.
type ExportInput struct {
	Org  string `json:"org"`
	Gzip bool   `json:"gzip,omitempty"`
	Hold bool   `json:"hold,omitempty"` // the organization sends nothing any more, because it moves
}

// ExportResult is an export in the work directory.
type ExportResult struct {
	File
	Records int `json:"records"`
	Damaged int `json:"damaged,omitempty"` // records that cannot be read and are left out
}

// ExportOrg exports a snapshot of everything that an organization has and that may leave the installation.
var ExportOrg = Operation[ExportInput, ExportResult]{
	name: "org-export",
	doLong: func(ctx context.Context, s *service.Service, in ExportInput, report Progress) (e ExportResult, err error) {
		org, err := organization(s, in.Org)
		if err != nil {
			return e, err
		}
		if in.Hold {
			err = s.Store.Update(ctx, org.ID, store.Actor{Operation: "org export"}, func(tx *store.Tx) error {
				return s.Outreach.HoldOrganization(tx, store.HeldMoved)
			})
		}
		if err != nil {
			return e, err
		}
		e.File, err = makeTemporary(s, func(w io.Writer) error {
			return s.Store.View(org.ID, func(tx *store.Tx) error {
				x := newExporter(ctx, s, tx, w, in.Gzip, report)
				err := x.run()
				e.Records, e.Damaged = x.records, x.damaged
				return err
			})
		})
		return e, err
	},
}

// exporter writes the lines of an organization.
type exporter struct {
	ctx     context.Context
	service *service.Service
	tx      *store.Tx
	out     *bufio.Writer
	pack    *gzip.Writer // nil if the file is not packed
	sum     hash.Hash
	report  Progress

	lines, records, damaged, total int
}

func newExporter(ctx context.Context, s *service.Service, tx *store.Tx, w io.Writer, pack bool, report Progress) *exporter {
	x := &exporter{ctx: ctx, service: s, tx: tx, sum: sha256.New(), report: report}
	if pack {
		x.pack = gzip.NewWriter(w)
		w = x.pack
	}
	x.out = bufio.NewWriterSize(w, 1<<20)
	return x
}

func (x *exporter) run() error {
	portions := x.service.Portions()
	if unknown := x.tx.Undeclared(portions); len(unknown) > 0 {
		return fmt.Errorf("the organization has data that exports do not know: %s", strings.Join(unknown, ", "))
	}
	portions = slices.DeleteFunc(portions, func(p store.Portion) bool { return p.WhyLeft != "" })
	for i := range portions {
		if portions[i].Table != nil && x.isListed(portions[i].Name()) {
			x.total += x.tx.RecordCount(portions[i].Name())
		}
	}
	for i := range portions {
		if err := x.portion(&portions[i]); err != nil {
			return err
		}
	}
	return errors.Join(x.jobs(), x.line(&exportLine{Entity: linkKeyLine, Data: x.service.Sequences.LinkKey(x.tx.Org())}), x.end())
}

// end writes the last line.
func (x *exporter) end() error {
	last := exportLine{Entity: endLine, Lines: x.lines, SHA256: hex.EncodeToString(x.sum.Sum(nil))}
	if err := errors.Join(x.line(&last), x.out.Flush()); err != nil || x.pack == nil {
		return err
	}
	return x.pack.Close()
}

// line writes a line.
func (x *exporter) line(l *exportLine) error {
	if x.lines == 0 {
		l.Export = &exportHeader{Format: exportFormat, Version: service.Version(), ExportedAt: x.tx.Now()}
	}
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("%s %s: %w", l.Entity, l.ID, err)
	}
	b = append(b, '\n')
	x.lines++
	_, _ = x.sum.Write(b)
	_, err = x.out.Write(b)
	return err
}

// isListed reports whether a list shows the records of a table.
func (x *exporter) isListed(table string) bool {
	for _, k := range x.service.Kinds.Lists() {
		if k.Table() == table {
			return true
		}
	}
	return false
}

func (x *exporter) portion(p *store.Portion) error {
	switch {
	case p.Table != nil:
		return x.table(p)
	case p.Parts != nil:
		return p.Parts.EachPart(x.tx, func(owner uuid.UUID, n uint32, value []byte) error {
			return x.line(&exportLine{Entity: partLine, Of: p.Name(), ID: owner, Part: n, Data: value})
		})
	case p.Sets != nil:
		return x.sets(p)
	}
	return x.line(&exportLine{Entity: counterLine, Of: p.Name(), Value: p.Counter.Of(x.tx)})
}

// table writes the records of a table, its history and its state.
func (x *exporter) table(p *store.Portion) error {
	name := p.Name()
	entity, isListed, namesOf := name, false, func(*store.Tx, []byte) ([]byte, error) { return nil, nil }
	for _, list := range x.service.Kinds.Lists() {
		if list.Table() != name {
			continue
		}
		entity, isListed = list.Entity, true
		if names := x.service.API.Names(list); names != nil {
			namesOf = names
		}
	}
	written := 0
	err := x.tx.EachRow(p.Table, func(row store.Row) error {
		l := exportLine{Entity: entity, ID: row.ID, Record: row.Public, Stored: row.Stored, Change: row.Change}
		if row.Version != row.Change {
			l.Version = row.Version
		}
		if !p.Secret {
			l.Private = row.Private
		}
		if err := x.show(name, &l); err != nil {
			return err
		}
		names, err := namesOf(x.tx, l.Record)
		if err != nil {
			return err
		}
		l.Names = names
		written++
		if isListed {
			x.records++
			x.report(x.records, x.total)
		}
		return errors.Join(x.line(&l), x.ctx.Err())
	})
	if err == nil {
		err = x.tx.EachChange(p.Table, func(c store.Change) error {
			return x.line(&exportLine{Entity: historyLine, Of: entity, Entry: exportChange(&c)})
		})
	}
	if err != nil {
		return err
	}
	if isListed {
		x.damaged += max(0, x.tx.RecordCount(name)-written)
	}
	state, err := x.tx.TableState(p.Table)
	if err != nil || state.IsZero() {
		return err
	}
	return x.line(&exportLine{Entity: tableLine, Of: entity, State: &state})
}

// show makes the record of a line what the API shows.
func (x *exporter) show(table string, l *exportLine) error {
	if table != x.service.Identity.Users.Table.Name() {
		return nil
	}
	doc, err := x.service.Identity.Users.Get(x.tx, l.ID)
	if err == nil {
		doc, err = x.service.Identity.ShowUser(x.tx, doc)
	}
	l.Record = doc.JSON
	return err
}

// idsPerLine is the number of ids in a line.
const idsPerLine = 500

func (x *exporter) sets(p *store.Portion) error {
	if p.Pairs != nil {
		pairs, err := p.Pairs(x.tx)
		for _, pair := range pairs {
			if err == nil {
				err = x.set(p, exportLine{Pair: &pair}, p.Owner(pair))
			}
		}
		return err
	}
	for _, owner := range p.Sets.SetOwners(x.tx) {
		if err := x.set(p, exportLine{ID: owner}, owner); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) set(p *store.Portion, l exportLine, owner uuid.UUID) error {
	ids, err := p.Sets.All(x.tx, owner)
	if err != nil {
		return err
	}
	if p.Name() == x.service.Outreach.MembersName() {
		for _, id := range ids {
			record, err := json.Marshal(audienceMember{owner, id})
			if err := errors.Join(err, x.line(&exportLine{Entity: memberLine, Record: record})); err != nil {
				return err
			}
		}
		return nil
	}
	for ids := range slices.Chunk(ids, idsPerLine) {
		l.Entity, l.Of, l.IDs = setLine, p.Name(), ids
		if err := x.line(&l); err != nil {
			return err
		}
	}
	return nil
}

// jobs writes the jobs that go on elsewhere.
func (x *exporter) jobs() error {
	payloads := x.service.Payloads()
	return x.tx.EachJob(func(j store.Job) error {
		if _, goesOn := payloads[j.Kind]; !goesOn {
			return nil
		}
		return x.line(&exportLine{Entity: jobLine, Job: &exportedJob{j.ID, j.Kind, j.Due, j.Tries, jsontext.Value(j.Payload)}})
	})
}
