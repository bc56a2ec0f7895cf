package index

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	bleve "github.com/blevesearch/bleve_index_api"

	"prospector/internal/shape"
)

// What a record is in bleve: terms under the key of each field, and under the names below.
//
//	<key>          text, key or reference: textTerm; long text: its words; number, date, time, boolean: numberTerm
//	<key>+"~hash"  long text: a hash of it
//	<key>+"~gram"  text that declares it: every three bytes of the folded text
//	~has           the keys of the fields that have a value
//	~word          the words of short texts that have more than shortWord letters
//	~begin         the beginnings of all words, of one to shortWord letters
//
// Words are kept together by who looks for them: those of texts that are searched have ~s before ~word and ~begin, those of
// lists of texts that are searched ~m, and all others nothing. A custom field has its name instead of a key, and before
// ~word and ~begin: when it is deleted, nothing of it is looked at any more.
const (
	hashSuffix = "~hash"
	gramSuffix = "~gram"
	hasField   = "~has"
	wordField  = "~word"
	beginField = "~begin"
	idField    = "_id" // bleve's own

	searchedTexts = "~s"
	searchedLists = "~m"
)

// wordsName is what stands before the names of the words of a field.
func (f *Field) wordsName() string {
	switch {
	case f.Custom:
		return f.name
	case f.Searched && f.Type == shape.TypeMulti:
		return searchedLists
	case f.Searched:
		return searchedTexts
	}
	return ""
}

// shortWord is how many letters a search can have that is answered by a term of its own. A prefix of one letter would
// otherwise touch a good part of the dictionary.
const shortWord = 3

// gramLen is the length in bytes of the pieces that ~gram fields hold.
const gramLen = 3

// termsFormat is raised when the same record becomes other terms: indexes of another format are made anew.
const termsFormat = 1

// textTerm is the folded text and, where that differs, the text itself behind a NUL, which no text has: `is` is one exact
// term, and the order of terms is that of the folded texts.
func textTerm(s string) string { return termOf(s, shape.Fold(s)) }

func termOf(s, folded string) string {
	if folded != s {
		return folded + "\x00" + s
	}
	return s
}

// foldedOf is the folded text of a term.
func foldedOf(term string) string {
	folded, _, _ := strings.Cut(term, "\x00")
	return folded
}

// numberTerm has the order of the numbers.
func numberTerm(f float64) string { return string(binary.BigEndian.AppendUint64(nil, orderedBits(f))) }

// orderedBits gives numbers the order of their values.
func orderedBits(f float64) uint64 {
	if f == 0 {
		f = 0 // no negative zero: it equals the other
	}
	n := math.Float64bits(f)
	if n>>63 != 0 {
		return ^n
	}
	return n | 1<<63
}

func numberOf(term string) float64 {
	n := binary.BigEndian.Uint64([]byte(term))
	if n>>63 != 0 {
		n &^= 1 << 63
	} else {
		n = ^n
	}
	return math.Float64frombits(n)
}

// hashTerm stands for a text that is too long to be a term.
func hashTerm(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(sum[:16])
}

// beginnings calls fn for the first one to shortWord letters of a word.
func beginnings(word string, fn func(string)) {
	for i, n := 0, 0; n < shortWord && i < len(word); n++ {
		_, size := utf8.DecodeRuneInString(word[i:])
		i += size
		fn(word[:i])
	}
}

// isShort tells whether a word has at most shortWord letters.
func isShort(word string) bool { return utf8.RuneCountInString(word) <= shortWord }

// document is a record as bleve takes it: terms, no positions, no stored values but the id, no doc values. Columns are
// made from the term dictionaries.
type document struct {
	id      string
	fields  []bleve.Field
	scratch scratch
}

// terms is one field of a document.
type terms struct {
	name    string
	value   []byte   // of _id alone
	all     []string // some perhaps more than once
	begin   bool     // the terms are the beginnings of all
	scratch scratch
}

// scratch has the maps that bleve wants of the fields of a document, by their names. A batch of documents shares it: bleve
// reads one document after the other and keeps no map, and maps of their own would take most of the memory of a batch.
type scratch map[string]bleve.TokenFrequencies

