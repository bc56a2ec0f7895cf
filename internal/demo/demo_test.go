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

// openDemo prepares a demo in a directory of its own. The returned prepare prepares it again, as a
// second run does.
func openDemo(t *testing.T) (s *service.Service, prepare func()) {
	t.Helper()
	cfg := service.Defaults()
	cfg.DataDir = t.TempDir()
	s, err := service.Open(cfg, service.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	prepare = func() {
		t.Helper()
		var shown strings.Builder
		d, err := Prepare(t.Context(), s, Options{
			URL: "http://127.0.0.1:8080", Companies: 300, Progress: func(int, int) {}, Out: &shown,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.Show(t.Context())
		if !strings.Contains(shown.String(), "export KEY=pro_") {
			t.Errorf("the guide contains no key:\n%s", &shown)
		}
	}
	prepare()
	return s, prepare
}

// change writes to the first organization of the demo.
func change(t *testing.T, s *service.Service, fn func(*store.Tx) error) {
	t.Helper()
	org, err := ensureOrganization(t.Context(), s, organizations[0].name)
	if err == nil {
		err = s.Store.Update(t.Context(), org, store.Actor{Operation: "test"}, fn)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDemoWithoutContacts checks that a demo can be run again after all of its contacts were
// deleted.
func TestDemoWithoutContacts(t *testing.T) {
	s, prepare := openDemo(t)
	change(t, s, func(tx *store.Tx) error {
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
	prepare()
}

// TestDemoWithoutCampaign checks that a demo creates its draft again if it was deleted, even if the
// audiences were archived.
func TestDemoWithoutCampaign(t *testing.T) {
	s, prepare := openDemo(t)
	o := s.Outreach
	change(t, s, func(tx *store.Tx) error {
		campaign, err := find(tx, o.Campaigns, func(*outreach.Campaign) bool { return true })
		if err == nil {
			err = o.Campaigns.Delete(tx, campaign, nil)
		}
		for _, a := range audiences {
			id, _ := find(tx, o.Audiences, func(other *outreach.Audience) bool { return other.Name == a.name })
			v, _ := object(map[string]any{"status": outreach.AudienceArchived})
			if _, archived := o.Audiences.Update(tx, id, nil, v); archived != nil {
				return archived
			}
		}
		return err
	})
	prepare()
	change(t, s, func(tx *store.Tx) error {
		n := [...]int{o.Campaigns.Table.Count(tx), o.Audiences.Table.Count(tx), o.Templates.Table.Count(tx)}
		if n != [...]int{1, 2, 2} {
			t.Errorf("got %v campaigns, audiences and templates, want 1, 2 and 2", n)
		}
		return nil
	})
}

func TestPace(t *testing.T) {
	for speed, want := range map[float64]string{
		86400: "one day per second", 604800: "7 days per second", 3600: "3600 times real time", 1.5: "1.5 times real time",
	} {
		if got := pace(speed); got != want {
			t.Errorf("pace(%v) is %q, want %q", speed, got, want)
		}
	}
}
