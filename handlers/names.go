package handlers

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// namedRecord is what a record may have as its name.
type namedRecord struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	FirstName string    `json:"first_name"`
	LastName  string    `json:"last_name"`
	Email     string    `json:"email"`
	Title     string    `json:"title"`
	Website   string    `json:"website"`
	Stage     string    `json:"stage"`
	Status    string    `json:"status"`
}

func (r *namedRecord) name() string {
	return cmp.Or(r.Name, strings.TrimSpace(r.FirstName+" "+r.LastName), r.Email, r.Title)
}

// referenceKinds returns the kinds of records that others refer to, by entity.
func (a *API) referenceKinds() map[string]*index.Kind {
	return map[string]*index.Kind{
		"accounts": a.CRM.Accounts.List, "contacts": a.CRM.Contacts.List, "tags": a.CRM.Tags.List,
		"campaigns": a.Outreach.Campaigns.List, "users": a.Identity.Users.List,
	}
}

// recordName returns the name of a record, or "" if it does not exist or cannot be read. Users are called by their
// email addresses.
func recordName(tx *store.Tx, kind *index.Kind, id uuid.UUID) (string, error) {
	_, public, err := tx.Reader(kind.Table()).Public(id)
	if errors.Is(err, store.ErrDamaged) {
		return "", nil
	}
	if err != nil || public == nil {
		return "", err
	}
	var r namedRecord
	if err := json.Unmarshal(public, &r); err != nil {
		return "", err
	}
	if kind.Entity == "users" {
		return r.Email, nil
	}
	return r.name(), nil
}

// nameColumn is a column of an export with the names of the records in a reference field.
type nameColumn struct {
	field string // the reference
	key   string // the column
	kind  *index.Kind
	list  bool
	begin []byte // the key of the reference in a record
	label []byte // the key of the column in a record
}

// nameColumns returns the columns with names that exports of the kind have.
func (a *API) nameColumns(kind *index.Kind) (columns []nameColumn) {
	kinds := a.referenceKinds()
	for _, f := range kind.Fields {
		if f.Ref == "" && f.Type == shape.TypeReference { // sequences and messages outlive what they refer to
			f.Ref = strings.TrimSuffix(f.Key, "_id") + "s"
		}
		if refers := kinds[f.Ref]; refers != nil && !f.OfObjects() && kind.Field(record.NameColumn(&f.Field)) == nil {
			c := nameColumn{field: f.Key, key: record.NameColumn(&f.Field), kind: refers, list: f.Type == shape.TypeMulti}
			c.begin, c.label = []byte(`"`+c.field+`":`), []byte(`,"`+c.key+`":`)
			columns = append(columns, c)
		}
	}
	return columns
}

// exportNames are the names of the records that the records of an export refer to. It reads most of them once,
// because reading them again would take longer than the export.
type exportNames struct {
	columns []nameColumn
	known   map[string]knownName // by id
}

// maxKnownNames is the number of names that an export keeps.
const maxKnownNames = 10_000

type knownName struct {
	text   string
	quoted []byte // as JSON; null for no name
}

// of returns the name of a record.
func (n *exportNames) of(tx *store.Tx, c *nameColumn, id []byte) (knownName, error) {
	if name, known := n.known[string(id)]; known {
		return name, nil
	}
	parsed, err := uuid.ParseBytes(id)
	if err != nil {
		return knownName{}, err
	}
	text, err := recordName(tx, c.kind, parsed)
	name := knownName{text, []byte("null")}
	if text != "" && err == nil {
		name.quoted, err = jsontext.AppendQuote(nil, text)
	}
	if n.known == nil || len(n.known) >= maxKnownNames {
		n.known = map[string]knownName{}
	}
	n.known[string(id)] = name
	return name, err
}

// idSize is the length of an id in JSON.
const idSize = 36 + len(`""`)

// each calls fn with the name of each record that the reference of a column has in a record. It does not decode
// the record: the key of a member cannot occur inside of a text, where quotation marks are escaped.
func (n *exportNames) each(tx *store.Tx, c *nameColumn, record []byte, fn func(knownName)) error {
	_, value, _ := bytes.Cut(record, c.begin)
	if c.list && len(value) > 0 {
		value = value[1:] // the bracket
	}
	for len(value) > idSize && value[0] == '"' {
		name, err := n.of(tx, c, value[1:idSize-1])
		if err != nil {
			return err
		}
		fn(name)
		if value[idSize] != ',' || !c.list {
			return nil
		}
		value = value[idSize+1:]
	}
	return nil
}

// Names returns a function that returns the names of the records which a record of the kind refers to, as an object with the
// members that exports have for them. It returns nil if a record of the kind refers to none.
func (a *API) Names(kind *index.Kind) func(tx *store.Tx, record []byte) ([]byte, error) {
	names := exportNames{columns: a.nameColumns(kind)}
	if len(names.columns) == 0 {
		return nil
	}
	return func(tx *store.Tx, record []byte) ([]byte, error) {
		b, err := names.appendMembers([]byte{'{'}, tx, record)
		return append(slices.Delete(b, 1, 2), '}'), err // without the first comma
	}
}

// append appends a line with the names as its last members.
func (n *exportNames) append(b []byte, tx *store.Tx, line []byte) ([]byte, error) {
	b, err := n.appendMembers(append(b, line[:bytes.LastIndexByte(line, '}')]...), tx, line)
	return append(b, "}\n"...), err
}

func (n *exportNames) appendMembers(b []byte, tx *store.Tx, line []byte) ([]byte, error) {
	for i := range n.columns {
		c := &n.columns[i]
		b = append(b, c.label...)
		before := len(b)
		err := n.each(tx, c, line, func(name knownName) { b = append(append(b, name.quoted...), ',') })
		if err != nil {
			return b, err
		}
		has := len(b) > before
		if has {
			b = b[:len(b)-1]
		}
		switch {
		case c.list:
			b = append(slices.Insert(b, before, '['), ']')
		case !has:
			b = append(b, "null"...)
		}
	}
	return b, nil
}
