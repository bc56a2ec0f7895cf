package rows

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"prospector/internal/shape"
)

// This file decides how the numbers and dates of each column are written: by the values of the whole file, and not one by
// one.

// Question is what must be known before a table can be imported.
type Question struct {
	Code    string   `json:"code"`
	Column  string   `json:"column"`
	Samples []string `json:"samples"`
	Choices []string `json:"choices"`
}

// AmbiguousDates is the code of a question about the order of day and month. Its choices are those of the option
// date_order.
const AmbiguousDates = "ambiguous_dates"

// The values of the option date_order.
const (
	dayFirst   = "dmy"
	monthFirst = "mdy"
)

// evidence is what the values of a column say about how they are written.
type evidence struct {
	comma, point  int // numbers with this decimal separator
	day, month    int // dates that have this part first
	dots          int // dates with points, in which the day comes first
	dayShown      string
	monthShown    string
	unclear       []string // the first dates that may be two days
	unclearNumber string   // the first number that may be two numbers
}

// note takes a value into account.
func (p *column[T]) note(text string) {
	e := &p.evidence
	switch decimalIn(text) {
	case ',':
		e.comma++
	case '.':
		e.point++
	default:
		if e.unclearNumber == "" && groupOrFraction.MatchString(text) {
			e.unclearNumber = text
		}
	}
	switch orderIn(text) {
	case dayMonth:
		if strings.Contains(threeNumbers.FindStringSubmatch(strings.TrimSpace(text))[2], ".") {
			e.dots++
			break
		}
		if e.day++; e.day == 1 {
			e.dayShown = text
		}
	case monthDay:
		if e.month++; e.month == 1 {
			e.monthShown = text
		}
	default:
		if isTwoDays(text) && len(e.unclear) < maxSamples && !slices.Contains(e.unclear, text) {
			e.unclear = append(e.unclear, text)
		}
	}
}

// decide decides the style of all columns, and what has to be asked.
func (c *Columns[T]) decide() {
	c.questions, c.readings = nil, nil
	defer c.askAboutOptOuts()
	var all evidence // of the columns that set numbers and dates
	styled := c.styled()
	for _, p := range styled {
		all.comma, all.point = all.comma+p.evidence.comma, all.point+p.evidence.point
		if p.isDate() {
			all.day, all.month, all.dots = all.day+p.evidence.day, all.month+p.evidence.month, all.dots+p.evidence.dots
		}
	}
	for _, p := range styled {
		p.style = Style{Comma: c.delimiter == ';', Unit: p.unit}
		if c.locale != nil {
			p.style.Comma, p.style.DayFirst = c.locale.Comma, c.locale.DayFirst
		} else if e := &p.evidence; e.comma != e.point {
			p.style.Comma = e.comma > e.point
		} else if all.comma != all.point {
			p.style.Comma = all.comma > all.point
		}
		if p.isDate() {
			c.decideDates(p, &all)
		} else if text := p.evidence.unclearNumber; text != "" && c.locale == nil && all.comma == all.point && !p.target.target().Field.Integer {
			if n := number(text, p.style); n.Kind == shape.Num {
				c.read(p.name, "numbers such as %s were read as %s", text, n.Text)
			}
		}
	}
}

// decideDates decides the order of day and month in a column: by the options, by its own values, or else by the other
// columns with dates.
func (c *Columns[T]) decideDates(p *column[T], all *evidence) {
	e := &p.evidence
	switch {
	case c.dateOrder != "":
		p.style.DayFirst = c.dateOrder == dayFirst
	case c.locale != nil:
	case e.day > 0 && e.month > 0:
		c.ask(p.name, []string{e.dayShown, e.monthShown})
		return
	case e.day+e.month > 0:
		p.style.DayFirst = e.day > 0
	case e.dots > 0:
		p.style.DayFirst = true
	case (all.day > 0) != (all.month > 0):
		p.style.DayFirst = all.day > 0
	case all.dots > 0 && all.month == 0:
		p.style.DayFirst = true
	case len(e.unclear) > 0:
		c.ask(p.name, e.unclear)
		return
	}
	if len(e.unclear) > 0 {
		order := "month/day"
		if p.style.DayFirst {
			order = "day/month"
		}
		c.read(p.name, "dates such as %s were read as %s", e.unclear[0], order)
	}
}

