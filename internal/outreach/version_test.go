package outreach

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// drawer is an organization in a plain store. The service for tests cannot be had here: it is made of this package.
type drawer struct {
	*Outreach
	t   *testing.T
	org uuid.UUID
}

func newDrawer(t *testing.T) *drawer {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	set := &record.Set{}
	id := identity.New(st, set, identity.Hooks{})
	d := &drawer{Outreach: New(st, set, id, crm.New(set, crm.Hooks{}), Options{}), t: t}
	org, err := id.CreateOrganization(context.Background(), store.Actor{}, drawn(t, `{"name": "Acme"}`))
	if err != nil {
		t.Fatal(err)
	}
	d.org = org.ID
	return d
}

func drawn(t *testing.T, body string) shape.Value {
	t.Helper()
	v, err := shape.ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (d *drawer) write(fn func(tx *store.Tx) error) error {
	return d.store.Update(context.Background(), d.org, store.Actor{}, fn)
}

// create makes a template and gives its id.
func (d *drawer) create(body string) (id uuid.UUID) {
	d.t.Helper()
	err := d.write(func(tx *store.Tx) error {
		doc, err := d.Templates.Create(tx, record.NewDraft[Template](drawn(d.t, body)))
		id = doc.ID
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

func (d *drawer) update(id uuid.UUID, body string) error {
	return d.write(func(tx *store.Tx) error {
		_, err := d.Templates.Update(tx, id, nil, drawn(d.t, body))
		return err
	})
}

// contents are the versions of a template that can be read, each as JSON, and which of them are kept beside it.
func (d *drawer) contents(id uuid.UUID) (all []string, kept []uint32) {
	d.t.Helper()
	err := d.store.View(d.org, func(tx *store.Tx) error {
		for n := uint32(0); n < 20; n++ {
			c, err := d.version(tx, id, n)
			if fault.CodeOf(err) == fault.NotFound {
				continue
			}
			if err != nil {
				return err
			}
			b, err := json.Marshal(c)
			if err != nil {
				return err
			}
			all = append(all, fmt.Sprintf("%d %s", n, b))
		}
		return d.versions.Scan(tx, id, func(n uint32, _ []byte) error {
			kept = append(kept, n)
			return nil
		})
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return all, kept
}

// now is the content that a template has.
func (d *drawer) now(id uuid.UUID) (n uint32, content string) {
	d.t.Helper()
	err := d.store.View(d.org, func(tx *store.Tx) error {
		doc, err := d.Templates.Get(tx, id)
		if err != nil {
			return err
		}
		b, err := json.Marshal(&doc.Record.Content)
		n, content = doc.Record.state.Version, string(b)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return n, content
}

const drawnTemplate = `{"name": "T", "steps": [{"id": "a", "index": 0, "type": "auto_email", "message": "[[block:x]]"}, {"id": "b", "index": 1, "type": "call"}],
	"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES"}], "blocks": {"x": {"name": "X", "content": "one"}, "y": {"name": "Y"}, "z": {"name": "Z"}}}`

// TestVersions changes a template: each content that it ever had can be read, and is stored once.
func TestVersions(t *testing.T) {
	d := newDrawer(t)
	id, other := d.create(drawnTemplate), d.create(drawnTemplate)
	var want []string
	note := func() {
		n, content := d.now(id)
		want = append(want, fmt.Sprintf("%d %s", n, content))
	}
	note()
	for _, c := range []struct {
		body  string
		fresh bool
	}{
		{`{"name": "N", "description": "d"}`, false},
		{`{"status": "ARCHIVED"}`, false},
		{`{"status": "ACTIVE"}`, false},
		{`{"blocks": {"z": {"name": "Z"}, "y": {"name": "Y", "content": null}, "x": {"name": "X", "content": "one", "block_type": "MANUAL"}}}`, false}, // the same
		{`{"blocks": {"x": {"name": "X", "content": "two"}}}`, true},
		{`{"blocks": {"x": {"name": "X", "content": "one"}}, "name": "M"}`, true},
		{`{"steps": [{"id": "a", "index": 0, "type": "auto_email", "message": "[[block:x]]"}, {"id": "b", "index": 1, "type": "call"}], "transitions": []}`, true},
		{`{"steps": [{"id": "a", "index": 0, "type": "auto_email", "message": "[[block:x]]"}, {"id": "b", "index": 1, "type": "call", "hour": null}], "transitions": null}`, false},
		{`{"steps": [{"id": "b", "index": 1, "type": "call"}, {"id": "a", "index": 0, "type": "auto_email", "message": "[[block:x]]"}], "transitions": []}`, true}, // in another order
		{`{"steps": [{"index": 1, "type": "call"}], "transitions": []}`, true},
		{`{"steps": [{"index": 1, "type": "call"}], "transitions": []}`, true}, // with an id that is made anew
	} {
		if err := d.update(id, c.body); err != nil {
			t.Fatal(err)
		}
		if c.fresh {
			note()
		}
		all, kept := d.contents(id)
		if !slices.Equal(all, want) || len(kept) != len(want)-1 {
			t.Fatalf("%s\nhas the versions %q, and %d beside it, want %q", c.body, all, kept, want)
		}
	}
	// A refusal makes no version.
	for _, body := range []string{`{"blocks": {"x": {"name": "X", "content": "{{y}}"}}}`, `{"steps": [], "transitions": []}`, `{"blocks": {"w": {"name": "W"}}, "status": "x"}`} {
		if err := d.update(id, body); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%s: %v", body, err)
		}
	}
	if all, _ := d.contents(id); !slices.Equal(all, want) {
		t.Errorf("has the versions %q, want %q", all, want)
	}
	// What is read is the content itself, not only its text.
	err := d.store.View(d.org, func(tx *store.Tx) error {
		first, err := d.version(tx, id, 1)
		if err != nil {
			return err
		}
		doc, err := d.Templates.Get(tx, other)
		if err == nil && !reflect.DeepEqual(*first, doc.Record.Content) {
			t.Errorf("the first version is %+v, want %+v", *first, doc.Record.Content)
		}
		if _, err := d.version(tx, uuid.New(), 1); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a template that is not there: %v", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all, kept := d.contents(other); len(all) != 1 || len(kept) != 0 {
		t.Errorf("another template has %q and %d", all, kept)
	}
}

// TestVersionsGo deletes a template: its versions go with it, and those of others stay.
func TestVersionsGo(t *testing.T) {
	d := newDrawer(t)
	var ids []uuid.UUID
	for range 3 {
		id := d.create(drawnTemplate)
		for i := range 5 {
			if err := d.update(id, fmt.Sprintf(`{"blocks": {"x": {"name": "%d"}}}`, i)); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, id)
	}
	before, _ := d.contents(ids[0])
	remove := func() error { return d.write(func(tx *store.Tx) error { return d.Templates.Delete(tx, ids[1], nil) }) }

	// One that is in use keeps them.
	err := d.write(func(tx *store.Tx) error {
		audience, err := d.Audiences.Create(tx, record.NewDraft[Audience](drawn(t, `{"name": "A"}`)))
		if err != nil {
			return err
		}
		_, err = d.Campaigns.Create(tx, record.NewDraft[Campaign](drawn(t, fmt.Sprintf(`{"name": "C", "template_id": %q, "audience_ids": [%q]}`, ids[1], audience.ID))))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(); fault.CodeOf(err) != fault.InUse {
		t.Fatalf("deleted: %v", err)
	}
	if all, kept := d.contents(ids[1]); len(all) != 6 || len(kept) != 5 {
		t.Errorf("a refused deletion left %q", all)
	}
	err = d.write(func(tx *store.Tx) error {
		var campaign uuid.UUID
		err := d.Campaigns.Table.Scan(tx, func(doc store.Doc[Campaign]) (bool, error) {
			campaign = doc.ID
			return false, nil
		})
		if err != nil {
			return err
		}
		return d.Campaigns.Delete(tx, campaign, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if all, kept := d.contents(ids[1]); len(all)+len(kept) != 0 {
		t.Errorf("of a deleted template are left %q and %d", all, kept)
	}
	for _, id := range []uuid.UUID{ids[0], ids[2]} {
		if all, kept := d.contents(id); len(all) != len(before) || len(kept) != 5 {
			t.Errorf("another template has %q and %d", all, kept)
		}
	}
	err = d.store.View(d.org, func(tx *store.Tx) error {
		return d.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) })
	})
	if err != nil {
		t.Fatal(err)
	}
}
