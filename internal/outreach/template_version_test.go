package outreach

import (
	"context"
	"encoding/json"
	"errors"
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
	"prospector/internal/template"
	"prospector/store"
)

// fixture is an organization in a store with the kinds of this package. apptest cannot be used
// here, because it imports the package.
type fixture struct {
	*Outreach
	t   *testing.T
	org uuid.UUID
}

func newFixture(t *testing.T) *fixture {
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
	id := identity.New(st, set, identity.SessionTimes{})
	f := &fixture{Outreach: New(st, set, id, crm.New(set, nil)), t: t}
	org, err := id.CreateOrganization(context.Background(), store.Actor{}, parseBody(t, `{"name": "Acme"}`))
	if err != nil {
		t.Fatal(err)
	}
	f.org = org.ID
	return f
}

func parseBody(t *testing.T, body string) shape.Value {
	t.Helper()
	v, err := shape.ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (f *fixture) update(fn func(tx *store.Tx) error) error {
	return f.store.Update(context.Background(), f.org, store.Actor{}, fn)
}

func (f *fixture) view(fn func(tx *store.Tx) error) {
	f.t.Helper()
	if err := f.store.View(f.org, fn); err != nil {
		f.t.Fatal(err)
	}
}

// createTemplate creates a template and returns its id.
func (f *fixture) createTemplate(body string) (id uuid.UUID) {
	f.t.Helper()
	err := f.update(func(tx *store.Tx) error {
		doc, err := f.Templates.Create(tx, record.NewDraft[Template](parseBody(f.t, body)))
		id = doc.ID
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

func (f *fixture) updateTemplate(id uuid.UUID, body string) error {
	return f.update(func(tx *store.Tx) error {
		_, err := f.Templates.Update(tx, id, nil, parseBody(f.t, body))
		return err
	})
}

// content reads a version of a template.
func (f *fixture) content(tx *store.Tx, id uuid.UUID, version uint32) (*template.Content, error) {
	stored, err := f.storedVersion(tx, id, version)
	if err != nil {
		return nil, err
	}
	c := new(template.Content)
	return c, json.Unmarshal(stored, c)
}

// contents returns the versions of a template that can be read, as a number and JSON, and the
// numbers of those that are stored beside it.
func (f *fixture) contents(id uuid.UUID) (all []string, saved []uint32) {
	f.t.Helper()
	f.view(func(tx *store.Tx) error {
		for n := uint32(0); n < 20; n++ {
			c, err := f.content(tx, id, n)
			if store.IsDamagedRecord(err) {
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
		return f.versions.Scan(tx, id, func(n uint32, _ []byte) error {
			saved = append(saved, n)
			return nil
		})
	})
	return all, saved
}

// current returns the number and the content of a template's current version, like contents.
func (f *fixture) current(id uuid.UUID) (version string) {
	f.t.Helper()
	f.view(func(tx *store.Tx) error {
		doc, err := f.Templates.Get(tx, id)
		if err != nil {
			return err
		}
		b, err := json.Marshal(&doc.Record.Content)
		version = fmt.Sprintf("%d %s", doc.Record.state.Version, b)
		return err
	})
	return version
}

const testTemplate = `{
	"name": "T",
	"steps": [
		{"id": "a", "index": 0, "type": "auto_email", "message": "[[block:x]]"},
		{"id": "b", "index": 1, "type": "call"}
	],
	"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES"}],
	"blocks": {"x": {"name": "X", "content": "one"}, "y": {"name": "Y"}, "z": {"name": "Z"}}
}`

// TestTemplateVersions checks that every content that a template ever had can be read, and is
// stored once.
func TestTemplateVersions(t *testing.T) {
	f := newFixture(t)
	id, other := f.createTemplate(testTemplate), f.createTemplate(testTemplate)
	want := []string{f.current(id)}
	const email = `{"id": "a", "index": 0, "type": "auto_email", "message": "[[block:x]]"}`
	for _, c := range []struct {
		name, body   string
		isNewVersion bool
	}{
		{"other fields", `{"name": "N", "description": "d"}`, false},
		{"archived", `{"status": "ARCHIVED"}`, false},
		{"active again", `{"status": "ACTIVE"}`, false},
		{"the same blocks", `{"blocks": {"z": {"name": "Z"}, "y": {"name": "Y", "content": null},
			"x": {"name": "X", "content": "one", "block_type": "MANUAL"}}}`, false},
		{"another text", `{"blocks": {"x": {"name": "X", "content": "two"}}}`, true},
		{"the first text again", `{"blocks": {"x": {"name": "X", "content": "one"}}, "name": "M"}`, true},
		{"no transitions", `{"steps": [` + email + `, {"id": "b", "index": 1, "type": "call"}], "transitions": []}`, true},
		{"the same steps", `{"steps": [` + email + `, {"id": "b", "index": 1, "type": "call", "hour": null}],
			"transitions": null}`, false},
		{"another order", `{"steps": [{"id": "b", "index": 1, "type": "call"}, ` + email + `], "transitions": []}`, true},
		{"without ids", `{"steps": [{"index": 1, "type": "call"}], "transitions": []}`, true},
		{"without ids again", `{"steps": [{"index": 1, "type": "call"}], "transitions": []}`, false},
	} {
		if err := f.updateTemplate(id, c.body); err != nil {
			t.Fatal(err)
		}
		if c.isNewVersion {
			want = append(want, f.current(id))
		}
		all, saved := f.contents(id)
		if !slices.Equal(all, want) || len(saved) != len(want)-1 {
			t.Fatalf("%s: the template has the versions %q, and %d beside it, want %q", c.name, all, saved, want)
		}
	}
	for _, body := range []string{
		`{"blocks": {"x": {"name": "X", "content": "{{y}}"}}}`, `{"steps": [], "transitions": []}`,
		`{"blocks": {"w": {"name": "W"}}, "status": "x"}`,
	} {
		if err := f.updateTemplate(id, body); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%s: got %v, want validation_failed", body, err)
		}
	}
	if all, _ := f.contents(id); !slices.Equal(all, want) {
		t.Errorf("after invalid updates the template has the versions %q, want %q", all, want)
	}
	f.view(func(tx *store.Tx) error {
		first, err := f.content(tx, id, 1)
		if err != nil {
			return err
		}
		doc, err := f.Templates.Get(tx, other)
		if err == nil && !reflect.DeepEqual(*first, doc.Record.Content) {
			t.Errorf("the first version is %+v, want %+v", *first, doc.Record.Content)
		}
		if _, err := f.content(tx, uuid.New(), 1); !store.IsDamagedRecord(err) {
			t.Errorf("a template that does not exist: got %v, want a missing record", err)
		}
		return err
	})
	if all, saved := f.contents(other); len(all) != 1 || len(saved) != 0 {
		t.Errorf("the other template has the versions %q and %d", all, saved)
	}
}

// TestDeleteTemplateVersions checks that the versions of a template are deleted with it, and no
// others.
func TestDeleteTemplateVersions(t *testing.T) {
	f := newFixture(t)
	var ids []uuid.UUID
	for range 3 {
		id := f.createTemplate(testTemplate)
		for i := range 5 {
			if err := f.updateTemplate(id, fmt.Sprintf(`{"blocks": {"x": {"name": "%d"}}}`, i)); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, id)
	}
	before, _ := f.contents(ids[0])
	remove := func() error {
		return f.update(func(tx *store.Tx) error { return f.Templates.Erase(tx, ids[1], nil) })
	}

	// A template in use cannot be deleted and keeps its versions.
	var campaign uuid.UUID
	err := f.update(func(tx *store.Tx) error {
		audience, err := f.Audiences.Create(tx, record.NewDraft[Audience](parseBody(t, `{"name": "A"}`)))
		if err != nil {
			return err
		}
		body := fmt.Sprintf(`{"name": "C", "template_id": %q, "audience_ids": [%q]}`, ids[1], audience.ID)
		doc, err := f.Campaigns.Create(tx, record.NewDraft[Campaign](parseBody(t, body)))
		campaign = doc.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(); fault.CodeOf(err) != fault.InUse {
		t.Fatalf("deleting a template in use: got %v, want in_use", err)
	}
	if all, saved := f.contents(ids[1]); len(all) != 6 || len(saved) != 5 {
		t.Errorf("after a refused deletion the template has the versions %q", all)
	}

	err = f.update(func(tx *store.Tx) error { return f.Campaigns.Erase(tx, campaign, nil) })
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if all, saved := f.contents(ids[1]); len(all)+len(saved) != 0 {
		t.Errorf("a deleted template has the versions %q and %d", all, saved)
	}
	for _, id := range []uuid.UUID{ids[0], ids[2]} {
		if all, saved := f.contents(id); len(all) != len(before) || len(saved) != 5 {
			t.Errorf("another template has the versions %q and %d", all, saved)
		}
	}
	f.view(func(tx *store.Tx) error {
		return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) }, f.Portions()...)
	})
}

// TestCompiledTemplateAfterRollback checks that a version that was compiled in a transaction that
// was not committed is not served under the same number later.
func TestCompiledTemplateAfterRollback(t *testing.T) {
	f := newFixture(t)
	id := f.createTemplate(testTemplate)
	message := func(tx *store.Tx) string {
		c, err := f.CompiledTemplate(tx, id, 2)
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Content.Blocks["x"].Content)
	}
	write := func(tx *store.Tx, text string) {
		body := fmt.Sprintf(`{"blocks": {"x": {"name": "X", "content": %q}}}`, text)
		if _, err := f.Templates.Update(tx, id, nil, parseBody(t, body)); err != nil {
			t.Fatal(err)
		}
	}
	errRollback := errors.New("roll back")
	err := f.update(func(tx *store.Tx) error {
		write(tx, "rolled back")
		if got := message(tx); got != "rolled back" {
			t.Errorf("the transaction compiled %q, want its own text", got)
		}
		return errRollback
	})
	if !errors.Is(err, errRollback) {
		t.Fatal(err)
	}
	err = f.update(func(tx *store.Tx) error {
		write(tx, "committed")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.view(func(tx *store.Tx) error {
		if got := message(tx); got != "committed" {
			t.Errorf("version 2 compiles to %q, want %q", got, "committed")
		}
		return nil
	})
}
