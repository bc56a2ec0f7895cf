package console

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// samples are example values by member name, optionally preceded by the name of the component. An example
// request contains its required members, and optional members only if they are listed here.
var samples = map[string]any{
	"name": "Acme", "website": "acme.example", "industry": "Software", "employee_count": 250, "country": "Germany", "phone_number": "+49 30 1234567",
	"first_name": "Ada", "last_name": "Marsh", "email": "ada@acme.example", "title": "Call back", "source": "api", "time_zone": "Europe/Berlin",
	"amount": 12000, "currency": "EUR", "color": "green", "key": "tier", "label": "Tier", "access": "read", "active": true,
	"sort": "-created_at", "page_size": 50, "format": "csv", "reason": "asked not to be contacted",

	"View.name": "Large accounts", "SessionBody.password": "correct horse battery", "RedeemBody.token": "$INVITE_TOKEN", "Contact.title": "VP Operations", "Key.name": "laptop", "Meeting.title": "Demo",
	"Audience.name": "Robotics, operations", "AudienceName.name": "Robotics, operations", "EnrollBody.audience_name": "Robotics fair", "Campaign.name": "Second warehouses", "Template.name": "Warehouse introduction",
	"Step.id": sampleID, "Step.index": 0, "Step.day": 0, "Step.hour": 9, "Step.title": "Introduction", "Block.name": "Offer",
	"Transition.from_step_index": 0, "Campaign.template_name": "Warehouse introduction", "RenderedStep.index": 0, "SimulatedStep.step_index": 0,
	"SimulatedStep.reason": "day 0 of the sequence at 09:00", "StepStats.step_index": 0,
	"ContactFailure.description": "No such contact exists.", "FailureReason.description": "No such contact exists.",
	"Opportunity.name": "100 seats", "Organization.name": "Acme Sales", "Tag.name": "Champion", "User.title": "Account Executive",

	"FilterRule.field": "created_at", "FilterRule.condition": "is_after", "FilterRule.value": "2026-01-01",

	"BatchRecord.index": 0, "BatchRecord.id": sampleID, "BatchRecord.created": true, "BatchResult.failed": 0,
	"Change.change": "updated", "Change.fields": []string{"title"}, "Change.operation": "update_contact",
	"Me.user_email": "ada@acme.example", "Me.user_first_name": "Ada", "Me.user_last_name": "Marsh", "Me.org_name": "Acme Sales",
	"NewKey.name": "laptop", "NewKey.key": "pro_uR1I61x4xmswJE2-HdqF5BV_oZXIUWcfr4CQFehABNypAoIb",
	"Organization.business_days": []int{1, 2, 3, 4, 5}, "SendingWindow.from_hour": 9, "SendingWindow.to_hour": 17,
	"Pagination.page": 1, "Pagination.total_count": 1, "Pagination.total_pages": 1,
	"Schema.entity": "contacts", "Schema.default_sort": "-created_at", "SchemaField.key": "email", "SchemaField.label": "Email",
	"SchemaField.sortable": true, "SchemaField.filterable": true, "SchemaField.conditions": []string{"is", "is_not", "contains", "is_empty"},
}

const (
	sampleID   = "01a1dd61-bc4a-7000-b773-f0b05d333264"
	sampleTime = "2026-04-01T09:00:00.000Z"
)

// sampler generates example values from schemas.
type sampler struct {
	doc *document
	// maxMembers limits the members of an object in a request to the required ones or this many. 0 means
	// that the example is a response, which has all members.
	maxMembers int
	// anyValue is the example where a schema allows anything.
	anyValue json.RawMessage
}

