package handlers_test

import (
	"testing"

	"prospector/internal/apptest"
)

// TestMergeDuplicatesCounts covers what internal/crm tests in detail: groups that have come since.
func TestMergeDuplicatesCounts(t *testing.T) {
	org := apptest.New(t).Org("Acme")
	for _, entity := range []string{"contacts", "accounts"} {
		org.Write.Post("/v1/"+entity+"/duplicates/merge", `{"min_score": 0.9, "expect": 1}`).Fails(409, "count_changed", "there are 0 groups, not 1")
	}
}
