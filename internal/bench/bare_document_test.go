package bench

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	bleve "github.com/blevesearch/bleve_index_api"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// bareDocument is a record for bare bleve. It has as many terms as package index writes: one per
// value, the grams of the text fields that declare them, and the words of text fields with their
// prefixes of up to three letters.
type bareDocument struct {
	id     string
	fields []bleve.Field
}

// bareField is one field of a bareDocument.
type bareField struct {
	name  string
	value []byte // set for _id only
	terms bleve.TokenFrequencies
}

var bareFrequency = func() *bleve.TokenFreq {
	f := &bleve.TokenFreq{}
	f.SetFrequency(1)
	return f
}()

func newBareDocument(k *filter.Kind, r *filter.Row) *bareDocument {
	d := &bareDocument{id: string(r.ID[:])}
	has, words, prefixes := newBareField("~has"), newBareField("~word"), newBareField("~begin")
	for i := range k.Fields {
		f, v := &k.Fields[i], &r.Values[i]
		if !v.IsSet {
			continue
		}
		has.add(f.Name)
		own, grams := newBareField(f.Name), newBareField(f.Name+"~gram")
		isText := f.Type == shape.TypeText
		switch {
		case f.Type == shape.TypeMulti:
			for _, s := range *v.List {
				own.add(s)
			}
		case f.IsNumeric():
			own.add(string(binary.BigEndian.AppendUint64(nil, math.Float64bits(v.Num))))
		case f.Long:
			for _, w := range v.Words() {
				own.add(w)
			}
		default:
			own.add(v.Fold + "\x00" + v.Text)
		}
		if isText && f.Grams {
			for i := 0; i+3 <= len(v.Fold); i++ {
				grams.add(v.Fold[i : i+3])
			}
		}
		if isText || f.Searched {
			for _, w := range v.Words() {
				if !f.Long && utf8.RuneCountInString(w) > 3 {
					words.add(w)
				}
				for n, i := 0, 0; n < 3 && i < len(w); n++ {
					_, size := utf8.DecodeRuneInString(w[i:])
					i += size
					prefixes.add(w[:i])
				}
			}
		}
		d.put(own, grams)
	}
	d.put(has, words, prefixes)
	return d
}

func newBareField(name string) *bareField {
	return &bareField{name: name, terms: bleve.TokenFrequencies{}}
}

func (f *bareField) add(term string) { f.terms[term] = bareFrequency }

func (d *bareDocument) put(fields ...*bareField) {
	for _, f := range fields {
		if len(f.terms) > 0 {
			d.fields = append(d.fields, f)
		}
	}
}

func (d *bareDocument) ID() string { return d.id }

func (d *bareDocument) AddIDField() {
	f := newBareField("_id")
	f.value = []byte(d.id)
	f.add(d.id)
	d.put(f)
}

func (d *bareDocument) VisitFields(visit bleve.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}

func (d *bareDocument) VisitComposite(bleve.CompositeFieldVisitor) {}
func (d *bareDocument) HasComposite() bool                         { return false }
func (d *bareDocument) NumPlainTextBytes() uint64                  { return 0 }
func (d *bareDocument) StoredFieldsBytes() uint64                  { return uint64(len(d.id)) }
func (d *bareDocument) Indexed() bool                              { return true }
func (d *bareDocument) Size() int                                  { return 0 }

func (f *bareField) Name() string                                     { return f.name }
func (f *bareField) Value() []byte                                    { return f.value }
func (f *bareField) ArrayPositions() []uint64                         { return nil }
func (f *bareField) EncodedFieldType() byte                           { return 't' }
func (f *bareField) Analyze()                                         {}
func (f *bareField) AnalyzedLength() int                              { return 1 }
func (f *bareField) NumPlainTextBytes() uint64                        { return 0 }
func (f *bareField) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return f.terms }

func (f *bareField) Options() bleve.FieldIndexingOptions {
	if f.value != nil {
		return bleve.IndexField | bleve.StoreField
	}
	return bleve.IndexField
}
