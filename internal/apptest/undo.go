package apptest

import (
	"fmt"
	"testing"
)

// Undo undoes an operation after a dry run, which must count the same, and returns the id of the undo.
func Undo(t *testing.T, app *App, org *Org, id, counts string) string {
	t.Helper()
	dry := org.Write.Post("/v1/operations/"+id+"/undo", `{"dry_run": true}`).Is(202).ID()
	app.Work()
	undo := org.Write.Post("/v1/operations/"+id+"/undo", nil).Is(202).ID()
	app.Work()
	want := fmt.Sprintf(`{"data": {"kind": "undo", "status": "completed", "undo_of": %q, "progress": 1, %s}}`, id, counts)
	for _, id := range []string{undo, dry} {
		org.Read.Get("/v1/operations/"+id).Has(200, want)
	}
	org.Read.Get("/v1/operations/"+id).Has(200, fmt.Sprintf(`{"data": {"undone_by": %q}}`, undo))
	return undo
}

// Undone are the counts of an undo.
func Undone(n int, kept ...int) string {
	all := [5]int{}
	copy(all[:], kept)
	return fmt.Sprintf(`"undone": %d, "kept": {"changed_since": %d, "in_use_since": %d, "opted_out": %d, "not_possible": %d, "gone": %d}`,
		n, all[0], all[1], all[2], all[3], all[4])
}

// Bulk runs a bulk operation and returns its id.
func Bulk(org *Org, entity, body string) string {
	id := org.Write.Post("/v1/"+entity+"/bulk", body).Is(202).ID()
	org.Work()
	return id
}
