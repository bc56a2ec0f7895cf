package index

import (
	"cmp"
	"slices"
	"strings"

	"prospector/internal/shape"
)

// Match decides whether a record is in the list.
func (p *Plan) Match(r *row) bool {
	return p.has(r.id) && p.filter.match(r) && p.found(r)
}

func (f *Filter) match(r *row) bool {
	if f.rule != nil {
		return f.rule.match(r.value(f.rule.field))
	}
	if f.isEmpty() {
		return true
	}
	for i := range f.subs {
		if f.subs[i].match(r) == f.any {
			return f.any
		}
	}
	return !f.any
}

// isEmpty tells a filter that has nothing in it, and so matches everything.
func (f *Filter) isEmpty() bool { return f.rule == nil && len(f.subs) == 0 }

func (r *rule) match(v *value) bool {
	switch r.cond {
	case IsEmpty:
		return !v.has
	case IsNotEmpty:
		return v.has
	case IsNot:
		return !v.has || !r.holds(v)
	case NotContains:
		return !v.has || !r.contains(v)
	case Contains:
		return v.has && r.contains(v)
	}
	return v.has && r.holds(v)
}

// holds tells whether a value is any of the operands.
func (r *rule) holds(v *value) bool {
	switch r.typ {
	case shape.TypeText, shape.TypeEnum, shape.TypeReference:
		return r.set[v.text]
	case shape.TypeMulti:
		return slices.ContainsFunc(*v.list, func(s string) bool { return r.set[s] })
	}
	for _, span := range r.spans {
		if v.num >= span[0] && v.num < span[1] {
			return true
		}
	}
	return false
}

// contains tells whether a text has the operand in it, and whether a multi has all of them.
func (r *rule) contains(v *value) bool {
	if r.typ == shape.TypeText {
		return strings.Contains(v.fold, r.texts[0])
	}
	for t := range r.set {
		if !slices.Contains(*v.list, t) {
			return false
		}
	}
	return true
}

// found tells whether every word searched for begins some word of the fields that are looked at.
func (p *Plan) found(r *row) bool {
	if len(p.search) == 0 {
		return true
	}
	var have []string
	for i := range p.kind.Fields {
		if p.looksAt(&p.kind.Fields[i]) {
			have = append(have, r.values[i].words()...)
		}
	}
	for i := range r.custom {
		if c := &r.custom[i]; p.looksAt(c.field) && p.customs.has(c.field.name) {
			have = append(have, c.value.words()...)
		}
	}
	for _, want := range p.search {
		if !slices.ContainsFunc(have, func(w string) bool { return strings.HasPrefix(w, want) }) {
			return false
		}
	}
	return true
}

// looksAt tells whether words are looked for in a field: a list looks at all texts, a selection at what is declared for it.
func (p *Plan) looksAt(f *Field) bool {
	if p.selects {
		return f.Searched
	}
	return f.Type == shape.TypeText
}

func notInWord(r rune) bool { return !shape.InWord(r) }

// compareValues orders two values: no value comes last both ways.
func compareValues(a, b *value, desc bool) int {
	switch {
	case a.has && b.has:
		if a.num != b.num {
			return directed(cmp.Compare(a.num, b.num), desc)
		}
		return directed(strings.Compare(a.fold, b.fold), desc)
	case a.has:
		return -1
	case b.has:
		return 1
	}
	return 0
}

func directed(order int, desc bool) int {
	if desc {
		return -order
	}
	return order
}