// askedName returns the name of a column in a question. Answers name the column so.
func askedName(column string) string { return shortenTo(column, maxListed) }

func (c *Columns[T]) ask(column string, samples []string) {
	q := Question{Code: AmbiguousDates, Column: askedName(column), Choices: []string{dayFirst, monthFirst}}
	for _, text := range samples {
		q.Samples = append(q.Samples, shorten(text))
	}
	c.questions = append(c.questions, q)
}

// read notes how the values of a column were read.
func (c *Columns[T]) read(column, format string, args ...any) {
	if len(c.readings) < maxWarnings {
		c.readings = append(c.readings, fmt.Sprintf("column %q: ", shorten(column))+fmt.Sprintf(format, args...))
	}
}

func (p *column[T]) isDate() bool { return p.typ == shape.TypeDate }

// styled returns the columns that set numbers or dates.
func (c *Columns[T]) styled() (list []*column[T]) {
	for i := range c.assigned {
		if p := &c.assigned[i]; p.typ == shape.TypeNumber || p.typ == shape.TypeDate {
			list = append(list, p)
		}
	}
	for _, path := range c.paths {
		if p := c.members[path]; p.typ == shape.TypeNumber || p.typ == shape.TypeDate {
			list = append(list, p)
		}
	}
	return list
}

// needsSurvey reports whether how values are written depends on rows behind the first ones.
func (c *Columns[T]) needsSurvey() bool {
	if (c.plain || c.locale != nil) && !c.asksAboutOptOuts() {
		return false
	}
	hasDates := false
	for _, t := range c.fields.Targets {
		hasDates = hasDates || t.target().Field.Type == shape.TypeDate
	}
	return len(c.styled()) > 0 || c.columns == nil && hasDates || c.asksAboutOptOuts()
}

// Survey decides how the values of each column are written, and returns what has to be known before the table can be
// imported. NewColumns has decided it by the first rows. If further rows may change that, Survey opens the table again and
// reads it to its end. A row that cannot be read ends it, as it will end the import. It calls pause for each batch.
func (c *Columns[T]) Survey(ctx context.Context, open func() (*Reader, error), pause func()) ([]Question, error) {
	if !c.needsSurvey() {
		return c.questions, nil
	}
	t, err := open()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	for _, p := range c.all() {
		p.evidence, p.optOuts = evidence{}, optOuts{}
	}
	c.surveyed = 0
	for err == nil {
		var batch []Row
		batch, err = t.NextBatch()
		for i := range batch {
			c.survey(&batch[i])
		}
		pause()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	if err != io.EOF {
		return c.questions, err
	}
	c.decide()
	return c.questions, nil
}

// survey takes the values of a row into account.
func (c *Columns[T]) survey(row *Row) {
	if row.Err != nil {
		return
	}
	c.surveyed++
	if c.columns == nil {
		c.eachValue("", row.Object, c.surveyMember)
		return
	}
	for i := range c.assigned {
		if text := strings.TrimFunc(UnescapeFormula(row.Cells[i]), isBlank); text != "" {
			c.assigned[i].survey(text)
		}
	}
}

func (c *Columns[T]) surveyMember(path string, v shape.Value) {
	if c.objects[path] || v.Kind == shape.Null {
		return
	}
	if p := c.member(path); v.Kind == shape.String {
		p.survey(v.Text)
	} else if v.Kind != shape.Bool && p.typ != shape.TypeNumber && p.typ != shape.TypeDate {
		for _, text := range textsOf(v) {
			p.survey(text)
		}
	}
}

// survey takes a value into account.
func (p *column[T]) survey(text string) {
	switch p.typ {
	case shape.TypeNumber, shape.TypeDate:
		p.note(text)
	case shape.TypeBoolean, "": // a flag, or a column that sets nothing
		p.noteOptOut(text)
	}
}
