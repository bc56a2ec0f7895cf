package sequence_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/store"
)

// recipient is a contact who received a message.
type recipient struct {
	*outreached
	contact, email, sequence string
	link                     string // the path of the link in the message
}

// newRecipient sends a message to a new contact.
func newRecipient(org *outreached, name string) *recipient {
	contact := apptest.ContactsOf(org.Org, name)[0]
	campaign := org.run("To "+name, helloAndCall, contact)
	sequence := org.Read.Post(campaign+"/sequences/list", nil).Is(200).Text("data.0.id")
	return &recipient{org, contact, name + "@initech.example", sequence, "/u/" + apptest.UnsubscribeToken(org.Org, apptest.IDIn(campaign))}
}

// optedOut requires that the contact has opted out, its address is suppressed and its sequence
// stopped, or none of these.
func (r *recipient) optedOut(t *testing.T, what string, want bool) {
	t.Helper()
	contact := r.Read.Get("/v1/contacts/" + r.contact).Is(200)
	listed := r.Read.Post("/v1/suppressions/list", map[string]any{"filters": []any{map[string]string{"field": "email", "condition": "is", "value": r.email}}}).Is(200)
	reasons := listed.Column("reason")
	if contact.Value("data.do_not_contact") != want || want != slices.Equal(reasons, []string{"unsubscribed"}) || !want && len(reasons) > 0 {
		t.Errorf("%s: unexpected contact %s or suppressions %s", what, contact.Body, listed.Body)
	}
	status := r.sequenceOf(r.sequence)
	if want != (status == "stopped opted_out") || !want && status != "active <nil>" {
		t.Errorf("%s: unexpected status of the sequence: %s", what, status)
	}
}

// sequenceOf returns the status and the reason of a sequence.
func (o *outreached) sequenceOf(id string) string {
	sent := o.Read.Post("/v1/outbox/list", map[string]any{"filters": []any{map[string]string{"field": "sequence_id", "condition": "is", "value": id}}}).Is(200)
	list := o.Read.Post("/v1/campaigns/"+sent.Text("data.0.campaign_id")+"/sequences/list", map[string]any{"filters": []any{map[string]string{"field": "id", "condition": "is", "value": id}}}).Is(200)
	return fmt.Sprint(list.Text("data.0.status"), " ", list.Value("data.0.reason"))
}

// TestUnsubscribePage checks that opening the page, as mail clients and scanners do, changes
// nothing.
func TestUnsubscribePage(t *testing.T) {
	app := apptest.New(t)
	r := newRecipient(newOutreached(app, "Acme"), "dan")
	before := r.Dump()
	page := app.Anonymous().Get(r.link).Is(200)
	head := app.Anonymous().Do(http.MethodHead, r.link, nil).Is(200)
	if len(head.Body) > 0 || head.Header.Get("Content-Length") != strconv.Itoa(len(page.Body)) {
		t.Errorf("HEAD returns %v %s", head.Header, head.Body)
	}
	if r.Dump() != before {
		t.Error("viewing the page changed something")
	}
	r.optedOut(t, "looked at", false)
	for header, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
		if got := page.Header.Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	policy := page.Header.Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !slices.Contains(strings.Split(policy, "; "), rule) {
			t.Errorf("content security policy %q lacks %q", policy, rule)
		}
	}
	text := string(page.Body)
	if strings.Count(text, `<form method="post">`) != 1 || !strings.Contains(text, `<button type="submit"`) || strings.Contains(text, "<script") {
		t.Errorf("unexpected page: %s", text)
	}
	done := string(app.Anonymous().Post(r.link, nil).Is(200).Body)
	if !strings.Contains(done, "You are unsubscribed") || strings.Contains(done, "<form") {
		t.Errorf("unexpected page after unsubscribing: %s", done)
	}
	if !strings.Contains(text, "messages from Acme?") || !strings.Contains(done, "messages from Acme.") {
		t.Errorf("the pages do not name the organization: %s %s", text, done)
	}
	for _, told := range []string{r.email, r.contact, r.ID.String(), "dan", "ada"} { // the link reveals nothing else
		if strings.Contains(text+done, told) {
			t.Errorf("the pages reveal %q", told)
		}
	}
	if again := string(app.Anonymous().Get(r.link).Is(200).Body); again != done {
		t.Errorf("unexpected page when opened again: %s", again)
	}
	r.Write.Patch("/v1/contacts/"+r.contact, `{"do_not_contact": false}`).Is(200) // contacts who receive messages again can unsubscribe again
	if again := string(app.Anonymous().Get(r.link).Is(200).Body); again != text {
		t.Errorf("unexpected page after the contact was re-enabled: %s", again)
	}
	app.Anonymous().Do(http.MethodPut, r.link, nil).Fails(405, "method_not_allowed", "GET, POST")
}

