package console

import (
	"cmp"
	"maps"
	"slices"
)

// The events of an API document, ready to be shown.
type (
	events struct {
		Headers []field // those that every event comes with
		Answers []answer
		All     []event
	}
	event struct {
		Key, Summary, Text string
		Forms              []string // the named schemas of its body
		Example            string
	}
)

// events are what the service sends, nil when there is none. What all of them share is taken from the first.
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
				e.Answers = append(e.Answers, d.answer(status, at(m.Responses[status], m.Responses[status].Ref, d.Components.Responses)))
			}
		}
		shown := event{Key: key, Summary: cmp.Or(m.Summary, key), Text: m.Description}
		if m.RequestBody != nil {
			body := at(m.RequestBody, m.RequestBody.Ref, d.Components.RequestBodies).Content["application/json"]
			shown.Forms, shown.Example = d.forms(body.Schema), indented(body.Example, "")
		}
		e.All = append(e.All, shown)
	}
	return e
}

func (d *document) eventHeaders(m *method) []field {
	var headers []field
	for _, p := range m.Parameters {
		if p = at(p, p.Ref, d.Components.Parameters); p.In == "header" {
			f := field{Name: p.Name, value: reader{document: d}.describe(p.Schema)}
			f.Text = cmp.Or(p.Description, f.Text)
			headers = append(headers, f)
		}
	}
	return headers
}

// forms are the named schemas that a value may be of.
func (d *document) forms(s *schema) []string {
	if s == nil {
		return nil
	}
	v := reader{document: d, links: true}.describe(s)
	var names []string
	for _, form := range append([]value{v}, v.Forms...) {
		if form.Link != "" {
			names = append(names, form.Link)
		}
	}
	return names
}
