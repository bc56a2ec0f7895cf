package handlers_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"prospector/handlers"
	"prospector/internal/apptest"
)

// htmlElement is an element of a page with the text in it.
type htmlElement struct {
	name string
	attr map[string]string
	text strings.Builder
	in   []*htmlElement // the enclosing elements, outermost first
}

func (e *htmlElement) within(id string) bool {
	return slices.ContainsFunc(e.in, func(o *htmlElement) bool { return o.attr["id"] == id })
}

var voidElements = []string{"meta", "input", "br", "link", "img", "hr"}

// parsePage parses a page. All elements must be properly nested and closed.
func parsePage(t *testing.T, page []byte) []*htmlElement {
	t.Helper()
	var all, open []*htmlElement
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF || len(open) > 0 {
				t.Fatalf("the page ends with %v, and %d elements open", z.Err(), len(open))
			}
			return all
		case html.StartTagToken:
			token := z.Token()
			e := &htmlElement{name: token.Data, attr: map[string]string{}, in: slices.Clone(open)}
			for _, a := range token.Attr {
				e.attr[a.Key] = a.Val
			}
			all = append(all, e)
			if !slices.Contains(voidElements, e.name) {
				open = append(open, e)
			}
		case html.EndTagToken:
			name := z.Token().Data
			if len(open) == 0 || open[len(open)-1].name != name {
				t.Fatalf("unexpected closing tag %s before %.80s", name, z.Raw())
			}
			open = open[:len(open)-1]
		case html.TextToken:
			text := z.Token().Data
			for _, e := range open {
				e.text.WriteString(text)
			}
		}
	}
}

// elsewhereOnTheWeb matches everything that a browser would fetch from another host.
var elsewhereOnTheWeb = regexp.MustCompile(`(?i)^\s*([a-z+]+:)?//|url\(|@import`)

