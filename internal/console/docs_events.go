package console

import (
	"cmp"
	"maps"
	"slices"
)

// The data of the events on the documentation page.
type (
	events struct {
		Headers   []field // shared by all events
		Responses []response
		All       []event
	}
	event struct {
		Key, Summary, Text string
		Forms              []string // the named schemas of its body
		Example            string
	}
)

// events returns the webhook events of the document, or nil if it has none. The shared headers and
// responses are taken from the first event.
func (d *document) events() *events {
	var e *events
	for _, key := range slices.Sorted(maps.Keys(d.Webhooks)) {
		m := d.Webhooks[key].Post
		if m == nil {
			continue
		}
		if e == nil {
			e = &events{Headers: d.eventHeaders(m)}
			for _, status := range slices.Sorted(maps.Keys(m.Responses)) {
				e.Responses = append(e.Responses, d.response(status, resolve(m.Responses[status], m.Responses[status].Ref, d.Components.Responses)))
			}
		}
		shown := event{Key: key, Summary: cmp.Or(m.Summary, key), Text: m.Description}
		if m.RequestBody != nil {
			body := resolve(m.RequestBody, m.RequestBody.Ref, d.Components.RequestBodies).Content["application/json"]
			shown.Forms, shown.Example = d.forms(body.Schema), indented(body.Example, "")
		}
		e.All = append(e.All, shown)
	}
	return e
}

func (d *document) eventHeaders(m *method) []field {
	var headers []field
	for _, p := range m.Parameters {
		if p = resolve(p, p.Ref, d.Components.Parameters); p.In == "header" {
			f := field{Name: p.Name, value: describer{document: d}.describe(p.Schema)}
			f.Text = cmp.Or(p.Description, f.Text)
			headers = append(headers, f)
		}
	}
	return headers
}

// forms returns the names of the schemas that a value may have.
func (d *document) forms(s *schema) []string {
	if s == nil {
		return nil
	}
	v := describer{document: d, links: true}.describe(s)
	var names []string
	for _, form := range append([]value{v}, v.Forms...) {
		if form.Link != "" {
			names = append(names, form.Link)
		}
	}
	return names
}
