package admin

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/identity"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// ImportOrgInput are the options of the import of an organization.
type ImportOrgInput struct {
	Name   string `json:"name,omitempty"` // of the organization; empty for that in the file
	NewIDs bool   `json:"new_ids,omitempty"`
}

// ImportOrgResult is the output of the import of an organization.
type ImportOrgResult struct {
	ID      uuid.UUID `json:"id"`
	Name    string    `json:"name"`
	Records int       `json:"records"`
}

// ImportOrg imports an organization that ExportOrg has exported. It is written out of sight, and appears when the file was
// read to its end and is whole. Otherwise nothing of it is left.
var ImportOrg = Operation[ImportOrgInput, ImportOrgResult]{
	name: "org-import", Unit: Bytes, createsStore: true,
	doFile: func(ctx context.Context, s *service.Service, in ImportOrgInput, file io.Reader, _ Progress) (r ImportOrgResult, err error) {
		lines, err := openExport(file)
		if err != nil {
			return r, err
		}
		m := &orgImport{service: s, portions: map[string]*store.Portion{}, payloads: s.Payloads(), name: in.Name}
		if err := m.begin(ctx, lines, in); err != nil {
			return r, errNothingImported(err)
		}
		if err := m.run(ctx, lines); err != nil {
			return r, errNothingImported(errors.Join(err, m.arrival.Abandon(context.WithoutCancel(ctx))))
		}
		return ImportOrgResult{m.org, m.name, m.records}, s.Arrived(context.WithoutCancel(ctx), m.org)
	},
}

func errNothingImported(err error) error { return fmt.Errorf("nothing was imported: %w", err) }

// orgImport is the import of an organization.
type orgImport struct {
	service  *service.Service
	portions map[string]*store.Portion // of tables by entity, of others by the entity of their lines and their name
	payloads map[string]func() any
	arrival  *store.Arrival
	renaming *shape.Renaming // nil if the ids stay
	org      uuid.UUID
	name     string
	records  int
}

// begin reads the first line, which is the organization.
func (m *orgImport) begin(ctx context.Context, lines *exportReader, in ImportOrgInput) error {
	first, err := lines.next()
	if err != nil {
		return err
	}
	var org identity.Organization
	switch err := json.Unmarshal(first.Record, &org); {
	case first.Export == nil || first.Entity != m.service.Identity.Organizations.Entity:
		return errors.New("this is not a file of 'prospector org export', or one of an earlier version; export the organization again")
	case first.Export.Format > exportFormat:
		return fmt.Errorf("the file was written by prospector %s, whose format %d is newer than the format %d of this version; use that version or a newer one",
			first.Export.Version, first.Export.Format, exportFormat)
	case err != nil:
		return fmt.Errorf("line 1: %w", err)
	}
	if m.name == "" {
		m.name = org.Name
	}
	m.org = first.ID
	if in.NewIDs {
		seed := make([]byte, 32)
		_, _ = rand.Read(seed)
		m.renaming = renamingOf(m.service, seed)
		m.org = m.renaming.ID(m.org)
	}
	if err := m.checkIsNew(); err != nil {
		return err
	}
	portions := m.service.Portions()
	for i := range portions {
		if portions[i].WhyLeft == "" {
			m.portions[lineOf(&portions[i])+portions[i].Name()] = &portions[i]
		}
	}
	for _, list := range m.service.Kinds.Lists() {
		if p := m.portions[list.Table()]; p != nil {
			m.portions[list.Entity] = p
		}
	}
	m.arrival, err = m.service.Store.Arrive(ctx, m.org)
	if err == nil {
		lines.again(first)
	}
	return err
}

// renamingOf gives the records of an organization other ids. The same seed and id always result in the same id. The order of
// the ids of an installation stays.
func renamingOf(s *service.Service, seed []byte) *shape.Renaming {
	return &shape.Renaming{
		ID: func(id uuid.UUID) uuid.UUID {
			if id.Version() != 7 { // it is none of a record
				return id
			}
			mac := hmac.New(sha256.New, seed)
			mac.Write(id[:])
			renamed := id
			copy(renamed[8:], mac.Sum(nil))
			renamed[8] = renamed[8]&0x3f | 0x80 // the variant
			return renamed
		},
		IsReference: func(entity, field string) bool {
			list := s.Kinds.ListNamed(entity)
			if list == nil {
				return false
			}
			f := list.Field(field)
			return f != nil && (f.Ref != "" || f.Type == shape.TypeReference || field == "id")
		},
	}
}

