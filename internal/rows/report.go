package rows

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Dropped is a value that was left out of a record.
type Dropped struct {
	Column  string
	Value   string // as the file has it
	Message string
	// Notice marks a value that is no loss, such as "n/a". It does not skip a row.
	Notice bool
}

// Outcome is what became of one row. A row that is none of added, updated and unchanged was skipped.
type Outcome struct {
	ID        uuid.UUID
	Added     bool
	Updated   bool
	Unchanged bool     // the row found a record and brought nothing new
	Changes   []Change // of a row that updated a record
	Skipped   string   // why the row was skipped
	Dropped   []Dropped
	// KeptOptOut says that the row would have taken an opt-out back.
	KeptOptOut bool
	// Erased says that the row was skipped because it names a person who was erased. Nothing else is said about it.
	Erased     bool
	Suppressed bool // nothing is sent to the record
}

// Why returns why the row was skipped, after the values that could not be read.
func (o *Outcome) Why() string {
	why := ""
	for _, d := range o.Dropped {
		if !d.Notice && !strings.Contains(o.Skipped, d.Message) {
			why += fmt.Sprintf("%s: %q %s; ", d.Column, d.Value, d.Message)
		}
	}
	return why + o.Skipped
}

// Counts are the numbers of a report.
type Counts struct {
	Rows          int `json:"rows" doc:"The rows that were read: the sum of added, updated, unchanged and skipped."`
	Added         int `json:"added"`
	Updated       int `json:"updated" doc:"Rows that found a record and changed it."`
	Unchanged     int `json:"unchanged" doc:"Rows that found a record and brought nothing new."`
	Skipped       int `json:"skipped" doc:"Rows that were not imported. GET …/rejects returns them."`
	ValuesDropped int `json:"values_dropped" doc:"Values that could not be read and were left out of rows that were imported."`
	OptOutsKept   int `json:"opt_outs_kept" doc:"Rows that say that somebody has not opted out who has. The opt-out stays."`
	Erased        int `json:"erased" doc:"Rows that were skipped because they have an address of a person who was erased. Nothing else is kept of them."`
	Suppressed    int `json:"suppressed" doc:"Rows that were imported although their address is suppressed. Nothing is sent to it."`
}

// Report is the result of an import.
type Report struct {
	Counts
	Changes  Changes  `json:"changes"`
	Problems Problems `json:"problems"`
}

// erasedProblem is all that is said about a row with a person who was erased.
const erasedProblem = "the row has the address of a person who was erased"

// Add counts a row and its problems. The values of a skipped row are listed, but do not count as dropped.
func (r *Report) Add(row *Row, o *Outcome) {
	r.Rows++
	switch {
	case o.Erased:
		r.Skipped++
		r.Erased++
		r.Problems.Add(row.Line, Dropped{Message: erasedProblem})
	case o.Added:
		r.Added++
	case o.Updated:
		r.Updated++
	case o.Unchanged:
		r.Unchanged++
	default:
		r.Skipped++
		r.ValuesDropped -= len(o.Dropped)
		r.Problems.Add(row.Line, Dropped{Message: o.Skipped})
	}
	r.ValuesDropped += len(o.Dropped)
	if o.KeptOptOut {
		r.OptOutsKept++
	}
	r.Changes.add(row.Line, o)
	if o.Suppressed && o.Skipped == "" {
		r.Suppressed++
	}
	for _, d := range o.Dropped {
		r.Problems.Add(row.Line, d)
	}
}

// Problem is a group of equal problems. Column and Value are empty for a row that was skipped.
type Problem struct {
	Column    string `json:"column"`
	Value     string `json:"value"`
	Message   string `json:"message"`
	Count     int    `json:"count"`
	FirstLine int    `json:"first_line"`
}

const (
	// MaxProblems is the number of groups that a report has. Further problems are counted in the last.
	MaxProblems = 1000
	// maxShown is the number of characters of a value or a message that a group shows.
	maxShown = 200
)

// furtherProblems is the message of the last group of a report that has too many.
const furtherProblems = "further problems that are not listed"

// Problems groups the problems of an import. It is encoded as a list of Problem.
type Problems struct {
	list  []Problem
	index map[Problem]int // of the group with this column, value and message
}

// Add counts a problem of the row on a line.
func (p *Problems) Add(line int, d Dropped) {
	key := Problem{Column: shorten(d.Column), Value: shorten(d.Value), Message: shorten(d.Message)}
	i, known := p.index[key]
	if !known && len(p.list) >= MaxProblems-1 {
		key = Problem{Message: furtherProblems}
		i, known = p.index[key]
	}
	if !known {
		if i = len(p.list); p.index == nil {
			p.index = map[Problem]int{}
		}
		p.index[key] = i
		group := key
		group.FirstLine = line
		p.list = append(p.list, group)
	}
	p.list[i].Count++
}

// List returns the groups in the order in which they first occurred.
func (p *Problems) List() []Problem {
	if p.list == nil {
		return []Problem{}
	}
	return p.list
}

// MarshalJSON encodes the groups.
func (p Problems) MarshalJSON() ([]byte, error) { return json.Marshal(p.List()) }

// UnmarshalJSON restores groups, so that more problems can be added.
func (p *Problems) UnmarshalJSON(text []byte) error {
	*p = Problems{index: map[Problem]int{}}
	if err := json.Unmarshal(text, &p.list); err != nil {
		return err
	}
	for i, group := range p.list {
		p.index[Problem{Column: group.Column, Value: group.Value, Message: group.Message}] = i
	}
	return nil
}

// SkipsExisting ends the message about a row that an import skips because its record exists.
const SkipsExisting = "on_existing is skip"

// shorten cuts a text from a file, and replaces what is not text.
func shorten(s string) string { return shortenTo(s, maxShown) }

// shortenTo cuts a text from a file to a number of characters, and replaces what is not text.
func shortenTo(s string, limit int) string {
	if len(s) > 4*limit {
		s = s[:4*limit]
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	n := 0
	for i := range s {
		if n++; n > limit {
			return s[:i] + "…"
		}
	}
	return s
}

// String describes a group in one line.
func (p Problem) String() string {
	text := p.Message
	switch {
	case p.Column != "" && p.Value == "":
		text = fmt.Sprintf("%s %s", listed([]string{p.Column}), p.Message)
	case p.Column != "":
		text = fmt.Sprintf("%s: %q %s", listed([]string{p.Column}), p.Value, p.Message)
	}
	if p.Count == 1 {
		return fmt.Sprintf("line %d: %s", p.FirstLine, text)
	}
	return fmt.Sprintf("%d rows, first line %d: %s", p.Count, p.FirstLine, text)
}
