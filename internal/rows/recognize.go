package rows

import (
	"cmp"
	"slices"
	"strings"

	"prospector/internal/address"
	"prospector/internal/match"
	"prospector/internal/shape"
)

// fullName is the name of a column that sets first_name and last_name.
const fullName = "full_name"

// FullName returns the target of a column with full names, for tables whose records have a first_name
// and a last_name.
func FullName() Target {
	return Target{Column: fullName, Member: fullName, Field: shape.Field{Type: shape.TypeText}}
}

// Confidence is how sure it is that a column sets a field.
type Confidence string

const (
	Exact   Confidence = "exact"   // the column has the name of the field, or was mapped to it
	Known   Confidence = "known"   // the table of names has the column
	Guessed Confidence = "guessed" // the content of the column says so
)

func confidenceOf(rank int) Confidence {
	if rank == 0 {
		return Exact
	}
	return Known
}

// names finds fields by names of columns.
type names struct {
	fields map[string]bool        // the names of all fields
	folded map[string][]knownName // by foldHeader
}

// knownName is a name that a column of a field may have.
type knownName struct {
	field string
	rank  int // lower is better if several columns have names of one field; 0 for the name itself
}

func namesOf[T targeting](fields Fields[T]) *names {
	n := &names{fields: map[string]bool{}, folded: map[string][]knownName{}}
	for field, t := range fields.Targets {
		n.fields[field] = true
		n.add(field, field, 0)
		if label := t.target().Field.Label; strings.HasPrefix(field, shape.CustomPrefix) {
			n.add(label, field, 1)
			n.add(strings.TrimPrefix(field, shape.CustomPrefix), field, 2)
		}
	}
	for field, list := range knownHeaders()[fields.Entity] {
		if !n.fields[field] {
			continue
		}
		for i, name := range list {
			n.add(name, field, 10+i)
		}
	}
	return n
}

func (n *names) add(name, field string, rank int) {
	key := foldHeader(name)
	if key != "" {
		n.folded[key] = append(n.folded[key], knownName{field, rank})
	}
}

// find returns the field that a column with this name probably sets, or nil.
func (n *names) find(name string) *knownName {
	for _, spelling := range []string{name, fieldName(name)} {
		if n.fields[spelling] {
			return &knownName{field: spelling}
		}
	}
	found := n.all(name)
	if len(found) == 0 {
		return nil
	}
	return &found[0]
}

// rank returns the rank of a column for a field. A column that the table of headers does not have comes first, because
// somebody mapped it.
func (n *names) rank(name, field string) int {
	for _, known := range n.all(name) {
		if known.field == field {
			return known.rank
		}
	}
	return 0
}

// guessedRank is the rank of a column that was recognized by its content.
const guessedRank = 10_000

// all returns the fields that a column with this name may set, the most probable first.
func (n *names) all(name string) []knownName {
	found := slices.Clone(n.folded[foldHeader(name)])
	slices.SortFunc(found, func(a, b knownName) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.field, b.field))
	})
	return found
}

// candidate is a field that a column may set.
type candidate struct {
	at    int // the column
	field string
	rank  int
	empty bool // the sample has no value
}