// TestUnsubscribeTrashed checks that a contact who unsubscribes while it is in the trash has opted out when it is restored,
// also if its address has changed since the message.
func TestUnsubscribeTrashed(t *testing.T) {
	app := apptest.New(t)
	r := newRecipient(newOutreached(app, "Acme"), "dan")
	contact := "/v1/contacts/" + r.contact
	r.Write.Patch(contact, `{"email": "dan@globex.example"}`).Is(200)
	r.Write.Delete(contact).Is(204)
	app.Anonymous().Post(r.link, "List-Unsubscribe=One-Click").Is(200)
	trashed := r.Read.Post("/v1/contacts/trash/list", nil).Is(200)
	if trashed.Value("data.0.do_not_contact") != true {
		t.Errorf("the contact in the trash: %s", trashed.Body)
	}
	restored := r.Write.Post(contact+"/restore", nil).Is(200)
	if restored.Value("data.do_not_contact") != true || restored.Text("data.email") != "dan@globex.example" {
		t.Errorf("the restored contact: %s", restored.Body)
	}
}

// TestUnsubscribeDamaged checks that a browser shows a page for an incomplete link, and that a mail
// client receives the JSON error.
func TestUnsubscribeDamaged(t *testing.T) {
	app := apptest.New(t)
	r := newRecipient(newOutreached(app, "Acme"), "dan")
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	damaged := r.link[:len(r.link)-5]
	for _, path := range []string{damaged, r.link + "=", r.link + "/", "/u/", "/u/nothing"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			page := app.Anonymous().Do(method, path, nil, "Accept", browser).Is(404)
			text := string(page.Body)
			if page.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(text, "This link does not work") || strings.Contains(text, "<form") || strings.Contains(text, "not_found") {
				t.Errorf("%s %s: %v %s", method, path, page.Header, text)
			}
			if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "form-action 'none'") {
				t.Errorf("unexpected content security policy %q", policy)
			}
		}
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		t.Run(accept, func(t *testing.T) {
			app.Anonymous().In(t).Do(http.MethodPost, damaged, "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded", "Accept", accept).Fails(404, "not_found", "Resource not found")
			app.Anonymous().In(t).Do(http.MethodGet, damaged, nil, "Accept", accept).Fails(404, "not_found", "Resource not found")
		})
	}
	app.Anonymous().Do(http.MethodGet, "/v1/contacts", nil, "Accept", browser).Is(401)
	app.Anonymous().Do(http.MethodGet, "/nowhere", nil, "Accept", browser).Fails(404, "not_found", "")
	r.optedOut(t, "after all that", false)
}

