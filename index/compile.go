package index

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// The limits of a list body. Each level of a filter is two of JSON, of which the strict decoder takes 512.
const (
	maxFilterDepth = 200
	maxFilterRules = 10_000
	maxSortKeys    = 20
)

// Plan is a query compiled against a kind.
type Plan struct {
	Page     int
	PageSize int

	kind    *Kind
	customs *Customs
	filter  Filter
	sort    []sortKey
	sorted  string // the name of the sort in the cache
	search  []string
	selects bool                                 // it is a selection, whose words are looked for in the searched fields
	within  func(*store.Tx) ([]uuid.UUID, error) // see Within
	members []uuid.UUID                          // what that gave
}

// Filter is a rule or an expression over filters.
type Filter struct {
	rule *rule
	any  bool // or, else and
	subs []Filter
}

// rule is one comparison. Which operands it has follows from the type of its field.
type rule struct {
	field *Field
	typ   shape.Type
	cond  Condition
	texts []string // texts, keys, ids; folded for contains
	set   map[string]bool
	spans [][2]float64 // numbers, booleans, times: half-open, from and to
}

type sortKey struct {
	field *Field
	desc  bool
}

// Compile checks a query against the fields of a kind and notes every problem by its path, as invalid_filter or
// invalid_sort.
func Compile(k *Kind, cs *Customs, q ListBody, p *fault.Problems) *Plan {
	c := &compiler{kind: k, customs: cs, p: p}
	plan := &Plan{Page: q.Page, PageSize: q.PageSize, kind: k, customs: cs, search: distinct(shape.Words(q.Search))}
	plan.sortBy(c.sort(q.Sort))
	plan.filter = c.filter(q.Filters, "filters")
	return plan
}

func (p *Plan) sortBy(keys []sortKey) {
	p.sort = p.kind.tied(keys)
	p.sorted = orderName + sortName(p.sort)
}

// tied adds the id to a sort that does not have it, in the direction of the last key, where the id is a text. Any other is
// the store's own, by which ties are ordered in the end.
func (k *Kind) tied(keys []sortKey) []sortKey {
	if k.tie == nil || len(keys) == 0 || slices.ContainsFunc(keys, func(key sortKey) bool { return key.field == k.tie }) {
		return keys
	}
	return append(keys, sortKey{field: k.tie, desc: keys[len(keys)-1].desc})
}

// defaultSort is the sort of a list that names none.
func (k *Kind) defaultSort() []sortKey {
	keys, _ := sortKeys(k.DefaultSort, k.field)
	return k.tied(keys)
}

func distinct(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// CheckFilter checks a filter that stands at a path against the fields of a kind.
func CheckFilter(k *Kind, cs *Customs, filter shape.Value, path string, p *fault.Problems) {
	(&compiler{kind: k, customs: cs, p: p}).filter(filter, path)
}

type compiler struct {
	kind    *Kind
	customs *Customs
	p       *fault.Problems
	rules   int
}

// filter compiles either form of a filter.
func (c *compiler) filter(v shape.Value, path string) Filter {
	switch v.Kind {
	case shape.Absent, shape.Null:
	case shape.List:
		return Filter{subs: c.list(v, path, 1)}
	case shape.Object:
		return c.expression(v, path, 1)
	default:
		c.fail(path, "must be a list of rules or an expression")
	}
	return Filter{}
}

// field gives the field that has the key, nil when there is none.
func (c *compiler) field(key string) *Field {
	if f := c.kind.field(key); f != nil {
		return f
	}
	return c.customs.find(key)
}

func (c *compiler) fail(path, format string, args ...any) {
	c.p.Add(fault.InvalidFilter, path, format, args...)
}

func (c *compiler) list(v shape.Value, path string, depth int) []Filter {
	if depth > maxFilterDepth {
		c.fail(path, "nests deeper than %d levels", maxFilterDepth)
		return nil
	}
	subs := make([]Filter, 0, len(v.Items))
	for i, item := range v.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case item.Kind != shape.Object:
			c.fail(at, "must be a rule or an expression")
		case item.Get("field").Kind == shape.Absent && (item.Get("filters").Kind != shape.Absent || item.Get("operator").Kind != shape.Absent):
			subs = append(subs, c.expression(item, at, depth+1))
		default:
			subs = append(subs, c.rule(item, at))
		}
	}
	return subs
}