// assign decides which fields the columns of a CSV file set: what the mapping says, or else the best
// column for each field.
func (c *Columns[T]) assign(sample []Row) {
	values := sampleOf(sample, len(c.columns))
	c.values = values
	c.assigned = make([]column[T], len(c.columns))
	done := map[string]bool{} // by field
	var list []candidate
	for i, name := range c.columns {
		c.assigned[i].name = name
		if field, mapped := c.mapping[name]; mapped && slices.Index(c.columns, name) == i {
			c.set(i, knownName{field, c.names.rank(name, field)}, Exact, done)
			continue
		}
		found := c.names.all(name)
		if unit, of := unitOf(name); len(found) == 0 && unit > 0 {
			found = slices.DeleteFunc(c.names.all(of), func(k knownName) bool {
				return c.fields.Targets[k.field].target().Field.Type != shape.TypeNumber
			})
			c.assigned[i].unit = unit
		}
		if exact := c.names.find(name); exact != nil {
			found = append([]knownName{*exact}, found...)
		}
		for _, known := range found {
			if c.fits(known.field, values[i]) {
				list = append(list, candidate{i, known.field, known.rank, len(values[i]) == 0})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		if a.empty != b.empty && a.rank > 0 && b.rank > 0 {
			if a.empty {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.rank, b.rank)
	})
	for _, one := range list {
		isShown := one.field == "add_tags" && one.rank > 0 && done["tags"] // beside their ids
		if c.isFree(one.at, one.field, done) && !isShown {
			c.set(one.at, knownName{one.field, one.rank}, confidenceOf(one.rank), done)
		}
	}
	c.assignNames(done)
	c.guess(values, done)
	c.assignAlternatives(list)
	var none T
	for i := range c.assigned {
		if p := &c.assigned[i]; p.target != none {
			c.noteTarget(p)
		} else {
			c.ignore(p.name)
		}
	}
}

// check returns an error if no column of a CSV file sets a field.
func (c *Columns[T]) check() error {
	var none T
	if c.columns == nil || slices.ContainsFunc(c.assigned, func(p column[T]) bool { return p.target != none }) {
		return nil
	}
	return invalid("mapping", "no column is a field of %s: %s; map the columns to fields", c.fields.Entity, listed(c.columns))
}

func (c *Columns[T]) set(at int, known knownName, confidence Confidence, done map[string]bool) {
	p := &c.assigned[at]
	p.target, p.confidence, p.rank = c.fields.Targets[known.field], confidence, known.rank
	if known.field != "" {
		done[known.field] = true
	}
}

// assignAlternatives lets the columns that are left set a field that another column sets, in rows in which that one has no value.
func (c *Columns[T]) assignAlternatives(list []candidate) {
	var none T
	for _, one := range list {
		p := &c.assigned[one.at]
		if p.target == none && !c.mapped[one.field] && (!c.plain || c.isOptOut(one.field)) && one.field != "id" && one.field != "add_tags" {
			p.target, p.confidence, p.rank = c.fields.Targets[one.field], confidenceOf(one.rank), one.rank
		}
	}
	count := map[T]int{}
	for _, p := range c.assigned {
		count[p.target]++
	}
	for i := range c.assigned {
		c.assigned[i].isAlternative = count[c.assigned[i].target] > 1 || c.assigned[i].target == c.fields.Targets[optOutFlag]
	}
}

func (c *Columns[T]) noteTarget(p *column[T]) {
	t := p.target.target()
	p.typ, p.isFlag, p.isStatus = t.Field.Type, t.OptOut, t.Status
	c.sets[p.target] = true
}

// isFree reports whether a column may still set a field.
func (c *Columns[T]) isFree(at int, field string, done map[string]bool) bool {
	var none T
	return c.assigned[at].target == none && !done[field] && !c.mapped[field]
}

// fits reports whether the values of a column can be those of a field: references are ids.
func (c *Columns[T]) fits(field string, values []string) bool {
	t := c.fields.Targets[field].target()
	if t.Column == "title" && mostly(values, isSalutation) {
		return false
	}
	isID := t.Field.Type == shape.TypeReference && !t.List && t.Column == t.Field.Key || t.Member == "id" && t.Field.Type != shape.TypeText
	if !isID || len(values) == 0 {
		return true
	}
	return slices.ContainsFunc(values, func(v string) bool {
		_, err := shape.ParseID(strings.TrimSpace(v))
		return err == nil
	})
}

// isSalutation reports whether a text consists of forms of address and academic titles.
func isSalutation(text string) bool {
	words := strings.Fields(text)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !match.IsTitle(strings.Trim(w, ",")) })
}

// assignNames decides what a column that is only called name contains: the other half of the name if one
// column has a half, or else full names.
func (c *Columns[T]) assignNames(done map[string]bool) {
	for i, p := range c.assigned {
		_, mapped := c.mapping[p.name]
		if mapped || p.confidence != Known || p.target.target().Member != fullName || !halfNames[foldHeader(p.name)] {
			continue
		}
		switch first, last := done["first_name"], done["last_name"]; {
		case first && !last:
			c.set(i, knownName{"last_name", p.rank}, Known, done)
		case last && !first:
			c.set(i, knownName{"first_name", p.rank}, Known, done)
		}
	}
}