// TestUnsubscribe checks that a POST with any body unsubscribes the recipient, and causes one
// event.
func TestUnsubscribe(t *testing.T) {
	app := apptest.New(t)
	org := newOutreached(app, "Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org.Org, "contact.*", "sequence.*")
	for name, c := range map[string]struct{ media, body string }{
		"form":      {"application/x-www-form-urlencoded", "List-Unsubscribe=One-Click"},
		"multipart": {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n"},
		"json":      {"application/json", `{"List-Unsubscribe": "One-Click"}`},
		"broken":    {"application/json", `{"`},
		"untyped":   {"", "List-Unsubscribe=One-Click"},
		"empty":     {"application/x-www-form-urlencoded", ""},
		"large":     {"text/plain", strings.Repeat("x", 2<<20)},
	} {
		r := newRecipient(org, name)
		app.Deliver()
		rec.Take()
		app.Anonymous().Do(http.MethodPost, r.link, c.body, "Content-Type", c.media).Is(200)
		r.optedOut(t, name, true)
		app.Deliver()
		rec.Wants(name, map[string]string{"contact": r.contact, "sequence": r.sequence}, "/0 contact.unsubscribed contact", "/0 contact.updated contact", "/0 sequence.stopped sequence")
		before := r.Dump()
		app.Anonymous().Do(http.MethodPost, r.link, c.body, "Content-Type", c.media).Is(200)
		app.Deliver()
		if rec.Wants(name+" again", nil); r.Dump() != before {
			t.Errorf("%s: the second request changed something", name)
		}
	}
	app.Work()
	apptest.CheckAudiences(t, app, org.Org)
}

// TestUnsubscribeLater checks that a link works as long as the message exists, whatever happens to
// the contact, the campaign and the audience.
func TestUnsubscribeLater(t *testing.T) {
	app := apptest.New(t)
	org := newOutreached(app, "Acme")
	suppressed := func(email string) []string {
		return org.Read.Post("/v1/suppressions/list", map[string]any{"filters": []any{map[string]string{"field": "email", "condition": "is", "value": email}}}).Is(200).Column("reason")
	}
	gone := newRecipient(org, "gone")
	org.Write.Delete("/v1/contacts/" + gone.contact).Is(204)
	app.Anonymous().Get(gone.link).Is(200)
	app.Anonymous().Post(gone.link, nil).Is(200)
	if got := suppressed(gone.email); !slices.Equal(got, []string{"unsubscribed"}) {
		t.Errorf("the address of a deleted contact is suppressed for %v", got)
	}
	moved := newRecipient(org, "moved") // both the address of the message and the one that the contact has now are suppressed
	org.Write.Patch("/v1/contacts/"+moved.contact, `{"email": "elsewhere@initech.example"}`).Is(200)
	app.Anonymous().Post(moved.link, nil).Is(200)
	if got := suppressed(moved.email); !slices.Equal(got, []string{"unsubscribed"}) || !slices.Equal(suppressed("elsewhere@initech.example"), []string{"opted_out"}) ||
		org.Read.Get("/v1/contacts/"+moved.contact).Is(200).Value("data.do_not_contact") != true {
		t.Errorf("unexpected suppression reasons of a contact whose address changed: %v", got)
	}
	listed := newRecipient(org, "listed") // an existing suppression keeps its reason
	org.Admin.Post("/v1/suppressions", map[string]string{"email": listed.email, "reason": "asked by phone"}).Is(201)
	app.Anonymous().Post(listed.link, nil).Is(200)
	if got := suppressed(listed.email); !slices.Equal(got, []string{"asked by phone"}) {
		t.Errorf("suppressed contacts remain for %v", got)
	}
	back := newRecipient(org, "back")
	app.Anonymous().Post(back.link, nil).Is(200)
	org.Write.Patch("/v1/contacts/"+back.contact, `{"do_not_contact": false}`).Is(200)
	app.Restart()
	app.Anonymous().Post(back.link, nil).Is(200)
	back.optedOut(t, "after a restart", true)
}

// TestUnsubscribeTokens checks that only tokens made by the service are accepted, that they are not
// logged, and that they are deleted with the organization.
func TestUnsubscribeTokens(t *testing.T) {
	app := apptest.New(t)
	r, other := newRecipient(newOutreached(app, "Acme"), "dan"), newRecipient(newOutreached(app, "Umbrella"), "dan")
	token := strings.TrimPrefix(r.link, "/u/")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(other.link, "/u/"))
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	forged := []string{"x", token[:len(token)-1], token[1:], token + "A", token + "=", token + token, strings.ToLower(token), encode(raw[:32]), encode(make([]byte, 48)),
		encode(slices.Concat(raw[:16], foreign[16:])), encode(slices.Concat(raw[:32], foreign[32:])), encode(slices.Concat(foreign[:16], raw[16:]))}
	for i := range raw {
		flipped := slices.Clone(raw)
		flipped[i] ^= 1
		forged = append(forged, encode(flipped))
	}
	before, theirs := r.Dump(), other.Dump()
	for _, bad := range forged {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			app.Anonymous().Do(method, "/u/"+bad, nil).Fails(404, "not_found", "Resource not found")
		}
	}
	for _, path := range []string{"/u/", "/u", r.link + "/", r.link + "/x"} {
		t.Run(path, func(t *testing.T) {
			app.Anonymous().In(t).Get(path).Fails(404, "not_found", "")
		})
	}
	if r.Dump() != before || other.Dump() != theirs {
		t.Error("a forged token changed something")
	}
	app.Anonymous().Do(http.MethodDelete, r.link, nil).Fails(405, "method_not_allowed", "")
	app.Anonymous().Get(r.link).Is(200)
	app.Anonymous().Post(r.link, nil).Is(200)
	if log := app.Log.String(); strings.Contains(log, token[:20]) || !strings.Contains(log, "path=/u/{token}") {
		t.Errorf("unexpected log: %s", log)
	}
	other.optedOut(t, "the other organization", false)

	err = app.Store.Update(t.Context(), r.ID, store.Actor{}, func(tx *store.Tx) error {
		tx.DropOrganization()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	app.Index.RemoveOrganization(r.ID)
	app.Anonymous().Get(r.link).Fails(404, "not_found", "")
	app.Anonymous().Post(r.link, nil).Fails(404, "not_found", "")
	if orgs, err := app.Store.Organizations(); err != nil || slices.Contains(orgs, r.ID) {
		t.Errorf("the deleted organization is still listed: %v (error %v)", orgs, err)
	}
	app.Anonymous().Post(other.link, nil).Is(200)
}

// TestUnsubscribeAfterRestore follows links of messages that the store does not have, because they were sent after the
// backup that was restored. They unsubscribe their contact, if it exists or is in the trash.
func TestUnsubscribeAfterRestore(t *testing.T) {
	app := apptest.New(t)
	org := newOutreached(app, "Acme")
	r := newRecipient(org, "ann")
	link := func(contact string) string {
		link := app.Sequences.UnsubscribeLink(org.ID, uuid.New(), uuid.MustParse(contact))
		return link[strings.LastIndex(link, "/u/"):]
	}
	app.Anonymous().Get(link(r.contact)).Is(200)
	r.optedOut(t, "after a GET", false)
	app.Anonymous().Post(link(r.contact), nil).Is(200)
	r.optedOut(t, "after a POST", true)

	merged := apptest.ContactsOf(org.Org, "bob", "bobby")
	org.Write.Post("/v1/contacts/"+merged[0]+"/merge", map[string]any{"ids": merged[1:]}).Is(200)
	app.Anonymous().Post(link(merged[1]), nil).Is(200)
	if org.Read.Get("/v1/contacts/"+merged[0]).Is(200).Value("data.do_not_contact") != true {
		t.Error("the link of a contact that was merged does not unsubscribe the one that it was merged into")
	}
	gone := apptest.ContactsOf(org.Org, "carl")[0]
	org.Write.Delete("/v1/contacts/" + gone).Is(204)
	app.Anonymous().Post(link(gone), nil).Is(200)
	if org.Write.Post("/v1/contacts/"+gone+"/restore", nil).Is(200).Value("data.do_not_contact") != true {
		t.Error("the link of a contact in the trash does not unsubscribe it")
	}
	org.Write.Delete("/v1/contacts/" + gone + "?permanent=true").Is(204)
	app.Anonymous().Post(link(gone), nil).Fails(404, "not_found", "")
}