// once is the frequency of every term. Bleve reads it and keeps nothing of it; a term in one document only is kept
// within the dictionary itself when its frequency is one.
var once = func() *bleve.TokenFreq {
	f := &bleve.TokenFreq{}
	f.SetFrequency(1)
	return f
}()

// document makes the document of a row.
func (k *Kind) document(r *row, shared scratch) *document {
	d := &document{id: string(r.id[:]), scratch: shared}
	has := terms{name: hasField}
	var kept []*wordTerms
	add := func(f *Field, v *value) {
		if !v.has {
			return
		}
		has.add(f.name)
		var words []string
		if f.Type == shape.TypeText || f.Searched {
			words = v.words()
		}
		if f.Long {
			words = distinct(words)
		}
		d.add(f, v, words)
		kept = addWords(kept, f, words)
	}
	for i := range k.Fields {
		add(&k.Fields[i], &r.values[i])
	}
	for i := range r.custom {
		add(r.custom[i].field, &r.custom[i].value)
	}
	d.put(has)
	for _, w := range kept {
		d.put(w.words)
		d.put(w.begins)
	}
	return d
}

// add makes the terms of one field, which has the words.
func (d *document) add(f *Field, v *value, words []string) {
	own := terms{name: f.name}
	switch {
	case f.Type == shape.TypeMulti:
		for _, s := range *v.list {
			own.add(textTerm(s))
		}
	case f.isNumeric():
		own.add(numberTerm(v.num))
	case f.Long:
		own.all = words
		hash := terms{name: f.name + hashSuffix}
		hash.add(hashTerm(v.text))
		d.put(hash)
	default:
		own.add(termOf(v.text, v.fold))
	}
	if f.Type == shape.TypeText && f.Grams {
		grams := terms{name: f.name + gramSuffix}
		for i := 0; i+gramLen <= len(v.fold); i++ {
			grams.add(v.fold[i : i+gramLen])
		}
		d.put(grams)
	}
	d.put(own)
}

// wordTerms are the words that are kept together under a name.
type wordTerms struct {
	name          string
	words, begins terms
}

// addWords adds the words of a field to those that are kept together with them.
func addWords(kept []*wordTerms, f *Field, words []string) []*wordTerms {
	if len(words) == 0 {
		return kept
	}
	name := f.wordsName()
	at := slices.IndexFunc(kept, func(w *wordTerms) bool { return w.name == name })
	if at < 0 {
		at = len(kept)
		kept = append(kept, &wordTerms{name: name, words: terms{name: name + wordField}, begins: terms{name: name + beginField, begin: true}})
	}
	kept[at].begins.all = append(kept[at].begins.all, words...)
	for _, w := range words {
		if !f.Long && !isShort(w) { // those of a long text are its own terms
			kept[at].words.add(w)
		}
	}
	return kept
}

func (d *document) put(t terms) {
	if len(t.all) > 0 {
		t.scratch = d.scratch
		d.fields = append(d.fields, &t)
	}
}

func (t *terms) add(term string) { t.all = append(t.all, term) }

func (d *document) ID() string { return d.id }

func (d *document) AddIDField() {
	d.put(terms{name: idField, value: []byte(d.id), all: []string{d.id}})
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

func (t *terms) Name() string             { return t.name }
func (t *terms) Value() []byte            { return t.value }
func (t *terms) ArrayPositions() []uint64 { return nil }
func (t *terms) EncodedFieldType() byte   { return 't' }
func (t *terms) Analyze()                 {}

func (t *terms) Options() bleve.FieldIndexingOptions {
	if t.value != nil {
		return bleve.IndexField | bleve.StoreField
	}
	return bleve.IndexField
}

// AnalyzedLength must not be zero: bleve tells by it that a term has one document.
func (t *terms) AnalyzedLength() int       { return 1 }
func (t *terms) NumPlainTextBytes() uint64 { return 0 }

// AnalyzedTokenFrequencies gives the terms in the map that the documents of the batch share.
func (t *terms) AnalyzedTokenFrequencies() bleve.TokenFrequencies {
	freqs := t.scratch[t.name]
	if freqs == nil {
		freqs = bleve.TokenFrequencies{}
		t.scratch[t.name] = freqs
	}
	clear(freqs)
	for _, term := range t.all {
		if t.begin {
			beginnings(term, func(s string) { freqs[s] = once })
		} else {
			freqs[term] = once
		}
	}
	return freqs
}
