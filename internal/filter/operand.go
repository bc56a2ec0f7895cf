package filter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"prospector/internal/shape"
)

// operands compiles the value of a rule: one operand, or a list where the condition accepts it.
func (c *compiler) operands(r *Rule, v shape.Value, path string) {
	if r.Condition == IsEmpty || r.Condition == IsNotEmpty {
		if v.Kind != shape.Absent {
			c.fail(path, "must be omitted with the condition %s", r.Condition)
		}
		return
	}
	switch {
	case v.Kind == shape.Absent:
		c.fail(path, "required")
	case r.Condition == Between:
		c.between(r, v, path)
	case v.Kind != shape.List:
		if !c.exceedsValues(1, path) {
			c.operand(r, v, path)
		}
	case !r.Field.AcceptsList(r.Condition):
		c.fail(path, "must be a single value with the condition %s, not a list", r.Condition)
	case len(v.Items) == 0:
		c.fail(path, "must not be empty")
	case c.exceedsValues(len(v.Items), path):
	default:
		for i, item := range v.Items {
			c.operand(r, item, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	r.textSet = make(map[string]bool, len(r.Texts))
	for _, t := range r.Texts {
		r.textSet[t] = true
	}
}

// between compiles the two bounds of a range.
func (c *compiler) between(r *Rule, v shape.Value, path string) {
	if v.Kind != shape.List || len(v.Items) != 2 {
		c.fail(path, "must be a list of two values with the condition %s", r.Condition)
		return
	}
	if c.exceedsValues(2, path) {
		return
	}
	from, to := Rule{Field: r.Field, Condition: AtLeast}, Rule{Field: r.Field, Condition: AtMost}
	c.operand(&from, v.Items[0], path+"[0]")
	c.operand(&to, v.Items[1], path+"[1]")
	switch {
	case len(from.Spans) == 0 || len(to.Spans) == 0: // reported already
	case from.Spans[0].From >= to.Spans[0].To:
		c.fail(path, "the first value must not be greater than the second")
	default:
		r.Spans = []Span{{from.Spans[0].From, to.Spans[0].To}}
	}
}

// exceedsValues counts the values of a rule. Above the limit it returns true, and reports it once.
func (c *compiler) exceedsValues(n int, path string) bool {
	before := c.values
	c.values += n
	if c.values > maxFilterValues && before <= maxFilterValues {
		c.fail(path, "the rules of a filter must have at most %d values together", maxFilterValues)
	}
	return c.values > maxFilterValues
}

func (c *compiler) operand(r *Rule, v shape.Value, path string) {
	var err error
	switch r.Field.Type {
	case shape.TypeNumber:
		err = r.addNumber(v)
	case shape.TypeBoolean:
		err = r.addBool(v)
	case shape.TypeDate, shape.TypeDateTime:
		err = r.addTime(v)
	default:
		err = c.addText(r, v)
	}
	if err != nil {
		c.fail(path, "%v", err)
	}
}

func (r *Rule) addBool(v shape.Value) error {
	switch v.Kind {
	case shape.Bool:
		r.Spans = append(r.Spans, pointSpan(boolValue(v.True).Num))
		return nil
	case shape.String:
		return fmt.Errorf("%s is not true or false", shape.Quote(v.Text))
	}
	return errors.New("must be true or false")
}

func (c *compiler) addText(r *Rule, v shape.Value) error {
	f := r.Field
	switch {
	case v.Kind != shape.String:
		return errors.New("must be a string")
	case v.Text == "":
		return errors.New("must not be empty")
	case f.HasUUIDs():
		id, err := shape.ParseID(v.Text)
		switch {
		case err != nil && f.Named:
			return fmt.Errorf(shape.NoSuchName, shape.Quote(v.Text))
		case err != nil:
			return err
		}
		r.Texts = append(r.Texts, id.String())
	case f.Enum != nil && !slices.Contains(f.Enum, v.Text):
		return fmt.Errorf("%s is not one of: %s", shape.Quote(v.Text), strings.Join(f.Enum, ", "))
	case r.SearchesText():
		r.Texts = append(r.Texts, shape.Fold(v.Text))
	case f.IsCanonical():
		r.Texts = append(r.Texts, c.kind.canonicalOperand(f, v.Text))
	default:
		r.Texts = append(r.Texts, v.Text)
	}
	return nil
}

// SearchesText reports whether the rule searches for its operand within a text, ignoring case.
func (r *Rule) SearchesText() bool {
	return r.Field.Type == shape.TypeText && (r.Condition == Contains || r.Condition == NotContains)
}

// pointSpan returns the span that contains only n.
func pointSpan(n float64) Span { return Span{n, nextFloat(n)} }

// IsPoint reports whether the span contains only From.
func (s Span) IsPoint() bool { return s.To == nextFloat(s.From) && !math.IsInf(s.From, 0) }

// nextFloat returns the least number greater than n.
func nextFloat(n float64) float64 { return math.Nextafter(n, math.Inf(1)) }

func (r *Rule) addNumber(v shape.Value) error {
	switch v.Kind {
	case shape.Num:
		r.addSpan(pointSpan(shape.ParseNumber(v.Text)))
		return nil
	case shape.String:
		return fmt.Errorf("%s is not a number", shape.Quote(v.Text))
	}
	return errors.New("must be a number")
}

// addSpan adds the values that compare with those of a span as the condition says.
func (r *Rule) addSpan(s Span) {
	switch r.Condition {
	case GreaterThan, IsAfter:
		s = Span{s.To, math.Inf(1)}
	case LessThan, IsBefore:
		s = Span{math.Inf(-1), s.From}
	case AtLeast:
		s.To = math.Inf(1)
	case AtMost:
		s.From = math.Inf(-1)
	}
	r.Spans = append(r.Spans, s)
}

// addTime adds a date or, if the field has times, a time. A date that is compared with times is the
// whole day in UTC: what is after it begins with the next day.
func (r *Rule) addTime(v shape.Value) error {
	if v.Kind != shape.String {
		return errors.New("must be a date or a time, as a string")
	}
	from, err := startOfDay(v.Text)
	to := from + float64(24*time.Hour/time.Millisecond)
	if err != nil {
		if r.Field.Type == shape.TypeDate {
			return fmt.Errorf("%s is not a date such as 2026-03-01", shape.Quote(v.Text))
		}
		at, err := parseTime(v.Text)
		if err != nil {
			return fmt.Errorf("%s is not a date such as 2026-03-01 or a time such as 2026-03-01T09:30:00Z",
				shape.Quote(v.Text))
		}
		from, to = float64(at.Milli()), float64(at.Milli()+1)
	}
	r.addSpan(Span{from, to})
	return nil
}

// parseTime parses a time. A time without an offset, which ISO 8601 allows, is in UTC.
func parseTime(s string) (shape.Time, error) {
	at, err := shape.ParseTime(s)
	if err != nil {
		if utc, errUTC := shape.ParseTime(s + "Z"); errUTC == nil {
			return utc, nil
		}
	}
	return at, err
}
