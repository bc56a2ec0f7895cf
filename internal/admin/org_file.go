package admin

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/store"
)

// exportFormat is the format of the files of 'org export'. It changes when a file is read in another way, and when the
// service gains an upgrade of stored data that files of earlier versions must get too.
const exportFormat = 1

// exportLine is a line of such a file: a record of the table Entity or, for the entities below, something else.
type exportLine struct {
	Entity string `json:"entity"`

	Export *exportHeader `json:"export,omitzero"` // in the first line

	ID      uuid.UUID      `json:"id,omitzero"`
	Record  jsontext.Value `json:"record,omitzero"`
	Names   jsontext.Value `json:"names,omitzero"`   // of the records that it refers to
	Stored  jsontext.Value `json:"stored,omitzero"`  // what is stored, if the API shows something else
	Private jsontext.Value `json:"private,omitzero"` // what the API never shows
	Change  uint64         `json:"change,omitzero"`  // the numbers of its last change, and of the last that was not a touch
	Version uint64         `json:"version,omitzero"`

	Of     string            `json:"of,omitzero"` // the table, parts, sets or counter
	Part   uint32            `json:"part,omitzero"`
	Data   []byte            `json:"data,omitzero"`
	IDs    []uuid.UUID       `json:"ids,omitzero"`
	Pair   *[2]uuid.UUID     `json:"pair,omitzero"` // what the id of a set was made of
	Value  uint64            `json:"value,omitzero"`
	Entry  *exportedChange   `json:"entry,omitzero"`
	State  *store.TableState `json:"state,omitzero"`
	Job    *exportedJob      `json:"job,omitzero"`
	Lines  int               `json:"lines,omitzero"`
	SHA256 string            `json:"sha256,omitzero"`
}

// The entities of lines that are not records.
const (
	historyLine = "history"         // an entry of the change log of a table
	tableLine   = "table"           // what is known of a table beside its records, which precede it
	partLine    = "parts"           // data that belongs to a record
	setLine     = "sets"            // ids that belong to a record
	counterLine = "counters"        // a number of the organization
	jobLine     = "jobs"            // work that is to be done
	linkKeyLine = "unsubscribe-key" // signs the unsubscribe links of the organization
	endLine     = "end"             // the last line, with the hash of all others
)

// exportHeader says what wrote a file.
type exportHeader struct {
	Format     int       `json:"format"`
	Version    string    `json:"version"` // of Prospector
	ExportedAt time.Time `json:"exported_at"`
}

// exportedChange is an entry of a change log.
type exportedChange struct {
	Number      uint64                    `json:"number"`
	Previous    uint64                    `json:"previous,omitzero"` // the number of the record's change before
	Change      string                    `json:"change"`
	ID          uuid.UUID                 `json:"id"`
	At          time.Time                 `json:"at"`
	User        uuid.UUID                 `json:"user,omitzero"`
	Key         uuid.UUID                 `json:"key,omitzero"`
	Operation   string                    `json:"operation,omitzero"`
	OperationID uuid.UUID                 `json:"operation_id,omitzero"`
	RequestID   string                    `json:"request_id,omitzero"`
	Swept       bool                      `json:"swept,omitzero"`
	Fields      []string                  `json:"fields,omitzero"`
	Values      map[string]jsontext.Value `json:"values,omitzero"` // of the fields before, but of those that were absent
}

// changeNames are the kinds of changes.
var changeNames = map[store.Op]string{store.Created: "created", store.Updated: "updated", store.Deleted: "deleted"}

func exportChange(c *store.Change) *exportedChange {
	e := &exportedChange{
		Number: c.Number, Previous: c.Prev, Change: changeNames[c.Op], ID: c.ID, At: c.At, User: c.Actor.User, Key: c.Actor.Key,
		Operation: c.Actor.Operation, OperationID: c.Actor.OperationID, RequestID: c.Actor.RequestID, Swept: c.Swept, Fields: c.Fields,
	}
	if c.Values != nil {
		e.Values = map[string]jsontext.Value{}
		for i, value := range c.Values {
			if len(value) > 0 {
				e.Values[c.Fields[i]] = value
			}
		}
	}
	return e
}

func (e *exportedChange) change() (c store.Change, err error) {
	c = store.Change{
		Number: e.Number, Prev: e.Previous, ID: e.ID, At: e.At, Swept: e.Swept, Fields: e.Fields,
		Actor: store.Actor{User: e.User, Key: e.Key, Operation: e.Operation, OperationID: e.OperationID, RequestID: e.RequestID},
	}
	for op, name := range changeNames {
		if name == e.Change {
			c.Op = op
		}
	}
	if c.Op == 0 {
		return c, fmt.Errorf("%q is no change", e.Change)
	}
	if e.Values != nil {
		c.Values = make([][]byte, len(c.Fields))
		for i, field := range c.Fields {
			c.Values[i] = e.Values[field]
		}
	}
	return c, nil
}

type exportedJob struct {
	ID      uuid.UUID      `json:"id"`
	Kind    string         `json:"kind"`
	Due     time.Time      `json:"due"`
	Tries   int            `json:"tries,omitzero"`
	Payload jsontext.Value `json:"payload,omitzero"`
}

// memberLine is the entity of the members of audiences, each in a line of its own.
const memberLine = "audience-contacts"

type audienceMember struct {
	AudienceID uuid.UUID `json:"audience_id"`
	ContactID  uuid.UUID `json:"contact_id"`
}