// lineOf returns the entity of the lines of a portion, which is empty for a table.
func lineOf(p *store.Portion) string {
	switch {
	case p.Table != nil:
		return ""
	case p.Parts != nil:
		return partLine
	case p.Sets != nil:
		return setLine
	}
	return counterLine
}

func (m *orgImport) checkIsNew() error {
	orgs, err := Organizations(m.service)
	if err != nil {
		return err
	}
	for _, o := range orgs {
		switch {
		case o.ID == m.org:
			return fmt.Errorf("the organization %s exists, as %q; delete it first, or import a copy of it with --new-ids", o.ID, o.Name)
		case o.Name == m.name:
			return fmt.Errorf("there is an organization %q already; choose another name with --organization", m.name)
		}
	}
	return nil
}

// importBatchBytes and importBatchLines bound what one transaction writes.
const (
	importBatchBytes = 4 << 20
	importBatchLines = 2_000
)

var importActor = store.Actor{Operation: "org import"}

func (m *orgImport) run(ctx context.Context, lines *exportReader) error {
	for more := true; more; {
		var batch []*exportLine
		for size := lines.read; len(batch) < importBatchLines && lines.read-size < importBatchBytes; {
			l, err := lines.next()
			if err == io.EOF {
				more = false
				break
			}
			if err != nil {
				return err
			}
			if n := len(batch); n == 0 || !joinMembers(batch[n-1], l) {
				batch = append(batch, l)
			}
		}
		err := m.arrival.Update(ctx, importActor, func(tx *store.Tx) error {
			for _, l := range batch {
				if err := m.write(tx, l); err != nil {
					return fmt.Errorf("line %d: %w", l.Lines, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		m.records += m.countOf(batch)
	}
	if err := m.arrival.Update(ctx, importActor, m.service.Arrive); err != nil {
		return err
	}
	m.service.Index.RemoveOrganization(m.org)
	return m.arrival.Complete(ctx)
}

// countOf returns how many of the lines are records that a list shows.
func (m *orgImport) countOf(lines []*exportLine) (n int) {
	for _, l := range lines {
		if m.service.Kinds.ListNamed(l.Entity) != nil {
			n++
		}
	}
	return n
}

// write writes what a line has.
func (m *orgImport) write(tx *store.Tx, l *exportLine) error {
	switch l.Entity {
	case jobLine:
		return m.writeJob(tx, l.Job)
	case linkKeyLine:
		m.service.Sequences.SetLinkKey(tx, l.Data)
		return nil
	case memberLine:
		return m.writeMembers(tx, l)
	}
	name := l.Entity
	switch l.Entity {
	case historyLine, tableLine:
		name = l.Of
	case partLine, setLine, counterLine:
		name += l.Of
	}
	p := m.portions[name]
	switch {
	case p == nil:
		return fmt.Errorf("%q is not known to this version of prospector", name)
	case l.Entity == historyLine && l.Entry != nil:
		change, err := l.Entry.change()
		if err != nil {
			return err
		}
		return m.arrival.WriteChange(tx, p, change, m.renaming)
	case l.Entity == tableLine && l.State != nil:
		return m.arrival.WriteState(tx, p, *l.State, m.renaming)
	case l.Entity == partLine:
		return m.arrival.WritePart(tx, p, l.ID, l.Part, l.Data, m.renaming)
	case l.Entity == setLine:
		return m.writeSet(tx, p, l)
	case l.Entity == counterLine:
		m.arrival.WriteCounter(tx, p, l.Value)
		return nil
	case l.Record == nil:
		return fmt.Errorf("%s has no record", l.Entity)
	}
	return m.writeRow(tx, p, l)
}

func (m *orgImport) writeRow(tx *store.Tx, p *store.Portion, l *exportLine) error {
	row := store.Row{ID: l.ID, Change: l.Change, Version: l.Version, Public: l.Record, Stored: l.Stored, Private: l.Private}
	if row.Version == 0 {
		row.Version = row.Change
	}
	if l.Export != nil { // the organization
		var err error
		if row.Public, err = withMember(row.Public, "name", m.name); err != nil {
			return err
		}
		if row.Stored != nil {
			if row.Stored, err = withMember(row.Stored, "name", m.name); err != nil {
				return err
			}
		}
	}
	return m.arrival.WriteRow(tx, p, row, m.renaming)
}

// withMember returns an object with another value of a member.
func withMember(object []byte, name, value string) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	members[name] = quoted
	return json.Marshal(members)
}

// joinMembers adds the member of an audience to the line of the one before, and reports whether it is the same audience.
func joinMembers(last, l *exportLine) bool {
	var before, member audienceMember
	if last.Entity != memberLine || l.Entity != memberLine || json.Unmarshal(last.Record, &before) != nil ||
		json.Unmarshal(l.Record, &member) != nil || before.AudienceID != member.AudienceID {
		return false
	}
	last.IDs = append(last.IDs, member.ContactID)
	return true
}

func (m *orgImport) writeMembers(tx *store.Tx, l *exportLine) error {
	var member audienceMember
	if err := json.Unmarshal(l.Record, &member); err != nil {
		return err
	}
	p := m.portions[setLine+m.service.Outreach.MembersName()]
	return m.writeSet(tx, p, &exportLine{ID: member.AudienceID, IDs: append(l.IDs, member.ContactID)})
}

func (m *orgImport) writeSet(tx *store.Tx, p *store.Portion, l *exportLine) error {
	id, ids := func(id uuid.UUID) uuid.UUID { return id }, l.IDs
	if m.renaming != nil {
		id, ids = m.renaming.ID, slices.Clone(l.IDs)
		for i := range ids {
			ids[i] = id(ids[i])
		}
	}
	owner := id(l.ID)
	if l.Pair != nil && p.Owner != nil {
		owner = p.Owner([2]uuid.UUID{id(l.Pair[0]), id(l.Pair[1])})
	}
	_, err := p.Sets.Add(tx, owner, ids)
	return err
}

func (m *orgImport) writeJob(tx *store.Tx, j *exportedJob) error {
	if j == nil {
		return errors.New("a job is missing")
	}
	payload, known := m.payloads[j.Kind]
	if !known {
		return fmt.Errorf("jobs %q are not known to this version of prospector", j.Kind)
	}
	var into any
	if payload != nil {
		into = payload()
	}
	job := store.Job{ID: j.ID, Kind: j.Kind, Due: j.Due, Tries: j.Tries, Payload: stdjson.RawMessage(j.Payload)}
	return m.arrival.WriteJob(tx, job, into, m.renaming)
}

// exportReader reads the lines of an export, and checks that they are whole.
type exportReader struct {
	in    *bufio.Reader
	sum   hash.Hash
	lines int
	read  int // bytes
	first *exportLine
}

// maxExportLine bounds the memory that a line takes.
const maxExportLine = 256 << 20

func openExport(file io.Reader) (*exportReader, error) {
	in := bufio.NewReaderSize(file, 1<<20)
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		packed, err := gzip.NewReader(in)
		if err != nil {
			return nil, errNothingImported(fmt.Errorf("the file is damaged: %w", err))
		}
		in = bufio.NewReaderSize(packed, 1<<20)
	}
	return &exportReader{in: in, sum: sha256.New()}, nil
}

// again makes next return the first line once more.
func (r *exportReader) again(first *exportLine) { r.first = first }

// next returns the next line but the last, after which it returns io.EOF. The Lines of a line are its number.
func (r *exportReader) next() (*exportLine, error) {
	if l := r.first; l != nil {
		r.first = nil
		return l, nil
	}
	b, err := r.line()
	if err != nil {
		return nil, err
	}
	r.lines++
	l := &exportLine{}
	if err := json.Unmarshal(b, l, json.RejectUnknownMembers(true)); err != nil {
		if r.lines == 1 {
			return nil, fmt.Errorf("this is not a file of 'prospector org export': %w", err)
		}
		return nil, fmt.Errorf("line %d is damaged or from a newer version of prospector: %w", r.lines, err)
	}
	if l.Entity != endLine {
		_, _ = r.sum.Write(b)
		r.read += len(b)
		l.Lines = r.lines
		return l, nil
	}
	if l.Lines != r.lines-1 || l.SHA256 != hex.EncodeToString(r.sum.Sum(nil)) {
		return nil, errors.New("the file was changed after it was exported, or is damaged: its content does not match the hash in its last line")
	}
	switch _, err := r.in.ReadByte(); {
	case err == nil:
		return nil, fmt.Errorf("the file goes on after line %d, which should be its last", r.lines)
	case err != io.EOF:
		return nil, readError(err)
	}
	return nil, io.EOF
}

// line reads a line with its end.
func (r *exportReader) line() (b []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		b = append(b, part...)
		switch {
		case err == nil:
			return b, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(b) > maxExportLine {
				return nil, fmt.Errorf("line %d is longer than %d MiB", r.lines+1, maxExportLine>>20)
			}
		case err == io.EOF:
			return nil, fmt.Errorf("the file is cut off after line %d: its last line is missing", r.lines)
		default:
			return nil, readError(err)
		}
	}
}

func readError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is cut off: it ends in the middle of packed data")
	}
	var broken unreadable
	if errors.As(err, &broken) {
		return err
	}
	return fmt.Errorf("the file is damaged: %w", err)
}
