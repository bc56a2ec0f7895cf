package imports

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/store"
)

// Erase removes a person from the imports of an organization: the rows of rejects, and the texts of problems, questions and changes, for which
// names returns true. names gets the cells of a row, or the texts of a problem. While an import is running, whose file may name the
// person, the error is in_use. Erase returns how many rows and problems it removed, and can be repeated.
func (i *Imports) Erase(ctx context.Context, org uuid.UUID, names func(cells []string) bool) (removed int, err error) {
	var ids []uuid.UUID
	err = i.store.View(org, func(tx *store.Tx) error {
		return i.Imports.Scan(tx, func(d store.Doc[FileImport]) (bool, error) {
			if !d.Record.hasEnded() {
				return false, fault.New(fault.InUse, "import %s is running and its file may name the person; wait until it has ended or cancel it", d.ID)
			}
			ids = append(ids, d.ID)
			return true, nil
		})
	})
	for _, id := range ids {
		for part := 0; err == nil; part++ {
			var n int
			var last bool
			err = i.store.Update(ctx, org, store.Actor{Operation: "erase"}, func(tx *store.Tx) (err error) {
				n, last, err = i.erasePart(tx, id, part, names)
				return err
			})
			if removed += n; last {
				break
			}
		}
	}
	return removed, err
}

// erasePart erases from one part of the rejects, and with the last part from the problems.
func (i *Imports) erasePart(tx *store.Tx, id uuid.UUID, part int, names func([]string) bool) (removed int, last bool, err error) {
	doc, err := i.Imports.Get(tx, id)
	if fault.CodeOf(err) == fault.NotFound {
		return 0, true, nil
	}
	if err != nil {
		return 0, true, err
	}
	rec := doc.Record
	if part >= rec.private.Rejects {
		removed, err = i.eraseProblems(tx, doc, names)
		return removed, true, err
	}
	if part == 0 { // the header
		return 0, false, nil
	}
	text, err := i.rejects.Get(tx, id, uint32(part))
	if err != nil || text == nil {
		return 0, false, err
	}
	kept, removed, err := rows.WithoutRejects(text, string(rec.Delimiter), names)
	if err == nil && removed > 0 {
		i.rejects.Put(tx, id, uint32(part), kept)
	}
	return removed, false, err
}

// erased stands for the text of a problem that named an erased person.
const erased = "erased"

func (i *Imports) eraseProblems(tx *store.Tx, doc store.Doc[FileImport], names func([]string) bool) (removed int, err error) {
	rec := doc.Record
	for n := range rec.Problems {
		if p := &rec.Problems[n]; names([]string{p.Value, p.Message}) {
			p.Value, p.Message = "", erased
			removed++
		}
	}
	for n := range rec.Questions {
		q := &rec.Questions[n]
		before := len(q.Samples)
		q.Samples = slices.DeleteFunc(slices.Clone(q.Samples), func(text string) bool { return names([]string{text}) })
		removed += before - len(q.Samples)
	}
	for n := range rec.Changes {
		c := &rec.Changes[n]
		before := len(c.Samples)
		c.Samples = slices.DeleteFunc(slices.Clone(c.Samples), func(s rows.ChangeSample) bool { return names(append(s.From.Texts(), s.To.Texts()...)) })
		removed += before - len(c.Samples)
	}
	if removed == 0 {
		return 0, nil
	}
	_, err = i.Imports.Update(tx, doc, rec, []string{"problems", "changes", "questions"})
	return removed, err
}