// docsPages returns the paths of all pages of the documentation: /docs and the pages that it links to.
func docsPages(t *testing.T, app *apptest.App) []string {
	t.Helper()
	paths := []string{"/docs"}
	for _, e := range parsePage(t, app.Anonymous().Get("/docs").Is(200).Body) {
		path, _, _ := strings.Cut(e.attr["href"], "#")
		if strings.HasPrefix(path, "/docs/") && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// docsElements returns the elements of all pages of the documentation.
func docsElements(t *testing.T, app *apptest.App) (all []*htmlElement) {
	t.Helper()
	for _, path := range docsPages(t, app) {
		all = append(all, parsePage(t, app.Anonymous().Get(path).Is(200).Body)...)
	}
	return all
}

// TestDocsLinks checks that the links between the pages of the documentation lead to something.
func TestDocsLinks(t *testing.T) {
	app := apptest.New(t)
	targets, hrefs := map[string]bool{}, map[string]bool{}
	paths := docsPages(t, app)
	for _, path := range paths {
		targets[path] = true
		for _, e := range parsePage(t, app.Anonymous().Get(path).Is(200).Body) {
			targets[path+"#"+e.attr["id"]] = true
			hrefs[e.attr["href"]] = true
		}
	}
	for href := range hrefs {
		if strings.HasPrefix(href, "/docs") && !targets[href] {
			t.Errorf("the link %s leads nowhere", href)
		}
	}
	for _, name := range []string{"/docs/organization", "/docs/service", "/docs/events", "/docs/types"} {
		if !slices.Contains(paths, name) {
			t.Errorf("no page links to %s", name)
		}
	}
	app.Anonymous().Get("/docs/nothing").Fails(404, "not_found", "")
}

// TestPages checks that the web pages are well-formed, self-contained and allowed by their
// policies.
func TestPages(t *testing.T) {
	app := apptest.New(t)
	for _, path := range docsPages(t, app) {
		res := app.Anonymous().Get(path).Is(200)
		policy := res.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		elements := parsePage(t, res.Body)
		ids := map[string]bool{}
		for _, e := range elements {
			if id := e.attr["id"]; id != "" && ids[id] {
				t.Errorf("%s: two elements have the id %q", path, id)
			}
			ids[e.attr["id"]] = true
		}
		seen := map[string]bool{}
		for _, e := range elements {
			seen[e.name] = true
			if e.name == "html" && e.attr["lang"] != "en" || e.name == "title" && e.text.String() == "" {
				t.Errorf("%s: %s has %v and %q", path, e.name, e.attr, e.text.String())
			}
			if sum := sha256.Sum256([]byte(e.text.String())); e.name == "style" || e.name == "script" {
				if !strings.Contains(policy, e.name+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
					t.Errorf("%s: the policy %q does not allow the %s", path, policy, e.name)
				}
				if elsewhereOnTheWeb.MatchString(e.text.String()) {
					t.Errorf("%s: the %s fetches something", path, e.name)
				}
			}
			for name, value := range e.attr {
				if (name == "href" || name == "src") && elsewhereOnTheWeb.MatchString(value) || name == "style" || strings.HasPrefix(name, "on") {
					t.Errorf("%s: %s has %s=%q", path, e.name, name, value)
				}
			}
			if target, here := strings.CutPrefix(e.attr["href"], "#"); here && !ids[target] {
				t.Errorf("%s: no element has the id %q", path, target)
			}
		}
		for _, name := range []string{"html", "title", "h1", "main", "style"} {
			if !seen[name] {
				t.Errorf("%s has no %s", path, name)
			}
		}
	}
}

// TestDocs requires that the page contains every operation with everything that the API document
// contains about it.
func TestDocs(t *testing.T) {
	app := apptest.New(t)
	elements := docsElements(t, app)
	text := map[string]string{} // by id
	linked := map[string]bool{} // in the table of contents
	for _, e := range elements {
		text[e.attr["id"]] = e.text.String()
		if _, id, is := strings.Cut(e.attr["href"], "#"); is && e.within("contents") {
			linked[id] = true
		}
	}
	for _, op := range app.API.Operations() {
		needs := "no key"
		if op.Access != handlers.Public {
			needs = string(op.Access) + " access"
		}
		if op.Access == handlers.SignedIn {
			needs = "session"
		}
		for _, want := range []string{op.Summary, op.Method + " " + op.Path + " " + needs, "curl "} {
			if !strings.Contains(text[op.Name], want) {
				t.Errorf("%s does not contain %q: %.300s", op.Name, want, text[op.Name])
			}
		}
		for _, code := range op.ErrorCodes() {
			if !strings.Contains(text[op.Name], string(code)) || !strings.Contains(text["errors"], string(code)) {
				t.Errorf("%s does not contain %q", op.Name, code)
			}
		}
		if !linked[op.Name] {
			t.Errorf("%s is missing from the table of contents", op.Name)
		}
	}
	for _, c := range []struct{ id, want string }{
		{"create_opportunity", "account_id string <uuid> required"},
		{"create_task", "status string or null · default open"},
		{"create_tag", "1 to 100 characters"},
		{"create_contact", "A new contact needs an email"},
		{"create_contact", "heat_score string or nullhot warm cold"},
		{"get_contact", "ETag stringThe version of the record"},
		{"list_contacts", "page_size integer or null · 1 to 500 · default 50"},
		{"list_contacts", "total_pages integer"},
		{"get_schema", "entity in path"},
		{"schema-FilterExpression", "FilterList"},
		{"schema-Filter", "FilterRule"},
	} {
		if got := strings.ReplaceAll(text[c.id], "\n", ""); !strings.Contains(got, c.want) {
			t.Errorf("%s does not contain %q: %s", c.id, c.want, got)
		}
	}
}

// TestDocsExamples runs the example request of every operation. previews lists the operations that
// need a Preview, and whether it must be in preparation.
var previews = map[bool]string{true: "preparing", false: "preview"}

func TestDocsExamples(t *testing.T) {
	app := apptest.New(t)
	elements := docsElements(t, app)
	ops := app.API.Operations()
	for i := range ops {
		op := &ops[i]
		var codes []string
		for _, e := range elements {
			if e.name == "code" && e.within(op.Name) && e.in[len(e.in)-1].name == "pre" {
				codes = append(codes, e.text.String())
			}
		}
		if len(codes) == 0 {
			t.Errorf("%s has no example", op.Name)
			continue
		}
		for _, answer := range codes[1:] {
			if !json.Valid([]byte(answer)) {
				t.Errorf("%s returns %s", op.Name, answer)
			}
		}
		org := app.Org("Acme " + op.Name)
		as := client(org, op.Access)
		vars := map[string]string{"KEY": as.Key, "SESSION": strings.TrimPrefix(as.Cookie, "prospector_session="), "ORIGIN": app.URL, "REQUEST_ID": uuid.NewString()}
		for name, maker := range map[string]string{"ACCOUNT_ID": "accounts", "CONTACT_ID": "contacts", "ID": strings.Split(op.Path+"//", "/")[2], "PREVIEW_ID": previews[op.Name == "cancel_tam_preview"],
			"OPERATION_ID": "imports", "SUBSCRIPTION_ID": "subscriptions", "TEMPLATE_ID": "sequence-templates", "AUDIENCE_ID": "audiences"} {
			if op.Name == "delete_campaign" && name == "ID" {
				maker = "drafts"
			}
			if name == "OPERATION_ID" {
				maker = "tam-imports"
			}
			if strings.HasPrefix(op.Name, "restore_") && name == "ID" {
				vars[name] = trashed(maker)(org)
			} else if apptest.Makers[maker] != nil && strings.Contains(codes[0], "$"+name) {
				vars[name] = apptest.Makers[maker](org)
			}
			if op.Name == "release_campaign" && name == "ID" {
				vars[name] = newHeldCampaign(org)
			}
			if op.Name == "undo_operation" && name == "ID" {
				vars[name] = endedOperation(org)
			}
			if op.Name == "admit_campaign" && name == "ID" {
				vars[name] = newcomerCampaign(app, org)
			}
			if strings.HasPrefix(op.Path, "/v1/sequences/{id}/") && name == "ID" {
				vars[name] = newWaitingSequence(org)
				if op.Name == "restart_sequence" {
					org.Write.Post("/v1/sequences/"+vars[name]+"/stop", `{"reason": "manual"}`).Is(200)
				}
			}
			if op.Name == "reopen_campaign" && name == "ID" {
				org.Write.Patch("/v1/campaigns/"+vars[name], `{"status": "completed"}`).Is(200)
			}
		}
		if strings.HasPrefix(op.Name, "merge_") { // the example has an id that nothing has
			other := apptest.Makers[strings.Split(op.Path, "/")[2]](org)
			codes[0] = regexp.MustCompile(`"[0-9a-f-]{36}"`).ReplaceAllString(codes[0], `"`+other+`"`)
		}
		if strings.HasPrefix(op.Name, "dismiss_") {
			newRecord := apptest.Makers[strings.Split(op.Path, "/")[2]]
			codes[0] = regexp.MustCompile(`"[0-9a-f-]{36}"`).ReplaceAllStringFunc(codes[0], func(string) string { return `"` + newRecord(org) + `"` })
		}
		if op.Name == "skip_sequence_step" { // the sequence has one step
			codes[0] = strings.Replace(codes[0], `"step_index": 1`, `"step_index": 0`, 1)
		}
		if strings.Contains(codes[0], "$ATTEMPT_ID") {
			vars["ATTEMPT_ID"] = apptest.AttemptDelivery(app, org, vars["SUBSCRIPTION_ID"])
		}
		if strings.Contains(codes[0], "$SEQUENCE_ID") {
			vars["SEQUENCE_ID"] = begin(org, vars["ID"])
		}
		if strings.Contains(codes[0], "$INVITE_TOKEN") {
			link := org.Admin.Post("/v1/users/"+org.User.String()+"/invite", `{}`).Is(200).Text("data.url")
			vars["INVITE_TOKEN"] = link[strings.Index(link, "=")+1:]
		}
		if op.Name == "create_session" {
			org.Admin.Patch("/v1/users/"+org.User.String(), `{"email": "ada@acme.example"}`).Is(200)
			apptest.SetPassword(t, app, org, apptest.Password)
		}
		if strings.Contains(codes[0], "$TOKEN") {
			vars["TOKEN"] = newToken(org)
		}
		res := paste(t, app, codes[0], vars).Is(op.Status)
		if strings.HasPrefix(op.Name, "batch_") && res.Int("data.failed") != 0 {
			t.Errorf("%s: %s", op.Name, res.Body)
		}
	}
}

// paste makes the request that a shell would make for a curl command.
func paste(t *testing.T, app *apptest.App, command string, vars map[string]string) *apptest.Response {
	t.Helper()
	words := shellWords(command, vars)
	method, path := "GET", ""
	var body any
	var form *apptest.Form
	headers := []string{"Content-Type", ""} // apptest would set it
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			method = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			headers = append(headers, name, value)
		case "-F":
			i++
			if form == nil {
				form = &apptest.Form{}
			}
			if options, is := strings.CutPrefix(words[i], "options="); is {
				form.Options = []byte(strings.TrimSuffix(options, ";type=application/json"))
			} else if words[i] == "file=@contacts.csv" {
				form.File = []byte("email\nbill@initech.example\n")
			}
		case "-d":
			i++
			body = words[i]
			if method == "GET" {
				method = "POST"
			}
		default:
			path = words[i]
		}
	}
	path, ok := strings.CutPrefix(path, "http://127.0.0.1:8080")
	if words[0] != "curl" || !ok {
		t.Fatalf("%q is not a request to the service", command)
	}
	if form != nil {
		return app.Anonymous().Do("POST", path, *form, headers[2:]...)
	}
	return app.Anonymous().Do(method, path, body, headers...)
}

// shellWords splits a command into words as a shell does, as far as the examples need it.
func shellWords(command string, vars map[string]string) []string {
	var words []string
	var word strings.Builder
	var quote byte
	variable := regexp.MustCompile(`^\$[A-Z_]+`)
	for i := 0; i < len(command); i++ {
		c := command[i]
		name := variable.FindString(command[i:])
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		case quote != '\'' && c == '\\':
			if i++; command[i] != '\n' {
				word.WriteByte(command[i])
			}
		case quote != '\'' && name != "":
			word.WriteString(vars[name[1:]])
			i += len(name) - 1
		case quote == 0 && (c == ' ' || c == '\n'):
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
		default:
			word.WriteByte(c)
		}
	}
	return append(words, word.String())
}
