package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The pages of the documentation that are not groups of operations.
const (
	OverviewPage = ""
	EventsPage   = "events"
	TypesPage    = "types"
)

// The data of the documentation. Every page has the table of contents of all pages.
type (
	docs struct {
		Page                 string // the name of the page
		Title, Version, Text string
		Groups               []group
		Events               *events
		Schemas              []field // each named schema, with links to the others
		Errors               []failure
	}
	group struct {
		Name, Title, Text string
		Operations        []operation
	}
	operation struct {
		ID, Title, Method, Path string
		Summary, Text, Access   string
		Deprecated              bool
		Parameters              []param
		Body                    *body
		Curl                    curl
		Responses               []response
		Failures                []failure
	}
	param struct {
		In string
		field
	}
	body struct {
		Media    string
		Required bool
		value
	}
	response struct {
		Status, Text string
		Bodies       []body
		Headers      []field
		Example      string
	}
	// failure is an error code with its status and the description of when it occurs.
	failure struct{ Status, Code, Text string }
)

// Docs returns the pages that document an API by their names, given its OpenAPI 3.1 document: an overview,
// one page for each group of operations, one for the events and one for the data types. The page p is served
// at /docs/p, and the overview at /docs.
func Docs(raw []byte, version string) (map[string]Page, error) {
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("read the API document: %w", err)
	}
	t, err := template.New("docs").Funcs(template.FuncMap{"prose": prose}).Parse(docsText)
	if err != nil {
		return nil, err
	}
	view := docs{Title: d.Info.Title, Version: version, Text: d.Info.Description, Groups: d.groups(), Events: d.events()}
	linked := describer{document: &d, links: true}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		view.Schemas = append(view.Schemas, field{Name: name, value: linked.describe(d.Components.Schemas[name])})
	}
	view.Errors = allFailures(view.Groups)
	names := []string{OverviewPage, TypesPage}
	if view.Events != nil {
		names = append(names, EventsPage)
	}
	for _, g := range view.Groups {
		names = append(names, g.Name)
	}
	pages := map[string]Page{}
	for _, view.Page = range names {
		pages[view.Page], err = render(t, assets{Style: template.CSS(docsStyle), Script: template.JS(docsScript)}, view)
		if err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// PageTitle returns the heading of the page, which is empty for the overview.
func (d docs) PageTitle() string {
	switch d.Page {
	case EventsPage:
		return "Events"
	case TypesPage:
		return "Data types"
	}
	for _, g := range d.Groups {
		if g.Name == d.Page {
			return g.Title
		}
	}
	return ""
}

// groups returns the operations by tag, in the order of the tags in the document. Undeclared tags follow.
func (d *document) groups() []group {
	var groups []group
	for _, t := range d.Tags {
		groups = append(groups, group{Name: t.Name, Title: inWords(t.Name), Text: t.Description})
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		item := d.Paths[path]
		for _, m := range []struct {
			verb string
			*method
		}{{"GET", item.Get}, {"POST", item.Post}, {"PUT", item.Put}, {"PATCH", item.Patch}, {"DELETE", item.Delete}} {
			if m.method == nil {
				continue
			}
			name := "other"
			if len(m.Tags) > 0 {
				name = m.Tags[0]
			}
			i := slices.IndexFunc(groups, func(g group) bool { return g.Name == name })
			if i < 0 {
				i, groups = len(groups), append(groups, group{Name: name, Title: inWords(name)})
			}
			groups[i].Operations = append(groups[i].Operations, d.operation(m.verb, path, m.method))
		}
	}
	return slices.DeleteFunc(groups, func(g group) bool { return g.Operations == nil })
}

// access matches the sentence about the required access in the description of an operation. The document
// has no other place for it.
var access = regexp.MustCompile(`Requires an API key with (\w+) access\.\s*|Requires no API key\.\s*|Requires a (session)\. An API key cannot perform it\.\s*`)

func (d *document) operation(verb, path string, m *method) operation {
	o := operation{
		ID: m.OperationID, Title: inWords(m.OperationID), Method: verb, Path: path, Summary: cmp.Or(m.Summary, inWords(m.OperationID)),
		Text: access.ReplaceAllString(m.Description, ""), Deprecated: m.Deprecated,
	}
	if found := access.FindStringSubmatch(m.Description); found != nil {
		o.Access = cmp.Or(found[1], found[2])
	}
	requests := describer{document: d}
	credential := o.Access
	if m.Security != nil && len(*m.Security) == 0 {
		credential = noCredential
	}
	shown := path
	for _, p := range slices.Concat(d.Paths[path].Parameters, m.Parameters) {
		p = resolve(p, p.Ref, d.Components.Parameters)
		f := field{Name: p.Name, value: requests.describe(p.Schema)}
		f.Text = cmp.Or(p.Description, f.Text)
		if p.Required {
			f.Presence = "required"
		}
		o.Parameters = append(o.Parameters, param{p.In, f})
		if p.In == "path" {
			shown = strings.ReplaceAll(shown, "{"+p.Name+"}", exampleParam(p))
		}
	}
	var example json.RawMessage
	var files []string
	if m.RequestBody != nil {
		r := resolve(m.RequestBody, m.RequestBody.Ref, d.Components.RequestBodies)
		if bodies := requests.bodies(r); len(bodies) > 0 {
			o.Body = &bodies[0]
			o.Body.Required = r.Required
		}
		example = d.request(verb, path, r)
		if form := r.Content[formMedia].Schema; form != nil {
			files = d.form(form)
		}
	}
	o.Curl = newCurl(verb, shown, credential, d.Components.SecuritySchemes[sessionCredential].Name, example, files)
	for _, status := range slices.Sorted(maps.Keys(m.Responses)) {
		r := resolve(m.Responses[status], m.Responses[status].Ref, d.Components.Responses)
		if len(r.Codes) > 0 {
			o.Failures = append(o.Failures, failures(status, r)...)
		} else {
			o.Responses = append(o.Responses, d.response(status, r))
		}
	}
	return o
}

// exampleParam returns the value of a path parameter in an example: its first allowed value, or a shell
// variable.
func exampleParam(p *parameter) string {
	if p.Schema != nil && len(p.Schema.Enum) > 0 {
		return fmt.Sprint(p.Schema.Enum[0])
	}
	return "$" + variable(p.Name)
}

// request returns an example of a request body: the one in the document, or one generated from the
// schema. The records of a batch are examples of the create operation at the parent path.
func (d *document) request(verb, path string, r *content) json.RawMessage {
	body := r.Content["application/json"]
	s := body.Schema
	if s == nil || body.Example != nil {
		return body.Example
	}
	m := sampler{doc: d, maxMembers: 3}
	if verb == "PATCH" {
		m.maxMembers = 1
	}
	if above, is := strings.CutSuffix(path, "/batch"); is && d.Paths[above] != nil && d.Paths[above].Post != nil {
		if creates := d.Paths[above].Post.RequestBody; creates != nil {
			m.anyValue = d.request("POST", above, resolve(creates, creates.Ref, d.Components.RequestBodies))
		}
	}
	if sample := m.sample(s, "", "", nil); r.Required || string(sample) != "{}" {
		return sample
	}
	return nil
}

const formMedia = "multipart/form-data"

// form returns the parts of a form as curl takes them.
func (d *document) form(s *schema) (parts []string) {
	for _, p := range s.Properties {
		if p.schema.Format == "binary" {
			parts = append(parts, p.name+"=@contacts.csv")
			continue
		}
		value := sampler{doc: d, maxMembers: 3}.sample(p.schema, "", p.name, nil)
		parts = append(parts, p.name+"="+string(value)+";type=application/json")
	}
	return parts
}

func (d describer) bodies(r *content) []body {
	var bodies []body
	for _, media := range slices.Sorted(maps.Keys(r.Content)) {
		bodies = append(bodies, body{Media: media, value: d.describe(r.Content[media].Schema)})
	}
	return bodies
}

func (d *document) response(status string, r *content) response {
	responses := describer{document: d, responses: true}
	a := response{Status: status, Text: r.Description, Bodies: responses.bodies(r)}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		h := resolve(r.Headers[name], r.Headers[name].Ref, d.Components.Headers)
		f := field{Name: name, value: responses.describe(h.Schema)}
		f.Text = cmp.Or(h.Description, f.Text)
		a.Headers = append(a.Headers, f)
	}
	if s := r.Content["application/json"].Schema; s != nil && s.Ref != "" {
		a.Example = indented(sampler{doc: d}.sample(s, "", "", nil), "")
	}
	return a
}

