package cmd

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/store"
)

// The demo comes up again also when somebody has deleted all its contacts.
func TestDemoWithoutItsContacts(t *testing.T) {
	cfg := defaults()
	cfg.DataDir = t.TempDir()
	s, err := Open(cfg, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const url = "http://127.0.0.1:8080"
	first, err := prepareDemo(t.Context(), s, url, 300)
	if err != nil {
		t.Fatal(err)
	}
	err = s.change(t.Context(), demoOrgs[0].name, "test", func(tx *store.Tx) error {
		var ids []uuid.UUID
		err := s.CRM.Contacts.Table.Scan(tx, func(d store.Doc[crm.Contact]) (bool, error) {
			ids = append(ids, d.ID)
			return true, nil
		})
		if len(ids) < 200 {
			t.Errorf("the demo has %d contacts", len(ids))
		}
		for _, id := range ids {
			if err := s.CRM.Contacts.Delete(tx, id, nil); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	second, err := prepareDemo(t.Context(), s, url, 300)
	if err != nil || second == first || !strings.Contains(second, "API key: pro_") {
		t.Errorf("%v\n%s", err, second)
	}
}