func (c *compiler) expression(v shape.Value, path string, depth int) Filter {
	f := Filter{}
	for _, m := range v.Members {
		at := path + "." + m.Key
		switch m.Key {
		case "operator":
			if m.Value.Kind != shape.String || m.Value.Text != "and" && m.Value.Text != "or" {
				c.fail(at, "must be \"and\" or \"or\"")
			}
			f.any = m.Value.Text == "or"
		case "filters":
			if m.Value.Kind != shape.List {
				c.fail(at, "must be a list of rules and expressions")
				continue
			}
			f.subs = c.list(m.Value, at, depth)
		default:
			c.fail(at, "unknown field")
		}
	}
	if v.Get("filters").Kind == shape.Absent {
		c.fail(path+".filters", "required")
	}
	return f
}

func (c *compiler) rule(v shape.Value, path string) Filter {
	if c.rules++; c.rules > maxFilterRules {
		if c.rules == maxFilterRules+1 {
			c.fail(path, "is one rule too many: a filter has at most %d", maxFilterRules)
		}
		return Filter{}
	}
	for _, m := range v.Members {
		if m.Key != "field" && m.Key != "condition" && m.Key != "value" {
			c.fail(path+"."+m.Key, "unknown field")
		}
	}
	name, cond, given := v.Get("field"), v.Get("condition"), v.Get("value")
	f := c.field(name.Text)
	switch {
	case name.Kind == shape.Absent:
		c.fail(path+".field", "required")
	case name.Kind != shape.String:
		c.fail(path+".field", "must be a string")
	case f == nil:
		c.fail(path+".field", "%q is not a field of %s", name.Text, c.kind.Entity)
	}
	switch {
	case cond.Kind == shape.Absent:
		c.fail(path+".condition", "required")
		return Filter{}
	case cond.Kind != shape.String:
		c.fail(path+".condition", "must be a string")
		return Filter{}
	case name.Kind != shape.String || f == nil:
		return Filter{}
	}
	r := &rule{field: f, typ: f.Type, cond: Condition(cond.Text)}
	if !slices.Contains(f.Conditions(), r.cond) {
		c.fail(path+".condition", "%q is not a condition of %s, which has %s", cond.Text, f.Key, join(f.Conditions()))
		return Filter{}
	}
	c.operands(r, f, given, path+".value")
	return Filter{rule: r}
}

func join(cs []Condition) string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

