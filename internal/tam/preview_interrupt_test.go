package tam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

// cutAt is a context that calls a function before the n-th write. The store checks the context of
// each write.
type cutAt struct {
	context.Context
	left atomic.Int64
	do   func()
}

func newCutAt(ctx context.Context, write int, do func()) *cutAt {
	c := &cutAt{Context: ctx, do: do}
	c.left.Store(int64(write) + 1) // the worker checks once before it begins
	return c
}

func (c *cutAt) Err() error {
	if c.left.Add(-1) == 0 {
		c.do()
	}
	return c.Context.Err()
}

// interruptFixture is a service with a market whose Preview takes several chunks, and an
// organization that requests it.
type interruptFixture struct {
	*apptest.App
	t   *testing.T
	w   *refWorld
	org *apptest.Org
	crm *refCRM
}

func newInterruptFixture(t *testing.T) *interruptFixture {
	d := &interruptFixture{App: apptest.New(t), t: t, w: refWorldOf(rand.New(rand.NewPCG(11, 7)), 1500, 3500)}
	d.w.load(d.App)
	d.org = d.Org("Acme")
	d.crm = d.w.crm(d.org)
	d.Work() // jobs caused by the records of the organization run before writes are counted
	return d
}

// ask requests a Preview.
func (d *interruptFixture) ask(fields map[string]any) *refPreview {
	d.t.Helper()
	request := map[string]any{"request_id": uuid.NewString(), "company_filters": map[string]any{}}
	for k, v := range fields {
		request[k] = v
	}
	p := &refPreview{t: d.t, w: d.w, org: d.org, request: request, refSelection: refSelect(d.w.companies, d.w.people, d.crm, request)}
	if len(p.members) < 3000 {
		d.t.Fatalf("the Preview has only %d members", len(p.members))
	}
	p.path = apptest.PreviewsPath + "/" + p.data(d.org.Write, "POST", apptest.PreviewsPath, request, 202)["preview_id"].(string)
	return p
}

// workUntil runs jobs until the n-th write, which is interrupted. It reports whether nothing was
// left to do.
func (d *interruptFixture) workUntil(write int) (done bool) {
	ctx, stop := context.WithCancel(d.t.Context())
	defer stop()
	d.Worker.Once(newCutAt(ctx, write, stop))
	return ctx.Err() == nil
}

// finish completes work that was interrupted at a write: after a restart, after another
// interruption, or directly.
func (d *interruptFixture) finish(write int) {
	d.t.Helper()
	switch write % 3 {
	case 0:
		d.Restart()
	case 1:
		d.workUntil(1 + write/2)
	}
	d.Work()
}

// status returns the status of a Preview and the reason of a failure.
func (p *refPreview) status() string {
	p.t.Helper()
	data := p.data(p.org.Read, "GET", p.path, nil, 200)
	return strings.TrimSuffix(fmt.Sprintf("%v %v", data["status"], data["failure_reason"]), " <nil>")
}

