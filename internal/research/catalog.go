package research

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/shape"
)

// Why a question stays without an answer.
const (
	// notInCatalogue says that no field and no sentence tells.
	notInCatalogue = "not_in_catalogue"
	// ambiguous says that what is there can be read in more than one way.
	ambiguous = "ambiguous"
	// notUnderstood says that the question is not one that can be read.
	notUnderstood = "question_not_understood"
	// today says that the answer is another every year, and the catalogue does not say of which day it is.
	today = "needs_todays_date"
)

// readingsMost is how many questions are kept as they were read.
const readingsMost = 256

// Catalog answers from what the catalogue has of a company, and from nothing else: the same company and question always give
// the same answer. What it is not sure of stays unanswered; it never fails. It is safe for concurrent use.
type Catalog struct {
	mu       sync.RWMutex
	readings map[string]reading
}

// reading is a question, read once and asked of many companies.
type reading func(*facts) Qualification

// NewCatalog makes a Catalog.
func NewCatalog() *Catalog { return &Catalog{readings: map[string]reading{}} }

// Costly is false: an answer takes microseconds.
func (*Catalog) Costly() bool { return false }

// Research answers the question from the catalogue.
func (c *Catalog) Research(ctx context.Context, q Question, company *catalog.Company) (Qualification, error) {
	if err := ctx.Err(); err != nil {
		return Qualification{}, err
	}
	return c.reading(q)(&facts{c: company}), nil
}

// reading gives a question as it was read before, or reads it.
func (c *Catalog) reading(q Question) reading {
	key := string(q.Type) + "\x00" + q.Text + "\x00" + strings.Join(q.Allowed, "\x00")
	c.mu.RLock()
	r := c.readings[key]
	c.mu.RUnlock()
	if r != nil {
		return r
	}
	r = read(q)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.readings) >= readingsMost {
		clear(c.readings)
	}
	c.readings[key] = r
	return r
}

func read(q Question) reading {
	ts, ok := asked(q.Text)
	if !ok {
		return nothing(notUnderstood)
	}
	switch q.Type {
	case crm.BooleanField:
		j := boolean(ts)
		return func(f *facts) Qualification {
			found := j(f)
			if found.verdict == open {
				return unanswered(found.reason)
			}
			return found.answer(shape.Value{Kind: shape.Bool, True: found.verdict == yes})
		}
	case crm.NumberField:
		return numberAsked(ts)
	case crm.EnumField, crm.MultiSelectField:
		return choice(ts, slices.Clone(q.Allowed), q.Type == crm.MultiSelectField)
	case crm.TextField:
		return textAsked(ts)
	}
	return nothing(notInCatalogue) // no field of a company is a date
}

func nothing(reason string) reading {
	return func(*facts) Qualification { return unanswered(reason) }
}

func unanswered(reason string) Qualification {
	return Qualification{Status: StatusUnanswered, Reason: shape.Text(reason)}
}

// answer is a finding as the answer that it is evidence for.
func (f finding) answer(v shape.Value) Qualification {
	return Qualification{Answer: v, Confidence: shape.NumberOf(f.confidence), Evidence: shape.Text(f.evidence), Source: shape.Text(f.source)}
}

func text(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }

// literal is a number as JSON writes it.
func literal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
