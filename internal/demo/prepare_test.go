package demo

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/outreach"
	"prospector/internal/service"
	"prospector/store"
)

// openDemo prepares a demo in a directory of its own, and gives how to prepare it again.
func openDemo(t *testing.T) (*service.Service, func() string) {
	t.Helper()
	cfg := service.Defaults()
	cfg.DataDir = t.TempDir()
	s, err := service.Open(cfg, service.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	prepare := func() string {
		t.Helper()
		told, err := Prepare(t.Context(), s, Options{URL: "http://127.0.0.1:8080", Companies: 300, Progress: func(int, int) {}})
		if err != nil || !strings.Contains(told, "API key: pro_") {
			t.Fatalf("%v\n%s", err, told)
		}
		return told
	}
	prepare()
	return s, prepare
}

// change writes to the first organization of the demo.
func change(t *testing.T, s *service.Service, fn func(*store.Tx) error) error {
	t.Helper()
	org, err := demoOrganization(t.Context(), s, demoOrgs[0].name)
	if err != nil {
		t.Fatal(err)
	}
	return s.Store.Update(t.Context(), org, store.Actor{Operation: "test"}, fn)
}

// The demo comes up again also when somebody has deleted all its contacts.
func TestDemoWithoutItsContacts(t *testing.T) {
	s, prepare := openDemo(t)
	err := change(t, s, func(tx *store.Tx) error {
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
	prepare()
}

// The demo drafts its campaign again when somebody has deleted it, also when what belongs to it was put away.
func TestDemoWithoutItsCampaign(t *testing.T) {
	s, prepare := openDemo(t)
	o := s.Outreach
	err := change(t, s, func(tx *store.Tx) error {
		campaign, err := find(tx, o.Campaigns, func(*outreach.Campaign) bool { return true })
		if err == nil {
			err = o.Campaigns.Delete(tx, campaign, nil)
		}
		for _, a := range demoAudiences {
			id, _ := find(tx, o.Audiences, func(other *outreach.Audience) bool { return other.Name == a.name })
			v, _ := object(map[string]any{"status": outreach.AudienceArchived})
			if _, archived := o.Audiences.Update(tx, id, nil, v); archived != nil {
				return archived
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	prepare()
	err = change(t, s, func(tx *store.Tx) error {
		if n := [...]int{o.Campaigns.Table.Count(tx), o.Audiences.Table.Count(tx), o.Templates.Table.Count(tx)}; n != [...]int{1, 2, 2} {
			t.Errorf("there are %v campaigns, audiences and templates", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
