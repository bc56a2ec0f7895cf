package handlers_test

import (
	"fmt"
	"testing"

	"prospector/internal/apptest"
)

// TestDynamicActivatedLimit refuses to activate an audience if that would be one too many.
func TestDynamicActivatedLimit(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var paths []string
	for i := range 50 {
		paths = append(paths, dynamic(org, fmt.Sprint("A", i), `[]`))
	}
	org.Write.Patch(paths[0], `{"status": "archived"}`).Is(200)
	dynamic(org, "One more", `[]`)
	org.Write.Patch(paths[0], `{"status": "active"}`).Fails(422, "validation_failed", "status: an organization may have 50 dynamic audiences")
	org.Write.Patch(paths[0], `{"name": "Archived"}`).Is(200)
	org.Write.Patch(paths[1], `{"status": "archived"}`).Is(200)
	org.Write.Patch(paths[0], `{"status": "active"}`).Is(200)
}
