package template

import (
	"slices"
	"testing"
)

// TestFill checks that a text that was filled with a sender's values renders like the original, and
// reports the same missing tokens.
func TestFill(t *testing.T) {
	var sender Values
	sender.SetSender(Sender{FirstName: "Ann \"A\"\nLee", Company: "Acme"})
	all := sender
	all.SetRecipient(Recipient{FirstName: "{{sender.company}}", Email: "a@b.example"})
	for _, s := range []string{
		"", "plain \"text\"", "{{sender.first_name}}", "{{sender.first_name}}{{sender.company}}",
		"a {{sender.first_name}} b {{sender.company}} c",
		"{{recipient.first_name}}{{sender.company}}{{recipient.email}}",
		"{{recipient.company}} of {{sender.title}}, {{sender.company}}{{sender.title}}",
		"Hello {{recipient.first_name}},\n{{sender.first_name}} {{recipient.last_name}}",
	} {
		original := parseText(s, nil)
		for f := range formCount {
			got, missing := original.fill(&sender.message).render(nil, f, &all.message, nil)
			want, wantMissing := original.render(nil, f, &all.message, nil)
			if string(got) != string(want) || !slices.Equal(missing, wantMissing) {
				t.Errorf("%q: rendered %q, missing %v; want %q, missing %v", s, got, missing, want, wantMissing)
			}
		}
	}
	if parts := parseText("a {{sender.company}} b", nil).fill(&sender.message); len(parts) != 1 {
		t.Errorf("the filled text has %d parts, want one literal", len(parts))
	}
}
