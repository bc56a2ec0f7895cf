package outreach

import (
	"strings"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// tokenNames are the names of all tokens except those of custom fields. Tokens exist for the fields
// that callers set, but not for references: the id of a record means nothing to a recipient.
var tokenNames = func() []string {
	names := []string{template.UnsubscribeURL}
	add := func(g template.Group, fields ...string) {
		for _, f := range fields {
			names = append(names, template.Token{Group: g, Field: f}.Name())
		}
	}
	add(template.Recipient, append(tokenFields[crm.Contact](), "company")...)
	add(template.Account, tokenFields[crm.Account]()...)
	add(template.Sender, append(tokenFields[identity.User](), "company")...)
	add(template.Organization, "name", "postal_address")
	return names
}()

func tokenFields[T any]() (keys []string) {
	for _, f := range shape.Of[T]().Flat() {
		if !f.ReadOnly && f.Ref == "" && !f.Accumulates() && f.Type != shape.TypeReference {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// tokenEntities are the groups whose tokens can name custom fields.
var tokenEntities = map[template.Group]crm.Entity{template.Recipient: "contacts", template.Account: "accounts"}

// vocabulary returns the tokens that templates of the transaction's organization can use.
func (o *Outreach) vocabulary(tx *store.Tx) (template.Vocabulary, error) {
	known := make(map[string]bool, len(tokenNames))
	for _, name := range tokenNames {
		known[name] = true
	}
	for group, entity := range tokenEntities {
		customs, err := o.crm.CustomFields(tx, entity)
		if err != nil {
			return nil, err
		}
		for _, f := range customs.Fields {
			known[template.Token{Group: group, Field: f.Key}.Name()] = true
		}
	}
	return func(name string) string {
		if known[name] {
			return ""
		}
		return suggestToken(name)
	}, nil
}

// CheckFooter adds everything that is wrong with an organization's mail footer to p.
func (o *Outreach) checkFooter(tx *store.Tx, before, after *identity.Organization, p *fault.Problems) error {
	if before != nil && before.MailFooter == after.MailFooter {
		return nil
	}
	tokens, err := o.vocabulary(tx)
	if err == nil {
		template.CheckFooter("mail_footer", after.MailFooter, tokens, p)
	}
	return err
}

// suggestToken returns a hint for the author of a template who used an unknown token.
func suggestToken(name string) string {
	const maxTyped = 64 // comparing longer names takes long and finds nothing
	token := template.TokenNamed(name)
	entity := tokenEntities[token.Group]
	if entity != "" && strings.HasPrefix(token.Field, shape.CustomPrefix) {
		return string(entity) + " have no such custom field"
	}
	wanted := strings.ToLower(name)
	best, closest := "", len(wanted)/3+1
	for _, known := range tokenNames {
		if len(wanted) > maxTyped {
			break
		}
		candidates := []string{known}
		if !strings.Contains(wanted, ".") {
			candidates = append(candidates, template.TokenNamed(known).Field)
		}
		for _, c := range candidates {
			if d := editDistance(wanted, c); d < closest {
				best, closest = known, d
			}
		}
	}
	if best != "" {
		return "did you mean {{" + best + "}}?"
	}
	if entity != "" {
		return "GET /v1/schemas/" + string(entity) + " lists the fields"
	}
	return "a token is a field of recipient, account, sender or organization, such as {{recipient.first_name}}, or {{" +
		template.UnsubscribeURL + "}}"
}

// editDistance returns how many letters must be inserted, removed or replaced to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
