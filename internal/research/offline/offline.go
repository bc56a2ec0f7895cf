// Package offline answers Qualifier questions from the catalog alone, without a network. It reads a
// question once with a fixed grammar of English sentences and applies the result to the fields and
// the description of many companies. Its only exported type is RuleBased. The grammar is an
// implementation detail of the package.
package offline

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/internal/shape"
)

// Reasons why there is no answer.
const (
	// notInCatalog means that neither a field nor the description contains the answer.
	notInCatalog = "not_in_catalogue"
	// ambiguous means that the data can be read in more than one way.
	ambiguous = "ambiguous"
	// notUnderstood means that the grammar does not cover the question.
	notUnderstood = "question_not_understood"
	// today means that the answer changes every year, and the catalog does not say how old its data
	// is.
	today = "needs_todays_date"
)

// readingsMost bounds the number of cached questions.
const readingsMost = 256

// RuleBased answers from the catalog data of a company and from nothing else. The same company and
// question always lead to the same answer. A question that it cannot answer with certainty stays
// unanswered; it never fails. RuleBased is safe for concurrent use.
type RuleBased struct {
	mu       sync.RWMutex
	readings map[string]reading
}

// reading is a question that was parsed once and is applied to many companies.
type reading func(*facts) research.Qualification

// New returns a RuleBased provider.
func New() *RuleBased { return &RuleBased{readings: map[string]reading{}} }

// Costly returns false, because an answer takes microseconds.
func (*RuleBased) Costly() bool { return false }

// Research answers a question about a company. The only error is that of an ended context.
func (c *RuleBased) Research(ctx context.Context, q research.Question, company *catalog.Company) (research.Qualification, error) {
	if err := ctx.Err(); err != nil {
		return research.Qualification{}, err
	}
	return c.reading(q)(&facts{c: company}), nil
}

// reading returns the parsed question from the cache, or parses it.
func (c *RuleBased) reading(q research.Question) reading {
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

func read(q research.Question) reading {
	ts, ok := asked(q.Text)
	if !ok {
		return nothing(notUnderstood)
	}
	switch q.Type {
	case crm.BooleanField:
		j := boolean(ts)
		return func(f *facts) research.Qualification {
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
	return nothing(notInCatalog) // no field of a company is a date
}

func nothing(reason string) reading {
	return func(*facts) research.Qualification { return unanswered(reason) }
}

func unanswered(reason string) research.Qualification {
	return research.Qualification{Status: research.StatusUnanswered, Reason: shape.Text(reason)}
}

// answer returns a finding as a Qualification with that answer.
func (f finding) answer(v shape.Value) research.Qualification {
	return research.Qualification{Answer: v, Confidence: shape.NumberOf(f.confidence), Evidence: shape.Text(f.evidence), Source: shape.Text(f.source)}
}

func text(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }

// literal formats a number as JSON.
func literal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
