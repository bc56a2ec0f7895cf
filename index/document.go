package index

import (
	"slices"

	bleve "github.com/blevesearch/bleve_index_api"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// document is a record in the form that bleve indexes: terms without positions, and no stored
// values but the id. It has no doc values, because columns are built from the term dictionaries.
type document struct {
	id      string
	fields  []bleve.Field
	scratch scratch
}

// documentField is one field of a document.
type documentField struct {
	name        string
	value       []byte   // of _id only
	terms       []string // may have duplicates
	prefixTerms bool     // the terms are the prefixes of terms
	scratch     scratch
}

// scratch holds the maps that bleve reads the terms of each field from. The documents of a batch
// share it: bleve reads one document after the other and keeps no map, and separate maps would be
// most of the memory of a batch.
type scratch map[string]bleve.TokenFrequencies

// once is the frequency of every term. Bleve only reads it. A term that has frequency one and is in
// a single document is stored in the dictionary itself.
var once = func() *bleve.TokenFreq {
	f := &bleve.TokenFreq{}
	f.SetFrequency(1)
	return f
}()

// newDocument makes the document of a row.
func newDocument(k *Kind, r *filter.Row, shared scratch) *document {
	d := &document{id: string(r.ID[:]), scratch: shared}
	has := documentField{name: hasField}
	var groups []*wordFields
	add := func(f *filter.Field, v *filter.Value) {
		if !v.IsSet {
			return
		}
		has.add(f.Name)
		var words []string
		if f.Type == shape.TypeText || f.Searched {
			words = v.Words()
		}
		if f.Long {
			slices.Sort(words)
			words = slices.Compact(words)
		}
		d.addValue(f, v, words)
		groups = addWords(groups, f, words)
	}
	for i := range k.Fields {
		add(&k.Fields[i], &r.Values[i])
	}
	for i := range r.Custom {
		add(r.Custom[i].Field, &r.Custom[i].Value)
	}
	d.addField(has)
	for _, g := range groups {
		d.addField(g.words)
		d.addField(g.prefixes)
	}
	return d
}

// addValue adds the terms of a value, which has the given words.
func (d *document) addValue(f *filter.Field, v *filter.Value, words []string) {
	own := documentField{name: f.Name}
	switch {
	case f.Type == shape.TypeMulti:
		for _, s := range *v.List {
			own.add(textTerm(s))
		}
	case f.IsNumeric():
		own.add(numberTerm(v.Num))
	case f.Long:
		own.terms = words
		hash := documentField{name: f.Name + hashSuffix}
		hash.add(hashTerm(v.Text))
		d.addField(hash)
	default:
		own.add(foldedTerm(v.Text, v.Fold))
		if f.IsCanonical() && v.Text != v.Fold {
			d.addField(documentField{name: f.Name + canonSuffix, terms: []string{v.Text}})
		}
	}
	if f.Type == shape.TypeText && f.Grams {
		grams := documentField{name: f.Name + gramSuffix}
		for i := 0; i+gramLen <= len(v.Fold); i++ {
			grams.add(v.Fold[i : i+gramLen])
		}
		d.addField(grams)
	}
	d.addField(own)
}

// wordFields are the fields of a word group.
type wordFields struct {
	group           string
	words, prefixes documentField
}

// addWords adds the words of a field to its word group.
func addWords(groups []*wordFields, f *filter.Field, words []string) []*wordFields {
	if len(words) == 0 {
		return groups
	}
	group := wordGroup(f)
	at := slices.IndexFunc(groups, func(g *wordFields) bool { return g.group == group })
	if at < 0 {
		at = len(groups)
		groups = append(groups, &wordFields{
			group:    group,
			words:    documentField{name: group + wordField},
			prefixes: documentField{name: group + prefixField, prefixTerms: true},
		})
	}
	g := groups[at]
	g.prefixes.terms = append(g.prefixes.terms, words...)
	for _, w := range words {
		if !f.Long && !isShort(w) { // the words of a long text are terms of its own field
			g.words.add(w)
		}
	}
	return groups
}

func (d *document) addField(f documentField) {
	if len(f.terms) > 0 {
		f.scratch = d.scratch
		d.fields = append(d.fields, &f)
	}
}

func (f *documentField) add(term string) { f.terms = append(f.terms, term) }

// The methods of bleve.Document.

func (d *document) ID() string { return d.id }

func (d *document) AddIDField() {
	d.addField(documentField{name: idField, value: []byte(d.id), terms: []string{d.id}})
}

func (d *document) VisitFields(visit bleve.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}

func (d *document) VisitComposite(bleve.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) StoredFieldsBytes() uint64                  { return uint64(len(d.id)) }
func (d *document) Indexed() bool                              { return true }
func (d *document) Size() int                                  { return 0 }

// The methods of bleve.Field.

func (f *documentField) Name() string             { return f.name }
func (f *documentField) Value() []byte            { return f.value }
func (f *documentField) ArrayPositions() []uint64 { return nil }
func (f *documentField) EncodedFieldType() byte   { return 't' }
func (f *documentField) Analyze()                 {}

func (f *documentField) Options() bleve.FieldIndexingOptions {
	if f.value != nil {
		return bleve.IndexField | bleve.StoreField
	}
	return bleve.IndexField
}

// AnalyzedLength must not be zero: bleve detects terms with a single document by it.
func (f *documentField) AnalyzedLength() int       { return 1 }
func (f *documentField) NumPlainTextBytes() uint64 { return 0 }

// AnalyzedTokenFrequencies returns the terms in a map that the documents of the batch share.
func (f *documentField) AnalyzedTokenFrequencies() bleve.TokenFrequencies {
	freqs := f.scratch[f.name]
	if freqs == nil {
		freqs = bleve.TokenFrequencies{}
		f.scratch[f.name] = freqs
	}
	clear(freqs)
	for _, term := range f.terms {
		if f.prefixTerms {
			eachPrefix(term, func(s string) { freqs[s] = once })
		} else {
			freqs[term] = once
		}
	}
	return freqs
}