func (c *compiler) operands(r *rule, f *Field, v shape.Value, path string) {
	if r.cond == IsEmpty || r.cond == IsNotEmpty {
		if v.Kind != shape.Absent {
			c.fail(path, "must not be given with %s", r.cond)
		}
		return
	}
	switch {
	case v.Kind == shape.Absent:
		c.fail(path, "required")
	case v.Kind != shape.List:
		c.operand(r, f, v, path)
	case !takesList(r.typ, r.cond):
		c.fail(path, "must be one value, not a list")
	case len(v.Items) == 0:
		c.fail(path, "must not be empty")
	default:
		for i, item := range v.Items {
			c.operand(r, f, item, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	r.set = make(map[string]bool, len(r.texts))
	for _, t := range r.texts {
		r.set[t] = true
	}
}

// operand adds one value to the rule, or notes what is wrong with it.
func (c *compiler) operand(r *rule, f *Field, v shape.Value, path string) {
	var err error
	switch f.Type {
	case shape.TypeNumber:
		err = r.addNumber(v)
	case shape.TypeBoolean:
		if v.Kind != shape.Bool {
			err = errors.New("must be true or false")
		}
		r.addPoint(boolValue(v.True).num)
	case shape.TypeDate, shape.TypeDateTime:
		err = r.addTime(v)
	default:
		err = r.addText(f, v)
	}
	if err != nil {
		c.fail(path, "%v", err)
	}
}

func (r *rule) addText(f *Field, v shape.Value) error {
	switch {
	case v.Kind != shape.String:
		return errors.New("must be a string")
	case v.Text == "":
		return errors.New("must not be empty")
	case f.HasUUIDs():
		id, err := shape.ParseID(v.Text)
		if err != nil {
			return err
		}
		r.texts = append(r.texts, id.String())
	case f.Enum != nil && !slices.Contains(f.Enum, v.Text):
		return fmt.Errorf("must be one of %s", strings.Join(f.Enum, ", "))
	case f.Type == shape.TypeText && (r.cond == Contains || r.cond == NotContains):
		r.texts = append(r.texts, shape.Fold(v.Text))
	default:
		r.texts = append(r.texts, v.Text)
	}
	return nil
}

// addPoint adds the span that holds exactly n.
func (r *rule) addPoint(n float64) { r.spans = append(r.spans, [2]float64{n, above(n)}) }

// above is the least number greater than n: spans are half-open.
func above(n float64) float64 { return math.Nextafter(n, math.Inf(1)) }

func (r *rule) addNumber(v shape.Value) error {
	if v.Kind != shape.Num {
		return errors.New("must be a number")
	}
	n := shape.ParseNumber(v.Text)
	switch r.cond {
	case GreaterThan:
		r.spans = append(r.spans, [2]float64{above(n), math.Inf(1)})
	case LessThan:
		r.spans = append(r.spans, [2]float64{math.Inf(-1), n})
	default:
		r.addPoint(n)
	}
	return nil
}

// addTime takes a date, which against a date-time means its start in UTC for before and after and the whole day for
// is; and, against a date-time only, a time.
func (r *rule) addTime(v shape.Value) error {
	if v.Kind != shape.String {
		return errors.New("must be a date or a time as text")
	}
	from, err := dayStart(v.Text)
	to := from + float64(24*time.Hour/time.Millisecond)
	if err != nil {
		if r.typ == shape.TypeDate {
			return errors.New("must be a date such as 2026-03-01")
		}
		at, err := parseMoment(v.Text)
		if err != nil {
			return errors.New("must be a date such as 2026-03-01 or a time such as 2026-03-01T09:30:00Z")
		}
		from, to = float64(at.Milli()), float64(at.Milli()+1)
	}
	switch r.cond {
	case IsAfter, GreaterThan:
		from, to = from+1, math.Inf(1)
	case IsBefore, LessThan:
		from, to = math.Inf(-1), from
	}
	r.spans = append(r.spans, [2]float64{from, to})
	return nil
}

// parseMoment reads a time with an offset or, as ISO 8601 allows and examples show, without one, in UTC.
func parseMoment(s string) (shape.Time, error) {
	at, err := shape.ParseTime(s)
	if err != nil {
		if utc, bare := shape.ParseTime(s + "Z"); bare == nil {
			return utc, nil
		}
	}
	return at, err
}

func dayStart(s string) (float64, error) {
	t, err := time.Parse(time.DateOnly, s)
	return float64(t.UnixMilli()), err
}

func (c *compiler) sort(s string) []sortKey {
	if s == "" {
		s = c.kind.DefaultSort
	}
	if strings.Count(s, ",") >= maxSortKeys {
		c.p.Add(fault.InvalidSort, "sort", "has more than %d fields", maxSortKeys)
		return nil
	}
	keys, unknown := sortKeys(s, c.field)
	for _, name := range unknown {
		c.unsortable("sort", name)
	}
	return keys
}

func (c *compiler) unsortable(path, name string) {
	c.p.Add(fault.InvalidSort, path, "cannot use %q: %s cannot be sorted by it", name, c.kind.Entity)
}

// sortKeys reads a sort of the fields that find knows, and names what in it records cannot be sorted by.
func sortKeys(s string, find func(key string) *Field) (keys []sortKey, unknown []string) {
	for part := range strings.SplitSeq(s, ",") {
		name, desc := strings.CutPrefix(part, "-")
		f := find(name)
		if f == nil || !f.Sortable {
			unknown = append(unknown, name)
			continue
		}
		keys = append(keys, sortKey{field: f, desc: desc})
	}
	return keys, unknown
}

// sortName says the same in the names that fields have in an index.
func sortName(keys []sortKey) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if key.desc {
			b.WriteByte('-')
		}
		b.WriteString(key.field.name)
	}
	return b.String()
}