// guess finds the columns of addresses by their values.
func (c *Columns[T]) guess(values [][]string, done map[string]bool) {
	isEmail := func(v string) bool {
		if !strings.Contains(v, "@") { // cheap, because most columns have none
			return false
		}
		first, _, ok := Email(v)
		return ok && strings.Contains(first, ".")
	}
	contains := func(part string) func(v string) bool {
		return func(v string) bool { return len(v) > len(part) && strings.Contains(address.LinkedIn(v), part) }
	}
	isProfile, isCompany := contains("linkedin.com/in/"), contains("linkedin.com/company/")
	isWebsite := func(v string) bool {
		lower := strings.ToLower(v)
		if !strings.Contains(lower, "www.") && !strings.Contains(lower, "://") || isProfile(v) || isCompany(v) {
			return false
		}
		_, _, err := address.SplitWebsite(v)
		return err == nil
	}
	profile := isProfile
	if _, isPerson := c.fields.Targets["first_name"]; !isPerson {
		profile = isCompany
	}
	for _, one := range []struct {
		field string
		is    func(string) bool
		key   func(string) string // what tells values apart
	}{{"email", isEmail, address.Key}, {"linkedin_url", profile, address.LinkedIn}, {"website", isWebsite, websiteHost}} {
		if _, known := c.fields.Targets[one.field]; !known {
			continue
		}
		for i := range c.assigned {
			_, mapped := c.mapping[c.assigned[i].name]
			name := c.assigned[i].name
			if !mapped && c.isFree(i, one.field, done) && mostly(values[i], one.is) && areDistinct(values[i], one.key) && !isAboutOthers(name) {
				c.set(i, knownName{one.field, guessedRank}, Guessed, done)
			}
		}
	}
}

// websiteHost returns the host of a website.
func websiteHost(text string) string {
	host, _, _ := address.SplitWebsite(text)
	return host
}

// areDistinct reports whether at most one of ten values is there twice: an address that many rows share is not that of the
// person or company of the row.
func areDistinct(values []string, key func(string) string) bool {
	seen := map[string]bool{}
	for _, v := range values {
		seen[key(v)] = true
	}
	return 10*(len(values)-len(seen)) <= len(values)
}

// othersParts are parts of the names of columns about somebody else than the person of the row, folded: who owns, made or
// changed the record, or works with the person.
var othersParts = []string{
	"owner", "createdby", "modifiedby", "updatedby", "changedby", "addedby", "importedby", "assign", "responsible", "accountmanager", "salesrep", "salesperson", "manager", "assistant",
	"referr", "sender",
	"besitzer", "eigentumer", "eigentuemer", "erstellt", "geandert", "geaendert", "angelegt", "bearbeit", "zugewiesen", "verantwortlich", "zustandig", "zustaendig",
	"betreuer", "assistent", "vorgesetzt",
	"proprietaire", "creepar", "modifiepar", "attribue", "responsable", "propietario", "creadopor", "modificadopor", "asignado", "encargado",
}

// isAboutOthers reports whether the name of a column says that it is about somebody else than the person of the row.
func isAboutOthers(name string) bool {
	folded := foldHeader(name)
	return slices.ContainsFunc(othersParts, func(part string) bool { return strings.Contains(folded, part) })
}

// mostly reports whether at least four of five values, and at least one, satisfy is.
func mostly(values []string, is func(string) bool) bool {
	others := 0
	for _, v := range values {
		if is(v) {
			continue
		}
		if others++; 5*others > len(values) {
			return false
		}
	}
	return len(values) > 0
}

// sampleOf returns the values of each column that are not empty.
func sampleOf(sample []Row, columns int) [][]string {
	values := make([][]string, columns)
	for i, all := range slices.Collect(slices.Chunk(make([]string, columns*len(sample)), max(1, len(sample)))) {
		values[i] = all[:0]
	}
	for _, row := range sample {
		for i := range min(columns, len(row.Cells)) {
			if text := strings.TrimFunc(UnescapeFormula(row.Cells[i]), isBlank); text != "" && row.Err == nil && !isNoValue(text, false) {
				values[i] = append(values[i], text)
			}
		}
	}
	return values
}