// sample returns a value that s allows, or nil. The value is for the member name of the component owner.
// within contains the components around it, because a schema may contain itself.
func (m sampler) sample(s *schema, owner, name string, within []string) json.RawMessage {
	s, nullable := s.simplified()
	forms, _ := s.choice()
	ref := component(s.Ref)
	switch known, is := known(owner, name); {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case is && s.allows(known):
		return encoded(known)
	case nullable && m.maxMembers == 0:
		return json.RawMessage("null")
	case ref != "":
		if slices.Contains(within, ref) || m.doc.Components.Schemas[ref] == nil {
			return nil
		}
		return m.sample(m.doc.Components.Schemas[ref], ref, name, append(slices.Clone(within), ref))
	case len(forms) > 0:
		return m.sample(forms[0], owner, name, within)
	case s.Properties != nil:
		return m.object(s, owner, within)
	case s.Items != nil:
		return m.collection("[", s.Items, "]", owner, name, within)
	case s.isMap():
		return m.collection(`{"`+strings.TrimSuffix(name, "s")+`_1":`, s.Additional, "}", owner, name, within)
	case s.Type == nil:
		return m.anyValue
	}
	return m.plain(s, name)
}

// collection returns a list or an object with one entry. In a response it is empty unless the entry is an
// object.
func (m sampler) collection(begin string, entry *schema, end, owner, name string, within []string) json.RawMessage {
	item := m.sample(entry, owner, name, within)
	if item == nil || m.maxMembers == 0 && item[0] != '{' {
		return json.RawMessage(begin[:1] + end)
	}
	return slices.Concat([]byte(begin), item, []byte(end))
}

func (m sampler) plain(s *schema, name string) json.RawMessage {
	switch {
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return encoded(s.Enum[0])
	}
	switch s.Type[0] {
	case "boolean":
		return encoded(false)
	case "integer", "number":
		if s.Minimum != nil && *s.Minimum > 0 {
			return encoded(*s.Minimum)
		}
		return encoded(1)
	case "object":
		return json.RawMessage("{}")
	}
	switch s.Format {
	case "uuid":
		if m.maxMembers > 0 {
			return encoded("$" + variable(strings.TrimSuffix(name, "s"))) // an entry of contact_ids is $CONTACT_ID
		}
		return encoded(sampleID)
	case "date-time":
		return encoded(sampleTime)
	case "date":
		return encoded(sampleTime[:10])
	case "email":
		return encoded(samples["email"])
	}
	return encoded(inWords(name))
}

// object returns an object with its required members and some of the optional ones.
func (m sampler) object(s *schema, owner string, within []string) json.RawMessage {
	shown := len(s.Required)
	var b bytes.Buffer
	b.WriteByte('{')
	for _, p := range s.Properties {
		if !slices.Contains(s.Required, p.name) {
			_, is := known(owner, p.name)
			is = is || p.name == "filters" // generated from the sample of a rule
			if !is || m.maxMembers > 0 && (shown >= m.maxMembers || p.schema.isReadOnly()) {
				continue
			}
			shown++
		}
		v := m.sample(p.schema, owner, p.name, within)
		if v == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(slices.Concat(encoded(p.name), []byte(":"), v))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// known returns the sample of a member. The components of create and update requests share the samples of
// the record.
func known(owner, name string) (any, bool) {
	owner = strings.TrimSuffix(strings.TrimSuffix(owner, "Create"), "Update")
	if v, is := samples[owner+"."+name]; is {
		return v, true
	}
	v, is := samples[name]
	return v, is
}

// allows reports whether s allows values of the type of v.
func (s *schema) allows(v any) bool {
	forms, _ := s.choice()
	if s.Ref != "" || forms != nil || s.Enum != nil && !slices.Contains(s.Enum, v) {
		return false
	}
	var kinds []string
	switch v.(type) {
	case string:
		kinds = []string{"string"}
	case bool:
		kinds = []string{"boolean"}
	case int:
		kinds = []string{"integer", "number"}
	default:
		kinds = []string{"array"}
	}
	return s.Type == nil || slices.Contains(kinds, s.Type[0])
}

func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

func indented(raw json.RawMessage, margin string) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, margin, "  ") != nil {
		return ""
	}
	return b.String()
}