// hasPartsOf requires that the store contains members of exactly these Previews.
func (d *interruptFixture) hasPartsOf(previews ...*refPreview) {
	d.t.Helper()
	want, got := []string{}, []string{}
	for _, p := range previews {
		want = append(want, strings.ReplaceAll(strings.TrimPrefix(p.path, apptest.PreviewsPath+"/"), "-", ""))
	}
	isParts := false
	for line := range strings.Lines(d.org.Dump()) {
		if !strings.HasPrefix(line, "  ") {
			isParts = strings.HasPrefix(line, "previews.") && strings.Contains(line, ".part ")
		} else if owner := line[2:34]; isParts && !slices.Contains(got, owner) {
			got = append(got, owner)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		d.t.Errorf("the store has members of %v, want %v", got, want)
	}
}

// TestPreviewCut interrupts a preparation at each of its writes, once or repeatedly, with and
// without a restart. The Preview ends like an uninterrupted one.
func TestPreviewCut(t *testing.T) {
	d := newInterruptFixture(t)
	left := d.ask(nil)
	d.Work()
	left.same()
	cuts := 0
	step := 1
	if apptest.RaceDetector {
		step = 9 // the interruptions follow one another
	}
	for write := 1; ; write += step {
		p := d.ask(nil)
		if d.workUntil(write); p.status() != "PREPARING" {
			p.same()
			break
		}
		cuts++
		d.finish(write)
		if p.counted("cut", p.data(d.org.Read, "GET", p.path, nil, 200)); write%3 == 0 {
			p.same()
		} else {
			p.filtered()
		}
		d.org.Write.Delete(p.path).Is(204)
		d.workUntil(1) // the cleanup is interrupted too
	}
	if cuts < 5 && step == 1 {
		t.Errorf("unexpected number of writes: %d", cuts)
	}
	again := d.ask(nil) // interrupted later each time, and started again each time
	for write := 1; !d.workUntil(write); write++ {
	}
	again.same()
	d.org.Write.Delete(again.path).Is(204)
	d.Work()
	left.same()
	t.Logf("%d cuts", cuts)
	d.checkConsistency()
}

// TestPreviewShrinks checks that a preparation that starts over and finds fewer members leaves
// nothing of the earlier result.
func TestPreviewShrinks(t *testing.T) {
	d := newInterruptFixture(t)
	stored := func() int { return strings.Count(d.org.Dump(), `\"source_ordinal\":`) }
	p := d.ask(map[string]any{"search_input": map[string]any{"exclude_companies_in_tam": true}})
	d.workUntil(6)
	found := stored()
	var accounts []any
	for _, domain := range d.w.domains[:min(900, len(d.w.domains))] {
		accounts = append(accounts, map[string]any{"name": "New", "website": domain})
		d.crm.domains[refCompany(domain)] = true
	}
	d.org.Write.Post("/v1/accounts/batch", map[string]any{"records": accounts}).Is(200)
	p.refSelection = refSelect(d.w.companies, d.w.people, d.crm, p.request)
	if found <= len(p.members) || p.status() != "PREPARING" {
		t.Fatalf("%s, %d members were found, and %d are left", p.status(), found, len(p.members))
	}
	d.Work()
	p.same()
	if n := stored(); n != len(p.members) {
		t.Errorf("the store has %d members, want %d", n, len(p.members))
	}
	d.checkConsistency()
}

// checkConsistency requires that the store is consistent, and that it contains no members of
// Previews that are not READY.
func (d *interruptFixture) checkConsistency() {
	d.t.Helper()
	var listed struct {
		Data []struct{ PreviewID, Status string }
	}
	body := strings.ReplaceAll(string(d.org.Read.Post("/v1/tam/previews/list", `{"page_size": 500}`).Is(200).Body), "preview_id", "PreviewID")
	if err := json.Unmarshal([]byte(body), &listed); err != nil {
		d.t.Fatal(err)
	}
	var ready []*refPreview
	for _, p := range listed.Data {
		if p.Status == "READY" {
			ready = append(ready, &refPreview{path: apptest.PreviewsPath + "/" + p.PreviewID})
		}
		if p.Status == "PREPARING" {
			d.t.Errorf("Preview %s does not end", p.PreviewID)
		}
	}
	d.hasPartsOf(ready...)
	if log := d.Log.String(); strings.Contains(log, "level=ERROR") {
		d.t.Errorf("the log contains %s", log)
	}
}

// TestPreviewDeletionsDuringPreparation deletes the records that a Preview needs, or the Preview
// itself, during its preparation: between two writes and concurrently with them.
func TestPreviewDeletionsDuringPreparation(t *testing.T) {
	d := newInterruptFixture(t)
	left := d.ask(nil)
	d.Work()
	made := 0
	for _, c := range []struct {
		what   string
		begin  func() (fields map[string]any, path string) // what is deleted; the Preview if empty
		method string
		ends   string // once it was in time
	}{
		{"cancel", nil, "cancel", "CANCELLED"},
		{"delete", nil, "DELETE", ""},
		{"view", func() (map[string]any, string) {
			id := d.org.Write.Post("/v1/account-views", fmt.Sprintf(`{"name": "Cut %d"}`, made)).Is(201).ID()
			return map[string]any{"company_filters": map[string]any{"account_view_id": id}}, "/v1/account-views/" + id
		}, "DELETE", "FAILED view_deleted"},
		{"tag", func() (map[string]any, string) {
			id := d.org.Write.Post("/v1/tags", fmt.Sprintf(`{"name": "Cut %d", "color": "red", "object_type": "account"}`, made)).Is(201).ID()
			return map[string]any{"tag_ids": []any{id}}, "/v1/tags/" + id
		}, "DELETE", "FAILED tag_deleted"},
		{"contact tag", func() (map[string]any, string) {
			id := d.org.Write.Post("/v1/tags", fmt.Sprintf(`{"name": "Cut %d", "color": "red", "object_type": "contact"}`, made)).Is(201).ID()
			return map[string]any{"contact_tag_ids": []any{id}}, "/v1/tags/" + id
		}, "DELETE", "FAILED tag_deleted"},
		{"signal", func() (map[string]any, string) {
			body := fmt.Sprintf(`{"entity": "accounts", "key": "cut_%d", "data_type": "boolean", "ai": {"question": "Is it?"}}`, made)
			id := d.org.Admin.Post("/v1/fields", body).Is(201).ID()
			return map[string]any{"qualifier_signal_id": id, "qualifier_rule": map[string]any{"value": true}}, "/v1/fields/" + id
		}, "DELETE", "FAILED signal_deleted"},
		{"account", func() (map[string]any, string) { // without a company, so that it has no effect
			return nil, "/v1/accounts/" + d.org.Write.Post("/v1/accounts", `{"name": "Other", "website": "other.example"}`).Is(201).ID()
		}, "DELETE", "READY"},
	} {
		for i, write := range []int{0, 3, 5, 2} {
			if apptest.RaceDetector && (i == 1 || i == 2) { // like the others, one at a time
				continue
			}
			made++
			fields, path := map[string]any(nil), ""
			if c.begin != nil {
				fields, path = c.begin()
			}
			p := d.ask(fields)
			if path == "" {
				path = p.path
			}
			act := func() *apptest.Response {
				if c.method == "cancel" {
					return d.org.Write.Post(path+"/cancel", nil)
				}
				return d.org.Admin.Delete(path)
			}
			inTime := true
			if i < 3 { // between two writes
				if write > 0 && d.workUntil(write) {
					t.Fatalf("%s: the Preview was already finished at write %d", c.what, write)
				}
				act().Is(map[bool]int{true: 200, false: 204}[c.method == "cancel"])
				if i == 1 {
					d.Restart()
				}
				d.Work()
			} else { // while they go on
				acted := make(chan *apptest.Response, 1)
				d.Worker.Once(newCutAt(t.Context(), write, func() { go func() { acted <- act() }() }))
				inTime = (<-acted).Status != 409
				d.Work()
			}
			what := fmt.Sprintf("%s, write %d, case %d", c.what, write, i)
			if c.ends == "" {
				d.org.Read.Get(p.path).Is(404)
				continue
			}
			got := p.status()
			switch {
			case got == "READY" && (c.ends == "READY" || i >= 3 && (c.method != "cancel" || !inTime)):
				p.same()
			case got != c.ends || !inTime:
				t.Errorf("%s: status = %s, want %s", what, got, c.ends)
			default:
				p.hasNothing(what)
			}
		}
	}
	left.same()
	d.checkConsistency()
}

// hasNothing requires that a Preview that did not become READY shows nothing of its preparation.
func (p *refPreview) hasNothing(what string) {
	p.t.Helper()
	data := p.data(p.org.Read, "GET", p.path, nil, 200)
	p.is(what, map[string]any{"members": []any{}, "result": nil, "totals": nil, "contacts_by_account": nil,
		"pagination_meta": map[string]any{"current_page": 1, "page_size": 50, "total_pages": 0, "total_count": nil}},
		map[string]any{"members": data["members"], "result": data["result"], "totals": data["totals"], "contacts_by_account": data["contacts_by_account"],
			"pagination_meta": data["pagination_meta"]})
	p.org.Write.Post(p.path+"/exclude", `{"company_ids": ["10"]}`).Fails(409, "preview_not_ready", "")
}
