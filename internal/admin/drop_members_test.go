package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
)

// memberFixture is an organization with five contacts, a static and a dynamic audience of all of them, and a campaign of
// the static one.
type memberFixture struct {
	*apptest.Org
	t                         *testing.T
	app                       *apptest.App
	contacts                  []string
	static, dynamic, campaign string
}

func newMemberFixture(t *testing.T) *memberFixture {
	app := apptest.New(t)
	f := &memberFixture{Org: app.Org("Acme"), t: t, app: app}
	for i := range 5 {
		f.contacts = append(f.contacts, f.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example", "first_name": "Cy"}`, i)).Is(201).ID())
	}
	members, _ := json.Marshal(f.contacts)
	f.static = f.Write.Post("/v1/audiences", `{"name": "Static", "contact_ids": `+string(members)+`}`).Is(201).ID()
	f.dynamic = f.Write.Post("/v1/audiences", `{"name": "Dynamic", "type": "dynamic", "filters": []}`).Is(201).ID()
	template := f.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [
		{"index": 0, "type": "auto_email", "day": 0, "hour": 0, "subject": "Hello", "message": "Hello {{recipient.first_name}}"},
		{"index": 1, "type": "auto_email", "day": 2, "hour": 0, "subject": "Again", "message": "Hello again"}]}`).Is(201).ID()
	f.campaign = f.Write.Post("/v1/campaigns", fmt.Sprintf(`{"name": "C", "template_id": %q, "audience_ids": [%q], "status": "active"}`,
		template, f.static)).Is(201).ID()
	app.Work()
	return f
}

// damage damages the member list of an audience, and removes some contacts from the other direction.
func (f *memberFixture) damage(audience string, lost ...string) {
	f.t.Helper()
	f.app.Stop()
	owner := uuid.MustParse(audience)
	edit(f.t, f.app, f.Org.ID, "audiences.members.set", func(b *bolt.Bucket) error {
		key, value := b.Cursor().Seek(owner[:])
		value = bytes.Clone(value)
		value[len(value)-1] ^= 1
		return b.Put(bytes.Clone(key), value)
	})
	edit(f.t, f.app, f.Org.ID, "audiences.members.owner", func(b *bolt.Bucket) error {
		for _, id := range lost {
			contact := uuid.MustParse(id)
			if err := b.Delete(append(contact[:], owner[:]...)); err != nil {
				return err
			}
		}
		return nil
	})
	f.app.Start()
}

func (f *memberFixture) check(in CheckInput) CheckResult {
	f.t.Helper()
	result, err := Check.doLong(f.t.Context(), f.app.Service, in, func(int, int) {})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// requireContacts requires that an audience has and counts this number of contacts.
func (f *memberFixture) requireContacts(audience string, want int) {
	f.t.Helper()
	if got := f.Read.Get("/v1/audiences/" + audience).Is(200).Int("data.contact_count"); got != want {
		f.t.Errorf("contact_count is %d, want %d", got, want)
	}
	if got := f.Read.Post("/v1/audiences/"+audience+"/contacts/list", nil).Is(200).Int("pagination.total_count"); got != want {
		f.t.Errorf("the audience has %d contacts, want %d", got, want)
	}
}

// requireSent requires that the second email of the sequences was sent to this number of contacts after some days.
func (f *memberFixture) requireSent(want int) {
	f.t.Helper()
	for range 5 * 24 {
		f.app.Clock.Advance(time.Hour)
		f.app.Work()
	}
	list := f.Read.Post("/v1/outbox/list", `{"filters": [{"field": "subject", "condition": "is", "value": "Again"}]}`).Is(200)
	if got := list.Int("pagination.total_count"); got != want {
		f.t.Errorf("%d contacts have the second email, want %d", got, want)
	}
}

// TestDropMembers checks that an audience counts the contacts that are left when some are lost in both directions, and
// that a dynamic audience gets them back.
func TestDropMembers(t *testing.T) {
	f := newMemberFixture(t)
	f.damage(f.static, f.contacts[0], f.contacts[3])
	f.damage(f.dynamic, f.contacts[1])
	result := f.check(CheckInput{Repair: true, Drop: true})
	if !result.OK || len(result.Dropped) != 2 || result.Dropped[0].Warning == "" || result.Dropped[1].Warning == "" {
		t.Errorf("%+v", result)
	}
	f.app.Work()
	f.requireContacts(f.static, 3)
	f.requireContacts(f.dynamic, 5)
	f.requireSent(3)
	if again := f.check(CheckInput{}); len(again.Problems) > 0 {
		t.Errorf("%+v", again)
	}
}

// TestRepairMembers checks that nothing is lost when one direction of the members is damaged: the sequences continue.
func TestRepairMembers(t *testing.T) {
	f := newMemberFixture(t)
	f.damage(f.static)
	if result := f.check(CheckInput{Repair: true, Drop: true}); !result.OK || len(result.Dropped) != 0 {
		t.Errorf("%+v", result)
	}
	f.requireContacts(f.static, 5)
	f.requireSent(5)
}

// TestRepairCounters checks that a repair counts the sequences of a campaign with damaged counters
// again.
func TestRepairCounters(t *testing.T) {
	f := newMemberFixture(t)
	stats := f.Read.Get("/v1/campaigns/" + f.campaign + "/stats").Is(200)
	f.app.Stop()
	damage(t, f.app, f.Org.ID, "campaigns.counts.part", func(b *bolt.Bucket, key, value []byte) error {
		value = bytes.Clone(value)
		value[len(value)-1] ^= 1
		return b.Put(key, value)
	})
	f.app.Start()
	f.Read.Get("/v1/campaigns/"+f.campaign+"/stats").Fails(500, "damaged", f.campaign)
	if result := f.check(CheckInput{Repair: true}); !result.OK || len(result.Problems) != 1 {
		t.Errorf("%+v", result)
	}
	if got := f.Read.Get("/v1/campaigns/" + f.campaign + "/stats").Is(200); !bytes.Equal(got.Body, stats.Body) {
		t.Errorf("the statistics are %s, want %s", got.Body, stats.Body)
	}
	if again := f.check(CheckInput{}); len(again.Problems) > 0 {
		t.Errorf("%+v", again)
	}
}

// TestChangeDamagedMembers checks that contacts can be created, changed, merged, deleted and restored while the member
// lists of their audiences are damaged. A repair restores the lists with these changes. A damaged list does not keep an
// audience from being deleted either.
func TestChangeDamagedMembers(t *testing.T) {
	f := newMemberFixture(t)
	members, _ := json.Marshal(f.contacts)
	unused := f.Write.Post("/v1/audiences", `{"name": "Unused", "contact_ids": `+string(members)+`}`).Is(201).ID()
	for _, audience := range []string{f.static, f.dynamic, unused} {
		f.damage(audience)
	}
	contact := func(n int) string { return "/v1/contacts/" + f.contacts[n] }
	created := f.Write.Post("/v1/contacts", `{"email": "new@x.example"}`).Is(201).ID()
	f.Write.Patch(contact(0), `{"title": "CTO"}`).Is(200)
	f.Write.Delete(contact(1)).Is(204)
	f.Write.Delete(contact(2)).Is(204)
	f.Write.Post(contact(2)+"/restore", nil).Is(200)
	f.Write.Post("/v1/contacts/"+created+"/merge", fmt.Sprintf(`{"ids": [%q]}`, f.contacts[3])).Is(200)
	f.Admin.Delete(contact(4) + "?permanent=true").Is(204)
	added := f.Write.Post("/v1/contacts", `{"email": "added@x.example"}`).Is(201).ID()
	body := fmt.Sprintf(`{"contact_ids": [%q, %q]}`, added, f.contacts[0])
	if n := f.Write.Post("/v1/audiences/"+f.static+"/contacts/add", body).Is(200).Int("data.added"); n != 1 {
		t.Errorf("%d contacts were added, want 1", n)
	}
	f.Write.Post("/v1/audiences/"+f.static+"/contacts/remove", fmt.Sprintf(`{"contact_ids": [%q]}`, f.contacts[0])).Is(200)
	f.Write.Delete("/v1/audiences/" + unused).Is(204)
	f.app.Work()

	if result := f.check(CheckInput{Repair: true, Drop: true}); !result.OK {
		t.Errorf("%+v", result)
	}
	f.app.Work()
	f.requireContacts(f.static, 3)  // the restored one, the one that the merge left, and the one that was added
	f.requireContacts(f.dynamic, 4) // the changed one too
	if again := f.check(CheckInput{}); len(again.Problems) > 0 {
		t.Errorf("%+v", again)
	}
}
