package record

import (
	"hash/maphash"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// maxDryKeys is the number of keys that a dry run remembers, about 100 MiB. In a larger file it takes rows
// that match earlier ones for new.
const maxDryKeys = 2_000_000

// dryRun keeps the records that the earlier batches of a dry run would have written. Those that the rows of a batch may be
// about are written again before them, and reverted with them, so that a row finds what it would find in an import.
type dryRun struct {
	dir     string
	file    *os.File // has the records; nil until there is one
	end     int64
	seed    maphash.Seed
	records []dryRecord
	ids     map[uuid.UUID]uint32 // the numbers of records by id
	first   map[uint64]uint32    // the first record with a key
	more    map[uint64][]uint32  // further records with a key, up to maxAlike
	last    *ImportBatch         // whose records are pending
	pending []keptDry            // what the last batch would have written
	touched map[uuid.UUID]*kind  // what the batch has written
	brought map[uint32]bool      // the records that were written again for the batch
}

// dryRecord is where the file has a record.
type dryRecord struct {
	kind *kind
	at   int64
	size int
}

// keptDry is a record on its way to the file.
type keptDry struct {
	kind   *kind
	id     uuid.UUID
	keys   []string
	record []byte
}

// dryForm is a record in the file.
type dryForm struct {
	Public  jsontext.Value `json:"public"`
	Private jsontext.Value `json:"private,omitzero"`
}

func newDryRun(dir string) *dryRun {
	return &dryRun{
		dir: dir, seed: maphash.MakeSeed(), ids: map[uuid.UUID]uint32{}, first: map[uint64]uint32{}, more: map[uint64][]uint32{},
	}
}

func (d *dryRun) close() error {
	if d == nil || d.file == nil {
		return nil
	}
	return d.file.Close()
}

// begin starts a batch, perhaps again. When another batch begins, the last one is complete.
func (d *dryRun) begin(b *ImportBatch) error {
	if d.last != b {
		for i := range d.pending {
			if err := d.save(&d.pending[i]); err != nil {
				return err
			}
		}
	}
	d.last, d.pending, d.touched, d.brought = b, nil, map[uuid.UUID]*kind{}, map[uint32]bool{}
	return nil
}

// touch notes that the batch has written a record. An import that writes needs no note.
func (d *dryRun) touch(k *kind, id uuid.UUID) {
	if d != nil {
		d.touched[id] = k
	}
}

// keepWritten keeps what the batch has written, before it is reverted.
func (d *dryRun) keepWritten(tx *store.Tx, im *Importer) error {
	for id, k := range d.touched {
		rec, form, err := k.typed.form(tx, id)
		if store.IsDamagedRecord(err) || rec == nil && err == nil { // a row that was refused had written it
			continue
		}
		if err != nil {
			return err
		}
		kept := keptDry{kind: k, id: id, keys: im.dryKeys(k, rec)}
		if before, _, err := k.typed.form(tx.Before(), id); err == nil && before != nil {
			kept.keys = append(kept.keys, im.dryKeys(k, before)...) // by which the index still finds it
		}
		if kept.record, err = json.Marshal(form); err != nil {
			return err
		}
		d.pending = append(d.pending, kept)
	}
	slices.SortFunc(d.pending, func(a, b keptDry) int { return slices.Compare(a.id[:], b.id[:]) })
	return nil
}

// save writes a record to the file.
func (d *dryRun) save(k *keptDry) (err error) {
	if d.file == nil {
		if d.file, err = os.CreateTemp(d.dir, "dry-run-"); err != nil {
			return err
		}
		if err := os.Remove(d.file.Name()); err != nil { // it lives as long as it is open
			return err
		}
	}
	n, known := d.ids[k.id]
	if !known {
		if len(d.first) >= maxDryKeys {
			return nil
		}
		n = uint32(len(d.records))
		d.ids[k.id] = n
		d.records = append(d.records, dryRecord{kind: k.kind})
	}
	if _, err := d.file.WriteAt(k.record, d.end); err != nil {
		return err
	}
	d.records[n].at, d.records[n].size = d.end, len(k.record)
	d.end += int64(len(k.record))
	for _, key := range k.keys {
		h := maphash.String(d.seed, key)
		first, has := d.first[h]
		switch {
		case !has:
			d.first[h] = n
		case first != n && len(d.more[h]) < maxAlike && !slices.Contains(d.more[h], n):
			d.more[h] = append(d.more[h], n)
		}
	}
	return nil
}

// bring writes the records with the keys again that earlier batches would have written.
func (d *dryRun) bring(tx *store.Tx, keys []string) error {
	for _, key := range keys {
		h := maphash.String(d.seed, key)
		first, has := d.first[h]
		if !has {
			continue
		}
		for _, n := range append([]uint32{first}, d.more[h]...) {
			if err := d.bringOne(tx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *dryRun) bringOne(tx *store.Tx, n uint32) error {
	if d.brought[n] {
		return nil
	}
	d.brought[n] = true
	r := d.records[n]
	text := make([]byte, r.size)
	if _, err := d.file.ReadAt(text, r.at); err != nil {
		return err
	}
	var form dryForm
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	referred, err := r.kind.typed.bring(tx, &form)
	if err != nil {
		return err
	}
	for _, id := range referred {
		if n, known := d.ids[id]; known {
			if err := d.bringOne(tx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// bringFor writes again what a row may be about, or refer to.
func (d *dryRun) bringFor(tx *store.Tx, im *Importer, item *importItem) error {
	if d == nil || len(d.records) == 0 || item.draft == nil {
		return nil
	}
	keys := im.dryKeys(im.kind, im.kind.typed.record(item.draft))
	if id := item.body.Get("id"); id.Kind == shape.String {
		keys = append(keys, dryKey(im.kind, "id", shape.Fold(id.Text)), dryKey(im.kind, externalID, shape.Fold(exportedID(id.Text))))
	}
	for i := range item.links {
		l := &item.links[i]
		if l.id != nil {
			text := shape.Fold(l.id.Value.Text)
			keys = append(keys, dryKey(l.refers, "id", text), dryKey(l.refers, "name", text))
		}
		if l.draft != nil {
			keys = append(keys, im.dryKeys(l.refers, l.refers.typed.record(l.draft))...)
		}
	}
	for _, l := range item.lists {
		for _, name := range l.names.Items {
			keys = append(keys, dryKey(l.refers, "id", shape.Fold(name.Text)), dryKey(l.refers, "name", shape.Fold(name.Text)))
		}
	}
	return d.bring(tx, keys)
}

func dryKey(k *kind, by, value string) string { return k.Entity + "\x00" + by + "\x00" + value }

// dryKeys returns what may lead from a row to a record.
func (im *Importer) dryKeys(k *kind, rec any) (keys []string) {
	add := func(by, value string) {
		if value != "" {
			keys = append(keys, dryKey(k, by, value))
		}
	}
	if id := headOf(rec).ID; id != uuid.Nil {
		add("id", id.String())
	}
	for field, fold := range k.match.Fields {
		add(field, fold(k.textField(field)(rec)))
		for _, v := range k.further(field, rec) {
			add(field, fold(v))
		}
	}
	if k.shape.Field(externalID) != nil {
		for _, id := range k.idsOf(rec) {
			for _, spelling := range append(rows.OtherSpellings(id), id) {
				add(externalID, shape.Fold(spelling))
			}
		}
	}
	name, _, _ := strings.Cut(k.typed.alikeKey(rec), AlikeEnd)
	add("alike", name)
	if f := k.shape.Field("name"); f != nil && k.names != nil {
		add("name", shape.Fold(nameOf(f, rec)))
	}
	if k == im.kind {
		add("key", k.typed.importKey(rec))
	}
	return keys
}

func nameOf(f *shape.Field, rec any) string {
	switch v := f.Get(rec).(type) {
	case shape.Text:
		return string(v)
	case string:
		return v
	}
	return ""
}

// form returns a record in the form in which a dry run keeps it, or nil if it does not exist.
func (k *Kind[T]) form(tx *store.Tx, id uuid.UUID) (any, *dryForm, error) {
	doc, found, err := k.Lookup(tx, id)
	if err != nil || !found {
		return nil, nil, err
	}
	private, err := privateOf(&doc.Record)
	return &doc.Record, &dryForm{Public: doc.JSON, Private: private}, err
}

// bring writes a record that has the form, and returns the ids that it refers to.
func (k *Kind[T]) bring(tx *store.Tx, form *dryForm) (refers []uuid.UUID, err error) {
	var rec T
	if err := decode(form.Public, form.Private, &rec); err != nil {
		return nil, err
	}
	id := headOf(&rec).ID
	old, found, err := k.Lookup(tx, id)
	switch {
	case err != nil:
	case found:
		_, err = k.Table.Update(tx, old, rec, k.shape.Diff(&old.Record, &rec))
	default:
		_, err = k.Table.Insert(tx, id, rec)
	}
	for i := range k.refs {
		if f := &k.refs[i]; !f.Input {
			refers = append(refers, refIDs(f, &rec)...)
		}
	}
	return refers, err
}