// failures splits the description of an error response, which contains "`code`: when" for each code.
func failures(status string, r *content) []failure {
	var all []failure
	for _, code := range r.Codes {
		text := r.Description
		if _, after, found := strings.Cut(text, "`"+code+"`: "); found {
			text = after
			for _, next := range r.Codes {
				text, _, _ = strings.Cut(text, "`"+next+"`: ")
			}
		}
		all = append(all, failure{status, code, strings.TrimSpace(text)})
	}
	return all
}

// allFailures returns each error code once, by status.
func allFailures(groups []group) []failure {
	var all []failure
	for _, g := range groups {
		for _, o := range g.Operations {
			all = append(all, o.Failures...)
		}
	}
	slices.SortFunc(all, func(a, b failure) int { return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code)) })
	return slices.CompactFunc(all, func(a, b failure) bool { return a.Code == b.Code })
}

// span is a piece of text, or of code in backticks.
type span struct {
	Text string
	Code bool
}

// prose splits a text into paragraphs of spans.
func prose(text string) [][]span {
	var paragraphs [][]span
	for p := range strings.SplitSeq(text, "\n\n") {
		var spans []span
		for i, part := range strings.Split(strings.TrimSpace(p), "`") {
			if part != "" {
				spans = append(spans, span{part, i%2 == 1})
			}
		}
		if spans != nil {
			paragraphs = append(paragraphs, spans)
		}
	}
	return paragraphs
}

// inWords returns a name as a heading: "api-keys" becomes "API keys".
func inWords(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
	for i, w := range words {
		if slices.Contains([]string{"ai", "api", "id", "tam", "url"}, w) {
			words[i] = strings.ToUpper(w)
		} else if i == 0 {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}
